"""Reads a person's run file, in any form that is common, ranx's and BEIR's too, and what speaks against it.

What cannot be a run of the judged queries is refused; what only looks odd is scored, with a note.
"""

import json
import re
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from repro.errors import DataError
from repro.retrieval.evaluation.runs import MS_MARCO, Run, RunFile, document_ids, ranked, read_run_file
from repro.retrieval.evaluation.text_lines import (
    columns,
    many_objects,
    numbered_lines,
    open_bytes,
    open_text,
    read_score,
)

_NUMBERS = re.compile(r"[0-9]+")
_NAME_AND_NUMBERS = re.compile(r"[^0-9]*9([^0-9A-Za-z]9)*")
_MANY = 100
_PARTS = (  # what is left of an id without its first or last part
    re.compile(r"(.+?)[^0-9A-Za-z]+[0-9A-Za-z]*"),
    re.compile(r"[0-9A-Za-z]*[^0-9A-Za-z]+(.+)"),
    re.compile(r"[^0-9]*0*([0-9]+)"),
    re.compile(r"([0-9]+)[^0-9].*"),
)
_PACKED = "unpack it, or pack it with gzip"
_MAGIC = {
    b"\xfd7zXZ": ("is packed with xz", _PACKED),
    b"\x28\xb5\x2f\xfd": ("is packed with Zstandard", _PACKED),
    b"\x04\x22\x4d\x18": ("is packed with LZ4", _PACKED),
    b"PK\x03\x04": ("is a ZIP archive", _PACKED),
    b"BZh": ("is packed with bzip2", _PACKED),
    b"\xff\xfe": ("is UTF-16 text", "write it as UTF-8"),
    b"\xfe\xff": ("is UTF-16 text", "write it as UTF-8"),
    **dict.fromkeys(
        (b"\x80\x03", b"\x80\x04", b"\x80\x05"), ("is a pickle of Python", "write its scores as a TREC run")
    ),
    b"\x89HDF": ("is an HDF5 file", "write its scores as a TREC run"),
    b"\x93NUMPY": ("is an array of numpy", "write its scores as a TREC run"),
}
_GRADE, _FRACTION = re.compile("-?[0-9]{1,2}"), re.compile("-?[0-9]+[.][0-9]+")
_LARGEST = 2**31  # characters of a JSON file
_NAMES = (("q_id", "qid", "query_id"), ("doc_id", "docid", "docno"), ("score",))  # of a table's columns
_TOP = 20  # documents of a query whose ids are held against its judgements
_PADDING = -np.finfo(np.float32).max
_SHORT = 10  # a ranking is short where it has fewer than a tenth of the usual number of documents
FORMS = (
    "a run is read in TREC's form (qid Q0 docid rank score tag), MS MARCO's (qid pid rank, parted by tabs), "
    "as JSON {qid: {docid: score}} or as ranx's Parquet"
)


def is_text_run(path: Path) -> bool:
    """Return whether a run is in lines. Raises DataError for a file that is in no form that is read."""
    if check_is_read(path, FORMS).startswith((b"PAR1", b"{")):
        return False
    _check_first_line(path)
    return True


def check_is_read(path: Path, forms: str) -> bytes:
    """Return the first bytes of a file, unpacked where it is gzipped.

    Raises DataError for one that is not there, or is packed or written as nothing here reads.
    """
    if not path.is_file():
        reason = "it is no file" if path.exists() else "no such file"
        raise DataError(f"{path}: {reason}; {forms}, plain or gzipped")
    start = _start(path)
    for magic, (what, remedy) in _MAGIC.items():
        if start.startswith(magic):
            raise DataError(f"{path}: it {what}; {remedy}")
    return start


def read_peers_run(path: Path) -> RunFile:
    """Read ``{qid: {docid: score}}`` in JSON, as ranx and BEIR write it, or ranx's Parquet."""
    is_table = _start(path).startswith(b"PAR1")
    scores = _table(path) if is_table else read_json(path, "score", _number)
    rankings: Run = {query: ranked(list(ranking.items())) for query, ranking in scores.items() if ranking}
    return RunFile(rankings, "Parquet" if is_table else "JSON")


def read_json(path: Path, what: str, read_value: Callable[[Any, str], Any]) -> dict[str, dict[str, Any]]:
    """Read ``{qid: {docid: value}}``. Raises DataError for another content, and for an id given twice."""
    try:
        with open_text(path) as file:
            content = json.loads(file.read(_LARGEST), object_pairs_hook=_unrepeated)
    except (ValueError, OSError, EOFError, RecursionError, zlib.error) as error:
        raise DataError(
            f"{path}: it is no sound JSON file ({error}); {{qid: {{docid: {what}}}}} is read"
        ) from None
    if not isinstance(content, dict) or not all(isinstance(values, dict) for values in content.values()):
        raise DataError(f"{path}: in JSON {{qid: {{docid: {what}}}}} is read, and it is something else")
    return {
        query: {document: read_value(value, f"{path}: query {query!r}") for document, value in values.items()}
        for query, values in content.items()
    }


