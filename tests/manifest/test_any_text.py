"""Whatever stands in the files of a paper, or in judgements, gives an object or one sentence."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro.errors import DataError, ManifestError
from repro.manifest import yaml_file
from repro.manifest.papers import papers
from repro.manifest.reading_schema import Reading, reading_faults
from repro.manifest.schema import Manifest, faults
from repro.retrieval.evaluation.text_lines import read_qrels

FOLDER = papers()["cpdae"].folder
SHAPES = {  # a file of a paper -> its text, shape and faults
    "cells.yaml": ((FOLDER / "cells.yaml").read_text(encoding="utf-8"), Manifest, faults),
    "readings.yaml": (
        (FOLDER / "readings.yaml").read_text(encoding="utf-8"),
        tuple[Reading, ...],
        reading_faults,
    ),
}
SHARED_FOLDER = [HealthCheck.function_scoped_fixture]
SLOW = settings(max_examples=60, deadline=None, suppress_health_check=SHARED_FOLDER, derandomize=True)
PIECES = ["null", "[", "]", "{}", "- ", ": ", "&a", "*a", "!!python/name:os", "\t", "1e999"]
SNIPPETS = st.one_of(st.text(max_size=8), st.sampled_from(PIECES))


@st.composite
def edited(draw, text):
    """The text with a piece of some line replaced, or lines removed."""
    start = draw(st.integers(0, len(text) - 1))
    end = min(len(text), start + draw(st.sampled_from([0, 1, 5, 40, 400])))
    return text[:start] + draw(SNIPPETS) + text[end:]


@pytest.mark.parametrize("name", SHAPES)
@SLOW
@given(data=st.data())
def test_an_edited_file_is_read_or_refused_with_its_name(tmp_path, name, data):
    text, shape, faults = SHAPES[name]
    path = tmp_path / name
    path.write_text(data.draw(edited(text)), encoding="utf-8", errors="replace")
    try:
        yaml_file.read(path, shape, faults=faults)
    except ManifestError as error:
        assert str(error).startswith(str(path))


@SLOW
@given(
    content=st.one_of(
        st.binary(max_size=80),
        st.text(alphabet="0q1d \t\n-9.", max_size=80).map(str.encode),
        st.just(b"q 0 d 1\nq 0 d 2\n"),
    )
)
def test_any_bytes_are_judgements_or_refused_with_their_file(tmp_path, content):
    path = tmp_path / "qrels.trec"
    path.write_bytes(content)
    try:
        found = read_qrels(path)
    except DataError as error:
        assert str(error).startswith(str(path))
    else:
        assert all(isinstance(grade, int) for judged in found.values() for grade in judged.values())
