"""Strict reading of YAML files. Errors begin with e.g. ``cells.yaml:7``."""

import contextlib
import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, model_validator
from yaml.composer import Composer

from repro.errors import ManifestError, unknown
from repro.locations import PAPERS
from repro.machine.file_cache import kept

LARGEST, MOST_ALIASES, DEEP = 2**22, 2_000, 1_000  # bytes, aliases and nesting of a file
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class _SafeLoader(yaml.CSafeLoader):
    def construct_document(self, node):
        return self.construct_object(node, deep=True)  # in order: << adds keys

    def construct_object(self, node, deep=False):
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:str":
            return node.value
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError):  # of 2020-13-45, !!bool maybe
            kind = node.tag.rpartition(":")[2]
            raise _mistake(f"{node.value!r} is not a valid {kind}", node) from None

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _mistake("a key is not a word", key)
            if key.value in seen:
                raise _mistake(f"key {key.value!r} occurs twice", key)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


class _DeepLoader(Composer, _SafeLoader):
    """Compose nodes in Python, as libyaml overflows the stack for deep nesting."""

    def __init__(self, stream: str):
        yaml.CSafeLoader.__init__(self, stream)
        Composer.__init__(self)
        self.aliases = 0

    def compose_node(self, parent, index):
        self.aliases += self.check_event(yaml.AliasEvent)
        if self.aliases > MOST_ALIASES:
            raise yaml.YAMLError(f"it has more than {MOST_ALIASES:,} aliases")
        return super().compose_node(parent, index)


def _load(text: str) -> Any:
    depth = max(map(len, text.splitlines()), default=0) + text.count("[") + text.count("{")  # at most
    if depth <= DEEP and text.count("*") <= MOST_ALIASES:
        with contextlib.suppress(yaml.YAMLError):
            return yaml.load(text, _SafeLoader)
    return yaml.load(text, _DeepLoader)  # its errors name aliases


def _mistake(problem: str, node: yaml.Node) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


Fault = tuple[tuple, str]


class StrictMapping(BaseModel):
    """An immutable mapping. Unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Identified(StrictMapping):
    """An object with an id of letters, digits and ``. _ -``."""

    id: str

    @model_validator(mode="after")
    def _id_is_a_path_segment(self):
        if not _ID.fullmatch(self.id):
            raise ValueError(f"id {self.id!r} may contain only letters, digits, '.', '_' and '-'")
        return self


def repetitions(name: str, items: Sequence[Identified], location: tuple[str | int, ...]) -> Iterator[Fault]:
    """Yield a fault for each repeated id."""
    seen: set[str] = set()
    for number, item in enumerate(items):
        if item.id in seen:
            yield (*location, number), f"{name} {item.id!r} occurs twice"
        seen.add(item.id)


def read(path: Path, shape: Any, *, faults: Callable[[Any], Iterable[Fault]] = lambda content: ()) -> Any:
    """Read a YAML file as ``shape``, a type such as ``tuple[Reading, ...]``. Raises ManifestError.

    ``faults`` yields further faults of the content, each as its location and a reason.
    """
    try:
        text = _text(path)
        is_own = PAPERS in path.parents  # JSON repeats aliased values, so that other files could be a bomb
        data = kept(f"yaml {path}", text.encode(), lambda: _load(text)) if is_own else _load(text)
    except yaml.MarkedYAMLError as error:
        mark, start = error.problem_mark, error.context_mark
        context = f" ({error.context} on line {start.line + 1})" if start and start.line != mark.line else ""
        raise ManifestError(f"{path}:{mark.line + 1}: not valid YAML: {error.problem}{context}") from None
    except (RecursionError, yaml.YAMLError) as error:
        is_deep = isinstance(error, RecursionError)
        reason = "it is nested too deeply" if is_deep else " ".join(str(error).split())
        raise ManifestError(f"{path}: not valid YAML: {reason}") from None
    try:
        content = _adapter(shape).validate_python(data)
    except ValidationError as error:
        # usually misspells a missing key
        fault = min(error.errors(), key=lambda e: e["type"] != "extra_forbidden")
        raise fault_at(path, fault["loc"], _reason(fault, shape)) from None
    for location, reason in faults(content):
        raise fault_at(path, location, reason)
    return content


_adapter = functools.cache(TypeAdapter)


def read_shared(
    path: Path, shape: Any, *, faults: Callable[[Any], Iterable[Fault]] = lambda content: ()
) -> Any:
    """Read like ``read``, but once while the file is unchanged. Do not change the content."""
    return _read_cached(path, _text(path), shape, faults)


@functools.lru_cache(maxsize=64)
def _read_cached(path: Path, text: str, shape: Any, faults: Callable[[Any], Iterable[Fault]]) -> Any:
    return read(path, shape, faults=faults)


def fault_at(path: Path, location: tuple[str | int, ...], reason: str) -> ManifestError:
    """Return the error for one place of a YAML file."""
    place = ".".join(str(part) for part in location) or "top level"
    return ManifestError(f"{path}:{_line(_text(path), location)}: {place}: {reason}")


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST:
            raise ManifestError(f"{path}: it has more than {LARGEST:,} bytes")
        raw = path.read_bytes()
        return raw.decode("utf-8")
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ManifestError(f"{path}:{line}: not UTF-8 text") from None


def _reason(error: Mapping[str, Any], shape: Any) -> str:
    kind, value = error["type"], error["input"]
    if kind in ("model_type", "dataclass_type", "dict_type"):
        return "expected a mapping of names to values"
    if kind == "extra_forbidden":
        *place, key = error["loc"]
        known = _keys(shape, place)
        return str(unknown("key", key, known)) if known else "there is no such key here"
    if kind == "string_type" and isinstance(value, int | float | date):
        return f"{value!r} is not text. Put it in quotes."
    if kind == "missing":
        return "this key is missing"
    return error["msg"].removeprefix("Value error, ")


def _keys(shape: Any, place: Sequence[str | int]) -> list[str]:
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        fields = {field.alias or name: field for name, field in shape.model_fields.items()}
        if not place:
            return list(fields)
        return _keys(fields[place[0]].annotation, place[1:]) if place[0] in fields else []
    arguments = [argument for argument in get_args(shape) if argument is not ...]
    origin = get_origin(shape)
    if isinstance(origin, type) and issubclass(origin, Mapping | Sequence):
        return _keys(arguments[-1], place[1:]) if place else []
    return next(filter(None, (_keys(argument, place) for argument in arguments)), [])


def _line(text: str, location: tuple[str | int, ...]) -> int:
    node = yaml.compose(text, yaml.CSafeLoader)
    for part in location:
        if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
        elif isinstance(node, yaml.MappingNode):
            values = [value for key, value in node.value if key.value == str(part)]
            if not values:
                break
            node = values[0]
        else:
            break
    return node.start_mark.line + 1 if node else 1
