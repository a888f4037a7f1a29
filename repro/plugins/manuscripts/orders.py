"""What orders of LaTeX do before tables are read: definitions, conditionals, files, what is not typeset."""

import re
from collections.abc import Callable, Mapping

from repro.errors import UsageError
from repro.plugins.manuscripts.files import Files
from repro.plugins.manuscripts.flat_text import Expanded, Macro, Token
from repro.plugins.manuscripts.gullet import Gullet, braced
from repro.plugins.manuscripts.latex_names import names

_TRUE = ("\\iftrue", "\\ifpdf", "\\ifPDFTeX")


def expand(files: Files, first: list[str]) -> Expanded:
    """Return the flat text of files, one after another, with what they read in.

    Raise a DataError for a cycle of files, and for macros that come to no end.
    """
    return Gullet(files, _ORDERS).run(first)


# definitions


def _new_command(g: Gullet, token: Token) -> None:
    g.star()
    name = g.name()
    number, default = g.optional(), g.optional()
    body = tuple(g.argument())
    count = _number(number)
    takes = ((tuple(default),) if default is not None else ()) + (None,) * (count - (default is not None))
    g.define(name, Macro(takes[:count], body), keep=token.text == "\\providecommand")


def _document_command(g: Gullet, token: Token) -> None:
    name = g.name()
    takes: list = []
    spec, body = g.argument(), tuple(g.argument())
    while spec:
        letter = spec.pop(0).text.strip("+!> \n")
        for one in letter:
            takes.append({"s": "*", "o": (), "O": ()}.get(one))
        if letter.endswith("O") and spec and spec[0].text == "{":
            inner = spec[1 : next((i for i, t in enumerate(spec) if t.text == "}"), len(spec))]
            takes[-1] = tuple(inner)
            del spec[: len(inner) + 2]
    g.define(name, Macro(tuple(takes), body))


def _operator(g: Gullet, token: Token) -> None:
    g.star()
    g.define(g.name(), Macro((), tuple(braced(g.argument(), token))))


def _def(g: Gullet, token: Token) -> None:
    name = g.after_spaces()
    pattern = ""
    while (piece := g.next()) is not None and piece.text != "{":
        pattern += piece.text
    body = g.until("}")
    if name is not None:
        before, *ends = re.split(r"#\d", pattern)
        takes = tuple(end.strip("\n") or None for end in ends)
        g.define(name.text, Macro(takes, tuple(_unfolded(g, name, body)), before.strip()))


def _unfolded(g: Gullet, name: Token, body: list[Token]) -> list[Token]:
    """Return the body of a macro that adds to itself with what it stood for until now."""
    return [piece for token in body for piece in (g.expanded(token) if token.text == name.text else [token])]


def _let(g: Gullet, token: Token) -> None:
    name, other = g.after_spaces(), g.after_spaces()
    if other is not None and other.text == "=":
        other = g.after_spaces()
    if name is not None and other is not None and name.text != other.text:
        g.let(name.text, other)


def _environment(g: Gullet, token: Token) -> None:
    g.star()
    name = g.name()
    number, default = g.optional(), g.optional()
    count = _number(number)
    takes = ((tuple(default),) if default is not None else ()) + (None,) * (count - (default is not None))
    begin, end = tuple(g.argument()), tuple(g.argument())
    g.environment(name, Macro(takes[:count], begin), end)


def _number(tokens: list[Token] | None) -> int:
    text = "".join(t.text for t in tokens or ()).strip()
    return int(text) if text.isdigit() and int(text) < 10 else 0


def _column_type(g: Gullet, token: Token) -> None:
    g.argument(), g.optional(), g.optional(), g.argument()


def _csname(g: Gullet, token: Token) -> None:
    name = ""
    while (piece := g.next()) is not None and piece.text != "\\endcsname" and len(name) < 200:
        name += piece.text
    g.put_back([token._replace(text="\\" + (name.strip() or " "))])


def _expandafter(g: Gullet, token: Token) -> None:
    first, second = g.next(), g.next()
    made = [] if second is None else g.expanded(second)
    g.put_back([*([first] if first else []), *made])


# conditionals


def _new_if(g: Gullet, token: Token) -> None:
    name = g.name()
    g.switches[name] = False


