"""TeX's gullet, as far as tables and prose need it: files read in, own macros put in, conditionals decided.

Parsers of LaTeX leave this out. Scopes are not kept: a definition holds from where it stands to the end. A
character of the flat text knows the file and the characters there that it comes from; what a macro makes
comes from where the macro is called.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from repro.errors import DataError
from repro.plugins.manuscripts.files import Files
from repro.plugins.manuscripts.flat_text import Expanded, Macro, Reader, Token
from repro.plugins.manuscripts.latex_names import names

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
        """Take what control sequences do beside macros; what is at ``""`` is asked where there is none.

        An order that returns False leaves the token to be let out.
        """
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
        if not self.defines_only:
            self._out.append(token)
            self._characters += len(token.text)
            if self._characters > CHARACTERS:
                raise DataError(
                    f"{self.files.path}: has more than {CHARACTERS:,} characters, no paper's source"
                )

    # what comes next

    def next(self) -> Token | None:
        """Return the next token, unexpanded, of what was put back or of the file under way."""
        while True:
            reader = self._readers[-1]
            if reader.back:
                return reader.back.pop()
            token = reader.next()
            if token is not None:
                self._call = None
                return token
            if len(self._readers) == 1:
                return None
            self._close(self._readers.pop())

    def _close(self, reader: Reader) -> None:
        """Part what a file says from what comes behind it."""
        if self._out and not reader.only_defines:
            self._out.append(self._out[-1]._replace(text="\n"))

    def put_back(self, tokens: Iterable[Token]) -> None:
        """Let ``tokens`` come next."""
        self._readers[-1].back.extend(reversed(list(tokens)))

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

    def skip_past(self, end: str) -> None:
        """Leave out what stands before ``end`` in the file under way, and ``end``."""
        self._readers[-1].skip_past(end)

    # files

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

    def close(self) -> None:
        """Read no further in the file under way."""
        self._readers[-1].at = len(self._readers[-1].text)

    def at_is_letter(self, is_letter: bool) -> None:
        """Let @ be a letter of control words from here."""
        self._readers[-1].at_is_letter = is_letter

    # macros

    @property
    def defines_only(self) -> bool:
        """Whether the file under way is a package or class, of which nothing is printed."""
        return self._readers[-1].only_defines

    def define(self, name: str, macro: Macro, *, keep: bool = False) -> None:
        """Let ``name`` stand for ``macro``, unless the reader rests on it; a line drawn is a line."""
        texts = {token.text for token in macro.body}
        internal = self.defines_only and any("@" in text for text in texts)
        known = name[1:] in names("kept", "rules") or (keep and name in self._macros)
        if known or internal or not name.startswith("\\"):
            return
        draws = texts & {"\\noalign", "\\hrule"} and not texts & {"&", "\\\\"}
        self._macros[name] = macro._replace(body=(_line(macro.body[0]),)) if draws else macro
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
        """Give up a call, or the source, that goes on for too long."""
        self._steps, self._tokens = self._steps + 1, self._tokens + tokens
        self._call_steps, self._call_tokens = self._call_steps + 1, self._call_tokens + tokens
        if self._steps > STEPS or self._tokens > TOKENS:
            raise DataError(f"{self.flat.place_of(call)}: the macros of this source come to no end")
        if self._call_steps > CALL_STEPS or self._call_tokens > CALL_TOKENS:
            self._given_up.add(call.text)
            self._readers[-1].back.clear()
            self.note(call, f"the macro {call.text} comes to no end and is left out")

    def _arguments(self, macro: Macro) -> list[list[Token]]:
        arguments: list[list[Token]] = []
        if macro.number and macro.default is not None:
            inner = self.optional()
            arguments.append(list(macro.default) if inner is None else inner)
        while len(arguments) < macro.number:
            arguments.append(self.argument())
        return arguments


def _line(token: Token) -> Token:
    return token._replace(text="\\hline")


def braced(tokens: list[Token], like: Token) -> list[Token]:
    """Return ``tokens`` within braces that stand where ``like`` does."""
    return [like._replace(text="{"), *tokens, like._replace(text="}")]
