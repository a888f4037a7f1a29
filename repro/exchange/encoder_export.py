"""Export the encoder of a cell, e.g. ``PAPER/1/ROW/COLUMN``, for sentence-transformers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from repro.errors import DataError, UsageError
from repro.graph import Node, walk
from repro.locations import CHECKOUT
from repro.machine.versions import commit
from repro.manifest.cells import cell, cells_of, is_measured
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.recipe import Conventions
from repro.running.measurement import Measurement
from repro.running.plan import plan
from repro.running.recipe_calls import recipe_path
from repro.running.records import member_cells
from repro.running.scale import Scale
from repro.running.workspace import Workspace
from repro.stage_table import MODULES, SEARCHES
from repro.store import Store, disk
from repro.verdicts import compared, comparison, summary
from repro.version import __version__
from repro.writers.markdown import code, escaped, sentence, table

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel


FILE = "repro.json"


@dataclass(frozen=True)
class MeasuredEncoder:
    """The model behind a run, and the stages that encoded its passages and queries."""

    model: Node
    passages: Node
    queries: Node

    @classmethod
    def of(cls, run: Node) -> MeasuredEncoder:
        """Return a run's encoder. Raises UsageError unless it is a single dense one that was not released."""
        if run.stage not in SEARCHES:
            raise UsageError(f"{run} was made by {run.stage}, not by an encoder")
        passages, queries = run.input("passages"), run.input("queries")
        model = passages.input("model")
        if model.fingerprint != queries.input("model").fingerprint:
            raise UsageError(f"{run} has two encoders, for passages and for queries. Choose a row with one.")
        if model.stage == "released":
            name = model.params["name"]
            raise UsageError(f"{model} is a released checkpoint. Take it from {name!r} itself.")
        views = passages.params.get("views", ["dense"])
        if list(views) != ["dense"]:
            vectors = f"{' and '.join(views)} vectors, which sentence-transformers cannot load"
            raise UsageError(f"{run} searches by {vectors}. Choose a row with one dense vector.")
        return cls(model, passages, queries)

    @property
    def conventions(self) -> Conventions:
        passages, queries = self.passages.params, self.queries.params
        return Conventions(
            pooling=MODULES,
            similarity="cosine" if passages["normalize"] else "dot",
            query_length=queries["length"],
            passage_length=passages["length"],
            separator=passages["separator"],
            query_prefix=queries.get("prefix", ""),
            passage_prefix=passages.get("prefix", ""),
            precision=passages["precision"],
        )


@dataclass(frozen=True)
class Export:
    """An encoder with the name that the user gave, and its measurement if that is a cell."""

    name: str
    source: MeasuredEncoder
    measurement: Measurement | None = None


def encoder_of(name: str, workspace: Workspace, *, scale: Scale, seed: int | None) -> Export:
    """Return the encoder of a cell, or of a run or evaluation named by its fingerprint. Raises UsageError."""
    if "/" not in name:
        node = workspace.store.remembered(name)
        run = node.input("run") if node.stage == "evaluate" and "run" in node.inputs else node
        if run is node and run.stage not in SEARCHES:
            raise UsageError(f"{node} is neither a run nor its scores. Give the fingerprint of one of these.")
        return Export(name, MeasuredEncoder.of(run))
    seeds = () if seed is None else (seed,)
    measured = plan([cell(name)], scale=scale, machine=workspace.machine, seeds=seeds).measurements
    if not measured:
        raise UsageError(f"{name} has no model, as nothing is measured for it at scale {scale.name}")
    sources = [MeasuredEncoder.of(run) for run in measured[0].runs]
    return Export(name, only_source(name, sources), measured[0])


def only_source(cell_id: str, sources: list[MeasuredEncoder]) -> MeasuredEncoder:
    """Return a cell's encoder. Raises UsageError if ``sources`` are of no or of several models."""
    models = {s.model.fingerprint for s in sources}
    if not models:
        raise UsageError(f"{cell_id} has no encoder")
    if len(models) > 1:
        names = ", ".join(sorted(fingerprint[:12] for fingerprint in models))
        remedy = "Name a run of one model by its fingerprint."
        raise UsageError(f"{cell_id} is a mean over {len(models)} models ({names}). {remedy}")
    return sources[0]


def export(
    source: MeasuredEncoder, store: Store, to: Path, *, card: str, about: Mapping[str, object]
) -> None:
    """Write the model into ``to``, with ``card`` as README.md and ``about`` in ``repro.json``.

    Raises UsageError if ``to`` is not empty or the model is missing, DataError if it is unreadable, and
    StoreError if it is damaged.
    """
    if store.state(source.model) in ("missing", "partial"):
        raise UsageError(f"the model {source.model} is not in the store. Run its cell at this scale first.")
    with disk.whole_folder(to) as scratch:
        _write_model(source, store.checked(source.model) / "model", scratch)
        (scratch / "README.md").write_text(card, encoding="utf-8")
        _write_json(scratch / FILE, {"conventions": asdict(source.conventions), **about})


