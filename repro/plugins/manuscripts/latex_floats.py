"""Floats of LaTeX: which caption, label and number belong to which tabular."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from repro.plugins.manuscripts.latex_names import names
from repro.plugins.manuscripts.latex_text import Words, arguments, last, raw
from repro.plugins.manuscripts.styles import plain


@dataclass
class Caption:
    """A caption by its node, what it is a caption of (``Table``, ``Figure``), and its number in the text."""

    node: Any
    kind: str
    number: str = ""


@dataclass
class Scope:
    """A float, a half of one, or a minipage: what stands in it, in order.

    Attributes:
        is_half: it has a letter and no number of its own, as a subtable.
        labels: with how many captions stand before each.
    """

    kind: str
    parent: "Scope | None" = None
    is_half: bool = False
    captions: list[Caption] = field(default_factory=list)
    labels: list[tuple[str, int]] = field(default_factory=list)
    tabulars: list[Any] = field(default_factory=list)
    children: list["Scope"] = field(default_factory=list)

    def gather(self, nodes: Iterable[Any]) -> None:
        """Take captions, labels and tabulars of nodes."""
        for node in nodes:
            name = getattr(node, "macroname", "") or getattr(node, "environmentname", "")
            if name in ("caption", "captionof", "subcaption") and arguments(node):
                self._take_caption(node, name)
            elif name == "label":
                self.labels.append((raw(last(node)), len(self.captions)))
            elif name in names("tabulars"):
                self._take_tabular(node)
            elif node is not None:
                (self._half(node, name) or self).gather(
                    [*(getattr(node, "nodelist", None) or []), *arguments(node)]
                )

    def _take_caption(self, node: Any, name: str) -> None:
        kind = self.kind
        if name == "captionof":
            kind = plain(Words().pieces(arguments(node)[1:2])).capitalize()
        self.captions.append(Caption(node, kind))
        self.gather(last(node))

    def _take_tabular(self, node: Any) -> None:
        """Take a tabular, or those in it where it only lays out others."""
        within = Scope(self.kind, self)
        within.gather(node.nodelist)
        self.captions += within.captions
        self.labels += [(label, len(self.captions)) for label, _ in within.labels]
        if not any(_is_table(one) for scope in within.walk() for one in scope.tabulars):
            self.tabulars.append(node)
            return
        self.tabulars += within.tabulars
        for child in within.children:
            child.parent = self
            self.children.append(child)

    def _half(self, node: Any, name: str) -> "Scope | None":
        """Return a new scope within this one, where a node begins one."""
        if name not in names("halves") and name != "minipage":
            return None
        child = Scope(self.kind, self, name != "minipage")
        if name == "subfloat" and any(arguments(node)[:2]):
            child.captions.append(Caption(node, self.kind))
        self.children.append(child)
        return child

    def walk(self) -> Iterator["Scope"]:
        """Yield this scope and those in it."""
        yield self
        for child in self.children:
            yield from child.walk()

    def upwards(self) -> Iterator["Scope"]:
        """Yield this scope and those around it, up to the one whose caption has the number."""
        yield self
        if self.parent is not None and (self.is_half or not self.captions):
            yield from self.parent.upwards()

    @property
    def is_paired(self) -> bool:
        """Whether each tabular has a caption of its own."""
        return len(self.captions) == len(self.tabulars)

    def captions_of(self, tabular: int) -> list[Caption]:
        """Return the captions over the tabular of that number in this scope, the float's own first."""
        return [
            scope.captions[tabular if scope is self and scope.is_paired else 0]
            for scope in reversed(list(self.upwards()))
            if scope.captions
        ]

    def label_of(self, tabular: int) -> str:
        """Return the label of the tabular of that number in this scope."""
        for scope in self.upwards():
            is_paired = scope is self and scope.is_paired
            for label, before in scope.labels:
                if not is_paired or max(before, 1) == tabular + 1:
                    return label
        return ""

    def caption_of(self, before: int) -> Caption | None:
        """Return the caption that a label with so many captions before it belongs to."""
        for scope in self.upwards():
            if scope.captions:
                return scope.captions[max(0, min(before, len(scope.captions)) - 1)]
        return None

    def labelled(self) -> Iterator[tuple[str, Caption]]:
        """Yield the labels of this scope with the captions that have their numbers."""
        for label, before in self.labels:
            caption = self.caption_of(before)
            if caption is not None and caption.number:
                yield label, caption


def _is_table(node: Any) -> bool:
    cells = sum(getattr(one, "specials_chars", "") == "&" for one in node.nodelist)
    rows = sum(getattr(one, "macroname", "") == "\\" for one in node.nodelist)
    return rows >= 2 and cells >= 3


def numbered(floats: Iterable[Scope]) -> dict[str, str]:
    """Give captions their numbers, and return label -> number, and ``kind of`` label -> what it is."""
    counters: dict[str, int] = {}
    numbers: dict[str, str] = {}
    for one in floats:
        scopes = list(one.walk())
        _count([caption for scope in scopes if not scope.is_half for caption in scope.captions], counters)
        _letter([scope for scope in scopes if scope.is_half])
        for label, caption in (pair for scope in scopes for pair in scope.labelled()):
            numbers[label], numbers[f"kind of {label}"] = caption.number, caption.kind
    return numbers


def _count(captions: list[Caption], counters: dict[str, int]) -> None:
    for caption in sorted(captions, key=lambda one: one.node.pos):
        has_star = arguments(caption.node)[0] is not None
        if caption.kind and not has_star:
            counters[caption.kind] = counters.get(caption.kind, 0) + 1
            caption.number = str(counters[caption.kind])


def _letter(halves: list[Scope]) -> None:
    for letter, scope in zip("abcdefghijklmnopqrstuvwxyz", halves, strict=False):
        above = [one.captions[0].number for one in scope.upwards() if one.captions and not one.is_half]
        for caption in scope.captions:
            caption.number = "".join(above) + letter
