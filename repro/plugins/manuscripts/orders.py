r"""The LaTeX commands executed before tables are read, e.g. ``\input{tables/main}``."""

import re
from collections.abc import Callable, Mapping

from repro.errors import UsageError
from repro.plugins.manuscripts.files import Files
from repro.plugins.manuscripts.gullet import NO_VALUE, Expanded, Gullet, Macro, Token, braced
from repro.plugins.manuscripts.latex_text import names

_TRUE = ("\\iftrue", "\\ifpdf", "\\ifPDFTeX")
_COMPARISONS = ("\\ifx", "\\ifnum", "\\ifodd", "\\ifcase", "\\ifdefined", "\\ifcsname")


def expand(files: Files, first: list[str]) -> Expanded:
    """Expand files and those that they include. Raises DataError for a cycle or endless macros."""
    return Gullet(files, _ORDERS).run(first)


def _new_command(g: Gullet, token: Token) -> None:
    g.star()
    g.define(g.name(), _macro(g), keep=token.text == "\\providecommand")


def _macro(g: Gullet) -> Macro:
    number, default = g.optional(), g.optional()
    text = "".join(t.text for t in number or ()).strip()
    count = int(text) if text.isdigit() and int(text) < 10 else 0
    return Macro(tuple(g.argument()), count, None if default is None else tuple(default))


def _document_command(g: Gullet, token: Token) -> None:
    name, text = g.name(), g.argument()
    spec: list[tuple[str, tuple[Token, ...] | None]] = []
    while text:
        letter, rest = text[0].text[:1], text[0].text[1:]
        text = [text[0]._replace(text=rest), *text[1:]] if rest else text[1:]
        if letter in "OD":
            while letter == "D" and text and text[0].text != "{":  # its two delimiters
                text = text[1:]
            end = next((n for n, piece in enumerate(text) if piece.text == "}"), 0)
            spec.append(("o", tuple(text[1:end])))
            text = text[end + 1 :]
        elif letter in "mosrv":
            spec.append((letter, None))
    g.define(name, Macro(tuple(g.argument()), spec=tuple(spec)), keep=token.text.startswith("\\Provide"))


def _choice(g: Gullet, token: Token) -> None:
    given, parts = g.argument(), [g.argument()]
    parts += [g.argument()] if token.text.endswith("TF") else [[]]
    said = "".join(piece.text for piece in given)
    is_true = said == "\\BooleanTrue" if "Boolean" in token.text else said != NO_VALUE
    g.put_back(parts[is_true is ("NoValue" in token.text)])


def _operator(g: Gullet, token: Token) -> None:
    g.star()
    g.define(g.name(), Macro(tuple(braced(g.argument(), token))))


def _def(g: Gullet, token: Token) -> None:
    name = g.after_spaces()
    pattern = ""
    while (piece := g.next()) is not None and piece.text != "{":
        pattern += piece.text
    body = tuple(g.until("}"))
    if name is not None and re.fullmatch(r"\s*(#\d\s*)*", pattern):
        g.define(name.text, Macro(body, pattern.count("#")))


def _let(g: Gullet, token: Token) -> None:
    name, other = g.after_spaces(), g.after_spaces()
    if other is not None and other.text == "=":
        other = g.after_spaces()
    if name is not None and other is not None and name.text != other.text:
        g.let(name.text, other)


def _environment(g: Gullet, token: Token) -> None:
    g.star()
    name = g.name()
    begin, end = _macro(g), Macro(tuple(g.argument()))
    if name not in names("kept_environments"):
        g.define(f"\\begin{{{name}}}", begin)
        g.define(f"\\end{{{name}}}", end)


def _column_type(g: Gullet, token: Token) -> None:
    g.argument(), g.optional(), g.optional(), g.argument()


def _other(g: Gullet, token: Token) -> bool:
    switch = re.fullmatch(r"\\(.+)(true|false)", token.text)
    if token.text in g.switches:
        _conditional(g, token)
    elif switch and f"\\if{switch[1]}" in g.switches:
        g.switches[f"\\if{switch[1]}"] = switch[2] == "true"
    else:
        return False
    return True


def _conditional(g: Gullet, token: Token) -> None:
    if token.text in _COMPARISONS and not g.reader.only_defines:
        g.note(token, f"{token.text} is not evaluated. The part after \\else is read.")
    if not g.switches.get(token.text, token.text in _TRUE):
        _skip(g, token, ("\\else", "\\or", "\\fi"))


