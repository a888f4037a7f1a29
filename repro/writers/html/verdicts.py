"""Verdicts on a page: a sign and a colour each, so that either alone tells them apart."""

import functools
from collections.abc import Mapping

from repro.hooks import merged
from repro.verdicts.beside import kinds
from repro.verdicts.summary import summarise
from repro.writers.html.elements import Markup, el
from repro.writers.html.sections import Part

# name -> class of colours, sign, meaning
VERDICTS = {
    "exact": ("pass", "=", "equal to the published number at its decimals"),
    "consistent": ("pass", "≈", "the published number lies in the prediction interval of our seeds"),
    "within tolerance": ("pass", "~", "the difference is within the stated tolerance"),
    "lower": ("fail", "▼", "below the published number"),
    "higher": ("fail", "▲", "above the published number, which is no pass"),
    "failed": ("fail", "✕", "a stage failed"),
    "inconclusive": ("open", "?", "seeds vary too much to tell, or the paper gives no number"),
    "not comparable": ("open", "◇", "measured by another choice or on stand-in data"),
    "scaled": ("scaled", "◐", "measured at a smaller scale; not compared"),
    "blocked": ("none", "⊘", "something is missing on the machine"),
    "not run": ("none", "·", "nothing was measured"),
}


@functools.cache
def signs() -> dict[str, tuple[str, str]]:
    """Return verdict, or what is known of a number -> class of colours, and the sign for it in cells."""
    return {
        **{name: (kind, mark) for name, (kind, mark, _) in VERDICTS.items()},
        "measured": ("pass", "✓"),
        "run by others": ("run", "[ ]"),
        **merged([kind.signs for kind in kinds()]),
        "rehearsed": ("scaled", "◐"),
        "nothing known": ("none", "·"),
    }


def tone(name: str) -> str:
    """The class of a verdict's colours."""
    return f"v-{signs()[name][0]}"


@functools.cache
def badge(name: str, *, plain: bool = False) -> Markup:
    """Sign and name in the verdict's colours; ``plain`` where it is not of the suite's own number."""
    return el("span", sign(name), " ", name, class_=f"badge {'v-none' if plain else tone(name)}")


@functools.cache
def sign(name: str) -> Markup:
    """The sign alone; beside a name or number, hence not read aloud."""
    return el("span", signs()[name][1], class_="sign", aria_hidden="true")


def bar(counts: Mapping[str, int], *, label: str) -> Markup:
    """One bar of counts, and the counts in words beneath; signs stand where there is room."""
    total = sum(counts.values())
    present = [name for name in signs() if counts.get(name)]
    parts = []
    for name in present:
        mark = signs()[name][1] if counts[name] / total > 0.06 else None
        look = {"class_": f"part {tone(name)}", "style": f"flex-grow:{counts[name]}"}
        parts.append(el("span", mark, **look, title=f"{counts[name]} {name}"))
    words = [el("li", sign(name), f" {counts[name]} {name}", class_=tone(name)) for name in present]
    strip = el("div", parts, class_="bar", role="img", aria_label=f"{label}: {in_words(counts)}")
    return el("div", strip, el("ul", words, class_="counts"), class_="verdicts")


def bars(part: Part, *, label: str, owner: str | None = None) -> Markup | None:
    """The verdicts of a paper, or of one of its tables, as a bar; None without a cell."""
    cells = part.cells(owner)
    return bar(summarise(cells).verdicts, label=label) if cells else None


def in_words(counts: Mapping[str, int]) -> str:
    """``3 exact, 2 lower``, in the order of the signs."""
    return ", ".join(f"{counts[name]} {name}" for name in signs() if counts.get(name)) or "no cells"


def legend() -> Markup:
    """Every sign with its meaning."""
    items = [el("div", el("dt", badge(name)), el("dd", text)) for name, (_, _, text) in VERDICTS.items()]
    return el("dl", items, class_="legend")
