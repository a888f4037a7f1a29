import gzip
import json
import lzma
import pickle
import unicodedata

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.errors import DataError
from repro.retrieval.evaluation.judged_runs import read_given
from repro.retrieval.evaluation.runs import read_run, read_run_file

LINES = "q1 Q0 7 0 2.5 tag\nq1 Q0 8 1 2.5 tag\nq2 Q0 7 0 1e-3 tag\n"
JUDGED = {"q1": {"7": 1}, "q2": {"8": 0}}
MANY = {f"{q}": {f"{q}{d}": d % 2 for d in range(1, 10)} for q in range(100, 120)}


@pytest.fixture
def run(tmp_path):
    def written(content: str | bytes):
        path = tmp_path / "run"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return written


def read(path, judged=JUDGED, *, ignore=False):
    return read_given(path, judged, ignore_identical_ids=ignore)


def lines_of(judged, query=str, document=str, rank=int, score=lambda place: -place):
    return "".join(
        f"{query(q)} Q0 {document(d)} {rank(place)} {score(place)} tag\n"
        for q, grades in judged.items()
        for place, d in enumerate(grades, 1)
    )


def refusal(path, judged=JUDGED) -> str:
    with pytest.raises(DataError) as caught:
        read(path, judged)
    text = str(caught.value)
    assert text.startswith(f"{path}:") and "\n" not in text
    return text.removeprefix(f"{path}:")


def test_a_trec_run_is_read_as_the_suites_own_reader_reads_it(run):
    path = run(LINES)
    found = read(path)
    assert found.rankings == read_run(path) == {"q1": [("8", 2.5), ("7", 2.5)], "q2": [("7", 1e-3)]}
    assert (found.form, found.tag, found.depth, found.lines) == ("TREC", "tag", 2, 3)
    assert (found.missing, found.foreign) == ([], 0)


HEADER = "# ir_metadata.start\n# tag: x\n# ir_metadata.end\n"


@pytest.mark.parametrize(
    "content", [HEADER + LINES, "\ufeff" + LINES, LINES[:-1], LINES.replace("\n", "\r\n")]
)
def test_packing_a_header_and_other_ends_of_lines_make_no_difference(run, content):
    plain = read(run(LINES))
    assert read(run(content)) == plain
    assert read(run(gzip.compress(content.encode(), mtime=0))) == plain


@pytest.mark.parametrize(
    ("content", "form"),
    [
        ("q1\t7\t2\nq1\t8\t1\n", "MS MARCO"),
        ('{"q1": {"7": -2, "8": -1.0}}', "JSON"),
        (gzip.compress(b'\n {"q1": {"7": -2, "8": -1}}', mtime=0), "JSON"),
    ],
)
def test_other_forms_are_ranked_by_their_ranks_or_scores(run, content, form):
    found = read(run(content))
    assert found.rankings == {"q1": [("8", -1.0), ("7", -2.0)]}
    assert (found.form, found.tag, found.lines) == (form, None, 2)


@pytest.mark.nightly  # ranx compiles its runs
@pytest.mark.parametrize("form", ["json", "parquet"])
def test_what_ranx_saves_is_read(tmp_path, form):
    from ranx import Run

    path = tmp_path / f"run.{form}"
    Run({"q1": {"7": 0.25, "8": 0.5}, "q2": {"8": 1.5}}).save(path, kind=form)
    assert read(path).rankings == {"q1": [("8", 0.5), ("7", 0.25)], "q2": [("8", 1.5)]}


