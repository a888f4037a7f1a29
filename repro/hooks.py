"""The hooks of plugins, and the values that these return.

The core imports no plugin, and a plugin no other. An entry point of group ``repro.plugins`` names a module of
another package. For example, this one adds a value to the tables, cards and CSV files that show the cell:

    from repro.hooks import CellNote, CellPart, answer

    @answer
    def part_of_cell(cell):
        if cell.id == "PAPER/1/sparse.bm25/dev.rr10":
            return CellPart(notes=[CellNote("Pyserini", "0.187", "README of castorini/pyserini")])

``REPRO_PLUGINS`` lists the suite's own plugins to use, or ``none``.
"""

from __future__ import annotations

import functools
import os
import pkgutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import pluggy

from repro.errors import UsageError, check_known
from repro.machine import INSTALL, absent

if TYPE_CHECKING:
    from repro.cli.cell_page import CellPage
    from repro.manifest.cells import Cell
    from repro.verdicts.compared import ComparedCell
    from repro.writers.html.elements import Content, Markup
    from repro.writers.html.sections import Part, Sources

CHOICE = "REPRO_PLUGINS"
_asked, answer = pluggy.HookspecMarker("repro"), pluggy.HookimplMarker("repro")
# Functions of plugins that the core calls by ``call``.
CALLED = {
    "study tables": "repro.plugins.studies.writing:StudyTables",
    "study answers": "repro.plugins.studies.study_answers:answers_by_pointer",
    "settings by table": "repro.plugins.settings.checked:states_of_tables",
    "settings of papers": "repro.plugins.settings.view:of_whole_papers",
}
OF_SCORES = ("study tables", "study answers")  # need the extra "score"
# How a value was made, the closest to a published number first.
MAKINGS = {
    "run": "released run scored again",
    "checkpoint": "released checkpoint encoded again",
    "index": "indexed again",
    "trained": "trained from the start",
    "fine-tuned": "fine-tuned from a released pre-training",
    "suite": "run by others with this suite",
    "unknown": "method not stated",
}
MATCHES = {"exact": "", "close": "~", "loose": "?"}  # match -> its sign


class Command(NamedTuple):
    """A verb or view: its line of help, ``module:command``, and a verb's section of help."""

    line: str
    target: str
    section: str = ""


@dataclass(frozen=True)
class CellNote:
    """A value of a cell that is reported elsewhere. It decides no verdict.

    Attributes:
        label: its author, e.g. a toolkit or a paper.
        text: the value with all digits, in the unit of the published number.
        place: its source. ``address`` is a link to it.
        who: ``authors`` of the system, a ``toolkit``, ``independent``, or a ``later-paper``.
        making: a key of ``MAKINGS``.
        match: a key of ``MATCHES``. ``loose`` means that only the system's name matches.
        details: differences from the published number, e.g. "differs: 512 tokens".
        facts: its JSON object.
    """

    label: str
    text: str
    place: str
    address: str = ""
    who: str = "independent"
    making: str = "unknown"
    match: str = "exact"
    details: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> Decimal:
        return Decimal(self.text)

    @property
    def how(self) -> str:
        return "; ".join(filter(None, (MAKINGS[self.making], self.details, f"match {self.match}")))

    def __str__(self) -> str:
        return f"{self.text} {self.label} ({self.who}): {self.how}; {self.place}"

    def as_json(self) -> dict[str, Any]:
        return dict(self.facts) or {"value": float(self.value), "name": self.label, "place": self.place}


class CellPart:
    """A plugin's part of a cell. Only ``repro show CELL`` calls its methods.

    Attributes:
        notes: values reported elsewhere, the closest to the published one first.
        facts: fields of the cell's JSON object.
        source_of_a_run: the place where a run of the system was released, if known.
    """

    notes: Sequence[CellNote] = ()
    facts: Mapping[str, Any] = MappingProxyType({})
    source_of_a_run: str = ""

    def __init__(self, notes: Sequence[CellNote] = ()) -> None:
        self.notes = notes

    def below_published(self) -> Iterator[tuple[str, str]]:
        """Yield labels and lines that follow the published value."""
        yield from ()

    def below_measured(self) -> Iterator[tuple[str, str]]:
        yield from ()

    def commands(self) -> dict[str, str]:
        """Return purpose -> command, e.g. ``{"measure it": "repro run …"}``."""
        return {}

    def at_end(self, *, verbose: bool) -> Iterator[tuple[str, str]]:
        yield from ()


