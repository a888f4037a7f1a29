r"""Text, marks and verdicts as LaTeX writes them.

How a character is set follows from what Unicode says of it: its decomposition and its category. Listed are
only those that LaTeX has a command for and Unicode takes for simple. All others stand as they are where the
engine reads Unicode, for a font that has them, and else, as in pdfLaTeX, by their numbers.
"""

import re
import unicodedata

_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho varsigma sigma tau"
_GREEK += " upsilon varphi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
_MATHS = {
    "αβγδεζηθικλμνξπρςστυφχψωΓΔΘΛΞΠΣΦΨΩ": _GREEK,
    "†‡×≤≥±≈→←": "dagger ddagger times le ge pm approx rightarrow leftarrow",
    "▲▼△▽": "blacktriangle blacktriangledown vartriangle triangledown",
}
_WORDS = {
    "\\~^": "textbackslash textasciitilde textasciicircum",
    "ßæÆœŒøØłŁıȷ§": "ss ae AE oe OE o O l L i j S",
}
_CODES = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{character: f"${character}$" for character in "<>|"},
    **{'"': "''", "–": "--", "—": "---", "−": "$-$", "‘": "`", "’": "'", "“": "``", "”": "''", "\xa0": "~"},
    **{
        sign: rf"\{name}{{}}"
        for signs, names in _WORDS.items()
        for sign, name in zip(signs, names.split(), strict=True)
    },
    **{
        sign: rf"$\{name}$"
        for signs, names in _MATHS.items()
        for sign, name in zip(signs, names.split(), strict=True)
    },
}
# combining mark -> the accent that every encoding of fonts has
_ACCENTS = dict(
    zip(
        "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0323\u0327\u0331",
        "`'^~=u.\"rHvdcb",
        strict=True,
    )
)
_TAGS = {"<super>": r"\textsuperscript{%s}", "<sub>": r"\textsubscript{%s}", "<circle>": r"\textcircled{%s}"}
LINE, LINES = 80, 2500  # characters of a label, and of a caption; TeX measures no line of more than 5 m
LIGATURES = ("--", "``", "''", "?`", "!`")  # signs that LaTeX sets as another one
SYMBOLS = {
    "exact": r"$=$",
    "consistent": r"$\approx$",
    "within tolerance": r"$\sim$",
    "lower": r"$\downarrow$",
    "higher": r"$\uparrow$",
    "inconclusive": "?",
    "not comparable": "n",
}


def escape(text: str) -> str:
    """Return text as LaTeX in one line, which every engine sets and no document need prepare for."""
    pieces = [""]
    for character in "".join(map(_decomposed, unicodedata.normalize("NFC", text))):
        if character in _ACCENTS and _can_bear_an_accent(pieces[-1]):
            pieces.append(rf"\{_ACCENTS[character]}{{{pieces.pop()}}}")
            continue
        code = _code(character)
        if pieces[-1][-1:] + code[:1] in LIGATURES:
            pieces.append(r"\textcompwordmark{}")
        pieces.append(code)
    return re.sub("[^ -~]+", lambda run: _native_or_numbered(run[0]), "".join(pieces))


def label(text: str) -> str:
    """Return text as LaTeX for a place in a tabular; more than a line should hold is set in several."""
    code = escape(text)
    return code if visible_length(code) <= LINE else rf"\parbox[t]{{20em}}{{\raggedright {code}}}"


def visible_length(code: str) -> int:
    """How many characters of LaTeX are set, roughly."""
    return len(re.sub(r"\\[A-Za-z]+|[{}\\,]", "", re.sub(r"\$[^$]*\$", "x", code)))


def unsettable(code: str) -> str:
    """Return the characters of LaTeX by ``escape`` that only some engines and fonts set, each once."""
    return "".join(dict.fromkeys("".join(re.findall(r"\\ifdefined\\Umathchar (.+?)\\else", code))))


def _native_or_numbered(characters: str) -> str:
    numbers = " ".join(map(_number, characters))
    return rf"\ifdefined\Umathchar {characters}\else {numbers}\fi{{}}"


def _number(character: str) -> str:
    return rf"\texttt{{U+{ord(character):04X}}}"


def _can_bear_an_accent(code: str) -> bool:
    return (len(code) == 1 and code.isascii()) or code in _CODES.values()  # what bears one already does not


def _decomposed(character: str) -> str:
    """Return a character as a base and an accent that can be set, or else as it is."""
    parts = unicodedata.normalize("NFD", character)
    return parts if len(parts) <= 2 and _can_be_set(parts) else character


def _can_be_set(text: str) -> bool:
    return all(" " <= character <= "~" or character in _CODES or character in _ACCENTS for character in text)


def _code(character: str) -> str:
    """Return how a character is set that is no accent; itself if nothing tells."""
    if character in _CODES:
        return _CODES[character]
    if character.isspace():
        return " "
    if " " <= character <= "~":
        return character
    category = unicodedata.category(character)
    if category == "Cf" or unicodedata.name(character, "").startswith("VARIATION SELECTOR"):
        return ""  # nobody sees it
    parts, tag = unicodedata.normalize("NFKD", character), unicodedata.decomposition(character).split(" ")[0]
    if tag.startswith("<") and _can_be_set(parts):
        return _TAGS.get(tag, "%s") % escape(parts)
    is_fit_for_a_file = category not in ("Cc", "Cs")
    return character if is_fit_for_a_file else _number(character)


def raised(text: str) -> str:
    """LaTeX as a superscript; nothing stays nothing."""
    return rf"\textsuperscript{{{text}}}" if text else ""


def table_row(*entries: str) -> str:
    r"""Return a line of a ``tabular``; what begins like an argument of the ``\\`` before it is guarded."""
    guard = "{}" if entries[0].lstrip().startswith(("[", "*")) else ""
    return guard + " & ".join(entries) + r" \\"