def _write_model(source: MeasuredEncoder, folder: Path, target: Path) -> None:
    from safetensors.torch import save_file

    from repro.retrieval.nn.checkpoint import load_encoder, load_tokenizer, save_model

    model, conventions = load_encoder(folder), source.conventions
    save_model(model, load_tokenizer(folder), target)
    pooling = source.passages.params.get("pooling", "cls")
    modes = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens"}
    config: dict[str, Any] = {f"pooling_mode_{mode}": pooling == name for name, mode in modes.items()}
    modules = [("Pooling", config | {"word_embedding_dimension": model.config.hidden_size})]
    for weight, bias, activation in _layers(source, folder, model):
        outer, inner = weight.shape
        config = {"in_features": inner, "out_features": outer, "bias": bias is not None}
        modules.append(("Dense", config | {"activation_function": f"torch.nn.modules.{activation}"}))
        (place := target / f"{len(modules)}_Dense").mkdir()
        weights = {"linear.weight": weight, "linear.bias": bias}
        tensors = {name: w.detach().contiguous() for name, w in weights.items() if w is not None}
        save_file(tensors, place / "model.safetensors")
    if conventions.similarity == "cosine":
        modules.append(("Normalize", {}))
    entries = [("Transformer", "")]
    for number, (kind, config) in enumerate(modules, 1):
        entries.append((kind, f"{number}_{kind}"))
        (target / entries[-1][1]).mkdir(exist_ok=True)
        _write_json(target / entries[-1][1] / "config.json", config)
    types = "sentence_transformers.models"  # for every version of the library
    names = [{"path": place, "type": f"{types}.{kind}"} for kind, place in entries]
    _write_json(target / "modules.json", [{"idx": n, "name": str(n), **m} for n, m in enumerate(names)])
    max_length = max(conventions.query_length, conventions.passage_length)
    _write_json(target / "sentence_bert_config.json", {"max_seq_length": max_length, "do_lower_case": False})
    prompts = {"query": conventions.query_prefix, "document": conventions.passage_prefix}
    settings = {"prompts": prompts, "default_prompt_name": None, "similarity_fn_name": conventions.similarity}
    _write_json(target / "config_sentence_transformers.json", settings)


def _layers(
    source: MeasuredEncoder, folder: Path, model: PreTrainedModel
) -> Iterator[tuple[Tensor, Tensor | None, str]]:
    if source.passages.stage == "encode_views":
        if (reduction := _reduction(folder, model)) is not None:
            yield reduction, None, "linear.Identity"
        return
    from repro.retrieval.nn.encoder import saved_projector

    projector, encodes = saved_projector(folder) or (None, False)
    if projector is None or not encodes:
        return
    last = "activation.Tanh" if projector.architecture == "nonlinear" else "linear.Identity"
    for layer, activation in ((projector.inner, "activation.GELU"), (projector.dense, last)):
        if layer is not None:
            yield layer.weight, layer.bias, activation


def _reduction(folder: Path, model: PreTrainedModel) -> Tensor | None:
    import torch
    from safetensors.torch import load_file

    from repro.retrieval.nn.view_encoder import FILE as VIEWS
    from repro.retrieval.nn.view_encoder import PROJECTION

    config = json.loads((folder / VIEWS).read_text()) if (folder / VIEWS).exists() else {}
    if (reduction := config.get("dense_reduction")) is None:
        return None
    if reduction["by"] == "truncate":
        return torch.eye(reduction["to"], model.config.hidden_size)
    if not (folder / PROJECTION).exists():
        raise DataError(f"{folder}: {PROJECTION} is missing")
    return load_file(folder / PROJECTION)["weight"]


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")


HEAD = ("cell", "scale", "measured on", "measure", "measured", "queries", "fingerprint")
USE = """\
```python
from sentence_transformers import SentenceTransformer

model = SentenceTransformer("this directory")
queries = model.encode(["a question"], prompt_name="query")
passages = model.encode(["a title and a text, joined as stated above"], prompt_name="document")
```

`repro compare "this directory" PAPER --table N` scores it in the columns of a published table."""


