"""Encoders of users, e.g. the folder ``./my-encoder`` or a name on the hub, run by sentence-transformers."""

import contextlib
import importlib.util
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from repro.errors import BlockedError, DataError, UsageError, check_known
from repro.exchange.encoder_export import FILE as EXPORTED
from repro.graph import Node
from repro.machine.bounded_reading import check_pulled, read_json_file
from repro.progress import Progress, span
from repro.retrieval.datasets.hub_models import SETTINGS, base_identity, cached_folder, planned_checkpoint
from repro.retrieval.recipe import search, search_views
from repro.running.engines.inline import ensure
from repro.running.requirements import Machine, checkpoint
from repro.stage_table import MODULES, PRECISIONS
from repro.store import Store, check_where_stored

NO_TITLES = "none"
SIMILARITIES = ("dot", "cosine", "euclidean")
FACTS: dict[str, tuple | type] = {  # setting -> its values or type
    "query_model": str,
    "kind": ("dense", "splade", "splade-sum"),
    "pooling": ("cls", "mean", "max", "mean_sqrt_len_tokens", "weightedmean", "lasttoken", "pooler"),
    "similarity": SIMILARITIES,
    "precision": PRECISIONS,
    "query_length": int,
    "passage_length": int,
    "query_prefix": str,
    "passage_prefix": str,
    "separator": str,
    "truncate_dim": int,
}
SIDES = {"passages": "passage", "queries": "query"}  # kind of texts -> prefix of its settings
LEAST = {"truncate_dim": 1, "query_length": 3, "passage_length": 3}  # includes [CLS] and [SEP]
OURS = ("projector.safetensors", "views.json")
LIBRARY = "config_sentence_transformers.json"
KINDS = {"SentenceTransformer": "dense", "SparseEncoder": "sparse"}
UNLIMITED = 1_000_000  # tokens. Larger limits are placeholders of tokenizers without a limit
TRIAL = "The river below the stone bridge rises after every storm. "
LEAST_COSINE = 0.999  # between the vectors of a text alone and in a batch
FEW = 500
SAMPLE = 64


@dataclass(frozen=True)
class UserEncoder:
    """A user's encoders of passages and of queries (often the same), as parameters of their stages.

    ``described`` is a sentence on its settings. ``faults`` are sentences on vectors that depend on the batch.
    """

    label: str
    described: str
    passages: dict[str, Any]
    queries: dict[str, Any]
    faults: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        return self.label

    name = source

    @property
    def notes(self) -> tuple[str, ...]:
        return (self.described, *self.faults)

    @classmethod
    def find(cls, name: str, data: Path | None, facts: Mapping[str, Any]) -> "UserEncoder":
        """Return the encoder of a folder or name with the settings ``facts`` (their keys are in ``FACTS``).

        Raises UsageError for a wrong setting, DataError or StoreError for a damaged folder, and BlockedError
        for an encoder that is absent or cannot encode.
        """
        _check(facts)
        passages = _look("passages", _located(name, data), facts)
        queries = _look("queries", _located(facts.get("query_model") or name, data), facts, passages)
        if passages.form != queries.form:
            problem = f"{name}: passages have {passages.form} numbers, but queries {queries.form}"
            raise BlockedError(problem, "name two encoders that were trained together")
        similarity = {"similarity": _similarity(name, passages)}
        label = passages.folder.name if passages.params["name"] == "local" else name
        described = _description(passages, queries, facts)
        faults = tuple(dict.fromkeys(side.fault for side in (passages, queries) if side.fault))
        return cls(label, described, passages.params | similarity, queries.params | similarity, faults)

    def ranking(self, passages: Node, topics: Node, *, depth: int, cap: int | None) -> Node:
        """Return the stage that ranks ``depth`` passages for each topic, of texts cut to ``cap`` tokens."""
        sides = ((self.passages, passages), (self.queries, topics))
        nodes = [Node("encode_by_library", {**p, "cap": cap}, {"texts": texts}) for p, texts in sides]
        if self.passages["kind_of_encoder"] == "dense":
            return search(*nodes, depth=depth)
        return search_views(*nodes, depth=depth, terms=["sparse"], mode="exact", list_depth=None)


