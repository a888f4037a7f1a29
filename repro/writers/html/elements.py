"""Build HTML in Python, e.g. ``el("b", "1 < 2")``. Text is escaped unless it is ``Markup``."""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path

from repro.hooks import MATCHES
from repro.locations import data_folder
from repro.verdicts.compared import ComparedCell
from repro.verdicts.summary import summarise
from repro.writers.grid import STATED

_cached_escape = functools.lru_cache(maxsize=10_000)(escape)
VOID = frozenset({"meta", "link", "br", "hr", "img", "col", "input", "source"})


class Markup(str):
    """A string of HTML. Text is a plain string, and is escaped."""

    __slots__ = ()


Content = str | Iterable["Content"] | None


def el(name: str, /, *content: Content, **attributes: str | float | bool | None) -> Markup:
    """Return an element, e.g. ``el("th", "RR@10", scope="col")``.

    ``class_`` becomes class, ``aria_label`` aria-label. None and False omit an attribute.
    """
    opening = f"<{name}"
    for key, value in attributes.items():
        if value is not None and value is not False:
            opening += " " + key.rstrip("_").replace("_", "-")
            opening += "" if value is True else f'="{_cached_escape(str(value))}"'
    return Markup(f"{opening}>" if name in VOID else f"{opening}>{''.join(map(_html, content))}</{name}>")


def section(title: str, *content: Content, place: str) -> Markup:
    return el("section", el("h3", title), *content, id=place)


def join(*content: Content) -> Markup:
    return Markup("".join(map(_html, content)))


def plain_table(
    head: Sequence[str], rows: Iterable[Sequence[Content]], *, class_: str | None = "plain"
) -> Markup:
    """Return a table. The first entry of each row is its head."""
    heads = [el("th", name, scope="col") if name else el("td") for name in head]
    lines = [el("tr", el("th", first, scope="row"), [el("td", c) for c in others]) for first, *others in rows]
    return el("table", el("thead", el("tr", heads)), el("tbody", lines), class_=class_)


def copyable(text: str, tag: str = "code") -> Markup:
    button = el("button", "copy", type="button", class_="copy", hidden=True)
    return el("div", el(tag, text), button, class_="copied")


def identifier(*parts: str) -> str:
    """Return the id of an element, e.g. ``PAPER/1``."""
    return "/".join(map(_identifier_part, parts))


