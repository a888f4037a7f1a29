"""The README.md of an exported encoder: what it is, what it was made from, what it reached."""

from collections.abc import Mapping, Sequence

import yaml

from repro import __version__
from repro.errors import UsageError
from repro.exchange.encoder_export import Export, MeasuredEncoder
from repro.graph import Node, walk
from repro.locations import CHECKOUT
from repro.machine.versions import commit
from repro.manifest.cells import cells_of, is_measured
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.recipe.released import Conventions
from repro.running.measurement import Measurement
from repro.running.plan import plan
from repro.running.recipe_calls import recipe_path
from repro.running.records import member_cells
from repro.running.scale import Scale
from repro.running.workspace import Workspace
from repro.verdicts.compared import ComparedCell
from repro.verdicts.comparison import compare
from repro.verdicts.summary import cut_measures, doubts_in_brief
from repro.writers.markdown import code, escaped, sentence, table

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
    """Return the card of an encoder that is exported, with the scores recorded at a scale."""
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
        parts.append("Data that was not at hand, so that another choice was taken:")
        parts.append(_items(measurement.substitutes))
    parts += ["## Scores", _scores(cells) or "None were recorded.", "## Data and licences", _data(model)]
    return "\n\n".join(parts) + "\n"


def _header(model: Node) -> str:
    """Return the YAML by which the Hugging Face hub lists a model; licences are those told below."""
    header: dict[str, object] = {
        "language": "en",
        "library_name": "sentence-transformers",
        "pipeline_tag": "sentence-similarity",
        "tags": ["sentence-transformers", "feature-extraction", "dense-retrieval", "repro-bench"],
        "license": "other",
        "license_name": "of-its-data-and-weights",
    }
    if base_models := _base_models(model):
        header["base_model"] = base_models
    return yaml.safe_dump(header, sort_keys=False)


def _base_models(model: Node) -> list[str]:
    """Return the names of the released weights that went into the model."""
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
) -> list[ComparedCell]:
    """Return the row's cells of this very model, with what was measured of them with the same seed."""
    cell, seed = measurement.cell, measurement.seed
    row = [c for c in cells_of(cell.paper, (cell.table,)) if c.row == cell.row and is_measured(c)]
    row_plan = plan(row, scale=scale, machine=workspace.machine, seeds=() if seed is None else (seed,))
    row_plan.look(workspace.store)
    own = {m.cell.id for m in row_plan.measurements if _models(m) == {model.fingerprint}}
    cells = compare(row_plan, workspace.results, store=workspace.store).cells
    return [c for c in cells if own.issuperset(member_cells(c.cell) or {c.cell.id})]


def _models(measurement: Measurement) -> set[str]:
    """Return the fingerprints of the encoders behind runs, none where one of these has no single encoder."""
    try:
        return {MeasuredEncoder.of(run).model.fingerprint for run in measurement.runs}
    except UsageError:
        return set()


def _items(facts: Mapping[str, object]) -> str:
    stated = {name: str(value) for name, value in facts.items() if value not in (None, "")}
    return "\n".join(f"- {sentence(name)}: {sentence(value)}" for name, value in stated.items())


def _text_conventions(conventions: Conventions) -> dict[str, object]:
    """Return the conventions in words; pooling and heads are modules.json's."""
    phrases = {None: "the text alone", "pair": "two segments"}
    return {
        "similarity": conventions.similarity,
        "tokens of a query": conventions.query_length,
        "tokens of a passage": conventions.passage_length,
        "title and text": phrases.get(conventions.separator, f"joined by {conventions.separator!r}"),
        "before a query": conventions.query_prefix,
        "before a passage": conventions.passage_prefix,
    }


def _scores(cells: Sequence[ComparedCell]) -> str:
    """Return our own records as a table, and what has to be known of them: depth of runs, and doubts."""
    records = [(c, r) for c in cells if not c.outdated for r in c.records if not r.origin]
    rows = []
    for c, r in records:
        value = f"({r.measured:.4f})" if c.doubts else f"{r.measured:.4f}"
        row = [r.cell, r.scale, " ".join(r.collections), r.measure, f"{value} ({r.unit})", str(r.queries)]
        rows.append([*map(escaped, row), code(r.fingerprint[:12])])
    notes = [f"{note}." for note in (cut_measures(cells), doubts_in_brief(cells)) if note]
    return "\n".join([*table(HEAD, rows), "\n\n".join(notes)]).strip() if records else ""


def _data(model: Node) -> str:
    """List the collections that went into the model, each with its licence as the catalogue states it."""
    names = dict.fromkeys(n.params["dataset"] for n in walk([model]) if "dataset" in n.params)
    entries = [catalog()[name] for name in names if name in catalog()]
    lines = {f"{entry.title} (`{entry.id}`)": entry.licence for entry in entries}
    for name in _base_models(model):
        lines[f"weights it started from (`{name}`)"] = "see the page of that model"
    return _items(lines) or "None."
