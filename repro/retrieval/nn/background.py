"""Work that is prepared in a thread of its own while the caller is busy with what came before."""

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
END = object()


@contextlib.contextmanager
def in_background(items: Iterable[Item], *, ahead: int) -> Iterator[Iterator[Item]]:
    """Give the items one after another, in their order, made by a thread while the caller works on others.

    What ``items`` raises is raised where its item would have come. When the context ends, early or not, the
    thread ends behind the item that it is making, and a generator is closed.

    Args:
        ahead: items that are made before they are asked for.
    """
    iterator = iter(items)

    def results() -> Iterator[Item]:
        while (item := futures.popleft().result()) is not END:
            futures.append(thread.submit(next, iterator, END))
            yield item

    with contextlib.ExitStack() as stack:
        stack.callback(getattr(iterator, "close", lambda: None))
        thread = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="prepares"))
        stack.callback(thread.shutdown, cancel_futures=True)
        futures = deque(thread.submit(next, iterator, END) for _ in range(ahead))
        yield results()
