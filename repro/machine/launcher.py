"""Reads the number and place of this process from the variables of a launcher such as torchrun."""

from __future__ import annotations

import os


def launched_processes() -> int:
    """The number of processes that a launcher started for one stage; 1 without a launcher."""
    return int(os.environ.get("WORLD_SIZE", 1))


def launched_rank() -> int:
    """The number of this process among them, from 0."""
    return int(os.environ.get("RANK", 0)) if launched_processes() > 1 else 0


def local_rank() -> int:
    """This process' number among those of its machine, from 0."""
    return int(os.environ.get("LOCAL_RANK", 0))