def _table(path: Path) -> dict[str, dict[str, float]]:
    from pyarrow import ArrowException, parquet

    try:
        table = parquet.read_table(path)
        names = [next((name for name in known if name in table.column_names), None) for known in _NAMES]
        rows = None if None in names else zip(*(table[name].to_pylist() for name in names), strict=True)
    except (ArrowException, OSError, ValueError) as error:
        reason = next(iter(str(error).splitlines()), "")
        raise DataError(f"{path}: it is no sound Parquet file ({reason})") from None
    if rows is None:
        columns_of_table = ", ".join(table.column_names)
        raise DataError(f"{path}: it has the columns {columns_of_table}; q_id, doc_id, score are read")
    scores: dict[str, dict[str, float]] = {}
    for query, document, score in rows:
        ranking = scores.setdefault(str(query), {})
        if str(document) in ranking:
            raise DataError(f"{path}: document {str(document)!r} is listed twice for query {str(query)!r}")
        ranking[str(document)] = _number(score, f"{path}: query {query!r}")
    return scores


def _number(value: object, place: str) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return read_score(repr(value) if is_number else str(value), place)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("an id is given twice")
    return content


def _start(path: Path) -> bytes:
    try:
        with open_bytes(path) as file:
            return file.read(1 << 12).removeprefix(b"\xef\xbb\xbf").lstrip()
    except (OSError, EOFError, ValueError, zlib.error):
        return b""  # damaged: the reader of lines says where


def _check_first_line(path: Path) -> None:
    """Refuse a file whose first line shows that it is something else than a run."""
    number, line = next(((n, line) for n, line in numbered_lines(path) if not line.startswith("#")), (0, ""))
    fields = columns(line, f"{path}:{number}")
    separator = max(",;|", key=line.count)
    signs = {
        "the header of judgements in BEIR's form": fields[:2] == ["query-id", "corpus-id"],
        "a header, which is to be left out": fields[:1] and fields[0].lower() in _NAMES[0],
        "4 columns, as of judgements (qid 0 docid grade)": len(fields) == 4 and _GRADE.fullmatch(fields[3]),
        "scores in its third and last column": len(fields) == 3 and _FRACTION.fullmatch(fields[2]),
        f"1 column, with values parted by {separator!r}": len(fields) == 1 and line.count(separator) > 1,
    }
    for what in [what for what, is_seen in signs.items() if is_seen][:1]:
        raise DataError(f"{path}:{number}: it has {what}; {FORMS}")


def common_form(ids: Collection[str]) -> re.Pattern | None:
    """Return the pattern of ids that are numbers, or of many that are a name and numbers, as ``D123``.

    None for any others: a collection may have ids that are not like the few that are judged.
    """
    shapes = {_NUMBERS.sub("9", identifier) for identifier in ids}
    shape = shapes.pop() if len(shapes) == 1 else ""
    is_form = shape == "9" or (len(ids) >= _MANY and _NAME_AND_NUMBERS.fullmatch(shape))
    return re.compile(re.escape(shape).replace("9", "[0-9]+")) if is_form else None


def shortened(identifier: str) -> Iterator[str]:
    """Yield the id without a part, as ``123`` of ``D123``, ``doc:123``, ``123#0``, ``123.0`` and ``0123``."""
    if identifier.isdecimal() and identifier[0] != "0":
        return
    for pattern in _PARTS:
        match = pattern.fullmatch(identifier)
        if match and match[1] != identifier:
            yield match[1]


def first_without(form: re.Pattern | None, ids: Sequence[str]) -> str | None:
    """Return the first of the ids that has another form, where there is one that all should have."""
    # one search of all is much faster
    if form is None or re.fullmatch(f"(?:{form.pattern}\n)*", "\n".join(ids) + "\n"):
        return None
    return next(identifier for identifier in ids if not form.fullmatch(identifier))


def difference(identifier: str, known: Iterable[str]) -> str | None:
    """Return in words what an id has too much or too little to be one of the known ones, or of their form."""
    ids = sorted(known)
    form, own_form = common_form(ids), common_form([identifier])  # the latter of a number alone
    for short in shortened(identifier):
        if short in ids or (form and form.fullmatch(short)):
            return f"the part {_rest(identifier, short)!r} is too much"
    for longer in ids:
        for short in shortened(longer):
            if short == identifier or (own_form and own_form.fullmatch(short)):
                return f"it lacks {_rest(longer, short)!r}, as in {longer!r}"
    return None


