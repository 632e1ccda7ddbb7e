"""Devices by name."""

from __future__ import annotations

import torch


def available(device: str) -> torch.device:
    """The torch device of that name.

    Raises
    ------
    ValueError
        If the name is not "cpu", "cuda" or "cuda:N", or the device is not available.
    """
    try:
        where = torch.device(device if isinstance(device, str) else "")  # as a file holds it
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device={device!r} must be 'cpu', 'cuda' or 'cuda:N'.") from error
    if where.type not in ("cpu", "cuda"):
        raise ValueError(f"device={device!r} must be 'cpu', 'cuda' or 'cuda:N'.")
    if where.type == "cuda" and (where.index or 0) >= torch.cuda.device_count():
        raise ValueError(
            f"device={device!r} is not available: torch {torch.__version__} sees "
            f"{torch.cuda.device_count()} CUDA devices. Use device='cpu' or install a CUDA build."
        )
    return where
