"""I-NeurAL beside River's learners and refitted ones of scikit-learn, on a CSV file."""