def test_a_damaged_parquet_file_is_read_or_refused_in_a_sentence(run, tmp_path):
    pq.write_table(
        pa.table({"q_id": ["q1", "q2"], "doc_id": ["7", "8"], "score": [1.5, 2.5]}), tmp_path / "p"
    )
    content, refusals = (tmp_path / "p").read_bytes(), 0
    assert read(tmp_path / "p").rankings == {"q1": [("7", 1.5)], "q2": [("8", 2.5)]}
    for place in range(4, len(content), 3):
        path = run(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            assert read_run_file(path, strict=False).form == "Parquet"
        except DataError as error:
            refusals += 1
            assert str(error).startswith(f"{path}: ") and len(str(error).splitlines()) == 1
    assert refusals > 50


def test_the_strict_reader_reads_no_other_form_and_leaves_an_empty_run_to_its_caller(run):
    with pytest.raises(DataError, match="run:1: 3 columns: a TREC run has 6"):
        read_run_file(run('{"q1": {"7": 1}}'))
    assert read_run_file(run("")).rankings == {}


TWICE = "document '7' is listed twice for query 'q1'"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", " it contains no document. Get the file again."),
        ("# only a header\n", " it contains no document"),
        ("q1 Q0 7 1 2.5\n", "1: 5 columns: a TREC run has 6"),
        ("q1\t7\t12.5\n", "1: the rank '12.5' is not a whole number up to 16777216 (an MS MARCO run has 3"),
        ("qid Q0 docid rank score tag\n" + LINES, "1: the rank 'rank' is not a whole number"),
        ("q1\t7\t1\t12.5\n", "1: 4 columns: a TREC run has 6"),
        (LINES + "q2 Q0 8\n", "4: 3 columns: a TREC run has 6"),
        (LINES + "# later\n", "4: 2 columns: a TREC run has 6"),
        (LINES + "\n", "4: 0 columns: a TREC run has 6"),
        (LINES + "q2 Q0 8 1", "4: 4 columns: the last line is incomplete (get the file again)"),
        (LINES + "q2 Q0 8 1 1e-4 ta", "4: the tag 'ta' is not 'tag': the last line is incomplete"),
        ("q1 Q0 7 1 nan t\n", "1: the score 'nan' is not a finite float32 number"),
        ("q1 Q0 7 1 high t\n", "1: the score 'high' is not a finite float32 number"),
        ("q1 Q0 7 1 -inf t\n", "1: the score '-inf' is not a finite float32 number"),
        ("q1 Q0 7 1 3.41e38 t\n", "1: the score '3.41e38' is not a finite float32 number"),
        ("q1 Q0 7 1 1_0 t\n", "1: the score '1_0' is not a finite float32 number"),
        ("q1 Q0 7\x00 1 2 t\n", "1: '7\\x00' has a control character in it"),
        ("q1\x7f Q0 7 1 2 t\n", "1: 'q1\\x7f' has a control character in it"),
        (LINES + "\ufeffq1 Q0 9 1 2 t\n", "4: '\\ufeffq1' has a control character in it"),
        ("q1 Q0 7 -1 2.5 t\n", "1: the rank '-1' is not a whole number"),
        ("q1 Q0 7 two 2.5 t\n", "1: the rank 'two' is not a whole number"),
        (bytes(range(128, 256)), "1: not UTF-8 text. Unpack it, or save it as UTF-8."),
        ("q1 Q0 7 1 2.5 t\nq1 Q0 7 2 2 t\n", f"2: {TWICE}"),
        ("q1\t7\t1\nq1\t8\n", "2: 2 columns: an MS MARCO run has 3"),
        ("q1\t7\t1\nq1\t8\t1\n", "2: rank 1 is given twice for query 'q1'"),
        ("q1\t7\t1\nq1\t8\tx\n", "2: the rank 'x' is not a whole number"),
        ("q1\t7\t9\nq1\t8\t1", "2: rank 1 does not follow those before and the line has no end"),
        ("x Q0 7 1 2.5 t\n", " none of the run's 1 queries is among the 2 judged ones (e.g. 'x' and"),
        ("q1 Q0 D7 1 2.5 t\n", " none of its documents is judged for its query (its ids look like 'D7'"),
        (b"q1 Q0 \xff 1 2 t\n", "1: not UTF-8 text"),
        (gzip.compress(LINES.encode(), mtime=0)[:-9], "4: damaged gzip file"),
        (gzip.compress(b"", mtime=0)[:10] + b"\xff" * 9, "1: damaged gzip file"),
        (gzip.compress(b'{"q1": {"7": 1}}', mtime=0)[:-9], "1: damaged gzip file"),
        (lzma.compress(LINES.encode()), "1: not UTF-8 text. Unpack it, or save it as UTF-8."),
        (pickle.dumps({"q1": {"7": 1}}), "1: not UTF-8 text"),
        (LINES.encode("utf-16"), "1: not UTF-8 text"),
        ("q1 0 7 1\nq1 0 8 0\n", "1: 4 columns: a TREC run has 6"),
        ("query-id\tcorpus-id\tscore\nq1\t7\t1\n", "1: the rank 'score' is not a whole number"),
        ("q1,7,1,2.5\n", "1: 1 columns: a TREC run has 6"),
        ('{"q1": {"7": 1, "7": 2}}', " it is not a valid JSON file (the key '7' occurs twice)"),
        ('{"q1": {"7": 1}', " it is not a valid JSON file"),
        ('{"q1": ["7"]}', " its JSON is not {qid: {docid: score}}"),
        ('{"q1": {"7": "high"}}', " query 'q1': the score 'high' is not a finite float32 number"),
        ('{"q1": {"7": true}}', " query 'q1': the score 'True' is not a finite float32 number"),
        ('{"q1": {}}', " it contains no document"),
        (b"PAR1 and more", " it is not a Parquet file"),
    ],
)
def test_what_is_doubtful_is_refused_with_its_line(run, content, reason):
    assert refusal(run(content)).startswith(reason)


@pytest.mark.parametrize("content", ["q1\t7\t1\nq1\t8\t2", "q1\t7\t0", "q1 Q0 7 1 2 a\nq1 Q0 8 2 1 b"])
def test_a_whole_last_line_may_lack_its_end(run, content):
    assert read(run(content)).lines == len(content.split("\n"))


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path, reason in ((tmp_path, "it is not a file"), (tmp_path / "none", "no such file")):
        assert refusal(path) == f" {reason}"


