"""TeX's gullet, as far as tables and prose need it: files read in, own macros put in, conditionals decided.

Parsers of LaTeX leave this out. Scopes are not kept: a definition holds from where it stands to the end. A
character of the flat text knows the file and the characters there that it comes from; what a macro makes
comes from where the macro is called.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from repro.errors import DataError
from repro.plugins.manuscripts.files import Files
from repro.plugins.manuscripts.latex_text import names
from repro.plugins.manuscripts.source_tables import Place

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
        at_is_letter: whether @ is a letter of control words from here.
        only_defines: whether it is a package or class, of which nothing is printed.
    """

    def __init__(self, text: str, number: int, name: str):
        """Stand at the start of ``text``, of the file of that number."""
        self.text, self.number, self.name, self.at = text, number, name, 0
        self.back: list[Token] = []
        self.at_is_letter = self.only_defines = name.endswith(_DEFINE)

    def next(self) -> Token | None:
        r"""Return the next piece of the file, without comments; blanks are a space, ``\n`` or ``\n\n``."""
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

    def close(self) -> None:
        """Read no further."""
        self.at = len(self.text)

    def skip_past(self, end: str) -> None:
        """Go on behind the next ``end``."""
        start = self.text.find(end, self.at)
        self.at = len(self.text) if start < 0 else start + len(end)


def _blank(text: str, after_comment: bool) -> str:
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
        text = self.files.text(self.names[tokens[0].file])
        return text[min(t.start for t in tokens) : max(t.end for t in tokens)].strip()

    def _index(self, at: int) -> int:
        return max(0, bisect_right(self._starts, at) - 1)


CALL_STEPS = 5_000  # expansions that one call in a file may lead to, before the macro is given up
CALL_TOKENS = 200_000
STEPS = 400_000  # of a whole source
TOKENS = 4_000_000
CHARACTERS = 1_000_000  # of the flat text; a thesis has half of it
DEPTH = 30  # files within files