def misspelt(ids: Iterable[str], known: Mapping[str, object]) -> list[str]:
    """Return those of the ids that are none of the known ones but for a part too much or too little."""
    longer = {short for identifier in known for short in shortened(identifier)}
    return [
        identifier
        for identifier in ids
        if identifier not in known
        and (identifier in longer or any(short in known for short in shortened(identifier)))
    ]


def _rest(longer: str, shorter: str) -> str:
    before, _, after = longer.partition(shorter)
    return " … ".join(filter(None, (before, after)))


class OtherQueriesError(DataError):
    """None of a run's queries is judged."""


@dataclass(frozen=True)
class GivenRun:
    """A run as it is scored.

    Attributes:
        rankings: judged query -> (document, score), best document first, without the query's own id where the
            rule says so; a rank is a score below zero.
        form: of the file.
        tag: of its first line; None in a form without tags.
        lines: how many documents the file lists.
        depth: documents of the judged query that has most, in ``rankings``.
        missing: judged queries that the file says nothing of, which score 0.
        foreign: how many of its queries are not judged, which are left out.
        notes: whole sentences on what the file says against itself.
    """

    rankings: Run
    form: str
    tag: str | None
    lines: int
    depth: int
    missing: list[str]
    foreign: int
    notes: tuple[str, ...]


def read_given(
    path: Path, judged: Mapping[str, Mapping[str, int]], *, ignore_identical_ids: bool
) -> GivenRun:
    """Read a run for judgements ``{qid: {docid: grade}}``; without documents only the queries are held.

    ``ignore_identical_ids`` drops a document whose id is the query's, as BEIR does, before anything is
    counted.
    Raises DataError, one sentence that begins with the file and, where there is one, the line: a form that is
    not read, a damaged or cut-off file, a document twice, or ids of other documents; an OtherQueriesError for
    ids of other queries alone.
    """
    return given_run(path, read_given_file(path), judged, ignore_identical_ids=ignore_identical_ids)


def given_run(
    path: Path, run: RunFile, judged: Mapping[str, Mapping[str, int]], *, ignore_identical_ids: bool
) -> GivenRun:
    """Hold what ``read_given_file`` read against judgements, as ``read_given`` does."""
    with many_objects():
        _check_queries(path, run.rankings, judged)
        rankings = {query: ranking for query, ranking in run.rankings.items() if query in judged}
        own_ids = _check_documents(path, rankings, judged)
        if ignore_identical_ids:
            rankings |= {q: [*rankings[q][:place], *rankings[q][place + 1 :]] for q, place in own_ids.items()}
    missing, foreign = sorted(judged.keys() - rankings), len(run.rankings) - len(rankings)
    *lengths, last_length = map(len, run.rankings.values())
    usual = lengths[0] if len({*lengths}) == 1 < len(lengths) else 0
    notes = {
        f"{foreign} of its {len(run.rankings)} queries are not judged and left out": foreign,
        f"{len(missing)} of {len(judged)} judged queries are missing and count as 0": len(missing),
        f"its last query has {last_length} documents and all others {usual}: it may be cut off": (
            last_length < usual
        ),
        **_note_on_own_ids(len(own_ids), len(judged), ignored=ignore_identical_ids),
    }
    for what, count in (_notes_on_ranks(run, rankings) | _notes_on_scores(rankings)).items():
        notes[f"for {count} of {len(rankings)} queries {what}"] = count
    sentences = tuple(sentence for sentence, count in notes.items() if count)
    depth, lines = max(map(len, rankings.values())), sum(lengths) + last_length
    return GivenRun(rankings, run.form, run.tag, lines, depth, missing, foreign, sentences)


def read_given_file(path: Path) -> RunFile:
    """Read a run in TREC's or MS MARCO's form, or as ranx or BEIR write it; raises as ``read_given`` does."""
    run = read_run_file(path) if is_text_run(path) else read_peers_run(path)
    if not run.rankings:
        raise DataError(f"{path}: there is no document in it; get the file again")
    return run


