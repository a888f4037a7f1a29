"""Match a run with judgements, and note suspicious facts, e.g. that all scores are equal."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median
from unicodedata import normalize

import numpy as np

from repro.errors import DataError
from repro.retrieval.evaluation.runs import MS_MARCO, Run, RunFile, document_ids, read_run_file
from repro.retrieval.evaluation.text_lines import Judged, many_objects

_PADDING = -np.finfo(np.float32).max
_SHORT = 10  # short: under a tenth of the median


class OtherQueriesError(DataError):
    """Raised if no query of a run is judged."""


@dataclass(frozen=True)
class GivenRun:
    """A run as it is scored.

    Attributes:
        rankings: judged query -> (document, score), best document first.
        tag: the first line's tag, or None in a format without tags.
        lines: the number of documents in the file.
        depth: the largest number of documents for a judged query.
        missing: judged queries without a ranking. They score 0.
        foreign: the number of unjudged queries.
    """

    rankings: Run
    form: str
    tag: str | None
    lines: int
    depth: int
    missing: list[str]
    foreign: int
    notes: tuple[str, ...]


def read_given(path: Path, judged: Judged, *, ignore_identical_ids: bool) -> GivenRun:
    """Read a run for judgements ``{qid: {docid: grade}}``.

    ``ignore_identical_ids`` drops documents with the query's id, as BEIR does. Raises DataError for a
    malformed run or if no document is judged, OtherQueriesError if no query is.
    """
    run = read_run_file(path, strict=False)
    return given_run(path, run, judged, ignore_identical_ids=ignore_identical_ids)


def given_run(path: Path, run: RunFile, judged: Judged, *, ignore_identical_ids: bool) -> GivenRun:
    """Match a run with judgements, as ``read_given`` does."""
    with many_objects():
        _check_queries(path, run.rankings, judged)
        rankings = {query: ranking for query, ranking in run.rankings.items() if query in judged}
        own_ids = _check_documents(path, rankings, judged)
        others = [
            query for query in rankings if _in_other_forms(document_ids(rankings[query]), judged[query])
        ]
        if ignore_identical_ids:
            rankings |= {q: [*rankings[q][:place], *rankings[q][place + 1 :]] for q, place in own_ids.items()}
    missing, foreign = sorted(judged.keys() - rankings), len(run.rankings) - len(rankings)
    counts = {
        f"{foreign} of its {len(run.rankings)} queries are not judged and left out": foreign,
        f"{len(missing)} of {len(judged)} judged queries are missing and count as 0": len(missing),
        f"{len(same := _in_other_forms(run.rankings, judged))} ids of queries {FORMS}": len(same),
        f"for {len(others)} of {len(rankings)} queries ids of documents {FORMS}": len(others),
        **_note_on_own_ids(len(own_ids), len(judged), ignored=ignore_identical_ids),
    }
    notes = _sentences(counts, run, rankings)
    depth, lines = max(map(len, rankings.values())), sum(map(len, run.rankings.values()))
    return GivenRun(rankings, run.form, run.tag, lines, depth, missing, foreign, notes)


def _sentences(counts: Mapping[str, int], run: RunFile, rankings: Run) -> tuple[str, ...]:
    opposite = [run.contradicted[query] for query in rankings if query in run.contradicted]
    late = [run.form == MS_MARCO and ranking[0][1] < -1 for ranking in rankings.values() if ranking]
    order = "the order of the scores, which decide as in trec_eval"
    by_query = {
        f"the ranks reverse {order} (negate scores that are distances)": sum(opposite),
        f"the ranks differ from {order}": len(opposite) - sum(opposite),
        "no document has rank 0 or 1: were scores written as ranks?": sum(late),
    } | _notes_on_scores(rankings)
    notes = [sentence for sentence, count in counts.items() if count]
    notes += [f"for {n} of {len(rankings)} queries {what}" for what, n in by_query.items() if n]
    if len(run.tags) > 1:
        first, second, *_ = run.tags
        notes.append(f"the file has {len(run.tags)} run tags, e.g. {first!r} and {second!r}")
    return tuple(notes)


FORMS = "differ only in their Unicode normal form, e.g. NFC and NFD. Write both files in one form"


def _in_other_forms(ids: Iterable[str], judged: Mapping[str, object]) -> list[str]:
    strange = {normalize("NFKC", each) for each in judged if not each.isascii()}
    if not strange:
        return []
    return [each for each in ids if each not in judged and normalize("NFKC", each) in strange]


def _check_queries(path: Path, run: Run, judged: Mapping[str, object]) -> None:
    if not judged:
        raise DataError(f"{path}: there are no judgements to score the run with")
    if judged.keys().isdisjoint(run):
        problem = f"none of the run's {len(run)} queries is among the {len(judged)} judged ones"
        if others := _in_other_forms(run, judged):
            raise DataError(f"{path}: {problem}: ids such as {others[0]!r} {FORMS}")
        ids = f"e.g. {next(iter(run))!r} and {min(judged)!r}"
        raise OtherQueriesError(f"{path}: {problem} ({ids}), so it is a run of another dataset")


def _check_documents(path: Path, run: Run, judged: Judged) -> dict[str, int]:
    own_places, is_judged, ids = {}, False, [""]
    for query, ranking in run.items():
        ids = document_ids(ranking)
        if query in ids:
            own_places[query] = ids.index(query)
        is_judged = is_judged or not judged[query].keys().isdisjoint(ids)
    if not is_judged and (judged_ids := dict.fromkeys(chain.from_iterable(judged.values()))):
        if others := _in_other_forms(chain.from_iterable(map(document_ids, run.values())), judged_ids):
            problem = "none of its documents is judged for its query"
            raise DataError(f"{path}: {problem}: ids such as {others[0]!r} {FORMS}")
        reason = f"its ids look like {ids[0]!r}, the judged ones like {min(judged_ids)!r}"
        raise DataError(f"{path}: none of its documents is judged for its query ({reason})")
    return own_places


def _note_on_own_ids(count: int, judged: int, *, ignored: bool) -> dict[str, int]:
    treatment = "is left out as BEIR does" if ignored else "counts as any other document"
    is_chance = not ignored and count <= judged / 10  # ids may be equal by chance
    return {f"{count} of {judged} queries list their own id, which {treatment}": 0 if is_chance else count}


def _notes_on_scores(rankings: Run) -> dict[str, int]:
    lengths = [len(ranking) for ranking in rankings.values() if ranking]
    usual = median(lengths) if lengths else 0
    ends = [(np.float32(r[0][1]), np.float32(r[-1][1])) for r in rankings.values() if len(r) > 1]
    padding = "the last scores are the smallest float32, the padding of a search (remove such lines)"
    few = f"few documents are listed (minimum {min(lengths, default=0)}, median {usual:g})"
    return {
        "all scores are equal, so that the ids decide the order": sum(best == last for best, last in ends),
        padding: sum(last == _PADDING for _, last in ends),
        few: sum(length * _SHORT < usual for length in lengths),
    }
