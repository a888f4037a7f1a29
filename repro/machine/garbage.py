"""Python's search for circles of objects that nothing reaches any more."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def search_paused() -> Iterator[None]:
    """Do not look for garbage in this context, which makes much that stays and hardly any garbage.

    Python looks through what was made as often as so many objects more are made, and through everything
    every now and then: a quarter of the time of reading a manifest. Also a decorator.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
