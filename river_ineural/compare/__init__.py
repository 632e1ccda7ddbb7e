"""Compare I-NeurAL with River's learners and refitted scikit-learn models on a CSV file."""
