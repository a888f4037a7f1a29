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
    from repro.api import Listing as Listing
    from repro.api import Selection as Selection
    from repro.api import select as select
    from repro.api.comparisons import ComparedCells as ComparedCells
    from repro.api.comparisons import compare as compare
    from repro.api.measurement import measure as measure
    from repro.api.measurement import records as records
    from repro.api.papers import PublishedPaper as PublishedPaper
    from repro.api.papers import PublishedTable as PublishedTable
    from repro.api.papers import paper as paper
    from repro.api.papers import papers as papers
    from repro.api.papers import table as table
    from repro.manifest.cells import Cell as Cell
    from repro.manifest.cells import cell as cell
    from repro.running.scale import user_scale as user_scale
    from repro.running.workspace import Workspace as Workspace
    from repro.version import __version__ as __version__

_MODULES = {  # module -> its public names
    "api": ("Listing", "Selection", "select"),
    "api.comparisons": ("ComparedCells", "compare"),
    "api.measurement": ("measure", "records"),
    "api.papers": ("PublishedPaper", "PublishedTable", "paper", "papers", "table"),
    "manifest.cells": ("Cell", "cell"),
    "running.scale": ("user_scale",),
    "running.workspace": ("Workspace",),
}


def _public_names() -> dict[str, str]:
    from repro.hooks import ask, merged

    own = {name: f"repro.{module}:{name}" for module, names in _MODULES.items() for name in names}
    return own | merged(ask().public_names())


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name == "__all__":
        return __dir__()
    if name == "__version__":
        from repro.version import __version__

        return __version__
    if name == "recipe":
        from repro.retrieval import recipe

        return recipe
    if not name.startswith("_") and find_spec(f"{__name__}.{name}") is None:
        from repro.manifest.papers import load

        if place := _public_names().get(name):
            return load(place)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(["errors", "__version__", *_public_names()])