@pytest.mark.parametrize("name", ["FT{}-{}", "test-topic-{}-con{}b"])
def test_a_collection_may_have_ids_unlike_the_judged_ones(run, name):
    judged = {f"q{i}": {name.format(i, d): 1 for d in range(9)} for i in range(9)}
    others = {q: [*grades, "LA010189-0001", "test-topic-1-con01a"] for q, grades in judged.items()}
    assert read(run(lines_of(others)), judged).depth == 11


@pytest.mark.parametrize(
    ("content", "notes"),
    [
        (
            lines_of(MANY, score=int),
            ["for 20 of 20 queries the ranks reverse the order of the scores, which decide as"],
        ),
        (
            lines_of(MANY, rank=lambda p: p + 2 * (p % 2)),
            ["for 20 of 20 queries the ranks differ from the order"],
        ),
        (lines_of(MANY, rank=lambda p: 1, score=int), []),
        (lines_of(MANY, score=lambda p: 1), ["for 20 of 20 queries all scores are equal"]),
        (lines_of(MANY, score=lambda p: -p / 1e12 - 1), ["for 20 of 20 queries all scores are equal"]),
        (
            lines_of(MANY, score=lambda p: -3.4028235e38 if p > 8 else -p),
            ["for 20 of 20 queries the last scores"],
        ),
        (lines_of(dict([*MANY.items()][4:])), ["4 of 20 judged queries are missing and count as 0"]),
        (lines_of(MANY | {"x": "123456789"}), ["1 of its 21 queries are not judged and left out"]),
        (
            lines_of({q: [*g, *range(1, 99)] if q > "100" else g for q, g in MANY.items()}),
            ["for 1 of 20 queries few documents are listed (minimum 9, median 107)"],
        ),
        ("".join(f"{q}\t{q}1\t12\n" for q in MANY), ["for 20 of 20 queries no document has rank 0 or 1"]),
        (
            lines_of({q: [q, *g] for q, g in MANY.items()}),
            ["20 of 20 queries list their own id, which counts"],
        ),
    ],
)
def test_what_a_run_says_against_itself_is_told(run, content, notes):
    found = read(run(content), MANY).notes
    assert len(found) == len(notes) and all(map(str.startswith, found, notes))


def test_the_querys_own_id_is_dropped_before_anything_is_counted(run):
    path = run(lines_of({q: [q, *g] for q, g in MANY.items()}))
    found = read(path, MANY, ignore=True)
    assert found.depth == 9 and read(path, MANY).depth == 10
    assert all(q not in dict(ranking) and len(ranking) == 9 for q, ranking in found.rankings.items())
    assert found.notes == ("20 of 20 queries list their own id, which is left out as BEIR does",)


def test_topics_without_judgements_of_documents_are_held_by_their_ids_alone(run):
    assert read(run(LINES), {"q1": {}, "q2": {}}).lines == 3


@st.composite
def damaged(draw):
    whole = draw(st.sampled_from([LINES, json.dumps({"q1": {"7": 1.5, "8": 2}})])).encode()
    at, gone = draw(st.integers(0, len(whole))), draw(st.integers(0, 9))
    put = draw(st.binary(max_size=3) | st.text(max_size=3).map(str.encode))
    content = whole[:at] + put + whole[at + gone :]
    packed = gzip.compress(content, mtime=0)
    return draw(st.sampled_from([content, packed, packed[:at]]))


TABBED = st.text("q12\t\n 0123456789abc\r\x0b\u2028", max_size=60).map(str.encode)
ANYTHING = st.binary(max_size=80) | damaged() | TABBED | st.just(b"q1\t7\t" + b"9" * 5000)


@given(content=ANYTHING)
def test_any_bytes_are_a_run_or_one_sentence(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any-bytes"
    path.write_bytes(content)
    try:
        found = read(path)
    except DataError as error:
        assert str(error).startswith(f"{path}:")
        assert len(str(error).splitlines()) == 1
    else:
        assert found.lines > 0
        assert set(found.rankings) <= set(JUDGED)
        assert read_run_file(path, strict=False).form == found.form


FORMED = {"é1": {"d": 1, "dé": 1}, "q2": {"ü": 1}}


def decomposed(text: str) -> str:
    return unicodedata.normalize("NFD", text)


@pytest.mark.parametrize("kinds", [{"query": decomposed}, {"document": decomposed}])
def test_ids_in_another_unicode_form_are_the_reason_of_a_refusal(run, kinds):
    judged = {"é1": {"dé": 1}}
    said = refusal(run(lines_of(judged, **kinds)), judged)
    assert "ids such as" in said and said.endswith(
        "differ only in their Unicode normal form, e.g. NFC and NFD. Write both files in one form"
    )


def test_some_ids_in_another_unicode_form_are_a_note(run):
    form = "differ only in their Unicode normal form"
    documents = read(run(lines_of(FORMED, document=decomposed)), FORMED).notes
    assert any(note.startswith(f"for 2 of 2 queries ids of documents {form}") for note in documents)
    queries = read(run(lines_of(FORMED, query=decomposed)), FORMED).notes
    assert any(note.startswith(f"1 ids of queries {form}") for note in queries)
    assert not any(form in note for note in read(run(lines_of(FORMED)), FORMED).notes)
