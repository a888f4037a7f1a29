"""A function run by two processes that train together, as torchrun would start them, over gloo."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import torch
from torch import distributed, multiprocessing


def in_two_processes(function: Callable[[Path], None], folder: Path) -> None:
    """``function(folder)`` in both; it is found by its module and name."""
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    multiprocessing.start_processes(_one, args=(function, folder, port), nprocs=2, start_method="spawn")


def _one(rank: int, function: Callable[[Path], None], folder: Path, port: int) -> None:
    where = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    os.environ |= where | {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    function(folder)
    distributed.destroy_process_group()
