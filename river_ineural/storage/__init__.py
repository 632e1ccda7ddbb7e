"""A model as plain values and arrays, and back."""
