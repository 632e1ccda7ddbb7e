"""The networks f1 and f2: matrix products by PyTorch, and the loops between them."""
