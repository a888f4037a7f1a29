"""Pieces of LaTeX with their places, and the flat text that they make once files and macros are put in."""

import re
from bisect import bisect_right
from typing import NamedTuple

from repro.plugins.manuscripts.files import Files
from repro.plugins.manuscripts.tables import Place

_PIECES = re.compile(
    r"""(?P<comment>%[^\n]*(?:\n[ \t]*)?)
      | (?P<verb>\\(?:verb\*?|lstinline)(?P<bar>[^\w\s*{\[])(?P<shown>.*?)(?P=bar))
      | (?P<control>\\(?:[A-Za-z]+|.|\n)) | (?P<argument>\#\#|\#\d)
      | (?P<space>\s+) | (?P<text>[^\\%\#\s{}\[\]$&~^_]+) | (?P<one>.)""",
    re.VERBOSE,
)
_LETTERS = re.compile(r"\\[A-Za-z@]+")
_DEFINE = (".sty", ".cls", ".def")


class Token(NamedTuple):
    """A piece of LaTeX, and the characters of a file that it comes from."""

    text: str
    file: int
    start: int
    end: int

    @property
    def is_space(self) -> bool:
        """Whether it is blank: a space, an end of line, two ends of line for a paragraph."""
        return self.text.isspace()

    @property
    def is_control(self) -> bool:
        """Whether it is a control sequence."""
        return self.text[:1] == "\\"


class Macro(NamedTuple):
    """What a control sequence stands for.

    Attributes:
        number: how many arguments it takes.
        default: the first one's where it stands in brackets and may be left out.
    """

    body: tuple[Token, ...]
    number: int = 0
    default: tuple[Token, ...] | None = None


class Reader:
    """A file whose tokens are taken one by one, since what a macro does changes what comes.

    Attributes:
        back: tokens that come before the rest of the file, in reverse.
    """

    def __init__(self, text: str, number: int, name: str):
        """Stand at the start of ``text``, of the file of that number."""
        self.text, self.number, self.name, self.at = text, number, name, 0
        self.back: list[Token] = []
        self.at_is_letter = self.only_defines = name.endswith(_DEFINE)

    def next(self) -> Token | None:
        """Return the next piece of the file.

        Comments are left out, and blanks are a space, ``\\n`` or ``\\n\\n``.
        """
        after_comment = False
        while match := _PIECES.match(self.text, self.at):
            start, self.at = self.at, match.end()
            if match.lastgroup == "control":
                return self._control(match[0], start)
            if match.lastgroup == "verb":
                escaped = re.sub(r"([#$%&_{}])", r"\\\1", re.sub(r"[\\~^]", " ", match["shown"]))
                return Token("{" + escaped + "}", self.number, start, self.at)
            if match.lastgroup == "space":
                return Token(_blank(match[0], after_comment), self.number, start, self.at)
            if match.lastgroup != "comment":
                return Token(match[0], self.number, start, self.at)
            after_comment = True
        return None

    def _control(self, text: str, start: int) -> Token:
        longer = _LETTERS.match(self.text, start) if self.at_is_letter else None
        if longer is not None:
            text, self.at = longer[0], longer.end()
        return Token(text, self.number, start, self.at)

    def skip_past(self, end: str) -> None:
        """Go on behind the next ``end``."""
        start = self.text.find(end, self.at)
        self.at = len(self.text) if start < 0 else start + len(end)


def _blank(text: str, after_comment: bool) -> str:
    """Return a paragraph's end for an empty line, of which a comment took the first end of line."""
    if text.count("\n") > 1 or (after_comment and "\n" in text):
        return "\n\n"
    return "\n" if "\n" in text else " "


class Expanded:
    """The flat text of a source, with the place of each character.

    Attributes:
        names: files that were read.
        notes: what could not be read, a sentence each.
    """

    def __init__(self, files: Files):
        """Begin without text."""
        self.files, self.text = files, ""
        self.names: list[str] = []
        self.notes: list[str] = []
        self._tokens: list[Token] = []
        self._starts: list[int] = []
        self._lines: dict[int, list[int]] = {}

    def close(self, tokens: list[Token]) -> None:
        """Take the tokens of the whole source; a space parts a control word from a letter behind it."""
        parts, length, was_word = [], 0, False
        for token in tokens:
            if was_word and token.text[:1].isalpha():
                parts.append(" ")
                length += 1
            self._starts.append(length)
            parts.append(token.text)
            length += len(token.text)
            was_word = token.is_control and token.text[-1].isalpha()
        self._tokens, self.text = tokens, "".join(parts)

    def place(self, at: int) -> Place:
        """Return the line of the file in which the character ``at`` of the flat text is written."""
        if not self._tokens:
            return Place(self.files.shown(self.names[0] if self.names else ""), 1)
        return self.place_of(self._tokens[self._index(at)])

    def place_of(self, token: Token) -> Place:
        """Return the line of a token."""
        name = self.names[token.file]
        if token.file not in self._lines:
            self._lines[token.file] = [m.start() for m in re.finditer("\n", self.files.text(name))]
        return Place(self.files.shown(name), bisect_right(self._lines[token.file], token.start - 1) + 1)

    def source(self, start: int, end: int) -> str:
        """Return what stands in the file between two characters of the flat text."""
        tokens = self._tokens[self._index(start) : self._index(max(start, end - 1)) + 1]
        tokens = [t for t in tokens if t.file == tokens[0].file]
        if not tokens:
            return ""
        text = self.files.text(self.names[tokens[0].file])
        return text[min(t.start for t in tokens) : max(t.end for t in tokens)].strip()

    def _index(self, at: int) -> int:
        return max(0, bisect_right(self._starts, at) - 1)
