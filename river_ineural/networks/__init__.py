"""The networks f1 and f2: their weights, their scores and their steps."""
