"""What is learned, and how: history, scaling, mini-batch steps."""
