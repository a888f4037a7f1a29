r"""Text, marks and verdicts in LaTeX.

Characters are set by their Unicode decomposition, e.g. "é" as ``\'{e}``, or the tables below. pdfLaTeX sets
the number of any other, e.g. "U+4E2D".
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache

from repro.verdicts.compared import ComparedCell
from repro.verdicts.verdict import Verdict, prediction_half_width
from repro.version import __version__
from repro.writers.grid import rounded, shown_note, shown_run

_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho varsigma sigma tau"
_GREEK += " upsilon varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
_WORD, _MATHS = r"\%s{}", r"$\%s$"
_NAMED = (
    (_MATHS, "αβγδεζηθικλμνξπρςστυφχψωΓΔΘΛΞΠΣΦΨΩ", _GREEK),
    (_MATHS, "†‡×≤≥±≈→←", "dagger ddagger times le ge pm approx rightarrow leftarrow"),
    (_MATHS, "▲▼△▽", "blacktriangle blacktriangledown vartriangle triangledown"),
    (_WORD, "\\~^", "textbackslash textasciitilde textasciicircum"),
    (_WORD, "ßæÆœŒøØłŁıȷ§", "ss ae AE oe OE o O l L i j S"),
)
_CODES = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{character: f"${character}$" for character in "<>|"},
    **{'"': "''", "–": "--", "—": "---", "−": "$-$", "‘": "`", "’": "'", "“": "``", "”": "''", "\xa0": "~"},
    **{
        sign: form % name
        for form, signs, names in _NAMED
        for sign, name in zip(signs, names.split(), strict=True)
    },
}
# combining mark -> accent
_ACCENTS = dict(
    zip(
        "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0323\u0327\u0331",
        "`'^~=u.\"rHvdcb",
        strict=True,
    )
)
_TAGS = {"<super>": r"\textsuperscript{%s}", "<sub>": r"\textsubscript{%s}", "<circle>": r"\textcircled{%s}"}
LINE, LINES = 80, 2500  # characters of a label and of a caption
LIGATURES = ("--", "``", "''", "?`", "!`")  # LaTeX would merge them
SYMBOLS = {
    "exact": r"$=$",
    "consistent": r"$\approx$",
    "within tolerance": r"$\sim$",
    "lower": r"$\downarrow$",
    "higher": r"$\uparrow$",
    "inconclusive": "?",
    "uninformative": "u",
    "not comparable": "n",
}


@cache
def escape(text: str) -> str:
    """Return text as one line of LaTeX for every engine."""
    pieces = [""]
    for character in "".join(map(_decomposed, unicodedata.normalize("NFC", text))):
        base = pieces[-1]
        if character in _ACCENTS and ((len(base) == 1 and base.isascii()) or base in _CODES.values()):
            pieces.append(rf"\{_ACCENTS[character]}{{{pieces.pop()}}}")
            continue
        code = _code(character)
        if pieces[-1][-1:] + code[:1] in LIGATURES:
            pieces.append(r"\textcompwordmark{}")
        pieces.append(code)
    return re.sub("[^ -~]+", _native_or_numbered, "".join(pieces))


def _native_or_numbered(run: re.Match[str]) -> str:
    return rf"\ifdefined\Umathchar {run[0]}\else {' '.join(map(_number, run[0]))}\fi{{}}"


def label(text: str) -> str:
    """Return text as LaTeX for a table cell, wrapped if long."""
    code = escape(text)
    return code if visible_length(code) <= LINE else rf"\parbox[t]{{20em}}{{\raggedright {code}}}"


def visible_length(code: str) -> int:
    """Estimate the number of characters that LaTeX code prints."""
    return len(re.sub(r"\\[A-Za-z]+|[{}\\,]", "", re.sub(r"\$[^$]*\$", "x", code)))


def _number(character: str) -> str:
    return rf"\texttt{{U+{ord(character):04X}}}"


def _decomposed(character: str) -> str:
    parts = unicodedata.normalize("NFD", character)
    return parts if len(parts) <= 2 and _can_be_set(parts) else character


def _can_be_set(text: str) -> bool:
    return all(" " <= character <= "~" or character in _CODES or character in _ACCENTS for character in text)


def _code(character: str) -> str:
    if character in _CODES:
        return _CODES[character]
    if character.isspace():
        return " "
    if " " <= character <= "~":
        return character
    category = unicodedata.category(character)
    if category == "Cf" or unicodedata.name(character, "").startswith("VARIATION SELECTOR"):
        return ""
    parts, tag = unicodedata.normalize("NFKD", character), unicodedata.decomposition(character).split(" ")[0]
    if tag.startswith("<") and _can_be_set(parts):
        return _TAGS.get(tag, "%s") % escape(parts)
    return _number(character) if category in ("Cc", "Cs") else character  # files cannot have these


def raised(text: str) -> str:
    return rf"\textsuperscript{{{text}}}" if text else ""


def table_row(*entries: str) -> str:
    r"""Return a line of a ``tabular``. A leading "[1]" does not become an argument of the ``\\`` above."""
    guard = "{}" if entries[0].lstrip().startswith(("[", "*")) else ""
    return guard + " & ".join(entries) + r" \\"


def tabular(types: str, head: Iterable[str], body: Iterable[str]) -> list[str]:
    return [
        rf"\begin{{tabular}}{{{types}}}",
        r"\toprule",
        *head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]


@dataclass(frozen=True)
class Entry:
    number: str = ""
    after: str = ""
    bold: bool = False

    @property
    def code(self) -> str:
        """The number as LaTeX, with a sign that is as wide as a digit."""
        number = re.sub(r"^[+-](?=\d)", lambda sign: f"${sign[0]}$", self.number)
        return rf"\textbf{{{number}}}" if self.bold else number


def published_entry(c: ComparedCell | None) -> Entry:
    """Return the published number with marks, or a dash for None."""
    if c is None:
        return Entry("--")
    value = c.cell.printed
    return Entry(escape(value.plain), raised(escape(value.marks)), value.bold)


def difference(c: ComparedCell | None) -> Entry:
    """Return ours minus the published number with the verdict's symbol, or nothing without both."""
    if c is None or not c.records or c.verdict.difference is None:
        return Entry()
    number = rounded(c.verdict.difference, c.cell)
    return Entry(number if number.startswith("-") else f"+{number}", _symbol(c.verdict))


