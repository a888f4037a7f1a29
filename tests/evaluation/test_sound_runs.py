import gzip

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro.errors import DataError
from repro.evaluation.runs import _line_by_line, read_run, write_run
from repro.evaluation.sound_runs import ranked, read_sound

WORDS = st.sampled_from(
    ["q1", "d1", "d\u00e9", "1", "02", "0.5", "-1e-3", "1e39", "nan", "inf", "1_0", "+1", ".5", "0x1", ""]
)
SPACES = st.sampled_from([" ", " ", " ", " ", "  ", "\t", "\u00a0"])
NEARLY = st.tuples(st.sampled_from(["q1", "q2"]), WORDS, WORDS, WORDS, WORDS, WORDS, SPACES).map(
    lambda parts: parts[-1].join(parts[:-1])
)
SOUND = st.tuples(
    st.sampled_from(["q1", "q2"]),
    st.just("Q0"),
    st.integers(0, 30).map(str),
    st.integers(0, 9).map(str),
    st.floats(-1e38, 1e38).map(repr),
    st.just("tag"),
).map(" ".join)
LINES = st.lists(st.one_of(SOUND, SOUND, SOUND, NEARLY), max_size=6)
FILES = st.tuples(LINES, st.sampled_from(["\n", "\n", "\r\n"]))
QUICK = settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def line_by_line(path):
    try:
        return _line_by_line(path)
    except DataError:
        return None


@QUICK
@given(made=FILES, last=st.booleans(), packed=st.booleans())
def test_whatever_is_read_fast_is_read_the_same_line_by_line(tmp_path, made, last, packed):
    lines, end = made
    text = (end.join(lines) + end * last).encode()
    path = tmp_path / "run"
    path.write_bytes(gzip.compress(text) if packed else text)
    fast = read_sound(path)
    if fast is not None:
        slow = line_by_line(path)
        assert [(q, fast[q]) for q in fast] == [(q, ranked(list(slow[q].items()))) for q in slow]


@pytest.mark.parametrize("packed", [False, True])
def test_what_the_suite_writes_is_read_fast(tmp_path, packed):
    write_run(tmp_path, {"b": [("d1", 0.1), ("d2", 7.0)], "a": [("d1", -3.5e-9)]}, "tag")
    path = tmp_path / "run.trec"
    if packed:
        path.write_bytes(gzip.compress(path.read_bytes()))
    assert read_sound(path) == {q: ranked(list(found.items())) for q, found in _line_by_line(path).items()}
    assert list(read_sound(path)) == ["b", "a"]


def test_a_query_whose_lines_stand_apart_is_left_to_the_reader_of_lines(tmp_path):
    path = tmp_path / "run"
    path.write_text("1 Q0 a 1 2.0 t\n2 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n")
    assert read_sound(path) is None
    assert read_run(path) == {"1": [("a", 2.0), ("b", 1.0)], "2": [("a", 2.0)]}
    path.write_text("1 Q0 a 1 2.0 t\n2 Q0 a 1 2.0 t\n1 Q0 a 2 1.0 t\n")
    with pytest.raises(DataError, match="listed twice"):
        read_run(path)


@pytest.mark.parametrize(
    "line", ["1 Q0 a 1 nan t", "1 Q0 a x 1 t", "1 Q0 a 1 1", "1  Q0 a 1 1 t", "", "1 Q0 a 1 1e39 t"]
)
def test_what_is_unusual_is_left_to_the_reader_of_lines(tmp_path, line):
    path = tmp_path / "run"
    path.write_text(f"1 Q0 b 1 3.0 t\n{line}\n")
    assert read_sound(path) is None
