"""From feature dicts and frames to checked arrays, and how these are scaled."""
