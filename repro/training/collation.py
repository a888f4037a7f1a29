"""The processes that make batches while a training computes."""

from repro.machine.system import cores, local_processes

MOST = 16  # each holds two batches, and pages of what it reads


def collating_processes(*, gpu: bool) -> int:
    """As many as there are cores for each training process of this machine but the one that it runs on.

    At least one beside a GPU, and none without, where a training has no core to spare. A batch does not
    depend on which process makes it.
    """
    return max(1, min(MOST, cores() // local_processes() - 1)) if gpu else 0
