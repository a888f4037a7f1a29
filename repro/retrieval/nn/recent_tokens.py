"""The tokens of texts that are read again and again, as a training does with a small collection."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar

MOST = 4096  # texts; of 64 tokens they take 10 MB, of 512 75 MB, in each process that prepares batches

Reading = Callable[[Sequence[str]], list[list[int]]]


class RecentTokens:
    """The token ids of the last texts that were read, at most ``MOST`` of each way to read them."""

    def __init__(self):
        self._kept: dict[tuple, dict[str, list[int]]] = {}

    def read(self, texts: Sequence[str], way: tuple, reading: Reading) -> list[list[int]]:
        """The ids of each text, by ``reading`` those of which none are kept.

        Args:
            way: tells the ids of a text apart from those that another reading gives it.
        """
        cache = self._kept.setdefault(way, {})
        new = [text for text in dict.fromkeys(texts) if text not in cache]
        rows = dict(zip(new, reading(new), strict=True)) if new else {}
        ids = [cache[text] if text in cache else rows[text] for text in texts]
        cache.update(list(rows.items())[:MOST])
        for text in list(cache)[: max(0, len(cache) - MOST)]:
            del cache[text]
        return ids


_recent: ContextVar[RecentTokens | None] = ContextVar("recent tokens", default=None)


@contextlib.contextmanager
def tokens_remembered() -> Iterator[None]:
    """Texts that are read several times in this context are tokenised once, as far as there is room."""
    token = _recent.set(RecentTokens())
    try:
        yield
    finally:
        _recent.reset(token)


def read_once(texts: Sequence[str], way: tuple, reading: Reading) -> list[list[int]]:
    """The ids of each text: remembered ones in the context of ``tokens_remembered``, else by ``reading``."""
    recent = _recent.get()
    return reading(texts) if recent is None else recent.read(texts, way, reading)