@functools.lru_cache(maxsize=10_000)
def _identifier_part(part: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", lambda match: f"_{ord(match[0]):x}_", part)


def rendered(markdown: str, *, tags: bool = False) -> Markup:
    """Convert Markdown to HTML. ``tags`` keeps HTML tags."""
    from markdown_it import MarkdownIt

    text = MarkdownIt("commonmark", {"html": tags}).enable("table").render(markdown)
    text = re.sub(r"<th(?=[ >])", '<th scope="col"', re.sub(r"<(/?)h[23]>", r"<\1h4>", text))
    text = text.replace("<table>", '<div class="scroll" tabindex="0"><table class="plain">')
    return Markup(text.replace("</table>", "</table></div>"))


def _html(content: Content) -> str:
    if content is None or type(content) is Markup:
        return content or ""
    return _cached_escape(content) if isinstance(content, str) else "".join(map(_html, content))


# name -> class of colours, sign, meaning
VERDICTS = {
    "exact": ("pass", "=", "equal to the published number at its decimals"),
    "consistent": ("pass", "≈", "the published bound is obeyed"),
    "within tolerance": ("pass", "~", "the interval of the difference is inside the stated tolerance"),
    "lower": ("fail", "▼", "below the published number"),
    "higher": ("fail", "▲", "above the published number, also a failure"),
    "failed": ("fail", "✕", "a stage failed"),
    "inconclusive": ("open", "?", "neither inside nor outside the tolerance, or the paper gives no number"),
    "uninformative": ("open", "∅", "most other rows of the column would pass as well"),
    "not comparable": ("open", "◇", "measured with another choice or on substitute data"),
    "scaled": ("scaled", "◐", "measured at a smaller scale, which is not compared"),
    "blocked": ("none", "⊘", "something is missing on the machine"),
    "not run": ("none", "·", "nothing was measured"),
}


# name -> class of colours, sign in cells
SIGNS = {
    **{name: (kind, mark) for name, (kind, mark, _) in VERDICTS.items()},
    "measured": ("pass", "✓"),
    "run by others": ("run", "[ ]"),
    **{f"stated by others ({match})": (match, f"“{mark or ' '}”") for match, mark in MATCHES.items()},
    "rehearsed": ("scaled", "◐"),
    "nothing known": ("none", "·"),
}


def tone(name: str) -> str:
    """Return a verdict's CSS class, e.g. "v-pass"."""
    return f"v-{SIGNS[name][0]}"


@functools.cache
def badge(name: str, *, plain: bool = False) -> Markup:
    """Return a verdict's sign and name, coloured unless ``plain``."""
    return el("span", sign(name), " ", name, class_=f"badge {'v-none' if plain else tone(name)}")


@functools.cache
def sign(name: str) -> Markup:
    """Return a verdict's sign alone, hidden from screen readers."""
    return el("span", SIGNS[name][1], class_="sign", aria_hidden="true")


def bar(counts: Mapping[str, int], *, label: str) -> Markup:
    """Return a bar and a list of the number of cells per verdict or kind of evidence."""
    total = sum(counts.values())
    present = [name for name in SIGNS if counts.get(name)]
    parts = []
    for name in present:
        mark = SIGNS[name][1] if counts[name] / total > 0.06 else None  # too narrow for a sign
        look = {"class_": f"part {tone(name)}", "style": f"flex-grow:{counts[name]}"}
        parts.append(el("span", mark, **look, title=f"{counts[name]} {name}"))
    words = [el("li", sign(name), f" {counts[name]} {name}", class_=tone(name)) for name in present]
    strip = el("div", parts, class_="bar", role="img", aria_label=f"{label}: {in_words(counts)}")
    return el("div", strip, el("ul", words, class_="counts"), class_="verdicts")


def bars(cells: Sequence[ComparedCell], *, label: str) -> Markup | None:
    return bar(summarise(cells).verdicts, label=label) if cells else None


def in_words(counts: Mapping[str, int]) -> str:
    """Return counts in words, e.g. ``3 exact, 2 lower``."""
    return ", ".join(f"{counts[name]} {name}" for name in SIGNS if counts.get(name)) or "no cells"


# signs around a number -> meaning
NUMBERS = {
    "(1.2)": "measured, but in doubt. Press the number for the reason",
    "[1.2]": "our score of a run by others",
    "“1.2” ×3": f"the closest of three values {STATED}. No verdict depends on them",
    **{f"“{mark}1.2”": f"{STATED}, {match} match" for match, mark in MATCHES.items() if mark},
}
HOW_TO_READ = (
    "The published number is above. The measured one is below, with the sign of its verdict. "
    "Press a number for its evidence and its command. Arrow keys move between numbers. "
    "The browser prints the shown paper, or all papers from the overview."
)


def legend() -> Markup:
    signs = [(badge(name), text) for name, (_, _, text) in VERDICTS.items()]
    items = [el("div", el("dt", mark), el("dd", text)) for mark, text in [*signs, *NUMBERS.items()]]
    return join(el("p", HOW_TO_READ), el("dl", items, class_="legend"))


def folded(summary: str, *content: Content) -> Markup:
    return el("details", el("summary", summary), *content)


STATIC = "; ".join(("default-src 'none'", "style-src 'unsafe-inline'", "img-src data:"))
PACKAGE = "repro.writers.html"


def resource(name: str, package: str = PACKAGE) -> Markup:
    """Return a package's style sheet or script, e.g. "report.css"."""
    return Markup(resources.files(package).joinpath(name).read_text(encoding="utf-8"))


def document(
    title: str,
    *,
    policy: str,
    style: Content,
    top: Content,
    main: Content,
    foot: str,
    scripts: Content = None,
) -> str:
    """Return a self-contained page with a Content-Security-Policy."""
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", http_equiv="Content-Security-Policy", content=policy),
        el("title", title),
        el("style", style),
    )
    body = el(
        "body",
        el("a", "to the content", href="#content", class_="skip"),
        el("header", el("h1", "repro"), top, class_="top"),
        el("main", main, id="content", tabindex=-1),
        el("footer", el("p", foot)),
        scripts,
    )
    # folders of this machine are private
    text = str(el("html", head, body, lang="en")).replace(escape(str(data_folder())), "$REPRO_DATA")
    return f"<!doctype html>\n{text.replace(escape(str(Path.home())), '~')}\n"


def standalone(
    title: str,
    sections: Sequence[Markup],
    *,
    above: str,
    lead: Content,
    links: Mapping[str, str],
    sheet: tuple[str, str],
    foot: str,
) -> str:
    """Return a page with one article in the report's style, without scripts.

    ``links`` map section ids to texts. ``sheet`` is package and name of a style sheet.
    """
    package, name = sheet
    header = el("header", el("p", above, class_="eyebrow"), el("h2", title), lead)
    return document(
        title,
        policy=STATIC,
        style=(resource("report.css"), resource(name, package)),
        top=el("nav", [el("a", words, href=f"#{p}") for p, words in links.items()], aria_label="parts"),
        main=el("article", header, *sections, class_="overview", id="overview"),
        foot=foot,
    )
