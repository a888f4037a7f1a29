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
        remaining, epoch = self.steps, 0
        while remaining > 0:
            order = self._permutation(epoch)
            for first in range(0, self.examples, self.batch_size)[:remaining]:
                yield self._share(order, first, epoch)
                remaining -= 1
            epoch += 1

    def at(self, step: int) -> list[Place]:
        """This process's share of the batch after ``step`` others."""
        epoch, batch = divmod(step, self._batches)
        return self._share(self._permutation(epoch), batch * self.batch_size, epoch)

    def shares(self, step: int) -> list[int]:
        """The number of examples that each process has of the batch after ``step`` others."""
        return self._sizes(step % self._batches * self.batch_size)

    @property
    def _batches(self) -> int:
        """Batches of an epoch."""
        return -(-self.examples // self.batch_size)

    def _permutation(self, epoch: int) -> np.ndarray:
        return np.random.default_rng((self.seed, epoch)).permutation(self.examples)

    def _share(self, order: np.ndarray, first: int, epoch: int) -> list[Place]:
        shares = self._sizes(first)
        begin = first + sum(shares[: self.rank])
        return [(epoch, index) for index in order[begin : begin + shares[self.rank]].tolist()]

    def _sizes(self, first: int) -> list[int]:
        """The number of examples that each process has of the batch that begins there in its epoch."""
        size, more = divmod(min(self.batch_size, self.examples - first), self.processes)
        return [size + (rank < more) for rank in range(self.processes)]
