import json
from pathlib import Path

from repro.errors import BlockedError
from repro.retrieval.datasets.sources import MissingPiece, Source


def test_a_source_survives_being_written_as_json():
    part = Source("a", "documents", "folder", "jsonl", (Path("/x/corpus.jsonl"),), version="2")
    whole = Source("b", "documents", "parts", parts=(part, Source("c", "documents", "embedded")))
    assert Source.from_json(json.loads(json.dumps(whole.to_json()))) == whole


def test_what_is_missing_becomes_an_error_with_cause_and_remedy():
    error = MissingPiece("a", "qrels", "the qrels are not here", "fetch them").error()
    assert isinstance(error, BlockedError) and error.exit_status == 4
    assert str(error) == "the qrels are not here; fetch them"
