"""Headings resolved: what they mean, how sure that is, and what is asked for."""

from collections import Counter

import pytest

from repro.plugins.manuscripts.headings import meaning, with_neighbours
from repro.plugins.manuscripts.reading import read
from tests.plugins.manuscripts import written_tables
from tests.plugins.manuscripts.source_tables import table

DEV, DL19 = "msmarco-passage/dev/small", "msmarco-passage/trec-dl-2019/judged"
MISPRINTED = "retromae/6"  # its headings name other measures than its values are of
NQ = "dpr-w100/natural-questions/test"


def column(head: str, *, value: str = "36.6", caption: str = ""):
    """Return the meaning of the last column of a table with one row. A slash separates rows of its head."""
    lines = "\n".join(f"Model|{text}" for text in head.split("/"))
    return meaning(table(lines, f"BM25|{value}", caption)).columns[-1]


@pytest.mark.parametrize(
    ("head", "dataset", "measure"),
    [
        ("MARCO Dev Passage/MRR@10", DEV, "RR@10"),
        ("MS MARCO Passage Dev/M@10", DEV, "RR@10"),
        ("MSMARCO doc dev/RR@100", "msmarco-document/dev", "RR@100"),
        ("MS-MARCO Document Dev/Recall@1k", "msmarco-document/dev", "R@1000"),
        ("TREC2019 Passage/NDCG@10", DL19, "nDCG@10"),
        ("DL'19 (psg.)/N@10", DL19, "nDCG@10"),
        ("TREC DL 20 passages/nDCG/@10", "msmarco-passage/trec-dl-2020/judged", "nDCG@10"),
        ("TREC-COVID/nDCG@10", "beir/trec-covid", "nDCG@10"),
        ("C-FEVER/NDCG 10", "beir/climate-fever", "nDCG@10"),
        ("NQ test/Top-20", NQ, "Success@20"),
        ("Natural Questions test/Hit@5", NQ, "Success@5"),
        ("NQ/nDCG@10", "beir/nq", "nDCG@10"),
        ("FiQA-2018/R@100", "beir/fiqa/test", "R@100"),
    ],
)
def test_what_a_heading_says_in_full_is_certain(head, dataset, measure):
    told = column(head)
    assert (told.dataset.value, told.dataset.sure) == (dataset, "certain")
    assert (told.measure.value, told.measure.sure) == (measure, "certain")


@pytest.mark.parametrize(
    ("head", "dataset", "measure"),
    [
        ("MS MARCO/MRR", DEV, "RR@10"),
        ("TREC DL 19/nDCG", DL19, "nDCG@10"),
        ("NQ/R@20", NQ, "Success@20"),
        ("Touché-2020/nDCG@10", "beir/webis-touche2020/v2", "nDCG@10"),
        ("CQADupStack/nDCG@10", "beir/cqadupstack", "nDCG@10"),
    ],
)
def test_what_is_merely_usual_is_likely_and_says_why(head, dataset, measure):
    told = column(head)
    assert (told.dataset.value, told.measure.value) == (dataset, measure)
    assert "likely" in (told.dataset.sure, told.measure.sure)
    assert told.dataset.reason or told.measure.reason


@pytest.mark.parametrize(
    ("head", "choices"),
    [
        ("MS MARCO dev/R@1k", ("R@1000", "Success@1000")),
        ("TREC DL 19/Recall@1000", ("R(rel=2)@1000", "R@1000")),
        ("TREC2019 Doc/R@100", ("R@100", "R(rel=2)@100")),
        ("R@50", ("R@50", "Success@50")),
        ("TREC DL 19/P@10", ("P(rel=2)@10", "P@10")),
    ],
)
def test_what_print_cannot_tell_is_asked_with_the_choices(head, choices):
    told = column(head).measure
    assert (told.value, told.sure, told.choices) == (None, "unknown", choices) and told.reason


@pytest.mark.parametrize(("head", "name"), [("TriviaQA/Top-20", "TriviaQA"), ("DL-HARD/nDCG@10", "DL-HARD")])
def test_a_collection_that_the_suite_lacks_is_told_apart_from_one_not_known(head, name):
    assert column(head).dataset.reason == f"the catalogue has no {name}"
    assert column("Our corpus/nDCG@10").dataset.sure == "unknown"
    assert column("TREC DL 19/MAP").measure.sure == "elsewhere"


