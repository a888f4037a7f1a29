"""Python's search for circles of objects that nothing reaches any more."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def search_paused() -> Iterator[None]:
    """Do not look for garbage in this context, which makes much that stays and hardly any garbage.

    Python looks through what was made as often as so many objects more are made, and through everything
    every now and then: a quarter of the time of reading a manifest. What this context made is looked through
    with what is old, not at its end. Also a decorator.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:
            gc.freeze()
            gc.collect(0)  # nothing: all is frozen, and counting begins anew
            gc.unfreeze()  # to what is old
        gc.enable()