def _symbol(verdict: Verdict) -> str:
    return rf"\,{SYMBOLS[verdict.name]}" if verdict.name in SYMBOLS else ""


def by_others(c: ComparedCell | None) -> Entry:
    """Return the last score of a run by others, with the verdict's symbol."""
    if c is None or not c.imported:
        return Entry()
    return Entry(shown_run(c.imported[-1], c.cell), _symbol(c.imported[-1].verdict))


def stated_entry(c: ComparedCell | None) -> Entry:
    """Return the first value reported elsewhere, its origin's letter, and the number of values."""
    if c is None or not c.notes:
        return Entry()
    first, number = c.notes[0], len(c.notes)
    count = rf"{{\scriptsize\,({number})}}" if number > 1 else ""
    letter = first.making[0] + ("?" if first.match == "loose" else "")
    return Entry(shown_note(first, c.cell), raised(letter) + count)


def interval(c: ComparedCell) -> str:
    """Return half the 95 % prediction interval over seeds as LaTeX, or "" for a single seed."""
    if len(c.records) < 2:
        return ""
    half = prediction_half_width([Decimal(f"{r.measured:.12g}") for r in c.records])
    return rf"{{\scriptsize$\,\pm\,${rounded(float(half), c.cell)}}}"


def align_points(entries: Sequence[Entry]) -> list[Entry]:
    """Add space to numbers with fewer decimals than others, so that their points align."""
    decimals = [len(entry.number.partition(".")[2]) for entry in entries]
    maximum = max(decimals)
    return [
        replace(entry, after=rf"\phantom{{{'.' * (not count)}{'0' * (maximum - count)}}}{entry.after}")
        if has_digit(entry) and count < maximum
        else entry
        for entry, count in zip(entries, decimals, strict=True)
    ]


def has_digit(entry: Entry) -> bool:
    return any(map(str.isdigit, entry.number))


PACKAGES = ("booktabs", "graphicx", "amssymb")
FLOATS = r"""\renewcommand{\topfraction}{.95}\renewcommand{\bottomfraction}{.95}
\renewcommand{\textfraction}{.05}\renewcommand{\floatpagefraction}{.8}
\setcounter{topnumber}{9}\setcounter{bottomnumber}{9}\setcounter{totalnumber}{9}\setcounter{dbltopnumber}{9}
\makeatletter\def\fps@table{!htb}
\@fptop0pt \@fpsep2em \@fpbot0pt plus 1fil
\@dblfptop0pt \@dblfpsep2em \@dblfpbot0pt plus 1fil
\makeatother"""


def environment(
    tabular: Sequence[str],
    *,
    command: str,
    short: str,
    caption: str,
    label: str,
    wide: bool,
    source: str = "",
) -> str:
    """Return a table environment, shrunk to the width of the text.

    ``short`` is the caption for the list of tables. A ``wide`` table spans both columns.
    """
    name, key = "table*" if wide else "table", re.sub("[^A-Za-z0-9:._+-]", lambda c: f"{ord(c[0]):X}", label)
    if visible_length(caption) > LINES:  # LaTeX measures it as a single line
        caption = rf"\parbox[t]{{.85\linewidth}}{{{caption}}}"
    lines = [
        rf"\begin{{{name}}}",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        rf"\caption[{{{short}}}]{{{caption}}}",
        rf"\label{{{key}}}",
        r"\smallskip",
        r"\sbox0{%",
        *tabular,
        r"}%",
        r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi",
        rf"\end{{{name}}}",
    ]
    needs = "booktabs, graphicx and amssymb" if "triangle" in "".join(lines) else "booktabs and graphicx"
    comments = [_comment(f"generated by `{command}`; do not edit; needs {needs}")]
    comments += [_comment(source)] if source else []
    return "".join(f"{line}\n" for line in (*comments, *lines))


def _comment(text: str) -> str:
    return " ".join(f"% {text}".split()).encode("utf-8", "backslashreplace").decode()


def document(sections: Mapping[str, Sequence[str]], *, scale: str, two_column: bool = False) -> str:
    parts = ["\n".join([rf"\section{{{escape(name)}}}", *tables]) for name, tables in sections.items()]
    body = "\n\\clearpage\n".join(parts)
    return "\n".join(
        [
            rf"\documentclass[10pt,a4paper{',twocolumn' if two_column else ''}]{{article}}",
            r"\usepackage[utf8]{inputenc}",
            *(rf"\usepackage{{{name}}}" for name in PACKAGES),
            r"\usepackage[margin=2cm]{geometry}",
            r"\usepackage[hidelinks]{hyperref}",
            FLOATS,
            r"\title{Published and measured}",
            rf"\author{{repro {__version__}, scale {escape(scale)}}}",
            r"\date{}",
            r"\begin{document}",
            r"\maketitle",
            r"\tableofcontents",
            r"\listoftables",
            body,
            r"\end{document}",
            "",
        ]
    )