@pytest.mark.parametrize(
    ("caption", "dataset", "sure"),
    [
        ("Results on the MS MARCO passage dev set.", DEV, "likely"),
        ("Results on MS MARCO and TREC DL 19.", None, "unknown"),
        ("Results on our data.", None, "unknown"),
    ],
)
def test_a_caption_counts_where_it_names_one_collection_and_no_heading_does(caption, dataset, sure):
    told = column("MRR@10", caption=caption).dataset
    assert (told.value, told.sure) == (dataset, sure)


def test_a_caption_tells_which_part_of_a_collection_a_heading_means():
    told = column("MS MARCO dev/MRR@100", caption="Document ranking.").dataset
    assert (told.value, told.sure) == ("msmarco-document/dev", "certain")
    told = column("MS MARCO dev/MRR@10", caption="Document and passage ranking.").dataset
    assert (told.value, told.sure) == (DEV, "likely")


@pytest.mark.parametrize(
    ("value", "unit"), [("36.6", "percent"), ("0.366", "fraction"), (".366", "fraction"), ("-", None)]
)
def test_the_unit_is_told_by_the_numbers(value, unit):
    assert column("MRR@10", value=value).unit == unit


@pytest.mark.parametrize(("mean", "places"), [("45.0", (1, 2, 3)), ("39.0", ())])
def test_an_average_is_of_the_columns_whose_mean_it_is(mean, places):
    told = meaning(table("Model|FiQA|SciFact|Quora|Avg.", f"BM25|25.0|65.0|45.0|{mean}")).columns[-1]
    assert told.mean_of == places
    assert (told.measure.value, told.measure.sure) == ("nDCG@10", "likely")
    assert places or "no set of columns" in told.dataset.reason


def test_sizes_and_times_are_no_measures():
    told = column("Latency (ms)")
    assert told.is_cost and told.measure.value is None


def test_collections_as_rows_are_read_as_columns():
    told = meaning(table("nDCG@10|BM25|DPR", "FiQA|23.6|11.2\nSciFact|66.5|31.8\nAverage|45.1|21.5"))
    assert told.is_transposed and [told.layout.label(row) for row in told.layout.rows] == ["BM25", "DPR"]
    assert [c.dataset.value for c in told.columns] == ["beir/fiqa/test", "beir/scifact/test", None]
    assert told.columns[2].mean_of == (1, 2)
    assert told.layout.table.body[0][1].place.line == 2  # a cell keeps its place in the source


def test_a_table_of_settings_is_none_of_results():
    made = table("|Pre-training|Fine-tuning", "batch size|2048|64\nlearning rate|3|2")
    assert not meaning(made).is_of_results


@pytest.mark.parametrize("write", [written_tables.latex, written_tables.markdown])
def test_of_the_papers_at_hand_no_column_is_resolved_otherwise_than_it_was_transcribed(write, tmp_path):
    shares = {"dataset": Counter[str](), "measure": Counter[str]()}
    for source in written_tables.papers_of_results():
        path = tmp_path / f"{source.name}.{write.__name__.replace('latex', 'tex').replace('markdown', 'md')}"
        tables = written_tables.results(source)
        path.write_text(write(tables), encoding="utf-8")
        found = with_neighbours(list(map(meaning, read(path).tables)))
        for made, told in zip(tables, found, strict=True):
            assert told.is_transposed == made.transposed, f"{source.name}/{made.id}"
            for column, own in zip(told.columns, made.columns, strict=True):
                if own.not_measurable or f"{source.name}/{made.id}" == MISPRINTED:
                    continue  # of the first the manifest does not say what it holds
                places = {made.columns.index(each) + 1 for each in made.columns if each.id in own.mean_of}
                assert set(column.mean_of) == places
                for name, count in shares.items():
                    resolved, wanted = getattr(column, name), getattr(own, name)
                    assert resolved.value in (wanted, None), f"{source.name}/{made.id}/{own.id}: {resolved}"
                    count[resolved.sure] += 1
    assert shares["dataset"]["unknown"] < 10 and shares["dataset"]["certain"] > 50
    assert shares["measure"]["unknown"] < 0.4 * shares["measure"].total()  # which recall or grade