class StudyAnswer(NamedTuple):
    """A study's differences between two rows, in words and as an object per scale."""

    words: str
    measured: list[dict[str, Any]]


Answers = Mapping[str, StudyAnswer]  # by the pointer of a reading or claim


@dataclass(frozen=True)
class Section:
    """A section of a paper in the HTML report.

    Attributes:
        anchor: the end of its address.
        rank: its place: claims 1, audit 2, readings 3, settings 4, released code 5.
        of_no_scale: True if it is the same at each scale. Only the first page has it.
    """

    title: str
    anchor: str
    rank: int
    content: Markup
    of_no_scale: bool = True


class PaperPart:
    """A plugin's part of the papers in the HTML report. One object serves all pages."""

    def sections(self, part: Part) -> Iterable[Section]:
        return ()

    def card(self, c: ComparedCell, part: Part) -> Iterable[tuple[str, Content]]:
        """Return names and facts for the card of a cell."""
        return ()


class Hooks(Protocol):
    """The hooks. A plugin may implement some, and omit parameters."""

    @_asked
    def commands(self) -> Mapping[str, Command]:
        """Return ``verb`` or ``verb view`` -> the command. It replaces the core's of that name."""

    @_asked
    def public_names(self) -> Mapping[str, str]:
        """Return name in ``repro`` -> ``module:function``, e.g. to add ``repro.audit``."""

    @_asked
    def part_of_cell(self, cell: Cell, page: CellPage | None) -> CellPart | None:
        """Return the plugin's part of a cell. ``page`` is None if a table needs the notes alone."""

    @_asked
    def part_of_paper(self, sources: Sources) -> PaperPart | None:
        """Return the plugin's part of the papers in a report."""


@dataclass(frozen=True)
class OwnPlugin:
    """A plugin of the suite. Each function is ``module:name`` in its folder, imported on use.

    Attributes:
        verbs: verb or view -> its line of help and its function.
        names: name in ``repro`` -> its function.
        notes: a function of a cell that returns its notes.
        cell, paper: functions for ``part_of_cell`` and ``part_of_paper``.
    """

    folder: str
    verbs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""
    cell: str = ""
    paper: str = ""

    @answer
    def commands(self) -> Mapping[str, Command]:
        return {verb: Command(line, self._target(place)) for verb, (line, place) in self.verbs.items()}

    @answer
    def public_names(self) -> Mapping[str, str]:
        return {name: self._target(place) for name, place in self.names.items()}

    @answer
    def part_of_cell(self, cell: Cell, page: CellPage | None) -> CellPart | None:
        if page is None:
            return CellPart(self._call(self.notes, cell)) if self.notes else None
        return self._call(self.cell, cell, page) if self.cell else None

    @answer
    def part_of_paper(self, sources: Sources) -> PaperPart | None:
        return self._call(self.paper, sources) if self.paper else None

    def _call(self, place: str, *args: Any) -> Any:
        return _imported(self._target(place))(*args)

    def _target(self, place: str) -> str:
        dot = "" if place.startswith(":") else "."
        return f"repro.plugins.{self.folder}{dot}{place}"


_imported = functools.cache(pkgutil.resolve_name)