def _skip(g: Gullet, token: Token, ends: tuple[str, ...]) -> None:
    depth, reader = 0, g.reader
    while (piece := g.next()) is not None:
        if reader.only_defines and reader.name not in g.under_way:  # the condition ends with its package
            g.put_back([piece])
            return
        if depth == 0 and piece.text in ends:
            return
        depth -= piece.text == "\\fi" or (depth > 0 and piece.text == "\\repeat")
        depth += piece.text[1:] in names("conditionals") or piece.text in g.switches
    says = f"{token.text} has no \\fi, and the text after it is not read"
    g.flat.lost.append((g.flat.place_of(token), says))


def _input(g: Gullet, token: Token) -> None:
    piece = g.after_spaces()
    if piece is None:
        return
    if piece.text == "{":
        name = "".join(t.text for t in g.until("}"))
    else:  # \input file, up to a space
        name = piece.text
        while (piece := g.next()) is not None and not piece.text.isspace() and piece.text not in "{}\\":
            name += piece.text
    _open(g, token, name.strip().strip('"'))


def _import(g: Gullet, token: Token) -> None:
    folder, name = g.name(), g.name()
    _open(g, token, f"{folder.rstrip('/')}/{name}")


def _open(g: Gullet, token: Token, name: str, endings: tuple[str, ...] = (".tex", "")) -> None:
    try:
        found = g.files.resolve(name, beside=g.under_way, endings=endings)
    except UsageError as error:
        g.note(token, str(error))
        return
    if found is not None:
        g.open(found)
    elif endings == (".tex", "") and "\\" not in name:
        g.note(token, f"{token.text} includes {name!r}, which does not exist.")


def _packages(g: Gullet, token: Token) -> None:
    g.optional()
    packages = g.name().split(",")
    g.optional()
    for name in reversed(packages):
        _open(g, token, name.strip(), endings=(".sty",))


def _edge(g: Gullet, token: Token) -> bool:
    group = g.argument()
    name = "".join(t.text for t in group)
    own = token._replace(text=f"{token.text}{{{name}}}")
    if token.text == "\\begin" and name in names("verbatim"):
        g.reader.skip_past(f"\\end{{{name}}}")
    elif g.is_macro(own.text):
        g.put_back(g.expanded(own))
    elif name == "document" and len(g.under_way) > 1:
        if token.text == "\\end":
            g.reader.close()
    else:
        g.put_back(braced(group, token))
        return False
    return True


def _letters(g: Gullet, token: Token) -> None:
    g.reader.at_is_letter = token.text == "\\makeatletter"


def _skip_arguments(g: Gullet, token: Token) -> None:
    g.optional(), g.argument()


def _xspace(g: Gullet, token: Token) -> None:
    if behind := g.next():
        g.put_back([behind])
        if behind.text[0].isalnum() or behind.text[0] in "\\$(":
            g.let_out(token._replace(text=" "))


_ORDERS: Mapping[str, Callable[[Gullet, Token], bool | None]] = {
    name: order
    for called, order in (
        (r"\newcommand \renewcommand \providecommand \DeclareRobustCommand", _new_command),
        (r"\newrobustcmd \renewrobustcmd", _new_command),
        (r"\NewDocumentCommand \RenewDocumentCommand \ProvideDocumentCommand", _document_command),
        (r"\DeclareDocumentCommand \NewExpandableDocumentCommand", _document_command),
        (r"\IfNoValueTF \IfValueTF \IfBooleanTF \IfValueT", _choice),
        (r"\DeclareMathOperator", _operator),
        (r"\def \gdef \edef \xdef", _def),
        (r"\let", _let),
        (r"\newenvironment \renewenvironment", _environment),
        (r"\newcolumntype", _column_type),
        (r"\newif", lambda g, _: g.switches.update({g.name(): False})),
        (" ".join("\\" + name for name in names("conditionals")), _conditional),
        (r"\else \or", lambda g, token: _skip(g, token, ("\\fi",))),
        (r"\input \include \subfile \subfileinclude \@input", _input),
        (r"\import \subimport", _import),
        (r"\usepackage \RequirePackage", _packages),
        (r"\documentclass", _skip_arguments),
        (r"\endinput", lambda g, _: g.reader.close()),
        (r"\begin \end", _edge),
        (r"\makeatletter \makeatother", _letters),
        (r"\xspace", _xspace),
        (
            r"\fi \global \long \protected \outer \noexpand \relax \unskip \ignorespaces \protect",
            lambda g, token: None,
        ),
    )
    for name in called.split()
} | {"": _other}
