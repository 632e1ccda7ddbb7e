"""What goes wrong with a file, or with what is to be put in one."""

from __future__ import annotations

__all__ = ["LoadError", "SaveError"]


class LoadError(ValueError):
    """These bytes are no model that this version can load; the message says why."""


class SaveError(TypeError):
    """A model holds something that a file cannot hold; the message says what, and what to do."""
