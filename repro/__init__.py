"""A reproducibility benchmark of dense-retrieval pre-training: published and measured numbers.

    import repro

    repro.table("PAPER/1").to_frame()             the table as published
    compared = repro.compare("PAPER/1")           with measured numbers, verdicts and tests
    compared.to_frame(), compared.plot()
    mine = repro.compare("PAPER/1", yours="my.run")   as a row of the table, tested against all
    mine.tests().to_frame(), mine.to_latex()

Functions print nothing and download nothing. Errors that a caller can fix are classes of ``repro.errors``,
with the remedy in one sentence.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from repro.api.public import *  # noqa: F403
    from repro.version import __version__ as __version__


def __getattr__(name: str) -> Any:
    """Return a name of ``repro.api.public``, loaded on first use."""
    if name == "__all__":  # plugins add names
        return __dir__()
    if name == "__version__":
        from repro.version import __version__

        return __version__
    if name == "recipe":  # for papers of other distributions
        from repro.retrieval import recipe

        return recipe
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is None:  # no submodule
        from repro.api import public

        if name in public.offered():
            return public.find(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from repro.api import public

    return sorted(["errors", "__version__", *public.offered()])
