"""A reproducibility benchmark of dense-retrieval pre-training: published numbers beside measured ones.

    import repro

    repro.table("PAPER/1").to_frame()             the table as published
    compared = repro.compare("PAPER/1")           beside what was measured, with verdicts and tests
    compared.to_frame(), compared.plot()
    mine = repro.compare("PAPER/1", yours="my.run")   as a row of the table, tested against all
    mine.tests().to_frame(), mine.to_latex()

Functions print nothing and download nothing. What a caller can act on is raised as a class of
``repro.errors``, with one sentence that says what to do.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from repro.api.public import *  # noqa: F403
    from repro.version import __version__ as __version__


def __getattr__(name: str) -> Any:
    """Return a name of ``repro.api.public``, loaded on first use, as every module imports this one."""
    if name == "__version__":
        from repro.version import __version__

        return __version__
    if name == "recipe":  # `from repro import recipe` is how papers of other distributions begin
        from repro.retrieval import recipe

        return recipe
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is None:  # else a submodule is meant
        from repro.api import public

        if name in public.offered():
            return public.find(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from repro.api import public

    return [*globals(), *public.offered()]