@dataclass(frozen=True)
class _Side:
    folder: Path
    model: Any
    said: Mapping[str, Any]
    params: dict[str, Any]
    numbers: int
    fault: str = ""

    @property
    def form(self) -> str:
        return f"{self.numbers:,} {'dense' if self.params['kind_of_encoder'] == 'dense' else 'sparse'}"


def _look(
    kind: str, place: tuple[Path, str, dict[str, str]], facts: Mapping[str, Any], other: _Side | None = None
) -> _Side:
    folder, name, source = place
    said = {**_exported(folder), **{key: value for key, value in facts.items() if value is not None}}
    loading = {key: said.get(key) for key in ("pooling", "truncate_dim", "precision")}
    loading["kind_of_encoder"] = _kind(folder, said.get("kind"))
    if loading["kind_of_encoder"] != "dense" and (loading["pooling"] or loading["truncate_dim"]):
        raise UsageError(f"{folder} is a sparse encoder. Remove pooling and truncate_dim.")
    loading["length"] = said.get(f"{SIDES[kind]}_length")
    params = {"name": name, "revision": "main", "kind": kind, **loading, **_source(folder, source)}
    separator = said.get("separator", " ")
    params["separator"] = None if separator == NO_TITLES else separator
    params["prompt"] = said.get(f"{SIDES[kind]}_prefix")
    is_same = other and other.folder == folder and loading.items() <= other.params.items()
    model = other.model if other and is_same else _loaded(folder, params)
    numbers = _width(model, folder, params)
    if (wanted := loading["truncate_dim"] or 0) > numbers:
        raise UsageError(f"{folder}: truncate_dim is {wanted:,}, but vectors have {numbers:,} numbers")
    return _Side(folder, model, said, params, numbers, _fault(model, folder, params))


def _located(name: str, data: Path | None) -> tuple[Path, str, dict[str, str]]:
    folder = Path(name).expanduser()
    if _has_one_of(SETTINGS, folder):
        check_where_stored(folder)
        if _has_one_of(OURS, folder):
            problem = "has layers that sentence-transformers does not read"
            raise UsageError(f"{name} {problem}. `repro export encoder` converts it.")
        return folder.resolve(), "local", {"kind": "folder", "path": str(folder.resolve())}
    if name and folder.exists():
        raise UsageError(f"{name} is not a model directory: it has none of {', '.join(SETTINGS)}")
    source = None
    with contextlib.suppress(ValueError):
        source = None if folder.is_absolute() else checkpoint(name, "main", data)
    if source:
        place = Path(source["path"]) if "path" in source else cached_folder(name, source["commit"])
        if place:
            return place, name, source
    remedy = f"name a model directory, or run `repro data fetch model:{name}`"
    raise BlockedError(f"the encoder {name!r} is neither a directory nor on this machine", remedy)


def _has_one_of(files: Sequence[str], folder: Path) -> bool:
    return any((folder / file).exists() for file in files)


def _source(folder: Path, source: dict[str, str]) -> dict[str, Any]:
    files = sorted(folder.rglob("adapter_config.json"))
    if not files:
        return {"source": source}
    if importlib.util.find_spec("peft") is None:
        problem = f"{folder} is an adapter, which sentence-transformers reads with peft"
        raise BlockedError(problem, "install it with `pip install 'repro-bench[adapters]'`")
    base = str(_read(files[0]).get("base_model_name_or_path"))
    if (identity := base_identity(base)) is None:
        problem = f"{folder} is an adapter of {base}, which is not on this machine"
        raise BlockedError(problem, f"copy it there, or run `hf download {base}`")
    return {"source": {**source, "base": base}, "base": identity}


def _library():
    from repro.retrieval.nn import library_encoder

    return library_encoder


def _loaded(folder: Path, params: dict[str, Any]) -> Any:
    from repro.retrieval.nn.checkpoint import remedy
    from repro.retrieval.nn.precision import check_precision

    check_precision(params["precision"] or "fp32")
    try:
        model = _library().load(folder, {**params, "kind": params["kind_of_encoder"]})
    except DataError as error:
        raise BlockedError(str(error), remedy(folder, str(error))) from error
    named = _read(folder / LIBRARY).get("similarity_fn_name")
    if named not in (None, model.similarity_fn_name):
        problem = f"{folder / LIBRARY}: the library does not use the similarity {named!r}"
        raise BlockedError(problem, f"write one of {', '.join(SIMILARITIES)} there")
    return model


