"""A drawing of matplotlib's made small, in colours that follow the reader's choice of light or dark."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

STYLE = (
    "*{stroke-linejoin:round;stroke-linecap:butt}"
    "svg{--ink:#111;--faint:#555;--paper:#fff;fill:var(--ink)}"
    "@media(prefers-color-scheme:dark){svg{--ink:#eee;--faint:#aaa;--paper:#0d1117}}"
)
LETTERS = 16  # font units that are told as one: a letter is some 250 of these high
SHORTER = (
    (r"<\?xml.*?\?>|<!DOCTYPE.*?>|<!--.*?-->|<metadata>.*?</metadata>|<style.*?</style>", ""),
    (r'xmlns:xlink="[^"]*" |(?<=<g) id="[^"]*"', ""),
    (r"xlink:href", "href"),
    (r"DejaVuSans-", "g"),
    (r"-?\d+\.\d+", lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip(".")),
    (r'transform="translate\((\d+)(?:\.\d+)? 0\)"', r'x="\1"'),
    (r"\s+", " "),
    (r" ?([MLQCz]) ?(?=[-\d\"MLQC])", r"\1"),
    (r"> <", "><"),
    (r'<(?:use href="#|path id=")g3"[^>]*/>', ""),  # the space
    (r"(?<=[:;]) ", ""),
    (r"#000000", "var(--ink)"),
    (r"#555555", "var(--faint)"),
    (r"#ffffff", "var(--paper)"),
)
GLYPH = r'<path id="(g\w+)" d="([^"]*)" transform="scale\(0\.02\)"/>'
WORD = r'(<g transform="[^"]*scale[^"]*">)((?:<use href="#g\w+"(?: x="[^"]*")?/>)+)</g>'


def small(path: Path) -> None:
    """Write the drawing again with two decimals, and with what stands in it twice kept once."""
    text = path.read_text(encoding="utf-8")
    for pattern, instead in SHORTER:
        text = re.sub(pattern, instead, text, flags=re.DOTALL)
    text = re.sub(GLYPH, _glyph, text)
    hashed = dict.fromkeys(re.findall(r'id="([mp][0-9a-f]{10})"', text))
    for number, name in enumerate(hashed):
        text = text.replace(name, f"m{number}")
    text, styles = _named(text, r' style="([^"]*)"', ' class="{}"', "c")
    shapes = "".join(re.findall(r"<defs>(<path .*?)</defs>", text))
    text = re.sub(r"<defs><path .*?</defs>", "", text)
    text, words = _named(text, WORD, '{1}<use href="#{}"/></g>', "w")
    kept = "".join(f'<g id="{name}">{word}</g>' for word, name in words.items())
    rules = "".join(f".{name}{{{rule}}}" for rule, name in styles.items())
    text = re.sub(r"<defs></defs>|<g/>", "", text)
    head, _, rest = _ungrouped(text).strip().partition(">")
    defined = f"<style>{STYLE}{rules}</style><defs>{shapes}{kept}</defs>"
    path.write_text(f"{head}>{defined}{rest}\n", encoding="utf-8")


def _ungrouped(text: str) -> str:
    """The text without groups that say nothing."""
    kept, open_groups = [], []
    for part in re.split(r"(<g(?: [^>]*)?>|</g>)", text):
        if part.startswith("<g"):
            open_groups.append(part != "<g>")
        if part == "<g>" or (part == "</g>" and not open_groups.pop()):
            continue
        kept.append(part)
    return "".join(kept)


def _glyph(found: re.Match) -> str:
    """The outline of a letter in whole numbers."""
    d = re.sub(r"-?[\d.]+", lambda number: str(round(float(number[0]) / LETTERS)), found[2])
    return f'<path id="{found[1]}" d="{d}" transform="scale({LETTERS / 64})"/>'


def _named(text: str, pattern: str, instead: str, letter: str) -> tuple[str, dict[str, str]]:
    """The text with a name for what the pattern's last group holds more than once, and these names."""
    counted = Counter(found[found.re.groups] for found in re.finditer(pattern, text))
    names = {thing: f"{letter}{n}" for n, (thing, count) in enumerate(counted.items()) if count > 1}

    def replaced(found: re.Match) -> str:
        *before, thing = found.groups()
        return instead.replace("{1}", "".join(before)).format(names[thing]) if thing in names else found[0]

    return re.sub(pattern, replaced, text), names