def _check_queries(path: Path, run: Run, judged: Mapping[str, object]) -> None:
    if not judged:
        raise DataError(f"{path}: there are no judgements to score the run with")
    unjudged_ids = [query for query in run if query not in judged]
    wrong_ids = misspelt(unjudged_ids, judged)
    if len(unjudged_ids) == len(run) or 5 * len(wrong_ids) > len(run) - len(unjudged_ids):
        query = (wrong_ids or unjudged_ids)[0]
        place = _place(path, query, next(iter(run[query]))[0])
        part = difference(query, judged) if wrong_ids else None
        if len(unjudged_ids) < len(run):
            raise DataError(f"{place}: query id {query!r} is not written as the judged ones: {part}")
        problem = f"none of the run's {len(run)} queries is among the {len(judged)} judged ones"
        remedy = part or "name the dataset whose queries it answers"
        raise OtherQueriesError(f"{place}: {problem}, the first is {query!r}; {remedy}")


def _check_documents(path: Path, run: Run, judged: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Return the places of the queries' own ids in the rankings that have them.

    Raises DataError for ids of documents that are written otherwise than the judged ones, all or a part.
    """
    judged_ids = set(chain.from_iterable(judged.values()))
    form = common_form(judged_ids)
    hits, wrong_ids, own_places = 0, [], {}
    for query, ranking in run.items():
        ids = document_ids(ranking)
        if document := first_without(form, ids):
            raise _document_error(path, query, document, judged_ids)
        if query in ids:
            own_places[query] = ids.index(query)
        hits += not judged[query].keys().isdisjoint(ids)
        wrong_ids += [(query, document) for document in misspelt(ids[:_TOP], judged[query])]
    if len(wrong_ids) > (max(hits, 20) / 5 if hits else 0):  # some titles differ by a word
        raise _document_error(path, *wrong_ids[0], judged[wrong_ids[0][0]])
    if judged_ids and not hits:
        problem = f"none of its documents is judged for its query; their ids look like {ids[0]!r}"
        remedy = f"those judged like {min(judged_ids)!r}: check that they are ids of the dataset"
        raise DataError(f"{path}: {problem}, {remedy}")
    return own_places


def _document_error(path: Path, query: str, document: str, judged_ids: Collection[str]) -> DataError:
    """Return the error on a document whose id is not written as the judged ones are."""
    part = difference(document, judged_ids)
    remedy = f"{part}, or the run is of another collection" if part else "the run is of another collection"
    if document == "-1":
        remedy = "faiss gives it where it found too little; leave such lines out"
    problem = f"document id {document!r} is not written as the judged ones, like {min(judged_ids)!r}"
    return DataError(f"{_place(path, query, document)}: {problem}: {remedy}")


def _note_on_own_ids(count: int, judged: int, *, ignored: bool) -> dict[str, int]:
    treatment = "is left out as BEIR does" if ignored else "counts as any other document"
    is_chance = not ignored and count <= judged / 10  # numbers may be ids of queries and of documents
    return {f"{count} of {judged} queries list their own id, which {treatment}": 0 if is_chance else count}


def _notes_on_ranks(run: RunFile, rankings: Run) -> dict[str, int]:
    """Return sentences on doubtful ranks, each with the number of queries that it is true of."""
    opposite = [run.contradicted[query] for query in rankings if query in run.contradicted]
    late = [run.form == MS_MARCO and ranking[0][1] < -1 for ranking in rankings.values() if ranking]
    decided = "of the scores, which decide as in trec_eval"
    remedy = "if they are distances, write them with a minus"
    return {
        f"the ranks say the opposite {decided}; {remedy}": sum(opposite),
        f"the ranks say another order than that {decided}": len(opposite) - sum(opposite),
        "no document has rank 0 or 1: were scores written as ranks?": sum(late),
    }


def _notes_on_scores(rankings: Run) -> dict[str, int]:
    """Return sentences on doubtful or few scores, each with the number of queries that it is true of."""
    lengths = [len(ranking) for ranking in rankings.values() if ranking]
    usual = median(lengths) if lengths else 0
    ends = [(np.float32(r[0][1]), np.float32(r[-1][1])) for r in rankings.values() if len(r) > 1]
    padding = "the last scores are the smallest float32, as of the padding of a search that found too little"
    few = f"few documents are listed, the fewest {min(lengths, default=0)}, where half have {usual:g} or more"
    return {
        "all scores are equal, so that the ids decide the order": sum(best == last for best, last in ends),
        f"{padding}; leave such lines out": sum(last == _PADDING for _, last in ends),
        few: sum(length * _SHORT < usual for length in lengths),
    }


def _place(path: Path, query: str, document: str) -> str:
    """File and, in a form of lines, number of the line that lists a document for a query."""
    if not is_text_run(path):
        return str(path)
    lines = ((number, line.split()) for number, line in numbered_lines(path))
    number = next(number for number, fields in lines if fields[:1] == [query] and document in fields[1:3])
    return f"{path}:{number}"
