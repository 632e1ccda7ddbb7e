"""Estimators of the errors of f1, and how far each is trusted."""
