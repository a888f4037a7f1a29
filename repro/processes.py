"""Processes that one launcher started for one stage."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import timedelta

LONGEST_WAIT = timedelta(days=30)  # one process may encode much longer than another


@contextlib.contextmanager
def launched_together() -> Iterator[tuple[int, int]]:
    """This process' rank and how many there are, able to wait for each other (torchrun, or srun with it).

    0 and 1 for a process that was started alone. Where a training has not connected them, gloo does, for the
    time of the context.
    """
    if int(os.environ.get("WORLD_SIZE", 1)) == 1:
        yield 0, 1
        return
    from torch import distributed

    ours = not distributed.is_initialized()
    if ours:
        distributed.init_process_group("gloo", timeout=LONGEST_WAIT)
    try:
        yield distributed.get_rank(), distributed.get_world_size()
    finally:
        if ours:
            distributed.destroy_process_group()
