"""A function of the suite changed in place, so that whoever imported it runs the changed one."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import textwrap
from collections.abc import Callable, Iterator

from oracles.declaration import Mutation


@contextlib.contextmanager
def mutated(mutation: Mutation) -> Iterator[None]:
    module, _, place = mutation.function.partition(":")
    owner = importlib.import_module(module)
    for name in place.split("."):
        owner = inspect.getattr_static(owner, name)
    function = _plain(owner)
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(mutation.old) == 1, f"{mutation.old!r} does not occur once in {mutation.function}"
    flags = annotations.compiler_flag
    code = compile(source.replace(mutation.old, mutation.new), inspect.getsourcefile(function), "exec", flags)
    names = dict(function.__globals__)
    exec(code, names)
    before = function.__code__
    function.__code__ = _plain(names[function.__name__]).__code__
    try:
        yield
    finally:
        function.__code__ = before


def _plain(made) -> Callable:
    made = getattr(made, "fget", None) or getattr(made, "__func__", made)
    return inspect.unwrap(made)