def _switch(g: Gullet, token: Token) -> bool:
    """Set ``\\iffoo`` by ``\\footrue`` and ``\\foofalse``, where ``\\newif`` made it."""
    for ending, value in (("true", True), ("false", False)):
        name = "\\if" + token.text[1:].removesuffix(ending)
        if token.text.endswith(ending) and name in g.switches:
            g.switches[name] = value
            return True
    return False


def _set_toggle(g: Gullet, token: Token) -> None:
    g.switches[g.name()] = token.text.endswith("true")


def _set_bool(g: Gullet, token: Token) -> None:
    name = g.name()
    g.switches[name] = g.name() == "true"


def _of_toggle(g: Gullet, token: Token) -> None:
    name, yes, no = g.name(), g.argument(), g.argument()
    g.put_back(yes if g.switches.get(name) else no)


def _if_then_else(g: Gullet, token: Token) -> None:
    condition = "".join(t.text for t in g.argument()).replace(" ", "")
    yes, no = g.argument(), g.argument()
    equal = re.fullmatch(r"\\equal\{(.*?)\}\{(.*?)\}", condition)
    boolean = re.fullmatch(r"\\boolean\{(.*?)\}", condition)
    holds = equal[1] == equal[2] if equal else bool(boolean and g.switches.get(boolean[1]))
    g.put_back(yes if holds else no)


def _if_blank(g: Gullet, token: Token) -> None:
    given, yes, no = g.name(), g.argument(), g.argument()
    g.put_back(no if given else yes)


def _other(g: Gullet, token: Token) -> bool:
    """Decide a conditional of the paper's own, or set its switch; False for all other sequences."""
    if token.text in g.switches:
        _conditional(g, token)
        return True
    return _switch(g, token)


def _conditional(g: Gullet, token: Token) -> None:
    if not _holds(g, token):
        _skip(g, token, ("\\else", "\\or", "\\fi"))


def _holds(g: Gullet, token: Token) -> bool:
    if token.text in g.switches:
        return g.switches[token.text]
    if token.text == "\\ifx":
        first, second = g.next(), g.next()
        return first is not None and second is not None and g.meaning(first) == g.meaning(second)
    if token.text == "\\ifdefined":
        return (name := g.next()) is not None and g.is_defined(name.text)
    if token.text == "\\ifnum":
        piece = g.after_spaces()
        numbers = re.fullmatch(r"(\d+)([<=>])(\d+)", piece.text if piece else "")
        if numbers:
            first_number, second_number = int(numbers[1]), int(numbers[3])
            return {"<": first_number < second_number, ">": first_number > second_number}.get(
                numbers[2], first_number == second_number
            )
    return token.text in _TRUE


def _skip(g: Gullet, token: Token, ends: tuple[str, ...]) -> None:
    depth = 0
    while (piece := g.next()) is not None:
        if depth == 0 and piece.text in ends:
            return
        if piece.text == "\\fi":
            depth -= 1
        elif piece.text[1:] in names("conditionals") or piece.text in g.switches:
            depth += 1
    g.note(token, f"{token.text} has no \\fi, so that nothing behind it is read")


def _else(g: Gullet, token: Token) -> None:
    _skip(g, token, ("\\fi",))


# files, and what is not typeset


def _input(g: Gullet, token: Token) -> None:
    piece = g.after_spaces()
    if piece is None:
        return
    if piece.text == "{":
        name = "".join(t.text for t in g.until("}"))
    else:  # \input file, up to a space
        name = piece.text
        while (piece := g.next()) is not None and not piece.is_space and piece.text not in "{}\\":
            name += piece.text
    _open(g, token, name.strip().strip('"'))


def _import(g: Gullet, token: Token) -> None:
    folder, name = g.name(), g.name()
    _open(g, token, f"{folder.rstrip('/')}/{name}")


def _input_if_exists(g: Gullet, token: Token) -> None:
    name, yes, no = g.name(), g.argument(), g.argument()
    exists = g.files.resolve(name, beside=g.under_way) is not None
    g.put_back(yes if exists else no)
    if exists and token.text == "\\InputIfFileExists":
        _open(g, token, name)


def _open(g: Gullet, token: Token, name: str, endings: tuple[str, ...] = (".tex", "")) -> None:
    try:
        found = g.files.resolve(name, beside=g.under_way, endings=endings)
    except UsageError as error:
        g.note(token, str(error))
        return
    if found is not None:
        g.open(found)
    elif endings == (".tex", "") and "\\" not in name:
        g.note(token, f"{token.text} names {name!r}, which is not there")


