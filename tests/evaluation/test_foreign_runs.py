import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro.errors import DataError
from repro.evaluation.foreign_runs import read_foreign
from repro.evaluation.runs import MS_MARCO, TREC, read_run

LINES = "q1 Q0 7 0 2.5 tag\nq1 Q0 8 1 2.5 tag\nq2 Q0 7 0 1e-3 tag\n"
JUDGED = {"q1": {"7": 1}, "q2": {"8": 0}}


@pytest.fixture
def run(tmp_path):
    def write(content: str | bytes):
        path = tmp_path / "run"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def _refusal(path, judged=JUDGED) -> str:
    with pytest.raises(DataError) as caught:
        read_foreign(path, judged)
    text = str(caught.value)
    assert text.startswith(f"{path}:")
    assert "\n" not in text
    return text.removeprefix(f"{path}:")


def test_a_trec_run_is_read_as_the_suites_own_reader_reads_it(run):
    path = run(LINES)
    found, own = read_foreign(path, JUDGED), read_run(path)
    assert {q: dict(r) for q, r in found.rankings.items()} == {q: dict(r) for q, r in own.items()}
    assert (found.form, found.tag, found.depth, found.lines) == (TREC, "tag", 2, 3)


def test_gzip_ranks_from_zero_and_a_header_make_no_difference(run):
    header = "# ir_metadata.start\n# tag: x\n# ir_metadata.end\n"
    plain = read_foreign(run(LINES), JUDGED)
    assert read_foreign(run(gzip.compress((header + LINES).encode())), JUDGED) == plain


@pytest.mark.parametrize("content", [LINES, "# a header\n" + LINES, "q1\t7\t1\nq1\t8\t2\n"])
def test_a_byte_order_mark_makes_no_difference(run, content):
    plain = read_foreign(run(content), JUDGED)
    assert read_foreign(run("\ufeff" + content), JUDGED) == plain


def test_an_ms_marco_run_is_ranked_by_its_ranks_in_any_order_of_lines(run):
    found = read_foreign(run("q1\t7\t2\nq1\t8\t1\n"), JUDGED)
    assert found.form == MS_MARCO
    assert sorted(found.rankings["q1"], key=lambda pair: -pair[1]) == [("8", -1.0), ("7", -2.0)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "1: there is no line of a run in it; get the file again"),
        ("# only a header\n", "1: there is no line of a run in it"),
        ("q1 Q0 7 1 2.5\n", "1: 5 columns; a TREC run has 6"),
        (LINES + "q2 Q0 8\n", "4: 3 columns; a TREC run has 6"),
        (LINES + "# later\n", "4: 2 columns; a TREC run has 6"),
        (LINES + "\n", "4: 0 columns; a TREC run has 6"),
        (LINES + "q2 Q0 8 1", "4: 4 columns; the last line looks cut off; get the file again"),
        (LINES + "q2 Q0 8 1 1e-4 ta", "4: the tag 'ta' is not 'tag' and the line has no end"),
        ("q1 Q0 7 1 nan t\n", "1: the score 'nan' is no finite float32 number"),
        ("q1 Q0 7 1 high t\n", "1: the score 'high' is no finite float32 number"),
        ("q1 Q0 7 -1 2.5 t\n", "1: the rank '-1' is no whole number"),
        ("q1 Q0 7 1 2.5 t\nq1 Q0 7 2 2 t\n", "2: document '7' is listed twice for query 'q1'"),
        ("q1\t7\t1\nq1\t8\n", "2: 2 columns; an MS MARCO run has 3"),
        ("q1\t7\t1\nq1\t8\t1\n", "2: rank 1 is given twice for query 'q1'"),
        ("q1\t7\t1\nq1\t8\tx\n", "2: the rank 'x' is no whole number"),
        ("q1\t7\t9\nq1\t8\t1", "2: rank 1 does not follow those before and the line has no end"),
        ("q1 Q0 D7 1 2.5 t\n", "1: document id 'D7' is of another collection: those judged look like '7'"),
        ("x Q0 7 1 2.5 t\n", "1: none of the run's 1 queries is among the 2 judged ones, the first is 'x'"),
        (LINES + "x Q0 7 1 2 t\n", "4: query 'x' is not among the 2 judged ones, and 1 of the run's 3 are"),
        (b"q1 Q0 \xff 1 2 t\n", "1: not UTF-8 text"),
        (gzip.compress(LINES.encode(), mtime=0)[:-9], "4: damaged gzip file"),
    ],
)
def test_what_is_doubtful_is_refused_with_its_line(run, content, reason):
    assert _refusal(run(content)).startswith(reason)


@pytest.mark.parametrize("content", [LINES.rstrip("\n"), "q1\t7\t1\nq1\t8\t2", "q1\t7\t0"])
def test_a_whole_last_line_may_lack_its_end(run, content):
    assert read_foreign(run(content), JUDGED).lines == len(content.split("\n"))


def test_documents_of_no_known_form_are_not_looked_at(run):
    assert read_foreign(run(LINES), {"q1": {"MED-1": 1}, "q2": {"8": 1}}).lines == 3


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    for path in (tmp_path, tmp_path / "none"):
        with pytest.raises(DataError, match="no such file"):
            read_foreign(path)


@st.composite
def damaged(draw):
    """A whole run, plain, packed or cut off when packed, with something taken out and something put in."""
    at, gone = draw(st.integers(0, len(LINES))), draw(st.integers(0, 9))
    put = draw(st.binary(max_size=3) | st.text(max_size=3).map(str.encode))
    content = LINES.encode()[:at] + put + LINES.encode()[at + gone :]
    packed = gzip.compress(content, mtime=0)
    return draw(st.sampled_from([content, packed, packed[:at]]))


TABBED = st.text("q12\t\n 0123456789abc\r\x0b\u2028", max_size=60).map(str.encode)
ANYTHING = st.binary(max_size=80) | damaged() | TABBED | st.just(b"q1\t7\t" + b"9" * 5000)


@given(content=ANYTHING)
def test_any_bytes_are_a_run_or_one_sentence(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any-bytes"
    path.write_bytes(content)
    try:
        found = read_foreign(path, JUDGED)
    except DataError as error:
        assert str(error).startswith(f"{path}:")
        assert len(str(error).splitlines()) == 1
    else:
        assert found.lines > 0
        assert set(found.rankings) <= set(JUDGED)
