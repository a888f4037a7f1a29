"""The scores of queries and the cost of trainings behind a study, from the store and a file of the results.

``scores/<scale>/<paper>-table<id>.json.gz`` holds them by the fingerprints of evaluations and trainings, so
that a study's table can be made, and analysed otherwise, where the store is not at hand.
"""

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from repro.errors import DataError
from repro.graph import Node, walk
from repro.manifest.cells import Cell
from repro.running.plan import Plan
from repro.stage_table import TRAININGS
from repro.store import Store, read_json, translated_errors
from repro.store.disk import write_bytes_whole
from repro.store.results import Results
from repro.verdicts.beside import CellPart
from repro.verdicts.compared import ComparedCell

FACTS = ("flops", "resumed_at", "seconds", "steps")  # of a training, which its cost is made of


class StudyEvidence:
    """Scores of evaluations and facts of trainings: the store's and, of what it lacks, a file's."""

    def __init__(self, store: Store, files: tuple[Path, ...] = ()):
        self._store, self._files = store, files
        self._records: dict[str, dict[str, Any]] = {}

    @cached_property
    def kept(self) -> Mapping[str, Mapping[str, Any]]:
        """The content of the files, the last of which counts. Raises DataError where one is malformed."""
        contents: dict[str, dict[str, Any]] = {"evaluations": {}, "trainings": {}}
        for path in self._files:
            if path.exists():
                for kind, content in _read(path).items():
                    contents[kind] |= content
        return contents

    def state(self, node: Node) -> str:
        """The state of a node in the store; ``stored`` where a file has it."""
        parts = self.kept["trainings"], self.kept["evaluations"]
        return "stored" if any(node.fingerprint in part for part in parts) else self._store.state(node)

    def record(self, node: Node) -> dict[str, Any]:
        """The record of a training, of which a file has the facts that its cost is made of."""
        if node.fingerprint not in self._records:
            is_stored = self._store.state(node) == "stored"
            record = (
                self._store.record(node) if is_stored else {"facts": self.kept["trainings"][node.fingerprint]}
            )
            self._records[node.fingerprint] = record
        return self._records[node.fingerprint]

    def scores(self, node: Node) -> dict[str, Any] | None:
        """The queries of an evaluation and their scores by measure; None where they are not known."""
        if self._store.state(node) == "stored":
            return read_json(self._store.path(node) / "scores.json")
        return self.kept["evaluations"].get(node.fingerprint)


def scores_paths(results: Results, scale: str, paper: str, table: str) -> tuple[Path, ...]:
    """The files of a study's table: a release's, if there is one, then the one that is written."""
    return tuple(folder / "scores" / scale / f"{paper}-table{table}.json.gz" for folder in results.folders)


class StudyOfCell(CellPart):
    """The command that makes a study's table from scores that are kept with the records."""

    def __init__(self, cell: Cell, stands: Sequence[ComparedCell], results: Results):
        self._cell, self._stands, self._results = cell, stands, results

    def commands(self) -> dict[str, str]:
        """Return the command for the last scale at which scores are kept."""
        cell, commands = self._cell, {}
        for stand in self._stands:
            if any(
                p.is_file() for p in scores_paths(self._results, stand.scale, cell.paper.name, cell.table.id)
            ):
                seeds = ",".join(str(record.seed) for record in stand.records)
                command = f"repro tables {cell.paper.name} --table {cell.table.id} --scale {stand.scale}"
                commands["from scores"] = f"{command} --seeds {seeds}"
        return commands


def write_scores(plan: Plan, store: Store, results: Results, *, paper: str, table: str) -> Path | None:
    """Write the file of a table; None, and nothing is written, where none of its scores are known.

    Equal scores give equal bytes. What the file has of other seeds and rows than the plan's stays there.
    Safe between processes.
    """
    from filelock import FileLock

    paths = scores_paths(results, plan.scale.name, paper, table)
    table_plan = plan.of_table(paper, table)
    if not _evaluations(table_plan, StudyEvidence(store, paths)):
        return None
    with translated_errors(results.root, "results folder", "--results or REPRO_RESULTS"):
        paths[-1].parent.mkdir(parents=True, exist_ok=True)
        with FileLock(paths[-1].with_suffix(".lock")):
            evidence = StudyEvidence(store, paths)  # another process may have written the file meanwhile
            additions = {
                "evaluations": _evaluations(table_plan, evidence),
                "trainings": _trainings(table_plan, evidence),
            }
            content = {kind: {**evidence.kept[kind], **entries} for kind, entries in additions.items()}
            data = gzip.compress(json.dumps(content, sort_keys=True).encode(), mtime=0)
            write_bytes_whole(paths[-1], data)  # the file may be all that knows of other seeds and rows
    return paths[-1]


def _evaluations(plan: Plan, evidence: StudyEvidence) -> dict[str, dict[str, Any]]:
    parts = {part.fingerprint: part for m in plan.measurements for part in m.parts}
    by_fingerprint = {fingerprint: evidence.scores(part) for fingerprint, part in parts.items()}
    return {
        fingerprint: {"queries": scores["queries"], "measures": scores["measures"]}
        for fingerprint, scores in by_fingerprint.items()
        if scores
    }


def _trainings(plan: Plan, evidence: StudyEvidence) -> dict[str, dict[str, Any]]:
    nodes = walk(part for m in plan.measurements for part in m.parts)
    trainings = [node for node in nodes if node.stage in TRAININGS and evidence.state(node) == "stored"]
    facts = ((node.fingerprint, evidence.record(node)["facts"]) for node in trainings)
    return {
        fingerprint: {key: values[key] for key in FACTS if key in values} for fingerprint, values in facts
    }


def _read(path: Path) -> dict[str, dict[str, Any]]:
    try:
        content = json.loads(gzip.decompress(path.read_bytes()))
        return {kind: dict(content[kind]) for kind in ("evaluations", "trainings")}
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
        remedy = "remove it, and `repro tables` writes it anew where the store has them"
        raise DataError(f"{path}: not the scores of a study ({type(error).__name__}); {remedy}") from None
