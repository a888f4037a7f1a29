"""The processes that make batches while a training computes."""

from repro.machine.system import cores, local_processes

MOST = 16  # each holds two batches, and pages of what it reads


def collating_processes(*, gpu: bool) -> int:
    """The number of processes that make batches for one training process.

    Beside a GPU it is this machine's cores divided among its training processes, less the one that such a
    process runs on: 1 at least and ``MOST`` at most. Without a GPU it is 0, as a training has no core to
    spare. A batch does not depend on which process makes it.
    """
    return max(1, min(MOST, cores() // local_processes() - 1)) if gpu else 0
