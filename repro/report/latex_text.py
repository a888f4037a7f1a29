"""Text, marks and verdicts as LaTeX writes them."""

import unicodedata

_ESCAPES = {
    "\\": r"\textbackslash{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "–": "--",
    "—": "---",
    "τ": r"$\tau$",
    "α": r"$\alpha$",
    "λ": r"$\lambda$",
    ">": r"$>$",
    "<": r"$<$",
    "é": r"\'e",
    "×": r"$\times$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "±": r"$\pm$",
    "▲": r"$\blacktriangle$",
    "▼": r"$\blacktriangledown$",
    "△": r"$\vartriangle$",
    "▽": r"$\triangledown$",
}
SYMBOLS = {
    "exact": r"$=$",
    "consistent": r"$\approx$",
    "within tolerance": r"$\sim$",
    "lower": r"$\downarrow$",
    "higher": r"$\uparrow$",
    "inconclusive": "?",
    "modified": "m",
}


def escape(text: str) -> str:
    """Text with LaTeX's special characters made harmless; raised and lowered digits become scripts."""
    return "".join(_ESCAPES.get(character) or _script(character) for character in text)


def raised(text: str) -> str:
    """LaTeX as a superscript; nothing stays nothing."""
    return rf"\textsuperscript{{{text}}}" if text else ""


def table_row(*entries: str) -> str:
    """A line of a ``tabular``."""
    return " & ".join(entries) + r" \\"


def _script(character: str) -> str:
    kind, _, code = unicodedata.decomposition(character).partition(" ")
    if kind not in ("<sub>", "<super>"):
        return character
    return f"${'_' if kind == '<sub>' else '^'}{{{chr(int(code, 16))}}}$"