_OWN = (  # in the order of their parts
    OwnPlugin(
        "statements",
        verbs={
            "audit papers": (
                "the suite's papers: numbers, sentences, references, altered results",
                "audit_verbs:papers_command",
            ),
            "audit claims": (
                "sentences, marks and bold numbers, judged by published and measured cells",
                "audit_verbs:claims_command",
            ),
        },
        names={name: f"paper_audit:{name}" for name in ("audit", "claims", "references")},
        cell=":part_of_cell",
        paper="claims_sections:StatementsPart",
    ),
    OwnPlugin(
        "settings",
        verbs={
            "show settings": (
                "published and released settings compared with the planned ones",
                "view:command",
            )
        },
        names={"settings": "checked:settings"},
        cell="view:SettingsOfCell",
        paper="view:SettingsPart",
    ),
    OwnPlugin(
        "reports",
        verbs={
            "show others": ("values of the same cells reported elsewhere, with their sources", "view:command")
        },
        notes="reports:notes_on",
        cell="view:OthersOfCell",
    ),
    OwnPlugin("studies", cell=":part_of_cell"),
    OwnPlugin(
        "yours",
        verbs={
            "compare": ("verdicts on stored results, or on your runs and encoders", "compare_verb:command"),
            "doctor smoke": ("two steps of every stage, or your encoder, e.g. in CI", "compare_verb:smoke"),
        },
        names={"compare": "compared_with_yours:compare"},
    ),
    OwnPlugin(
        "manuscripts",
        verbs={
            "new paper": (
                "a folder of placeholders that runs, or a draft from the source of a paper",
                "draft_commands:new_paper",
            ),
            "audit file": (
                "tables and sentences of a paper's source: LaTeX, Markdown, CSV, HTML",
                "auditing:file_command",
            ),
            "show coverage": (
                "numbers of measured and measurable cells, or the tables of a draft",
                "draft_commands:coverage",
            ),
        },
    ),
    OwnPlugin(
        "contributed",
        verbs={
            "export records": ("your records, for others to check and show", ":export"),
            "import records": ("records that others measured with this suite", ":import_"),
        },
        notes=":notes_on",
        cell=":ContributedPart",
        paper=":ContributedCards",
    ),
    OwnPlugin(
        "exercises",
        verbs={"new exercise": ("implement an equation of a paper, graded with known mistakes", ":command")},
    ),
    OwnPlugin(
        "same_code",
        verbs={"doctor same-code": ("check that an edit of the code changes no number", ":command")},
    ),
)
PLUGINS = {plugin.folder: plugin for plugin in _OWN}


@functools.cache
def ask() -> Any:
    """Return the object that calls the hooks of all plugins. The first call imports those of other packages.

    Raises UsageError for one that cannot be imported, implements an unknown hook, or whose name is taken.
    """
    from importlib.metadata import entry_points

    manager = pluggy.PluginManager("repro")
    manager.add_hookspecs(Hooks)
    for name in reversed(chosen()):  # the last one answers first
        manager.register(PLUGINS[name], name)
    for entry in entry_points(group="repro.plugins"):
        try:
            if entry.name in PLUGINS or manager.has_plugin(entry.name):
                raise ValueError("another plugin has the same name")
            manager.register(entry.load(), entry.name)
            manager.check_pending()
        except Exception as error:  # the module may raise any
            why = f"({type(error).__name__}: {' '.join(str(error).split())}); update or remove its package"
            raise UsageError(f"the installed plugin {entry.name!r} cannot be used {why}") from None
    return manager.hook


def chosen() -> tuple[str, ...]:
    """Return the suite's own plugins in use. Raises UsageError for an unknown one."""
    words = os.environ.get(CHOICE)
    if words is None:
        return tuple(PLUGINS)
    names = () if words == "none" else tuple(words.replace(",", " ").split())
    check_known("plugin", *names, valid=PLUGINS)
    return tuple(name for name in PLUGINS if name in names)


def merged(answers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Join mappings. Of equal names, the first mapping's value counts."""
    return {key: value for each in reversed(list(answers)) for key, value in each.items()}


def notes(cell: Cell) -> tuple[CellNote, ...]:
    """Return the notes of all plugins on a cell, the closest first."""
    return tuple(note for part in ask().part_of_cell(cell=cell, page=None) for note in part.notes)


def call(name: str, *args: Any, **options: Any) -> Any:
    """Call a function of ``CALLED``. Returns None without its plugin or packages."""
    if CALLED[name].split(".")[2] not in chosen():
        return None
    if name in OF_SCORES and absent("score"):
        _warn(f"Left out: {name}. They need `{INSTALL.format('score')}`.")
        return None
    return _imported(CALLED[name])(*args, **options)


@functools.cache
def _warn(text: str) -> None:
    print(f"repro: {text}", file=sys.stderr)