def _width(model: Any, folder: Path, params: dict[str, Any]) -> int:
    from repro.retrieval.nn.checkpoint import reason, remedy
    from repro.retrieval.stages.encode_by_library import joined

    texts, prompt = joined([("A title", 60 * TRIAL)], params)
    try:
        vectors = _library().encode(model, texts, kind=params["kind"], prompt=prompt)
    except Exception as error:  # the library raises many kinds
        problem = f"{folder}: cannot encode a text ({reason(error)})"
        raise BlockedError(problem, remedy(folder, problem)) from error
    if not vectors.to_dense().isfinite().all():
        raise BlockedError(f"{folder}: the vector of a text is not finite", "replace its weights")
    return vectors.shape[1]


def _fault(model: Any, folder: Path, params: dict[str, Any]) -> str:
    from repro.retrieval.stages.encode_by_library import joined

    texts, prompt = joined([("A title", TRIAL), ("A title", 60 * TRIAL)], params)
    found = _library().batch_difference(model, texts, kind=params["kind"], prompt=prompt)
    if found is None:
        return ""
    numbers = "cosine {:.6f}, relative difference {:.2g}".format(*found)
    problem = f"{params['kind']}: the vector of a text changes with the other texts of its batch ({numbers})"
    if found[0] < LEAST_COSINE:
        remedy = "correct its padding side, attention mask or positions"
        raise BlockedError(f"{folder}: {problem}, so its scores cannot be reproduced", remedy)
    return f"{problem}, so scores depend slightly on the batches"


def _similarity(name: str, passages: _Side) -> str:
    similarity = passages.said.get("similarity") or passages.model.similarity_fn_name
    known = SIMILARITIES if passages.params["kind_of_encoder"] == "dense" else SIMILARITIES[:2]
    if similarity not in known:
        problem = f"{name}: passages are not searched by the similarity {similarity!r}"
        raise BlockedError(problem, f"set one of {', '.join(known)}")
    return similarity


def _check(facts: Mapping[str, Any]) -> None:
    check_known("key of an encoder", *facts, valid=FACTS)
    for name, value in facts.items():
        valid = FACTS[name]
        if value is not None and isinstance(valid, tuple):
            check_known(name, value, valid=valid)
        elif value is not None and (not isinstance(value, valid) or isinstance(value, bool)):
            raise UsageError(f"{name} of an encoder cannot be {value!r}")
        elif isinstance(value, int) and value < LEAST[name]:
            raise UsageError(f"{name} of an encoder is {value}. It must be at least {LEAST[name]}.")


def _exported(folder: Path) -> dict[str, Any]:
    said = _read(folder / EXPORTED).get("conventions", {})
    try:
        if said.get("pooling") == MODULES:
            said = {key: value for key, value in said.items() if key not in ("pooling", "kind")}
        if said.get("separator", "") is None:
            said |= {"separator": NO_TITLES}
        _check(said)
    except (UsageError, AttributeError) as error:
        raise DataError(f"{folder / EXPORTED} is malformed ({error})") from None
    return said


def _kind(folder: Path, said: str | None) -> str:
    if not (folder / "modules.json").exists():
        return said or "dense"
    family = _read(folder / LIBRARY).get("model_type") or "SentenceTransformer"
    if family not in KINDS:
        raise BlockedError(f"{folder} is a {family}, which makes no vectors", "name an encoder")
    if said and said.startswith("splade") != (KINDS[family] == "sparse"):
        raise UsageError(f"{folder} is a {family}, not of kind {said}. Remove kind.")
    return KINDS[family]


def _read(path: Path) -> dict:
    try:
        content = read_json_file(path) if path.exists() else {}
    except (OSError, ValueError) as error:
        check_pulled(path.parent)
        raise DataError(f"{path}: cannot be read ({error})") from None
    if not isinstance(content, dict):
        raise DataError(f"{path} is malformed: it must be a mapping")
    return content


