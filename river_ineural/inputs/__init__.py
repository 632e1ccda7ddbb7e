"""Convert feature dicts, frames and labels to checked arrays."""
