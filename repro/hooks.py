"""The questions that the core asks, and the plugins that answer: a capability each, whole, in one folder.

The core imports no plugin. It asks here, through pluggy, and shows what is answered, or nothing. A plugin
imports the core and no other plugin, and asks the same questions where it needs an answer of another.
``REPRO_PLUGINS`` chooses among the suite's own by name, ``none`` is none of them; plugins of other packages
are entry points of group ``repro.plugins``, each a module with functions marked ``answer``.
"""

from __future__ import annotations

import functools
import importlib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pluggy

from repro.errors import UsageError, check_known

if TYPE_CHECKING:
    from repro.manifest.cells import Cell
    from repro.manifest.papers import Paper
    from repro.running.cell_readings import CellReadings
    from repro.running.requirements import Machine
    from repro.store import Store
    from repro.store.results import Results
    from repro.verdicts.additions import Answers, CellPart, SideValueKind
    from repro.verdicts.compared import ComparedCell
    from repro.writers.html.sections import PaperPart, Sources
    from repro.writers.table_files import TableKind

# In the order in which what they answer is shown.
PLUGINS = ("statements", "settings", "reports", "studies", "yours", "manuscripts")
CHOICE = "REPRO_PLUGINS"
_asked, answer = pluggy.HookspecMarker("repro"), pluggy.HookimplMarker("repro")


class Command(NamedTuple):
    """A verb or a view: its line of help, ``module:command``, and of a verb the section of help it is in."""

    line: str
    target: str
    section: str = ""


class Questions(Protocol):
    """Every question, with when it is asked and what an answer looks like."""

    @_asked
    def commands(self) -> Mapping[str, Command]:
        """Return ``verb``, or ``verb view``, -> the command; asked for help and for what is typed.

        One that the core has, too, takes its place: it does what the core's does, and more.
        """

    @_asked
    def public_names(self) -> Mapping[str, str]:
        """Return name -> ``module:function`` of what ``import repro`` offers; asked when one is looked up."""

    @_asked
    def side_values(self) -> SideValueKind:
        """Return a kind of values that stand beside the published and the measured number of a cell."""

    @_asked
    def part_of_cell(
        self, cell: Cell, stands: Sequence[ComparedCell], known: CellReadings, results: Results
    ) -> CellPart | None:
        """Return what else the page of a cell says; ``stands`` are its verdicts, one at each scale."""

    @_asked
    def part_of_paper(self, sources: Sources) -> PaperPart | None:
        """Return the sections that a report has of papers, and the facts on the cards of their cells."""

    @_asked(firstresult=True)
    def table_kind(self, kind: str) -> TableKind | None:
        """Return how tables of that kind are judged and written; None where they are like all others."""

    @_asked
    def tallies_of_tables(self, source: Paper) -> Mapping[str, Mapping[str, int]]:
        """Return table -> state -> how many of its cells that nothing measures; asked for the coverage."""

    @_asked
    def remarks(self, cells: Sequence[Cell]) -> Iterable[str]:
        """Return sentences below the verdicts on these cells."""

    @_asked(firstresult=True)
    def answers(
        self, pointers: Sequence[str], results: Results, store: Store, machine: Machine
    ) -> Answers | None:
        """Return what is measured on equal terms of what readings and claims point at."""


@functools.cache
def ask() -> Any:
    """Return the relay of all questions; the plugins are imported when the first is asked.

    Raises UsageError for a plugin of another package that cannot be imported, answers what is not asked, or
    has the name of another.
    """
    from importlib.metadata import entry_points

    manager = pluggy.PluginManager("repro")
    manager.add_hookspecs(Questions)
    for name in reversed(chosen()):  # whoever is registered last answers first
        manager.register(importlib.import_module(f"repro.plugins.{name}"), name)
    for entry in entry_points(group="repro.plugins"):
        try:
            if entry.name in PLUGINS or manager.has_plugin(entry.name):
                raise ValueError("another plugin has the same name")
            manager.register(entry.load(), entry.name)
            manager.check_pending()
        except Exception as error:  # whatever the module of another package does while it is imported
            why = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise UsageError(
                f"the installed plugin {entry.name!r} cannot be used ({why}); update or remove its package"
            ) from None
    return manager.hook


def chosen() -> tuple[str, ...]:
    """Return the names of the suite's own plugins that answer. Raises UsageError for an unknown one."""
    words = os.environ.get(CHOICE)
    if words is None:
        return PLUGINS
    names = () if words == "none" else tuple(words.replace(",", " ").split())
    check_known("plugin", *names, valid=PLUGINS)
    return tuple(name for name in PLUGINS if name in names)


def merged(answers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return several answers that are mappings as one; the first of a name counts."""
    return {key: value for each in reversed(list(answers)) for key, value in each.items()}
