"""Convert a model to plain values and arrays, and back."""
