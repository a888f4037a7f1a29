"""The order in which a training sees its examples."""

from collections.abc import Iterator

import numpy as np

from repro.errors import UsageError

Place = tuple[int, int]  # epoch, index


class BatchOrder:
    """Batches of (epoch, index): a new permutation of the examples every epoch, ``steps`` batches in all.

    A batch sampler of a torch DataLoader, which sees the whole training as one pass. Of several processes
    each is given its share of every batch, the one of rank 0 the first.
    """

    def __init__(
        self, examples: int, *, batch_size: int, steps: int, seed: int, rank: int = 0, processes: int = 1
    ):
        self.examples, self.batch_size, self.steps, self.seed = examples, batch_size, steps, seed
        self.rank, self.processes, self.drop_last = rank, processes, False
        last = examples % batch_size if steps > examples // batch_size else 0  # an epoch's, if it comes to it
        smallest = min(batch_size, last or batch_size)
        if smallest < processes:
            raise UsageError(
                f"a batch of {smallest} of the {examples} examples cannot be shared among {processes} "
                f"processes; start {smallest} or fewer"
            )

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[list[Place]]:
        left, epoch = self.steps, 0
        while left > 0:
            order = np.random.default_rng((self.seed, epoch)).permutation(self.examples)
            for first in range(0, self.examples, self.batch_size)[:left]:
                batch = order[first : first + self.batch_size]
                share = np.array_split(batch, self.processes)[self.rank]
                yield [(epoch, int(index)) for index in share]
                left -= 1
            epoch += 1