def card_of(encoder: Export, workspace: Workspace, *, scale: Scale) -> str:
    measurement, model = encoder.measurement, encoder.source.model
    cells = _compared_cells(measurement, model, workspace, scale) if measurement else []
    parts = [
        f"---\n{_header(model)}---",
        f"# Encoder of {encoder.name}",
        _items({**_facts(encoder, scale.name), "model": model.fingerprint}),
        "## How it reads texts",
        _items(_text_conventions(encoder.source.conventions)),
        USE,
        "## Unspecified choices that differ from the defaults",
        _items(measurement.departures if measurement else {}) or "None.",
    ]
    if measurement and measurement.substitutes:
        heading = "Data that this machine lacks, so that another choice was taken:"
        parts += [heading, _items(measurement.substitutes)]
    parts += ["## Scores", _scores(cells) or "None were recorded.", "## Data and licences", _data(model)]
    return "\n\n".join(parts) + "\n"


def _header(model: Node) -> str:
    header: dict[str, object] = {
        "language": "en",
        "library_name": "sentence-transformers",
        "pipeline_tag": "sentence-similarity",
        "tags": ["sentence-transformers", "feature-extraction", "dense-retrieval", "repro-bench"],
        "license": "other",
        "license_name": "of-its-data-and-weights",
    }
    bases = _base_models(model)
    return yaml.safe_dump(header | ({"base_model": bases} if bases else {}), sort_keys=False)


def _base_models(model: Node) -> list[str]:
    return list(dict.fromkeys(n.params["name"] for n in walk([model]) if n.stage == "backbone"))


def _facts(encoder: Export, scale: str) -> dict[str, object]:
    facts: dict[str, object] = {"made by": f"repro {__version__}", "commit": commit(CHECKOUT), "scale": scale}
    if encoder.measurement is None:
        return facts | {"fingerprint": encoder.name}
    cell = encoder.measurement.cell
    return facts | {
        "cell": cell.id,
        "row": cell.row.label,
        "recipe": recipe_path(cell),
        "options": ", ".join(f"{name} {value!r}" for name, value in cell.options.items()),
        "seed": encoder.measurement.seed,
        "fingerprint": encoder.measurement.fingerprint,
    }


def _compared_cells(
    measurement: Measurement, model: Node, workspace: Workspace, scale: Scale
) -> list[compared.ComparedCell]:
    cell, seed = measurement.cell, measurement.seed
    row = [c for c in cells_of(cell.paper, (cell.table,)) if c.row == cell.row and is_measured(c)]
    row_plan = plan(row, scale=scale, machine=workspace.machine, seeds=() if seed is None else (seed,))
    row_plan.look(workspace.store)
    own = {m.cell.id for m in row_plan.measurements if _models(m) == {model.fingerprint}}
    cells = comparison.compare(row_plan, workspace.results, store=workspace.store).cells
    return [c for c in cells if own.issuperset(member_cells(c.cell) or {c.cell.id})]


def _models(measurement: Measurement) -> set[str]:
    try:
        return {MeasuredEncoder.of(run).model.fingerprint for run in measurement.runs}
    except UsageError:
        return set()


def _items(facts: Mapping[str, object]) -> str:
    stated = {name: str(value) for name, value in facts.items() if value not in (None, "")}
    return "\n".join(f"- {sentence(name)}: {sentence(value)}" for name, value in stated.items())


def _text_conventions(conventions: Conventions) -> dict[str, object]:
    phrases = {None: "the text alone", "pair": "two segments"}
    return {
        "similarity": conventions.similarity,
        "tokens of a query": conventions.query_length,
        "tokens of a passage": conventions.passage_length,
        "title and text": phrases.get(conventions.separator, f"joined by {conventions.separator!r}"),
        "before a query": conventions.query_prefix,
        "before a passage": conventions.passage_prefix,
    }


def _scores(cells: Sequence[compared.ComparedCell]) -> str:
    records = [(c, r) for c in cells if not c.outdated for r in c.records if not r.origin]
    rows = []
    for c, r in records:
        value = f"({r.measured:.4f})" if c.doubts else f"{r.measured:.4f}"
        row = [r.cell, r.scale, " ".join(r.collections), r.measure, f"{value} ({r.unit})", str(r.queries)]
        rows.append([*map(escaped, row), code(r.fingerprint[:12])])
    notes = [f"{note}." for note in (summary.cut_measures(cells), summary.doubts_in_brief(cells)) if note]
    return "\n".join([*table(HEAD, rows), "\n\n".join(notes)]).strip() if records else ""


def _data(model: Node) -> str:
    names = dict.fromkeys(n.params["dataset"] for n in walk([model]) if "dataset" in n.params)
    entries = [catalog()[name] for name in names if name in catalog()]
    lines = {f"{entry.title} (`{entry.id}`)": entry.licence for entry in entries}
    for name in _base_models(model):
        lines[f"weights it started from (`{name}`)"] = "see the page of that model"
    return _items(lines) or "None."