def _packages(g: Gullet, token: Token) -> None:
    g.optional()
    packages = g.name().split(",")
    g.optional()
    for name in reversed(packages):
        _open(g, token, name.strip(), endings=(".sty",))


def _begin(g: Gullet, token: Token) -> bool:
    group = g.argument()
    name = "".join(t.text for t in group)
    if name in names("verbatim") or name in g.left_out:
        g.skip_past(f"\\end{{{name}}}")
        return True
    if g.begins(name, token) or (name == "document" and len(g.under_way) > 1):
        return True
    g.put_back(braced(group, token))
    return False


def _end(g: Gullet, token: Token) -> bool:
    group = g.argument()
    name = "".join(t.text for t in group)
    if g.ends(name, token):
        return True
    if name == "document" and len(g.under_way) > 1:
        g.close()
        return True
    g.put_back(braced(group, token))
    return False


def _class(g: Gullet, token: Token) -> None:
    g.optional(), g.argument()


def _leave_out(g: Gullet, token: Token) -> None:
    g.left_out.add(g.name())


def _verb(g: Gullet, token: Token) -> None:
    text = g.verbatim()
    escaped = re.sub(r"([#$%&_{}])", r"\\\1", re.sub(r"[\\~^]", " ", text))
    g.let_out(token._replace(text="{" + escaped + "}"))


def _letters(g: Gullet, token: Token) -> None:
    g.at_is_letter(token.text == "\\makeatletter")


def _expl(g: Gullet, token: Token) -> None:
    g.skip_past("\\ExplSyntaxOff")


def _xspace(g: Gullet, token: Token) -> None:
    behind = g.next()
    if behind is not None:
        g.put_back([behind])
        if behind.text[0].isalnum() or behind.text[0] in "\\$(":
            g.let_out(token._replace(text=" "))


def _acronym(g: Gullet, token: Token) -> None:
    g.optional()
    key = g.name()
    short, _ = g.argument(), g.argument()
    g.acronyms[key] = short


def _use_acronym(g: Gullet, token: Token) -> bool:
    key = g.argument()
    short = g.acronyms.get("".join(t.text for t in key))
    if short is None:
        g.put_back(braced(key, token))
        return False
    g.put_back(short)
    return True


def _nothing(g: Gullet, token: Token) -> None:
    """Drop what only says how a definition is made."""


_ORDERS: Mapping[str, Callable[[Gullet, Token], bool | None]] = {
    name: order
    for called, order in (
        (r"\newcommand \renewcommand \providecommand \DeclareRobustCommand", _new_command),
        (r"\newrobustcmd \renewrobustcmd", _new_command),
        (r"\NewDocumentCommand \RenewDocumentCommand", _document_command),
        (r"\ProvideDocumentCommand \DeclareDocumentCommand", _document_command),
        (r"\DeclareMathOperator", _operator),
        (r"\def \gdef \edef \xdef", _def),
        (r"\let", _let),
        (r"\newenvironment \renewenvironment", _environment),
        (r"\newcolumntype", _column_type),
        (r"\csname", _csname),
        (r"\expandafter", _expandafter),
        (r"\newif", _new_if),
        (r"\toggletrue \togglefalse \booltrue \boolfalse", _set_toggle),
        (r"\setbool \setboolean \settoggle", _set_bool),
        (r"\iftoggle \ifbool", _of_toggle),
        (r"\ifthenelse", _if_then_else),
        (r"\ifblank \ifstrempty", _if_blank),
        (" ".join("\\" + name for name in names("conditionals")), _conditional),
        (r"\else \or", _else),
        (r"\input \include \subfile \subfileinclude \@input", _input),
        (r"\import \subimport", _import),
        (r"\InputIfFileExists \IfFileExists", _input_if_exists),
        (r"\usepackage \RequirePackage", _packages),
        (r"\documentclass", _class),
        (r"\endinput", lambda g, _: g.close()),
        (r"\begin", _begin),
        (r"\end", _end),
        (r"\excludecomment", _leave_out),
        (r"\verb \lstinline", _verb),
        (r"\makeatletter \makeatother", _letters),
        (r"\ExplSyntaxOn", _expl),
        (r"\xspace", _xspace),
        (r"\newacronym", _acronym),
        (r"\ac \acs \gls \Gls \acrshort \glspl \acp", _use_acronym),
        (r"\fi \global \long \protected \outer \noexpand \relax \unskip \ignorespaces \protect", _nothing),
    )
    for name in called.split()
} | {"": _other}