class Gullet:
    """Files under way, tokens put back, macros and switches.

    Attributes:
        switches: ``\\iffoo`` of the paper's own -> whether it is on.
    """

    def __init__(self, files: Files, orders: Mapping[str, Callable[["Gullet", Token], bool | None]]):
        """Take orders by control sequence, ``""`` for any other; one that returns False lets the token
        out."""
        self.files, self.flat, self._orders = files, Expanded(files), orders
        self.switches: dict[str, bool] = {}
        self._readers: list[Reader] = []
        self._macros: dict[str, Macro] = {}
        self._given_up: set[str] = set()
        self._out: list[Token] = []
        self._characters = self._steps = self._tokens = self._call_steps = self._call_tokens = 0
        self._call: Token | None = None

    def run(self, files: Iterable[str]) -> Expanded:
        """Expand files one after another and return their flat text."""
        for name in files:
            self.open(name)
            while (token := self.next()) is not None:
                self.step(token)
            self._close(self._readers.pop())
        self.flat.close(self._out)
        return self.flat

    def note(self, token: Token, sentence: str) -> None:
        """Keep a sentence on what could not be read."""
        self.flat.notes.append(f"{self.flat.place_of(token)}: {sentence}")

    def step(self, token: Token) -> None:
        """Carry out one token: expand it, do what it orders, or let it out."""
        if self.is_macro(token.text):
            self.put_back(self.expanded(token))
            return
        order = self._orders.get(token.text) or (self._orders[""] if token.is_control else None)
        if order is None or order(self, token) is False:
            self.let_out(token)

    def let_out(self, token: Token) -> None:
        """Add a token to the flat text, unless it stands in a file of definitions."""
        if not self.reader.only_defines:
            self._out.append(token)
            self._characters += len(token.text)
            if self._characters > CHARACTERS:
                limit = f"{CHARACTERS:,} characters"
                raise DataError(f"{self.files.path}: has more than {limit}, no paper's source")

    # what comes next

    def next(self) -> Token | None:
        """Return the next token, unexpanded, of what was put back or of the file under way."""
        while True:
            if self.reader.back:
                return self.reader.back.pop()
            token = self.reader.next()
            if token is not None:
                self._call = None
                return token
            if len(self._readers) == 1:
                return None
            self._close(self._readers.pop())

    def _close(self, reader: Reader) -> None:
        if self._out and not reader.only_defines:
            self._out.append(self._out[-1]._replace(text="\n"))

    def put_back(self, tokens: Iterable[Token]) -> None:
        """Let ``tokens`` come next."""
        self.reader.back.extend(reversed(list(tokens)))

    def after_spaces(self) -> Token | None:
        """Return the next token that is no space."""
        token = self.next()
        while token is not None and token.is_space:
            token = self.next()
        return token

    def argument(self) -> list[Token]:
        """Return the tokens of an argument: a group without its braces, or one token, or one letter."""
        token = self.after_spaces()
        if token is None:
            return []
        if token.text == "{":
            return self.until("}")
        if token.text == "}":
            self.put_back([token])
            return []
        if token.is_control or len(token.text) == 1:
            return [token]
        self.put_back([token._replace(text=token.text[1:])])
        return [token._replace(text=token.text[0])]

    def until(self, end: str) -> list[Token]:
        """Return tokens up to the closing ``end`` at this depth of braces, which is taken, too."""
        tokens: list[Token] = []
        depth = 0
        while (token := self.next()) is not None:
            if depth == 0 and token.text == end:
                break
            depth += {"{": 1, "}": -1}.get(token.text, 0)
            if depth < 0:
                self.put_back([token])
                break
            tokens.append(token)
        return tokens

    def optional(self) -> list[Token] | None:
        """Return the tokens within brackets, None where no bracket comes."""
        spaces: list[Token] = []
        while (token := self.next()) is not None and token.is_space:
            spaces.append(token)
        if token is not None and token.text == "[":
            return self.until("]")
        self.put_back([*spaces, *([token] if token else [])])
        return None

    def name(self) -> str:
        """Return an argument as one string: a control sequence, a file."""
        return "".join(t.text for t in self.argument()).strip()

    def star(self) -> None:
        """Take a star, where one comes."""
        token = self.next()
        if token is not None and token.text != "*":
            self.put_back([token._replace(text=token.text.removeprefix("*"))])

    # files

    @property
    def reader(self) -> Reader:
        """The file under way."""
        return self._readers[-1]

    @property
    def under_way(self) -> list[str]:
        """The files under way, the one with the document first."""
        return [reader.name for reader in self._readers]

    def open(self, name: str) -> None:
        """Read a file from its start, before what is left of the file under way."""
        if any(reader.name == name for reader in self._readers) or len(self._readers) >= DEPTH:
            cycle = " -> ".join([*self.under_way, name][-6:])
            raise DataError(f"{self.files.shown(self.under_way[-1])}: reads itself in: {cycle}")
        if name not in self.flat.names:
            self.flat.names.append(name)
        self._readers.append(Reader(self.files.text(name), self.flat.names.index(name), name))

    # macros

    def define(self, name: str, macro: Macro, *, keep: bool = False) -> None:
        """Let ``name`` stand for ``macro``, unless the reader rests on it; a line drawn is a line."""
        texts = {token.text for token in macro.body}
        internal = self.reader.only_defines and any("@" in text for text in texts)
        known = name[1:] in names("kept", "rules") or (keep and name in self._macros)
        if known or internal or not name.startswith("\\"):
            return
        draws = texts & {"\\noalign", "\\hrule"} and not texts & {"&", "\\\\"}
        body = (macro.body[0]._replace(text="\\hline"),) if draws else macro.body
        self._macros[name] = macro._replace(body=body)
        self._given_up.discard(name)

    def let(self, name: str, other: Token) -> None:
        """Let ``name`` mean what ``other`` means now."""
        if other.text in self._macros:
            self.define(name, self._macros[other.text])
        elif other.is_control or len(other.text) == 1:
            self.define(name, Macro((other,)))

    def is_macro(self, name: str) -> bool:
        """Return whether a control sequence, or ``\\begin{name}``, stands for what the paper says."""
        return name in self._macros and name not in self._given_up

    def expanded(self, token: Token) -> list[Token]:
        """Return what a macro stands for, after one step; its arguments are taken."""
        macro = self._macros[token.text]
        call = self._call or token
        if self._call is None:
            self._call, self._call_steps, self._call_tokens = token, 0, 0
        arguments = self._arguments(macro)
        end = max([call.end, *(a[-1].end for a in arguments if a and a[-1].file == call.file)])
        body: list[Token] = []
        for piece in macro.body:
            number = int(piece.text[1:]) if re.fullmatch(r"#\d", piece.text) else 0
            if 0 < number <= len(arguments):
                body += arguments[number - 1]
            else:
                body.append(Token(piece.text.replace("##", "#"), call.file, call.start, end))
        self._count(call, len(body))
        return [] if call.text in self._given_up else body

    def _count(self, call: Token, tokens: int) -> None:
        self._steps, self._tokens = self._steps + 1, self._tokens + tokens
        self._call_steps, self._call_tokens = self._call_steps + 1, self._call_tokens + tokens
        if self._steps > STEPS or self._tokens > TOKENS:
            raise DataError(f"{self.flat.place_of(call)}: the macros of this source come to no end")
        if self._call_steps > CALL_STEPS or self._call_tokens > CALL_TOKENS:
            self._given_up.add(call.text)
            self.reader.back.clear()
            self.note(call, f"the macro {call.text} comes to no end and is left out")

    def _arguments(self, macro: Macro) -> list[list[Token]]:
        arguments: list[list[Token]] = []
        if macro.number and macro.default is not None:
            inner = self.optional()
            arguments.append(list(macro.default) if inner is None else inner)
        while len(arguments) < macro.number:
            arguments.append(self.argument())
        return arguments


def braced(tokens: list[Token], like: Token) -> list[Token]:
    """Return ``tokens`` within braces that stand where ``like`` does."""
    return [like._replace(text="{"), *tokens, like._replace(text="}")]
