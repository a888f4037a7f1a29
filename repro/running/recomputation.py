"""Recompute a sample of stored artefacts from their stored inputs, and compare."""

import functools
import hashlib
import json
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from repro.errors import BlockedError
from repro.graph import Node
from repro.machine import kernels
from repro.progress import Progress
from repro.retrieval.datasets import arrow, reading
from repro.retrieval.datasets.catalog import catalog, dataset, key_of, published
from repro.retrieval.datasets.digests import ContentDigest, RowDigest, files, identity, planned_source
from repro.retrieval.datasets.sources import Source, locate
from repro.retrieval.evaluation.text_lines import numbered_lines
from repro.retrieval.stages.corpus import as_written
from repro.running.engines.inline import run_stage
from repro.running.provenance import differences
from repro.running.requirements import PIECES
from repro.stage_table import ENCODINGS, STAGES, TRAININGS
from repro.store import Store, notes
from repro.store.disk import BLOCKS, RECORD, sha256

OF_THE_WORK = ("lucene.log", "state.json", "dataset_info.json")  # differ between equal runs
ROWS = 1 << 16  # at a time
OF_MORE = "it differs in more than its numbers"


@dataclass(frozen=True)
class Agreement:
    """The agreement of two folders.

    Attributes:
        name: ``bits``, ``tolerance`` or ``none``.
        difference: relative to a file's largest magnitude. None if more than numbers differ.
        why: a sentence about the first file that differs.
    """

    name: str
    difference: float | None = 0.0
    why: str = ""


def agreement(stored: Path, again: Path, *, tolerance: float) -> Agreement:
    """Compare two folders. ``tolerance``, e.g. 1e-5, is relative to the largest magnitude."""
    names = _names(stored)
    if names != _names(again):
        missing = ", ".join(sorted(names ^ _names(again)))
        return Agreement("none", None, f"only one of the two has {missing}")
    farthest, differing_names = 0.0, [n for n in sorted(names) if sha256(stored / n) != sha256(again / n)]
    for name in differing_names:
        difference, why = _difference(stored / name, again / name)
        if difference is None or difference > tolerance:
            return Agreement("none", difference, f"{name}: {why}")
        farthest = max(farthest, difference)
    return Agreement("tolerance" if differing_names else "bits", farthest)


OF_LIBRARIES = ("config.json", "tokenizer_config.json", "special_tokens_map.json", "run.ir_metadata.yml")


def digest_of_contents(folder: Path) -> str:
    digest = hashlib.sha256()
    rows: dict[str, list] = {}
    floats: dict[str, list] = {}
    for name in sorted(name for name in _names(folder) if Path(name).name not in OF_LIBRARIES):
        structure, numbers = content(folder / name)
        if name.endswith(".arrow"):
            assert isinstance(structure, list)
            rows.setdefault(str(Path(name).parent), []).extend(structure)
            floats.setdefault(str(Path(name).parent), []).extend(numbers.tolist())
        else:
            digest.update(f"{name} {structure!r}".encode() + np.ascontiguousarray(numbers).tobytes())
    digest.update(repr({table: [*rows[table], *floats[table]] for table in rows}).encode())
    return digest.hexdigest()


def _names(folder: Path) -> set[str]:
    files = (path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir())
    paths = (p for p in files if p.parts[0] not in (RECORD, BLOCKS) and p.name not in OF_THE_WORK)
    return {path.as_posix() for path in paths}


def _difference(stored_file: Path, new_file: Path) -> tuple[float | None, str]:
    try:
        (structure, numbers), (other_structure, other_numbers) = content(stored_file), content(new_file)
    except Exception:  # of any library
        return None, OF_MORE
    if structure != other_structure or numbers.shape != other_numbers.shape:
        return None, OF_MORE
    count, farthest, magnitude = 0, np.float64(0), np.float64(0)
    for first in range(0, len(numbers), ROWS):
        one, other = (np.asarray(a[first : first + ROWS], np.float64) for a in (numbers, other_numbers))
        mask = one != other
        count += int(mask.sum())
        farthest = np.maximum(farthest, np.abs(one - other)[mask].max(initial=0.0))  # NaN stays
        magnitude = np.maximum(magnitude, np.abs(one).max(initial=0.0))
    sentence = f"{count} of {numbers.size} numbers differ, by at most {farthest:.3g}"
    if not np.isfinite([farthest, magnitude]).all():
        return None, sentence
    return float(farthest / magnitude if magnitude else farthest), sentence


