"""The keyword parameters of an objective, read from its source, because importing it would load torch."""

import ast
import inspect
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from repro.errors import UsageError


def keywords(objective: Mapping[str, Any]) -> dict[str, bool]:
    """Return the keyword parameters of an objective and whether each is required.

    E.g. ``{"temperature": True, "span_unit": False}``. The class is imported only where its source does not
    show its constructor, e.g. where a function makes the class.

    Args:
        objective: its name, version and path.

    Raises:
        UsageError: there is no such class, or its constructor has ``**options``.
    """
    module, _, name = objective["path"].partition(":")
    if arguments := _constructor(module, name):
        pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        taken = {argument.arg: default is None for argument, default in pairs}
        others = [arguments.kwarg.arg] if arguments.kwarg else []
    else:
        from repro.retrieval.training.objective import import_declared

        parameters = inspect.signature(import_declared("objective", objective)).parameters.values()
        taken = {p.name: p.default is p.empty for p in parameters if p.kind is p.KEYWORD_ONLY}
        others = [p.name for p in parameters if p.kind is p.VAR_KEYWORD]
    if others:
        raise UsageError(f"{objective['path']} has **{others[0]}; its __init__ has to name each option")
    return taken


def _constructor(module: str, name: str) -> ast.arguments | None:
    """Return the arguments of a class's own or inherited ``__init__``, or None if the source does not show
    them."""
    try:
        spec = find_spec(module)
    except (ModuleNotFoundError, ValueError):  # the import will raise a better error
        return None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    tree = ast.parse(Path(spec.origin).read_bytes(), spec.origin)
    match [statement for statement in tree.body if name in _names(statement)]:
        case [ast.ImportFrom(module=str(origin), names=aliases, level=0)]:
            return _constructor(origin, next(a.name for a in aliases if name == (a.asname or a.name)))
        case [ast.ClassDef(decorator_list=[], bases=bases, body=body)]:
            own = [item for item in body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
            match own, bases:
                case [ast.FunctionDef(decorator_list=[], args=arguments)], _:
                    return arguments
                case [], [ast.Name(id=base)]:  # several bases need Python's method resolution order
                    return _constructor(module, base)
    return None


def _names(statement: ast.stmt) -> set[str]:
    aliases = statement.names if isinstance(statement, ast.ImportFrom) else []
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    named = {alias.asname or alias.name for alias in aliases} | {ast.unparse(target) for target in targets}
    return named | {getattr(statement, "name", "")}
