"""Encoding conventions of an encoder made by others: its prefixes, lengths, pooling, read and checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from repro.errors import DataError, UsageError, check_known
from repro.machine.bounded_reading import read_json_file

FILE = "repro.json"  # written by `repro export encoder`
MODULES = "sentence-transformers"  # the pooling of a directory whose modules.json says what follows
NO_TITLES = "none"  # as a separator that is chosen
CHOICES = {
    "kind": ("dense", "splade", "splade-sum"),
    "pooling": ("cls", "mean", "pooler", MODULES),
    "similarity": ("dot", "cosine"),
    "precision": ("fp32", "fp16", "bf16"),
}
_TYPES = {
    "query_length": int,
    "passage_length": int,
    "query_prefix": str,
    "passage_prefix": str,
    "separator": (str, type(None)),
}
_MODES = {  # how modules.json's pooling called its modes before it had one name for all of them
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}


@dataclass(frozen=True)
class Conventions:
    """How an encoder makes a vector of a text, and a score of two vectors.

    Attributes:
        kind: ``dense``, or ``splade``: max log(1 + ReLU) of the masked-language head over all positions; the
            first version, ``splade-sum``, has their sum.
        pooling: ``cls``, ``mean``, ``pooler`` (BERT's, tanh and all), or ``sentence-transformers``: what
            modules.json lists.
        similarity: ``dot`` or ``cosine``.
        query_length, passage_length: tokens with [CLS] and [SEP].
        separator: between title and text; ``pair`` for two segments, None for the text alone.
        query_prefix, passage_prefix: put before a query, or before a passage with its title.
        precision: of encoding.

    Raises UsageError for values that cannot be.
    """

    kind: str = "dense"
    pooling: str = "cls"
    similarity: str = "dot"
    query_length: int = 32
    passage_length: int = 128
    separator: str | None = " "
    query_prefix: str = ""
    passage_prefix: str = ""
    precision: str = "fp32"

    def __post_init__(self):
        for name, valid in CHOICES.items():
            check_known(name, getattr(self, name), valid=valid)
        for name, kind in _TYPES.items():
            value = getattr(self, name)
            if not isinstance(value, kind) or isinstance(value, bool):
                raise UsageError(f"{name} of an encoder cannot be {value!r}")
        for name in ("query_length", "passage_length"):
            if getattr(self, name) < 3:
                raise UsageError(f"{name} is {getattr(self, name)}: with [CLS] and [SEP] it is 3 at least")

    def but(self, given: Mapping[str, Any]) -> Conventions:
        """These conventions with those values replaced that are not None."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})

    def to_json(self) -> dict:
        """The contents of ``repro.json``."""
        return asdict(self)


@dataclass(frozen=True)
class Module:
    """One line of modules.json: its kind (Transformer, Pooling, Dense, …), folder and configuration."""

    kind: str
    folder: Path
    config: Mapping[str, Any]


def stated(folder: Path) -> tuple[Conventions, str]:
    """Read the encoding conventions of a model directory, and a phrase naming the file they came from.

    ``repro.json`` rules, then ``modules.json`` with the files it names, then common defaults.

    Raises DataError where one of these files is broken, or says what cannot be done.
    """
    try:
        return _read_conventions(folder)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise DataError(f"{folder}: one of its files does not hold what such files do ({error!r})") from None


def stated_or_chosen(folder: Path, chosen: Mapping[str, Any]) -> tuple[Conventions, str]:
    """Read the conventions as ``stated`` does, with every one that is not None in ``chosen`` above it.

    A separator ``none`` leaves titles out. Raises UsageError for a bad choice, and as ``stated``.
    """
    conventions, phrase = stated(folder)
    conventions = conventions.but(chosen)
    if chosen.get("separator") == NO_TITLES:
        conventions = replace(conventions, separator=None)
    return conventions, phrase


def own_code(folder: Path) -> str:
    """Return what is to be said of code that comes with a model directory and is never run; else nothing.

    Raises DataError where one of its files is broken.
    """
    files = [path for path in sorted(folder.rglob("*config.json")) if _names_code(read(path))]
    entries = read(folder / "modules.json", list) if (folder / "modules.json").exists() else []
    types = [str(dict(entry).get("type")) for entry in entries]
    if any(not name.startswith("sentence_transformers.") for name in types):
        files.append(folder / "modules.json")
    if not files:
        return ""
    names = ", ".join(path.relative_to(folder).as_posix() for path in files)
    return f"its own code, which {names} asks for, is left out: the library's classes read its weights"


def _names_code(config: Any) -> bool:
    """Return whether a configuration, or one in it, has an ``auto_map``: classes to be fetched and run."""
    if isinstance(config, dict):
        return bool(config.get("auto_map")) or any(map(_names_code, config.values()))
    return isinstance(config, list) and any(map(_names_code, config))


def _read_conventions(folder: Path) -> tuple[Conventions, str]:
    if (folder / FILE).exists():
        values = read(folder / FILE).get("conventions", {})
        strange = set(values) - {field.name for field in fields(Conventions)}
        if strange:
            raise DataError(f"{folder / FILE}: {min(strange)!r} is none of the conventions of an encoder")
        try:
            return Conventions(**values), f"as its {FILE} says"
        except UsageError as error:
            raise DataError(f"{folder / FILE}: {error}") from None
    if (folder / "modules.json").exists():
        return _module_conventions(folder), "as its modules.json and the files beside say"
    return Conventions(), "by defaults, since its directory says nothing of it"


def modules(folder: Path) -> list[Module]:
    """The modules of a sentence-transformers directory, in order: the transformer, its pooling, heads.

    Raises DataError for a directory that is none, or with a module or pooling that is not known here.
    """
    entries = read(folder / "modules.json", list)
    steps = []
    for entry in sorted(entries, key=lambda entry: entry["idx"]):
        kind, place = entry["type"].rpartition(".")[2], folder / entry["path"]
        hidden = any(part.startswith(".") for part in Path(entry["path"]).parts)
        if hidden or not place.resolve().is_relative_to(folder.resolve()):
            raise DataError(f"{folder / 'modules.json'}: {entry['path']!r} is no folder of this directory")
        config = read(place / "config.json") if (place / "config.json").exists() else {}
        steps.append(Module(kind, place, config))
    kinds = [module.kind for module in steps]
    valid = kinds[:2] == ["Transformer", "Pooling"] and set(kinds[2:]) <= {"Dense", "LayerNorm", "Normalize"}
    if not valid:
        raise DataError(
            f"{folder / 'modules.json'}: {', '.join(kinds)} cannot be followed; known is a Transformer, its "
            "Pooling, then any of Dense, LayerNorm, Normalize"
        )
    return steps


def pooling_of(module: Module) -> str:
    """cls or mean. Raises DataError for others, several at once, or one that leaves a prompt out."""
    setting = module.config.get("pooling_mode") or [m for key, m in _MODES.items() if module.config.get(key)]
    modes = [setting] if isinstance(setting, str) else list(setting) or ["mean"]
    if len(modes) != 1 or modes[0] not in ("cls", "mean") or not module.config.get("include_prompt", True):
        raise DataError(
            f"{module.folder}: pooling {', '.join(modes)} is not known here, or leaves prompts out; known: "
            "cls, mean, over all tokens"
        )
    return modes[0]


def _module_conventions(folder: Path) -> Conventions:
    transformer, *parts = modules(folder)
    pooling_of(parts[0])
    settings = _optional(folder / "config_sentence_transformers.json")
    similarity = settings.get("similarity_fn_name") or "cosine"  # what the library takes where none is named
    if similarity not in CHOICES["similarity"]:
        raise DataError(f"{folder}: similarity {similarity!r} is not known here; known: dot, cosine")
    prompts = settings.get("prompts") or {}
    default = prompts.get(settings.get("default_prompt_name") or "", "")
    passage = next((prompts[n] for n in ("document", "passage", "corpus") if n in prompts), default)
    length = _length(transformer.folder, folder)
    return Conventions(
        pooling=MODULES,
        similarity=similarity,
        query_length=length,
        passage_length=length,
        query_prefix=prompts.get("query", default),
        passage_prefix=passage,
    )


def _length(transformer: Path, folder: Path) -> int:
    """The most tokens it reads: stated, or its tokenizer's limit, or its positions, whichever is least."""
    settings = _optional(folder / "sentence_bert_config.json") | _optional(
        transformer / "sentence_bert_config.json"
    )
    limits = [
        _optional(transformer / "tokenizer_config.json").get("model_max_length"),
        read(transformer / "config.json").get("max_position_embeddings"),
    ]
    whole = [int(limit) for limit in limits if limit]
    if not whole:
        raise DataError(f"{folder}: none of its files says how many tokens it reads")
    return settings.get("max_seq_length") or min(whole)


def _optional(path: Path) -> dict:
    return read(path) if path.exists() else {}


def read(path: Path, kind: type = dict) -> Any:
    """A JSON file of a model directory. Raises DataError when it is missing or not of that kind."""
    try:
        content = read_json_file(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    if not isinstance(content, kind):
        raise DataError(f"{path}: not what such a file holds")
    return content