def content(path: Path) -> tuple[object, np.ndarray]:
    """Return a file's structure and its floats `[N]`. The structure of an unknown format is its bytes."""
    if path.suffix == ".npy":
        array = np.load(path, mmap_mode="r")
        if array.dtype.kind == "f":
            return (str(array.dtype), array.shape), array
    elif path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        arrays = load_file(path)
        shapes = {name: array.shape for name, array in arrays.items()}
        return shapes, np.concatenate([array.ravel() for array in arrays.values()])
    elif rows := _rows(path):
        numbers: list[float] = []
        return [_without_floats(row, numbers) for row in rows], np.array(numbers)
    return path.read_bytes(), np.empty(0)


def _rows(path: Path) -> Iterator | None:
    if path.suffix == ".arrow":
        import pyarrow as pa

        with pa.memory_map(str(path)) as stream:
            return iter(pa.ipc.open_stream(stream).read_all().to_pylist())
    if path.suffix == ".json":
        return iter([json.loads(path.read_bytes())])
    lines = path.read_bytes().splitlines()
    if path.suffix == ".trec":
        fields = (line.split() for line in lines)
        return ([*f[:4], float(f[4]), *f[5:]] if len(f) == 6 else f for f in fields)
    return map(json.loads, lines) if path.suffix == ".jsonl" else None


def _without_floats(value, numbers: list[float]):
    if isinstance(value, float):
        numbers.append(value)
        return None
    if isinstance(value, dict):
        return {key: _without_floats(item, numbers) for key, item in value.items()}
    return [_without_floats(item, numbers) for item in value] if isinstance(value, list) else value


TOO_MUCH = (*TRAININGS, "lucene_index")  # too long, or never equal
OUTSIDE = {"source", "checkpoint"}  # of the store
TOLERANCES = dict.fromkeys(("initialise", *ENCODINGS, "encode_by_library", "score_pairs", "rerank"), 1e-5)
TOLERANCES |= {"project": 1e-5, "compare": 1e-9, "evaluate": 1e-12}  # C library
HALF_PRECISION = 1e-2


@dataclass(frozen=True)
class Recomputation:
    """One recomputed artefact. ``other_code`` lists the modules and libraries behind it that differ here.

    ``agreement`` is the name of an ``Agreement``, or ``failed`` or ``blocked``.
    """

    stage: str
    fingerprint: str
    agreement: str
    tolerance: float
    difference: float | None
    why: str
    other_code: list[str] | None

    def as_json(self) -> dict:
        return asdict(self)


@dataclass(frozen=True)
class Sample:
    """Nodes to recompute and their sources.

    Attributes:
        of: stage -> number of artefacts drawn from.
        left_out: stage -> number of artefacts that cannot be recomputed.
    """

    nodes: list[Node]
    of: dict[str, int]
    left_out: dict[str, int]
    sources: dict[str, Source] = field(default_factory=dict)


def draw(store: Store, *, size: int, seed: int, data: Path | None = None, home: Path | None = None) -> Sample:
    """Draw at random, by ``seed``, up to ``size`` artefacts per stage that can be recomputed."""
    nodes, counts, omissions, find_node = [], {}, {}, _node_lookup(notes.Lineage(store.root))
    sources: dict[str, Source] = {}
    for stage in STAGES:
        names = sorted(path.name for path in store.root.glob(f"{stage}/*") if len(path.name) == 64)
        described_nodes = filter(None, map(find_node, names))
        candidates = [n for n in described_nodes if _can_be_made_again(n, store, sources, data, home)]
        if candidates:
            counts[stage] = len(candidates)
            random.Random(f"{seed} {stage}").shuffle(candidates)
            nodes += candidates[:size]
        if len(candidates) < len(names):
            omissions[stage] = len(names) - len(candidates)
    return Sample(nodes, counts, omissions, sources)


def recompute(sample: Sample, store: Store, progress: Progress) -> Iterator[Recomputation]:
    """Run each node's stage in a scratch folder and yield comparisons. May pin kernels of this process."""
    if any(store.record(n).get("facts", {}).get("kernels", {}).get("pins") for n in sample.nodes):
        kernels.pin()
    with progress.task("computing again", total=len(sample.nodes)) as advance:
        for node in sample.nodes:
            yield _recompute_node(node, store, sample.sources.get(node.fingerprint))
            advance(1)


def _can_be_made_again(
    node: Node, store: Store, sources: dict[str, Source], data: Path | None, home: Path | None
) -> bool:
    if node.stage not in READ:
        return _can_be_computed(node, store)
    if not is_whole(node):
        return False
    if source := source_at_hand(node, data, home):
        sources[node.fingerprint] = source
    return bool(source) or is_published(node, store.record(node).get("facts", {}))


def _can_be_computed(node: Node, store: Store) -> bool:
    spec = STAGES[node.stage]
    if node.stage in TOO_MUCH or not spec.inputs or spec.needs & OUTSIDE:
        return False
    is_described = spec.ignored <= node.params.keys()
    return is_described and all(store.state(parent) == "stored" for parent in node.parents())


