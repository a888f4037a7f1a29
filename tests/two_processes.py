"""Functions run by two processes that train together over gloo."""

from __future__ import annotations

import multiprocessing
import os
import socket
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import torch
from torch import distributed

STAGES = "repro.retrieval.stages."
PRELOADED = [STAGES + name for name in ("pretrain", "finetune", "encode", "search", "evaluate")]
PRELOADED += ["pytest", "transformers.models.bert.modeling_bert"]


class Pair:
    """Two processes that carry out one function after the other, over gloo at a store of this process."""

    def __init__(self) -> None:
        self.children: list[tuple[multiprocessing.Process, Connection]] = []

    def __call__(self, function: Callable[[Path], None], folder: Path, *, connected: bool = True) -> None:
        """Call ``function(folder)`` in both; ``connected``: torch.distributed connects them before."""
        if not self.children:
            self._start()
        store = distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        for _, ours in self.children:
            ours.send((store.port, function, folder, connected))
        waiting = [ours for _, ours in self.children]
        while waiting:
            for ours in multiprocessing.connection.wait(waiting):
                waiting.remove(ours)
                if failure := _answer(ours):
                    self.end()  # the other may wait for it
                    raise RuntimeError(failure)

    def _start(self) -> None:
        context = multiprocessing.get_context("forkserver")  # both have its imports
        context.set_forkserver_preload(PRELOADED)
        for rank in (0, 1):
            ours, theirs = context.Pipe()
            child = context.Process(target=_serve, args=(rank, theirs), daemon=True)
            child.start()
            theirs.close()
            self.children.append((child, ours))

    def end(self) -> None:
        for child, ours in self.children:
            child.kill()
            child.join()
            ours.close()
        self.children = []


def _answer(ours: Connection) -> str | None:
    try:
        return ours.recv()
    except EOFError:
        return "one of the two processes ended"


def _serve(rank: int, parent: Connection) -> None:
    torch.set_num_threads(1)
    loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    launched = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    alone = {"TORCHELASTIC_USE_AGENT_STORE": "True", "GLOO_SOCKET_IFNAME": loopback, "OMP_NUM_THREADS": "1"}
    before = {**os.environ, **launched, **alone}
    while True:
        try:
            port, function, folder, connected = parent.recv()
        except EOFError:
            return
        os.environ.clear()
        os.environ.update(before, MASTER_PORT=str(port))
        try:
            if connected:
                distributed.init_process_group("gloo")
            function(folder)
            if distributed.is_initialized():
                distributed.destroy_process_group()
            parent.send(None)
        except BaseException:
            parent.send(traceback.format_exc())
