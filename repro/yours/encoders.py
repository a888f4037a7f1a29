"""An encoder of a user, a folder or a name of the hub, which sentence-transformers loads and runs."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from repro.datasets.hub_models import base_identity, cached_folder
from repro.errors import BlockedError, DataError, UsageError, check_known
from repro.exchange.encoder_export import FILE as EXPORTED
from repro.graph import Node
from repro.machine.bounded_reading import read_json_file
from repro.recipe.ranking import search, search_views
from repro.running.requirements import checkpoint
from repro.stage_table import MODULES, PRECISIONS
from repro.store import check_where_stored

NO_TITLES = "none"  # as a separator
SIMILARITIES = ("dot", "cosine", "euclidean")
POOLINGS = ("cls", "mean", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", "pooler")
FACTS: dict[str, tuple | type] = {  # keys of a file that describes an encoder, and what each may be
    "query_model": str,
    "kind": ("dense", "splade", "splade-sum"),
    "pooling": POOLINGS,
    "similarity": SIMILARITIES,
    "precision": PRECISIONS,
    "query_length": int,
    "passage_length": int,
    "query_prefix": str,
    "passage_prefix": str,
    "separator": str,
    "truncate_dim": int,
}
SETTINGS_FILE = "config_sentence_transformers.json"
KINDS = {"SentenceTransformer": "dense", "SparseEncoder": "sparse"}  # model_type of the library's settings
UNLIMITED = 1_000_000  # tokens; a tokenizer without a limit says a number beyond
REMEDY = "put all of its files there, weights and tokenizer too, or correct what is said of it"
TRIAL = "The river below the stone bridge rises after every storm. " * 60
LEAST = {"truncate_dim": 1}  # of numbers; a text has 3 tokens at least, with [CLS] and [SEP]
FILES = ("config.json", "modules.json", "adapter_config.json")  # one of which a model's folder has


@dataclass(frozen=True)
class _Files:
    """The files of one encoder.

    Attributes:
        name: on the hub; ``local`` for a folder, which is known by its bytes alone.
        source: where the stage reads it.
        base: name and identity of the model that an adapter is for; None without one.
    """

    folder: Path
    name: str
    source: Mapping[str, str]
    base: Mapping[str, str] | None

    @classmethod
    def find(cls, name: str, data: Path | None) -> _Files:
        folder = Path(name).expanduser()
        if any((folder / file).exists() for file in FILES):
            check_where_stored(folder)
            source = {"kind": "folder", "path": str(folder.resolve())}
            return cls(folder.resolve(), "local", source, _base(folder))
        if name and folder.exists():
            raise UsageError(f"{name}: holds neither of {', '.join(FILES)}, so it is no model directory")
        try:
            found = None if folder.is_absolute() else checkpoint(name, "main", data)
        except ValueError:  # the hub's, for what cannot be a name there
            found = None
        if found is None:
            remedy = f"name a model directory, or run `repro data fetch model:{name}`"
            raise BlockedError(f"the encoder {name!r} is neither a directory nor on this machine", remedy)
        folder = Path(found["path"]) if found["kind"] == "folder" else cached_folder(name, found["commit"])
        return cls(folder, name, found, _base(folder))


def _base(folder: Path) -> dict[str, str] | None:
    """The model that an adapter is for, by name and identity; None where the folder holds no adapter.

    Raises BlockedError where it, or peft, is not on this machine.
    """
    files = sorted(folder.rglob("adapter_config.json"))
    if not files:
        return None
    if importlib.util.find_spec("peft") is None:
        problem = f"{folder} is an adapter, which sentence-transformers reads with peft"
        raise BlockedError(problem, "install it with `pip install 'repro-bench[adapters]'`")
    name = str(read_json_file(files[0]).get("base_model_name_or_path"))
    identity = base_identity(name)
    if identity is None:
        problem = f"{folder} is an adapter of {name}, which is not on this machine"
        way = (
            "put it there"
            if Path(name).is_absolute()
            else f"put it into the hub's cache: `hf download {name}`"
        )
        raise BlockedError(problem, way)
    return {"name": name, "identity": identity}


@dataclass(frozen=True)
class _Side:
    """The encoder of passages or of queries, as it was found on looking.

    Attributes:
        model: the library's.
        said: what its export and its user say of it.
        params: of the stage, but for what both sides share.
        numbers: of a vector.
    """

    files: _Files
    model: Any
    said: Mapping[str, Any]
    params: Mapping[str, Any]
    numbers: int

    @property
    def form(self) -> str:
        """The number of numbers of a vector, and whether most are zero."""
        return f"{self.numbers:,} {'dense' if self.params['kind_of_encoder'] == 'dense' else 'sparse'}"

    @classmethod
    def look(cls, files: _Files, facts: Mapping[str, Any], kind: str, other: _Side | None) -> _Side:
        """Load an encoder and have it read a text; ``other`` is the side that may have the same one."""
        said = _exported(files.folder) | {key: value for key, value in facts.items() if value is not None}
        params = _params(files, said, kind)
        if other and other.files == files and all(other.params[name] == params[name] for name in SETTINGS):
            model = other.model
        else:
            model = _loaded(files.folder, params)
        return cls(files, model, said, params, _width(model, files.folder, params))


SETTINGS = ("kind_of_encoder", "pooling", "truncate_dim", "precision", "length")


def _params(files: _Files, said: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """The parameters of the stage that encodes texts of a kind, but for what both sides share."""
    side = "query" if kind == "queries" else "passage"
    params = {"name": files.name, "revision": "main", "source": dict(files.source), "kind": kind}
    params["kind_of_encoder"] = _kind(files.folder, said.get("kind"))
    params |= {name: said.get(name) for name in ("pooling", "truncate_dim", "precision")}
    params |= {"length": said.get(f"{side}_length"), "prompt": said.get(f"{side}_prefix")}
    separator = said.get("separator", " ")
    params["separator"] = None if separator == NO_TITLES else separator
    if files.base:
        params["base"], params["source"]["base"] = files.base["identity"], files.base["name"]
    return params


def _loaded(folder: Path, params: Mapping[str, Any]):
    from repro.nn import library_encoder
    from repro.nn.precision import check_precision

    check_precision(params["precision"] or "fp32")
    try:
        model = library_encoder.load(folder, {**params, "kind": params["kind_of_encoder"]})
    except DataError as error:
        raise BlockedError(str(error), REMEDY) from error
    path = folder / SETTINGS_FILE
    similarity = _read(path).get("similarity_fn_name") if path.exists() else None
    if similarity not in (None, model.similarity_fn_name):
        problem = f"{path}: the library does not follow the similarity {similarity!r}"
        raise BlockedError(problem, f"say one of {', '.join(SIMILARITIES)} there")
    return model


def _width(model, folder: Path, params: Mapping[str, Any]) -> int:
    """The numbers of a vector of a long text, which has to be encoded for that."""
    from repro.nn import library_encoder
    from repro.nn.checkpoint import reason
    from repro.stages.encode_by_library import joined

    texts, prompt = joined([("A title", TRIAL)], params)
    try:
        vectors = library_encoder.encode(model, texts, kind=params["kind"], prompt=prompt)
    except Exception as error:  # whatever the library raises for files that do not fit each other
        raise BlockedError(f"{folder}: cannot encode a text ({reason(error)})", REMEDY) from error
    if not vectors.to_dense().isfinite().all():
        raise BlockedError(f"{folder}: the vector of a text is not finite", REMEDY)
    return vectors.shape[1]


@dataclass(frozen=True)
class UserEncoder:
    """An encoder of a user, or two, as the library reads them and the user says above that.

    Attributes:
        label: a short name.
        described: a sentence on how it reads texts, and by whose word.
        passages, queries: parameters of the stage that encodes them.
    """

    label: str
    described: str
    passages: Mapping[str, Any]
    queries: Mapping[str, Any]

    @classmethod
    def find(cls, name: str, data: Path | None, facts: Mapping[str, Any]) -> UserEncoder:
        """Find an encoder, a folder or a name in the data folder or the hub's cache, and load it to look.

        Args:
            facts: what its user says of it, above what its files say; see ``FACTS``.

        Raises:
            UsageError: a folder that is no model, or a fact that cannot be.
            StoreError: it is of a store's artefact, which is damaged.
            BlockedError: it is nowhere, or cannot be read as an encoder.
        """
        _check(facts)
        files = [_Files.find(each, data) for each in (name, facts.get("query_model") or name)]
        sides = {}
        for kind, each in zip(("passages", "queries"), files, strict=True):
            sides[kind] = _Side.look(each, facts, kind, sides.get("passages"))
        passages, queries = sides["passages"], sides["queries"]
        if passages.form != queries.form:
            problem = f"{name}: passages have {passages.form} numbers and queries {queries.form}"
            raise BlockedError(problem, "name two encoders that were trained together")
        similarity = passages.said.get("similarity") or passages.model.similarity_fn_name
        known = SIMILARITIES if passages.params["kind_of_encoder"] == "dense" else SIMILARITIES[:2]
        if similarity not in known:
            problem = f"{name}: passages are not searched by the similarity {similarity!r}"
            raise BlockedError(problem, f"say one of {', '.join(known)}")
        shared = {"similarity": similarity}
        label = name if files[0].name != "local" else files[0].folder.name
        described = _description(sides, facts, similarity)
        return cls(label, described, passages.params | shared, queries.params | shared)

    def ranking(self, passages: Node, topics: Node, *, depth: int, cap: int | None) -> Node:
        """Return the run of passages for queries by this encoder; texts are cut to ``cap`` tokens at most."""
        nodes = []
        for params, texts in ((self.passages, passages), (self.queries, topics)):
            nodes.append(Node("encode_by_library", {**params, "cap": cap}, {"texts": texts}))
        if self.passages["kind_of_encoder"] == "dense":
            return search(*nodes, depth=depth)
        return search_views(*nodes, depth=depth, terms=["sparse"], mode="exact", list_depth=None)


def _check(facts: Mapping[str, Any]) -> None:
    """Raise UsageError for a fact of an encoder that cannot be."""
    check_known("key of an encoder", *facts, valid=FACTS)
    for name, value in facts.items():
        valid = FACTS[name]
        if value is None:
            continue
        if isinstance(valid, tuple):
            check_known(name, value, valid=valid)
        elif not isinstance(value, valid) or isinstance(value, bool):
            raise UsageError(f"{name} of an encoder cannot be {value!r}")
        elif valid is int and value < (least := LEAST.get(name, 3)):
            raise UsageError(f"{name} of an encoder is {value}, and {least} at least")


def _exported(folder: Path) -> dict[str, Any]:
    """What `repro export encoder` wrote of an encoder, which its other files do not say."""
    path = folder / EXPORTED
    if not path.exists():
        return {}
    said = _read(path).get("conventions")
    if not isinstance(said, dict):
        raise DataError(f"{path}: not what such a file holds")
    if said.get("pooling") == MODULES:  # as its modules are
        said = {key: value for key, value in said.items() if key not in ("pooling", "kind")}
    if "separator" in said and said["separator"] is None:
        said = said | {"separator": NO_TITLES}
    try:
        _check(said)
    except UsageError as error:
        raise DataError(f"{path}: {error}") from None
    return said


def _kind(folder: Path, said: str | None) -> str:
    """The kind of encoder that a folder is, or of one without modules.json that its user says it is.

    Raises UsageError where the two are not one, and BlockedError for what gives no vector a text.
    """
    if not (folder / "modules.json").exists():
        return said or "dense"
    path = folder / SETTINGS_FILE
    family = (_read(path) if path.exists() else {}).get("model_type") or "SentenceTransformer"
    if family not in KINDS:
        raise BlockedError(f"{folder} is a {family}, which gives no vector of a text", "name an encoder")
    if said and said.startswith("splade") != (KINDS[family] == "sparse"):
        raise UsageError(f"{folder} is a {family}, and kind says {said}; leave kind out")
    return KINDS[family]


def _read(path: Path) -> dict:
    try:
        content = read_json_file(path)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read ({error})") from None
    if not isinstance(content, dict):
        raise DataError(f"{path}: not what such a file holds")
    return content


def _description(sides: Mapping[str, _Side], facts: Mapping[str, Any], similarity: str) -> str:
    """A sentence on how an encoder reads texts, and by whose word."""
    from repro.nn import library_encoder

    passages, queries = sides["passages"], sides["queries"]
    parts = [_modules(passages), _reading(passages, "passages")]
    if queries.files != passages.files:
        parts.append(f"queries by another one, {_modules(queries)}")
    parts += [_reading(queries, "queries"), _titles(passages.params["separator"])]
    other = queries.model.similarity_fn_name
    if "similarity" not in facts and other != passages.model.similarity_fn_name:
        similarity += f", as the one of passages says (the one of queries says {other})"
    parts += [f"similarity {similarity}", f"{passages.form} numbers a vector"]
    parts.append(_by_word(f"as its {EXPORTED} says", _exported(passages.files.folder)))
    parts.append(_by_word("as its user says", facts))
    if queries.files == passages.files:
        unused = library_encoder.unused_prompts(passages.model)
        parts += [f"its prompt {name!r} is of neither" for name in unused]
    parts += dict.fromkeys(own_code(side.files.folder) for side in (passages, queries))
    parts = filter(None, parts)
    return f"read by sentence-transformers {version('sentence-transformers')}: {'; '.join(parts)}"


def _by_word(whose: str, facts: Mapping[str, Any]) -> str:
    """What somebody says of an encoder, and who; nothing where that is nothing."""
    said = ", ".join(f"{name} {value!r}" for name, value in facts.items() if value is not None)
    return said and f"{said}, {whose}"


def _modules(side: _Side) -> str:
    """The modules of an encoder, and which file named them."""
    from repro.nn import library_encoder

    names = ", ".join(map(library_encoder.named, side.model.children()))
    if (side.files.folder / "modules.json").exists():
        return f"{names}, as its modules.json says"
    return f"{names}, as the library reads a folder without modules.json"


def _reading(side: _Side, kind: str) -> str:
    from repro.nn import library_encoder

    prompt, limit = library_encoder.reading(side.model, kind)
    prompt = prompt if side.params["prompt"] is None else side.params["prompt"]
    limit = side.params["length"] or limit
    length = f"at most {limit:,} tokens" if limit and limit < UNLIMITED else "no limit of tokens"
    dtype = side.params["precision"] or str(side.model.dtype).removeprefix("torch.")
    return f"{kind} with {f'the prompt {prompt!r}' if prompt else 'no prompt'}, {length}, in {dtype}"


def _titles(separator: str | None) -> str:
    if separator is None:
        return "titles left out"
    if separator == "pair":
        return "title and text as two segments"
    return f"title and text joined by {separator!r}"


def own_code(folder: Path) -> str:
    """What is to be said of code that comes with a model's folder and is never run; else nothing."""
    files = [path for path in sorted(folder.rglob("*config.json")) if _names_code(_read(path))]
    if not files:
        return ""
    names = ", ".join(path.relative_to(folder).as_posix() for path in files)
    return f"its own code, which {names} asks for, is left out: the library's classes read its weights"


def _names_code(config: Any) -> bool:
    """Whether a configuration, or one in it, has an ``auto_map``: classes to be fetched and run."""
    if isinstance(config, dict):
        return bool(config.get("auto_map")) or any(map(_names_code, config.values()))
    return isinstance(config, list) and any(map(_names_code, config))
