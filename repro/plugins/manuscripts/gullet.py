r"""Expands includes, macros and conditionals of TeX. The text of a macro has the position of its call."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from repro.errors import DataError
from repro.plugins.manuscripts.files import Files
from repro.plugins.manuscripts.latex_text import names
from repro.plugins.manuscripts.source_tables import Parts, Place

_PIECES = re.compile(
    r"""(?P<comment>%[^\n]*(?:\n[ \t]*)?)
      | (?P<link>\\href\s*(?:\[[^\]]*\]\s*)?\{[^{}]*\})
      | (?P<verb>\\(?:url|nolinkurl|lstinline)\s*\{(?P<address>(?:[^{}\#]|\#(?!\d))*)\}
                |\\(?:verb\*?|Verb|lstinline|url)(?P<bar>[^\w\s*{\[])(?P<shown>.*?)(?P=bar))
      | (?P<control>\\(?:[A-Za-z]+|.|\n)) | (?P<argument>\#\#|\#\d)
      | (?P<space>\s+) | (?P<text>[^\\%\#\s{}\[\]$&~^_]+) | (?P<one>.)""",
    re.VERBOSE,
)
_LETTERS = re.compile(r"\\[A-Za-z@]+")
_DEFINE = (".sty", ".cls", ".def")


class Token(NamedTuple):
    text: str
    file: int
    start: int
    end: int

    @property
    def is_control(self) -> bool:
        return self.text[:1] == "\\"


class Macro(NamedTuple):
    r"""A macro with ``number`` arguments. ``default`` is the value of an optional first one. ``spec`` is
    the specification in ``\NewDocumentCommand``, e.g. ``[("s", None), ("m", None)]``."""

    body: tuple[Token, ...]
    number: int = 0
    default: tuple[Token, ...] | None = None
    spec: tuple[tuple[str, tuple[Token, ...] | None], ...] = ()


class Reader:
    """Reads the tokens of a file. ``back`` has tokens to be read before them, in reverse order."""

    def __init__(self, text: str, number: int, name: str):
        self.text, self.number, self.name, self.at = text, number, name, 0
        self.back: list[Token] = []
        self.at_is_letter = self.only_defines = name.endswith(_DEFINE)

    def next(self) -> Token | None:
        after_comment = False
        while match := _PIECES.match(self.text, self.at):
            start, self.at = self.at, match.end()
            text, kind = match[0], match.lastgroup
            if kind == "comment":
                after_comment = True
                continue
            if kind == "control" and self.at_is_letter and (longer := _LETTERS.match(self.text, start)):
                text, self.at = longer[0], longer.end()
            elif kind == "link":
                text = "\\href{}"
            elif kind == "verb":
                text = re.sub(r"[\\~^]", " ", match["shown"] or match["address"] or "")
                text = "{" + re.sub(r"([#$%&_{}])", r"\\\1", text) + "}"
            elif kind == "space":
                text = _blank(text, after_comment)
            return Token(text, self.number, start, self.at)
        return None

    def close(self) -> None:
        self.at = len(self.text)

    def skip_past(self, end: str) -> None:
        start = self.text.find(end, self.at)
        self.at = len(self.text) if start < 0 else start + len(end)


def _blank(text: str, after_comment: bool) -> str:
    if text.count("\n") > 1 or (after_comment and "\n" in text):
        return "\n\n"
    return "\n" if "\n" in text else " "


class Expanded:
    """The text of a source with expanded macros, and its places in the files. ``lost`` has unread parts."""

    def __init__(self, files: Files):
        self.files, self.text = files, ""
        self.names: list[str] = []
        self.notes: list[str] = []
        self.lost = Parts()
        self._tokens: list[Token] = []
        self._starts: list[int] = []
        self._lines: dict[int, list[int]] = {}

    def close(self, tokens: list[Token]) -> None:
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
        return self.place_of(self._tokens[max(0, bisect_right(self._starts, at) - 1)])

    def place_of(self, token: Token) -> Place:
        name = self.names[token.file]
        if token.file not in self._lines:
            self._lines[token.file] = [m.start() for m in re.finditer("\n", self.files.text(name))]
        return Place(self.files.shown(name), bisect_right(self._lines[token.file], token.start - 1) + 1)


CALL_TOKENS = 200_000  # from one call before its macro is dropped
TOKENS = 4_000_000  # from all calls of a source
CHARACTERS = 1_000_000  # of the flat text
DEPTH = 30
NO_VALUE = "-NoValue-"  # an absent optional argument of \NewDocumentCommand


class Gullet:
    r"""Expands files. ``orders`` maps control sequences to their functions, and ``""`` to one for all
    others. If it returns False, the token stays in the text. ``switches`` maps the paper's ``\iffoo`` to
    its value."""

    def __init__(self, files: Files, orders: Mapping[str, Callable[["Gullet", Token], bool | None]]):
        self.files, self.flat, self._orders = files, Expanded(files), orders
        self.switches: dict[str, bool] = {}
        self._readers: list[Reader] = []
        self._macros: dict[str, Macro] = {}
        self._given_up: set[str] = set()
        self._out: list[Token] = []
        self._characters = self._tokens = self._call_tokens = 0
        self._call: Token | None = None

    def run(self, files: Iterable[str]) -> Expanded:
        for name in files:
            self.open(name)
            while (token := self.next()) is not None:
                self.step(token)
            self._close(self._readers.pop())
        self.flat.close(self._out)
        return self.flat

    def note(self, token: Token, sentence: str) -> None:
        self.flat.notes.append(f"{self.flat.place_of(token)}: {sentence}")

    def step(self, token: Token) -> None:
        if self.is_macro(token.text):
            self.put_back(self.expanded(token))
            return
        order = self._orders.get(token.text) or (self._orders[""] if token.is_control else None)
        if order is None or order(self, token) is False:
            self.let_out(token)

    def let_out(self, token: Token) -> None:
        if not self.reader.only_defines:
            self._out.append(token)
            self._characters += len(token.text)
            if self._characters > CHARACTERS:
                limit = f"{CHARACTERS:,} characters"
                raise DataError(f"{self.files.path} has more than {limit}, the limit for a source.")

    def next(self) -> Token | None:
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
        self.reader.back.extend(reversed(list(tokens)))

    def after_spaces(self) -> Token | None:
        token = self.next()
        while token is not None and token.text.isspace():
            token = self.next()
        return token

    def argument(self) -> list[Token]:
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
        """Read up to ``end`` at this depth of braces. Returns the tokens before it."""
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
        else:
            if tokens:
                place = self.flat.place_of(tokens[0])
                self.flat.lost.append((place, f"An argument that begins here has no {end}"))
        return tokens

    def optional(self) -> list[Token] | None:
        spaces: list[Token] = []
        while (token := self.next()) is not None and token.text.isspace():
            spaces.append(token)
        if token is not None and token.text == "[":
            return self.until("]")
        self.put_back([*spaces, *([token] if token else [])])
        return None

    def name(self) -> str:
        return "".join(t.text for t in self.argument()).strip()

    def star(self) -> bool:
        token = self.next()
        is_star = token is not None and token.text.startswith("*")
        if token is not None and token.text != "*":
            self.put_back([token._replace(text=token.text.removeprefix("*"))])
        return is_star

    @property
    def reader(self) -> Reader:
        return self._readers[-1]

    @property
    def under_way(self) -> list[str]:
        return [reader.name for reader in self._readers]

    def open(self, name: str) -> None:
        """Continue with the tokens of another file. Raises DataError if it includes itself."""
        if name in self.under_way or len(self._readers) >= DEPTH:
            cycle = " -> ".join([*self.under_way, name][-6:])
            raise DataError(f"{self.files.shown(self.under_way[-1])} includes itself: {cycle}")
        if name not in self.flat.names:
            self.flat.names.append(name)
        self._readers.append(Reader(self.files.text(name), self.flat.names.index(name), name))

    def define(self, name: str, macro: Macro, *, keep: bool = False) -> None:
        r"""Define a macro, unless the parser handles it or, with ``keep``, it exists. A macro that draws a
        line becomes ``\hline``."""
        texts = {token.text for token in macro.body}
        internal = self.reader.only_defines and "@" in "".join(texts)
        known = name[1:] in names("kept", "rules") or (keep and name in self._macros)
        if known or internal or not name.startswith("\\"):
            return
        draws = texts & {"\\noalign", "\\hrule"} and not texts & {"&", "\\\\"}
        body = (macro.body[0]._replace(text="\\hline"),) if draws else macro.body
        self._macros[name] = macro._replace(body=body)
        self._given_up.discard(name)

    def let(self, name: str, other: Token) -> None:
        if other.text in self._macros:
            self.define(name, self._macros[other.text])
        elif other.is_control or len(other.text) == 1:
            self.define(name, Macro((other,)))

    def is_macro(self, name: str) -> bool:
        return name in self._macros and name not in self._given_up

    def expanded(self, token: Token) -> list[Token]:
        macro = self._macros[token.text]
        call = self._call or token
        if self._call is None:
            self._call, self._call_tokens = token, 0
        arguments = self._arguments(macro, call)
        end = max([call.end, *(a[-1].end for a in arguments if a and a[-1].file == call.file)])
        body: list[Token] = []
        for piece in macro.body:
            number = int(piece.text[1:]) if re.fullmatch(r"#\d", piece.text) else 0
            if 0 < number <= len(arguments):
                body += arguments[number - 1]
            else:
                body.append(Token(piece.text.replace("##", "#"), call.file, call.start, end))
        self._count(call, 1 + len(body))
        return [] if call.text in self._given_up else body

    def _count(self, call: Token, tokens: int) -> None:
        self._tokens += tokens
        self._call_tokens += tokens
        if self._tokens > TOKENS:
            raise DataError(f"{self.flat.place_of(call)}: The macros of this source never end.")
        if self._call_tokens > CALL_TOKENS:
            self._given_up.add(call.text)
            self.reader.back.clear()
            self.note(call, f"The macro {call.text} never ends and is omitted.")

    def _of_spec(self, kind: str, default: tuple[Token, ...] | None, like: Token) -> list[Token]:
        if kind in "mrv":
            return self.argument()
        if kind == "s":
            return [like._replace(text=f"\\Boolean{self.star()}")]
        given, absent = self.optional(), (like._replace(text=NO_VALUE),)
        return list(absent if default is None else default) if given is None else given

    def _arguments(self, macro: Macro, like: Token) -> list[list[Token]]:
        if macro.spec:
            return [self._of_spec(*part, like) for part in macro.spec]
        if not macro.number or macro.default is None:
            return [self.argument() for _ in range(macro.number)]
        first = self.optional()
        others = [self.argument() for _ in range(macro.number - 1)]
        return [list(macro.default) if first is None else first, *others]


def braced(tokens: list[Token], like: Token) -> list[Token]:
    return [like._replace(text="{"), *tokens, like._replace(text="}")]
