r"""Prints LaTeX as text, e.g. ``$\alpha$`` as α. ``latex_names.yaml`` lists the macros."""

import re
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from repro.machine.bounded_reading import read_facts
from repro.plugins.manuscripts.source_tables import Piece, Style, plain


@cache
def _table() -> Mapping[str, Any]:
    return read_facts(Path(__file__).with_name("latex_names.yaml"))


@cache
def names(*keys: str) -> frozenset[str]:
    entries = (_table()[key] for key in keys)
    texts = (" ".join(entry.values()) if isinstance(entry, Mapping) else entry for entry in entries)
    return frozenset(" ".join(texts).split())


@cache
def specs(*keys: str) -> tuple[tuple[str, str], ...]:
    """Return pairs of a name and its argument specification, e.g. ``[{``."""
    entries = (entry for key in keys for entry in _table()[key].items())
    return tuple((name, spec) for spec, text in entries for name in text.split())


@cache
def style_of(name: str) -> Mapping[str, Any]:
    changes: dict[str, Any] = {key: True for key, text in _table()["styles"].items() if name in text.split()}
    if name in names("raised", "lowered"):
        changes["script"] = "^" if name in names("raised") else "_"
    return {"bold": False} if name in names("plain") else changes


@cache
def symbols() -> Mapping[str, str]:
    return _table()["symbols"]


_NO_STYLE = Style()
_SPACES = frozenset(" \\\n,;:>")
_KNOWN = "prints_last prints_both prints_nothing cited referenced footnoted spaces rules"


@cache
def _context():
    import logging

    from pylatexenc.latexwalker import get_default_latex_context_db
    from pylatexenc.macrospec import EnvironmentSpec, std_macro

    logging.getLogger("pylatexenc").setLevel(logging.CRITICAL)  # it warns about incomplete text
    context = get_default_latex_context_db()
    macros = [std_macro(*of) for of in specs("prints_nothing", "prints_both", "prints_last")]
    macros += [std_macro(name, "*[[{") for name in names("cited")]
    macros += [std_macro(name, "*{") for name in names("referenced")]
    macros += [std_macro(name, "[{") for name in names("footnoted")]
    macros += [std_macro("footnotemark", "["), std_macro("ding", "{")]
    environments = [EnvironmentSpec(*of) for of in specs("environments", "tabulars")]
    context.add_context_category("tables", macros=macros, environments=environments, prepend=True)
    return context


@cache
def _of_tables() -> frozenset[str]:
    return names(*_KNOWN.split()) | _SPACES | {*symbols(), "footnotemark", "ding"}


@cache
def _printer():
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text(math_mode="text", keep_comments=False)


def parse(text: str) -> list[Any]:
    """Parse LaTeX into nodes of pylatexenc, also if it is unbalanced."""
    from pylatexenc.latexwalker import LatexWalker

    return LatexWalker(text, latex_context=_context(), tolerant_parsing=True).get_latex_nodes()[0] or []


def kind(node: Any) -> str:
    return type(node).__name__.removeprefix("Latex").removesuffix("Node").lower()


def inner(node: Any) -> list[Any]:
    if node is None:
        return []
    return [n for n in node.nodelist if n is not None] if kind(node) == "group" else [node]


def arguments(node: Any) -> list[Any]:
    """Return a node's arguments, with None for absent ones."""
    given = getattr(node, "nodeargd", None)
    return list(given.argnlist or []) if given is not None and given.argnlist else []


def within(node: Any) -> list[Any]:
    return [*(getattr(node, "nodelist", None) or []), *arguments(node)]


def last(node: Any) -> list[Any]:
    return inner((arguments(node) or [None])[-1])


def _first(node: Any) -> list[Any]:
    return inner((arguments(node) or [None])[0])


def raw(nodes: Iterable[Any]) -> str:
    return "".join(n.latex_verbatim() for n in nodes).strip()


def _text_of(node: Any) -> str:
    try:
        return str(_printer().node_to_text(node))
    except AttributeError:  # a title without its argument
        return ""


