"""The networks f1 and f2: matrix products, and the compiled loops between them."""