def _node_lookup(lineage: notes.Lineage) -> Callable[[str], Node | None]:
    @functools.cache
    def find_node(fingerprint: str) -> Node | None:
        description = lineage.describe(fingerprint)
        inputs: dict[str, Node | tuple[Node, ...]] = {}
        for name, value in description.get("inputs", {}).items():
            names = value if isinstance(value, list) else [value]
            nodes = tuple(filter(None, map(find_node, names)))
            if len(nodes) < len(names):
                return None
            inputs[name] = nodes if isinstance(value, list) else nodes[0]
        result = Node(description["stage"], description["params"], inputs) if description else None
        return result if result and result.fingerprint == fingerprint else None

    return find_node


def _recompute_node(node: Node, store: Store, source: Source | None = None) -> Recomputation:
    facts = store.record(node).get("facts", {})
    is_half = any(node.params.get(n) in ("fp16", "bf16", "float16") for n in ("precision", "numbers"))
    tolerance = HALF_PRECISION if is_half else TOLERANCES.get(node.stage, 0.0)
    try:
        if node.stage in READ:
            why = rows_fault(node, store.path(node), facts, source)
            comparison = Agreement("none", None, why) if why else Agreement("bits")
        else:
            with tempfile.TemporaryDirectory(prefix="repro-verify-") as scratch:
                run_stage(node, store, Path(scratch), Progress())
                comparison = agreement(store.path(node), Path(scratch), tolerance=tolerance)
    except BlockedError as error:
        comparison = Agreement("blocked", None, str(error))
    except Exception as error:
        comparison = Agreement("failed", None, f"{type(error).__name__}: {error}")
    changes, difference, why = differences(facts, node), comparison.difference, comparison.why
    return Recomputation(node.stage, node.fingerprint, comparison.name, tolerance, difference, why, changes)


FORMS = ("text", "untitled")  # these change a corpus
READ = ("corpus", "queries", "qrels")


def is_whole(node: Node) -> bool:
    """Return whether a node reads all rows of a source."""
    is_known = node.params.get("dataset") in catalog()
    return node.stage in READ and is_known and "first" not in node.params and not node.inputs


def source_at_hand(node: Node, data: Path | None, home: Path | None) -> Source | None:
    """Return a node's source if it is here with the planned bytes, otherwise None."""
    source = locate(node.params["dataset"], PIECES[node.stage], data, home=home)
    if isinstance(source, Source) and identity(source) == node.params.get("identity"):
        return source
    return None


def rows_fault(node: Node, folder: Path, facts: Mapping[str, Any], source: Source | None) -> str:
    """Return how rows differ from their source or digests, or "". Raises DataError."""
    try:
        stored, content = _digests(_stored_rows(node, folder))
    except Exception as error:
        return f"its rows cannot be read ({type(error).__name__})"
    if stored != facts.get("digest"):
        return "its rows do not match the digest in its record"
    if source is not None:
        with planned_source({**node.params, "source": source.to_json()}):
            made, content = _made(node, source)
        if made != stored:
            place = ", ".join(map(str, files(source))) or "the embedded collection"
            return f"its rows differ from those of {place}"
    is_as_read = source is not None or node.params.keys().isdisjoint(FORMS)
    if is_as_read and facts.get("rows", content) != content:
        return "its record has another digest of the contents of its rows"
    return ""


def is_published(node: Node, facts: Mapping[str, Any]) -> bool:
    """Return whether the recorded content has a digest that the data's makers published."""
    entry, piece = dataset(node.params["dataset"]), PIECES[node.stage]
    known = published().get(key_of(entry, piece), {})
    as_read = node.params.keys().isdisjoint(FORMS)
    return as_read and facts.get("rows") in known.get("digests", ())


def _digests(rows: Iterable[Any]) -> tuple[str, str]:
    digest, content = RowDigest(), ContentDigest()
    for row in rows:
        digest.add(row)
        content.add(row)
    return digest.hexdigest(), content.hexdigest()


def _stored_rows(node: Node, folder: Path) -> Iterator[Any]:
    if node.stage == "corpus":
        for batch in arrow.read_rows(folder).with_format("arrow").iter(batch_size=1000):
            yield from batch.to_pylist()
    elif node.stage == "queries":
        yield from (json.loads(line) for _, line in numbered_lines(folder / "queries.jsonl"))
    else:
        for _, line in numbered_lines(folder / "qrels.trec"):
            query, _, document, grade = line.split()
            yield query, document, int(grade)


def _made(node: Node, source: Source) -> tuple[str, str]:
    if node.stage != "corpus":
        return _digests(reading.rows(source))
    digest, content = RowDigest(), ContentDigest()
    for row in as_written(reading.documents(source), dict(node.params), content):
        digest.add(row)
    return digest.hexdigest(), content.hexdigest()
