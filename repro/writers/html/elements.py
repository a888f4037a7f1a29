"""HTML from Python in which every text is escaped unless it is HTML already."""

import functools
import re
from collections.abc import Iterable, Sequence
from html import escape

_cached_escape = functools.lru_cache(maxsize=10_000)(escape)  # words recur all over a page
VOID = frozenset({"meta", "link", "br", "hr", "img", "col", "input", "source"})


class Markup(str):
    """A string that is HTML; other strings are text."""

    __slots__ = ()


Content = str | Iterable["Content"] | None


def el(name: str, /, *content: Content, **attributes: str | float | bool | None) -> Markup:
    """An element. ``class_`` is the attribute class, ``aria_label`` aria-label; None and False are left out.

    Args:
        content: text, elements, or sequences of them; None is nothing.
    """
    words = [
        _attribute(key, value)
        for key, value in attributes.items()
        if value is not None and value is not False
    ]
    opening = f"<{' '.join([name, *words])}>" if words else f"<{name}>"
    return Markup(opening if name in VOID else f"{opening}{''.join(map(_html, content))}</{name}>")


def section(title: str, *content: Content, place: str) -> Markup:
    """A part of the page under its heading, which a link to ``place`` leads to."""
    return el("section", el("h3", title), *content, id=place)


def join(*content: Content) -> Markup:
    """Pieces one after the other."""
    return Markup("".join(map(_html, content)))


def plain_table(
    head: Sequence[str], rows: Iterable[Sequence[Content]], *, class_: str | None = "plain"
) -> Markup:
    """A table with a line of heads and, at the left of each row, the row's name."""
    heads = [el("th", name, scope="col") if name else el("td") for name in head]
    lines = [
        el("tr", el("th", name, scope="row"), [el("td", cell) for cell in cells]) for name, *cells in rows
    ]
    return el("table", el("thead", el("tr", heads)), el("tbody", lines), class_=class_)


def copyable(text: str, tag: str = "code") -> Markup:
    """A text with a button that copies it, which the page's script shows."""
    button = el("button", "copy", type="button", class_="copy", hidden=True)
    return el("div", el(tag, text), button, class_="copied")


def identifier(*parts: str) -> str:
    """An id for an element, and what follows # in a link to it: parts joined by slashes like a cell's."""
    return "/".join(map(_identifier_part, parts))


@functools.lru_cache(maxsize=10_000)
def _identifier_part(part: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", lambda match: f"_{ord(match[0]):x}_", part)


def rendered(markdown: str, *, tags: bool = False) -> Markup:
    """Return Markdown as HTML, with headings below a section's own and tables that scroll sideways.

    Args:
        tags: leave tags as they are; else they are text.
    """
    from markdown_it import MarkdownIt

    text = MarkdownIt("commonmark", {"html": tags}).enable("table").render(markdown)
    text = re.sub(r"<th(?=[ >])", '<th scope="col"', re.sub(r"<(/?)h[23]>", r"<\1h4>", text))
    text = text.replace("<table>", '<div class="scroll" tabindex="0"><table class="plain">')
    return Markup(text.replace("</table>", "</table></div>"))


def _html(content: Content) -> str:
    if isinstance(content, Markup):
        return content
    if isinstance(content, str):
        return _cached_escape(content)
    return "" if content is None else "".join(map(_html, content))


def _attribute(key: str, value: str | float | bool) -> str:
    name = _attribute_name(key)
    return name if value is True else f'{name}="{_cached_escape(str(value))}"'


@functools.cache
def _attribute_name(key: str) -> str:
    return key.rstrip("_").replace("_", "-")