@dataclass
class Words:
    r"""Converts nodes to text. ``numbers`` maps labels to numbers. ``is_legend`` skips tabulars
    and begins a line at ``\item``."""

    numbers: Mapping[str, str] = field(default_factory=dict)
    footnotes: list[str] = field(default_factory=list)
    unknown: set[str] = field(default_factory=set)
    is_legend: bool = False

    def pieces(self, nodes: Iterable[Any], style: Style = _NO_STYLE) -> Iterator[Piece]:
        r"""Yield the styled text of nodes. Declarations, e.g. ``\bf``, apply to all later ones."""
        script = ""
        known = [n for n in nodes if n is not None and kind(n) != "comment"]
        for node, behind in pairwise([*known, None]):
            if kind(node) == "chars":
                script = yield from self._chars(node.chars, script, style)
                continue
            at, script = style._replace(script=script or style.script), ""
            name = getattr(node, "macroname", "")
            if name in names("from_here"):
                style = style._replace(**style_of(name))
            elif name and not (name in _of_tables() or _printer().latex_context.get_macro_spec(name)):
                self.unknown.add(f"\\{name}")
                if behind is None or kind(behind) != "group":
                    yield Piece(f"\\{name}{node.macro_post_space}", at)
            else:
                yield from self._node(node, at)

    def _chars(self, text: str, script: str, style: Style) -> Generator[Piece, None, str]:
        for part in re.split(r"([\^_])", text):
            if part in ("^", "_"):
                script = part
            elif script and part.strip():
                yield Piece(part.strip()[0], style._replace(script=script))
                yield Piece(part.strip()[1:], style)
                script = ""
            elif not script:
                yield Piece(part, style)
        return script

    def _node(self, node: Any, style: Style) -> Iterator[Piece]:
        name = kind(node)
        if name in ("group", "math"):
            yield from self.pieces(node.nodelist, style)
        elif name == "macro":
            yield from self._macro(node, style)
        elif name == "environment":
            if node.environmentname not in names("not_prose", *(["tabulars"] if self.is_legend else [])):
                yield Piece(" ", style)
                yield from self.pieces(node.nodelist, style)
                yield Piece(" ", style)
        elif name == "specials":
            yield Piece(" " if node.specials_chars in "~&" else _printer().node_to_text(node), style)

    def _macro(self, node: Any, style: Style) -> Iterator[Piece]:
        name = node.macroname
        if name in names("spaces") or name in _SPACES:
            yield Piece("\u2009" if name in (",", "thinspace") else " ", style)
        elif name in names("prints_last"):
            yield from self.pieces(last(node), style._replace(**style_of(name)))
        elif name in names("prints_both"):
            yield from self._both(node, style)
        elif name in names("referenced"):
            yield Piece(self._reference(name, node), style)
        elif name in ("footnotemark", *names("footnoted")):
            yield Piece(self._footnote(node), style._replace(script="^"))
        elif name not in names("prints_nothing", "cited"):
            yield from self._of_library(node, style)

    def _both(self, node: Any, style: Style) -> Iterator[Piece]:
        first, second = arguments(node)[-2:] or (None, None)
        yield from self.pieces(inner(first), style)
        yield Piece("/" if "frac" in node.macroname or "box" in node.macroname else " ", style)
        yield from self.pieces(inner(second), style)

    def _footnote(self, node: Any) -> str:
        if node.macroname != "footnotemark":
            self.footnotes.append(plain(self.pieces(last(node))))
            return "footnote"
        return plain(self.pieces(_first(node))) or "footnote"

    def _of_library(self, node: Any, style: Style) -> Iterator[Piece]:
        name = node.macroname
        if name == "item" and self.is_legend:
            yield Piece("\n\n", style)
            yield from self.pieces(_first(node), style)
            yield Piece(" ", style)
        elif name == "ding":
            yield Piece(symbols().get("ding" + plain(self.pieces(last(node))), "•"), style)
        elif name in symbols():
            yield Piece(symbols()[name], style)
        else:
            yield Piece(_text_of(node).strip("\n") + (node.macro_post_space and " "), style)

    def _reference(self, name: str, node: Any) -> str:
        labels = [label.strip() for label in raw(last(node)).split(",")]
        numbers = ", ".join(self.numbers.get(label, "?") for label in labels)
        is_named = name in ("cref", "Cref", "autoref", "vref", "Vref")
        return f"{self.numbers.get(f'kind of {labels[0]}', '') if is_named else ''} {numbers}".strip()


_SIGNS = re.compile(r"\\(?P<edge>begin|end)\s*\{(?P<name>[^{}]*)\}|\\\\|\\[A-Za-z]+|\\.|[{}&]", re.DOTALL)
_ROW_ENDS = ("\\\\", "\\tabularnewline", "\\cr")


class Counts(NamedTuple):
    """The row and cell separators of a tabular, and the positions of its open braces."""

    rows: int
    cells: int
    open: tuple[int, ...]


def counts(text: str, start: int) -> Counts:
    """Count the separators of the tabular at ``start``, also those that an open brace hides from a parser."""
    rows = cells = depth = 0
    braces: list[int] = []
    for sign in _SIGNS.finditer(text, start):
        depth += {"begin": 1, "end": -1}.get(sign["edge"], 0)
        if not depth or sign[0] == "\\CodeAfter":
            break
        if sign[0] == "{":
            braces.append(sign.start())
        elif sign[0] == "}":
            braces[-1:] = []
        elif sign[0] == "\\Body":
            rows = cells = 0
        elif depth == 1 and not braces:
            rows += sign[0] in _ROW_ENDS
            cells += sign[0] == "&"
    return Counts(rows, cells, tuple(braces))
