"""Models of other versions are refused: nothing has been released."""

from __future__ import annotations

__all__ = ["SCHEMA", "check_schema"]

SCHEMA = 1  # of what a model consists of, in pickles and files


def check_schema(schema: object) -> None:
    """Raise ValueError unless a pickle is of this version."""
    if schema != SCHEMA:
        raise ValueError(
            f"this pickle is of schema {schema}, where this version has {SCHEMA}: load it with the "
            "version of river_ineural that made it, or learn the stream anew."
        )