def _description(passages: _Side, queries: _Side, facts: Mapping[str, Any]) -> str:
    is_one = queries.folder == passages.folder
    own, other = (side.model.similarity_fn_name for side in (passages, queries))
    differs = "" if own == other else f" of the passages' encoder (queries': {other})"
    parts = [
        *(_modules(passages), _reading(passages)),
        "" if is_one else f"queries by another encoder, {_modules(queries)}",
        *(_reading(queries), _titles(passages.params)),
        f"similarity {passages.said.get('similarity') or own + differs}",
        f"{passages.form} numbers a vector",
        _stated(_exported(passages.folder), f"its {EXPORTED}"),
        _stated(facts, "its user"),
    ]
    unused = _library().unused_prompts(passages.model) if is_one else ()
    parts += [f"its prompt {name!r} is unused" for name in unused]
    parts += dict.fromkeys(map(_own_code, (passages.folder, queries.folder)))
    words = "; ".join(filter(None, parts))
    return f"read by sentence-transformers {version('sentence-transformers')}: {words}"


def _stated(facts: Mapping[str, Any], whose: str) -> str:
    said = ", ".join(f"{name} {value!r}" for name, value in facts.items() if value is not None)
    return said and f"{said} (by {whose})"


def _modules(side: _Side) -> str:
    names = ", ".join(map(_library().named, side.model.children()))
    is_stated = (side.folder / "modules.json").exists()
    return f"{names} ({'by its' if is_stated else 'default of the library without'} modules.json)"


def _reading(side: _Side) -> str:
    kind, said = side.params["kind"], side.params["prompt"]
    prompt, limit = _library().reading(side.model, kind)
    prompt = prompt if said is None else said
    length = f"at most {limit:,} tokens" if limit and limit < UNLIMITED else "no limit of tokens"
    dtype = side.params["precision"] or str(side.model.dtype).removeprefix("torch.")
    return f"{kind} with {f'the prompt {prompt!r}' if prompt else 'no prompt'}, {length}, in {dtype}"


def _titles(params: Mapping[str, Any]) -> str:
    separator = params["separator"]
    if "{title}" in (params["prompt"] or ""):
        return "titles in the prompt"
    if separator is None:
        return "titles left out"
    return f"title and text {'as two segments' if separator == 'pair' else f'joined by {separator!r}'}"


def _own_code(folder: Path) -> str:
    files = [path for path in sorted(folder.rglob("*config.json")) if _read(path).get("auto_map")]
    names = ", ".join(path.relative_to(folder).as_posix() for path in files)
    return f"its own code, named in {names}, is not run" if files else ""


def announce_duration(
    label: str, rankings: Sequence[Node], store: Store, progress: Progress, *, machine: Machine
) -> None:
    """Build the texts, and print the expected time of missing encodings of 500 passages or more."""
    lacking = [n for n in {r.input("passages") for r in rankings} if store.state(n) != "stored"]
    texts = [node.input("texts") for node in lacking]
    ensure(dict.fromkeys(texts), store, progress, machine=machine, quiet=True).raise_first()
    counts = [store.record(node)["facts"]["documents"] for node in texts]
    if sum(counts) < FEW:
        return
    sample = SAMPLE // len(lacking) or 1
    seconds = sum(_seconds(node, n, sample, store) for node, n in zip(lacking, counts, strict=True))
    progress.note(f"{label}: encoding {sum(counts):,} passages takes about {span(seconds)}")


def _seconds(node: Node, count: int, sample: int, store: Store) -> float:
    from repro.retrieval.nn.precision import threads_for
    from repro.retrieval.stages.encode import Texts
    from repro.retrieval.stages.encode_by_library import joined

    params = dict(node.params)
    texts = Texts.read(store.path(node.input("texts")), {"kind": params["kind"], "separator": ""})
    titled = [pair for n in range(0, count, max(1, count // sample)) for pair in texts.titled(n, n + 1)]
    strings, prompt = joined(titled, params)
    options = {"kind": params["kind"], "prompt": prompt, "precision": params["precision"]}
    with planned_checkpoint(params) as checkpoint:
        model = _library().load(checkpoint, params | {"kind": params["kind_of_encoder"]})
    with threads_for(model):
        _library().encode(model, strings[:8], **options)  # the first call is slower
        start = time.monotonic()
        _library().encode(model, strings, **options)
    return (time.monotonic() - start) / len(strings) * count
