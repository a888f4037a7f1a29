"""What the HTML standard library's reader sees in a page."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "col", "input"}


@dataclass
class Outline(HTMLParser):
    """Elements with their attributes, ids in order, and tags that were never closed or never opened."""

    elements: list[tuple[str, dict]] = field(default_factory=list)
    astray: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    _open: list[str] = field(default_factory=list)

    def __post_init__(self):
        super().__init__()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if not self._open or self._open.pop() != tag:
            self.astray.append(tag)

    def handle_data(self, data):
        if not self._open or self._open[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def ids(self) -> list[str]:
        return [a["id"] for _, a in self.elements if "id" in a]

    def named(self, tag: str) -> list[dict]:
        return [a for name, a in self.elements if name == tag]


def outline(text: str) -> Outline:
    """The page read; raises AssertionError where an element is left open."""
    found = Outline()
    found.feed(text)
    found.close()
    assert not found.astray and not found._open, (found.astray, found._open)
    return found
