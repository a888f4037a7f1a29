"""A row of measures.yaml is enough: scores, messages, headings, checks and tolerances follow from it."""

from decimal import Decimal
from pathlib import Path

import pytest
import yaml

from repro.errors import UsageError
from repro.plugins.manuscripts import vocabulary
from repro.plugins.manuscripts.auditing import findings
from repro.plugins.manuscripts.checks.arithmetic import Seen
from repro.plugins.manuscripts.source_tables import Manuscript
from repro.retrieval.evaluation import measures
from repro.retrieval.evaluation.measures import canonical, parse_measure, score
from repro.verdicts.verdict import tolerance
from tests.plugins.manuscripts.source_tables import table

ROW = {"name": "AP", "aliases": ["ap", "mean_ap"], "examples": ["AP@100"], "words": ["mean ap"]}
ROW |= {"scored": True, "monotone": True, "tolerance": "share"}
QRELS = {"1": {"a": 1, "b": 1}, "2": {"c": 1}}
RUN = {"1": [("a", 3.0), ("x", 2.0), ("b", 1.0)], "2": [("x", 2.0), ("c", 1.0)]}


@pytest.fixture
def row(tmp_path, monkeypatch):
    """The table with AP@k as a measure of the suite."""
    caches = (measures.families, measures._names, vocabulary._patterns)
    rows = [row for row in yaml.safe_load(measures.FILE.read_text()) if row["name"] != "AP"]
    (tmp_path / "measures.yaml").write_text(yaml.safe_dump([*rows, ROW]))
    monkeypatch.setattr(measures, "FILE", tmp_path / "measures.yaml")
    for cache in caches:
        cache.cache_clear()
    yield
    monkeypatch.undo()
    for cache in caches:
        cache.cache_clear()


def test_without_the_row_it_is_no_measure_of_a_column():
    with pytest.raises(UsageError):
        parse_measure("AP@100")
    assert tolerance(None, "AP@100", "fraction") is None


@pytest.mark.usefixtures("row")
def test_its_scores_names_messages_and_tolerance_follow():
    assert score(RUN, QRELS, ["AP@2"], ignore_identical_ids=False).measures == {"AP@2": [0.5, 0.5]}
    assert canonical("mean_ap_at_100") == "AP@100"
    assert tolerance(None, "AP@100", "fraction").half_width == Decimal("0.015")
    for read in (parse_measure, canonical):
        with pytest.raises(UsageError, match="AP@100"):
            read("nothing@7")


@pytest.mark.usefixtures("row")
def test_headings_name_it_and_its_values_are_checked():
    rows = "Oak|31.2|30.4\nElm|20.3|40.2\nAsh|20.6|40.7\nFir|22.6|42.7"
    made = table("Model|SciFact Mean AP@10|SciFact Mean AP@100", rows)
    [finding] = findings(Manuscript(Path("paper.md"), (made,)), Seen(set))
    assert finding.check == "cut-off" and "AP cannot decrease from 10 to 100 ranks" in finding.why
