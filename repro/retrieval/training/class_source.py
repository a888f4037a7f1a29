"""Classes as their source tells them, without importing it: bases, constants, and what an option may be."""

import ast
import functools
import importlib.util
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from repro.errors import UsageError


def lineage(module: str, name: str) -> Iterator[tuple[str, ast.ClassDef]]:
    """A class with its module, and those of its bases that are named in it or imported into it by name."""
    tree, origins = _parse(module)
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef) and statement.name == name:
            yield module, statement
            for base in statement.bases:
                if isinstance(base, ast.Name):
                    yield from lineage(*origins.get(base.id, (module, base.id)))
            return
    raise UsageError(f"there is no objective at {f'{module}:{name}'!r}")


@functools.cache
def _parse(module: str) -> tuple[ast.Module, dict[str, tuple[str, str]]]:
    """A module's syntax tree, and where the names come from that it imports."""
    try:
        origin = importlib.util.find_spec(module).origin
        tree = ast.parse(Path(origin).read_text(encoding="utf-8"), origin)
    except SyntaxError as error:
        raise UsageError(f"{error.filename}:{error.lineno}: not valid Python: {error.msg}") from None
    except (ModuleNotFoundError, AttributeError, ValueError, TypeError):
        raise UsageError(f"there is no module {module!r} to find an objective in") from None
    imports = [item for item in tree.body if isinstance(item, ast.ImportFrom)]
    return tree, {a.asname or a.name: (item.module, a.name) for item in imports for a in item.names}


def constants_of(body: Iterable[ast.stmt]) -> dict[str, ast.expr]:
    """The names that the statements of a class or module give values to."""
    values: dict[str, ast.expr] = {}
    for statement in body:
        target = statement.targets[0] if isinstance(statement, ast.Assign) else None
        target = statement.target if isinstance(statement, ast.AnnAssign) and statement.value else target
        if isinstance(target, ast.Name):
            values[target.id] = statement.value
    return values


def checked_choices(
    definitions: list[tuple[str, ast.ClassDef]], constants: Mapping[str, ast.expr]
) -> dict[str, tuple]:
    """Parameter -> the values that ``check_known``, or a ``check_`` that calls it, lets pass in ``__init__``.

    Of a base those of the parameters that are handed to it by their own names. What is checked under a
    condition, or against values that are no literals, is left to the class.

    Args:
        definitions: a class and its bases, each with its module.
        constants: of the class, for ``valid=self.name``.
    """
    for place, (module, definition) in enumerate(definitions):
        if function := _constructor(definition):
            own, passed_on = _checks(function, module, constants), _passed_on(function)
            of_bases = checked_choices(definitions[place + 1 :], constants) if passed_on else {}
            return {name: valid for name, valid in of_bases.items() if name in passed_on} | own
    return {}


def _constructor(definition: ast.ClassDef) -> ast.FunctionDef | None:
    """The ``__init__`` that a class has itself."""
    functions = [item for item in definition.body if isinstance(item, ast.FunctionDef)]
    return next((function for function in functions if function.name == "__init__"), None)


def _passed_on(function: ast.FunctionDef) -> set[str]:
    """The arguments that a constructor hands to its base by their own names."""
    calls = [call for call in _calls(function) if ast.unparse(call.func) == "super().__init__"]
    keywords = [keyword for call in calls for keyword in call.keywords if keyword.arg]
    return {keyword.arg for keyword in keywords if ast.unparse(keyword.value) == keyword.arg}


def _calls(function: ast.FunctionDef) -> Iterator[ast.Call]:
    """The calls of a function's own statements, without those under a condition."""
    statements = [s for s in function.body if isinstance(s, ast.Expr | ast.Assign | ast.Return)]
    yield from (node for s in statements for node in ast.walk(s) if isinstance(node, ast.Call))


def _checks(function: ast.FunctionDef, module: str, constants: Mapping[str, ast.expr]) -> dict[str, tuple]:
    """Argument -> valid values, as far as the function says it."""
    choices: dict[str, tuple] = {}
    for call in _calls(function):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        arguments = [ast.unparse(argument) for argument in call.args]
        if name == "check_known":
            values = [_literals(k.value, module, constants) for k in call.keywords if k.arg == "valid"]
            choices |= {argument: valid for argument in arguments[1:] for valid in values if valid}
        elif name.startswith("check_"):
            choices |= _checks_of_helper(name, arguments, module)
    return {name: valid for name, valid in choices.items() if name.isidentifier()}


def _checks_of_helper(name: str, arguments: list[str], module: str) -> dict[str, tuple]:
    """The choices of what is given to a function such as ``check_similarity``; none of one not found."""
    place = _definition(module, name)
    choices = _checks(*place, {}) if place else {}
    names = [argument.arg for argument in place[0].args.args] if place else []
    return {value: choices[own] for value, own in zip(arguments, names, strict=False) if own in choices}


def _definition(module: str, name: str) -> tuple[ast.FunctionDef, str] | None:
    """A function of a module, or imported into it by name, with its module."""
    tree, origins = _readable(module)
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            return statement, module
    return _definition(*origins[name]) if name in origins else None


def _readable(module: str) -> tuple[ast.Module, dict[str, tuple[str, str]]]:
    """What ``_parse`` gives; an empty module for one whose source cannot be read."""
    try:
        return _parse(module)
    except (UsageError, OSError):
        return ast.Module([], []), {}


def _literals(node: ast.expr, module: str, constants: Mapping[str, ast.expr]) -> tuple:
    """The literal values of a tuple, or keys of a mapping, that an expression names; else none."""
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self":
        node = constants.get(node.attr, node)
    if isinstance(node, ast.Name):
        tree, origins = _readable(module)
        if value := constants_of(tree.body).get(node.id):
            return _literals(value, module, {})
        home, name = origins.get(node.id, ("", ""))
        return _literals(ast.Name(name), home, {}) if home else ()
    parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
    is_literal = all(isinstance(part, ast.Constant) for part in parts)
    return tuple(part.value for part in parts) if is_literal else ()
