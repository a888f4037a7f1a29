"""The study's pages are made of the records, and its typed words hold for them."""

import gc
import re
from pathlib import Path
from statistics import fmean

import pytest
from matplotlib.figure import Figure

from papers.head_to_head import article
from repro import cli
from repro.manifest.papers import paper
from repro.plugins.studies import writing
from repro.plugins.studies.contrasts import analysis_of
from repro.plugins.studies.studies import study_of
from repro.retrieval.evaluation.p_values import holm
from repro.store.results import Results

ROOT = Path(__file__).resolve().parents[3]
SEEDS = ",".join(map(str, analysis_of(paper("head_to_head")).seeds))
OF_HISTORY = re.compile(r"^The plan (was last changed|of analysis is not committed).*$", re.MULTILINE)


def _texts(folder: Path, kinds: tuple[str, ...]) -> dict[str, str]:
    paths = [path for path in sorted(folder.iterdir()) if path.suffix in kinds]
    return {path.name: OF_HISTORY.sub("", path.read_text(encoding="utf-8")) for path in paths}


@pytest.fixture(scope="module")
def study():
    judged = {}

    def call(plan, store, *, source, table, **others):
        key = source.name, table.id, plan.scale.name
        if key not in judged:
            judged[key] = study_of(plan, store, source=source, table=table, **others)
        return judged[key]

    return call


@pytest.mark.parametrize(
    ("main", "words", "folder", "kinds"),
    [
        (cli.main, "repro tables head_to_head", "results/tables/small-cpu", (".md", ".tex")),
        (article.main, "papers.head_to_head.article", "docs/explained/head-to-head", (".md", ".csv")),
    ],
)
def test_pages_and_tables_are_what_recipes_analysis_and_records_make_now(
    main, words, folder, kinds, study, tmp_path, monkeypatch
):
    """Another setting of a recipe or a scale has no record to show; another of the analysis, other words."""
    selection = ("--scale", "small-cpu", "--seeds", SEEDS, "--out", str(tmp_path / "out"))
    places = ("--store", str(tmp_path / "store"), "--results", str(ROOT / "results"))
    monkeypatch.setattr("sys.argv", [*words.split(), *selection, *places])
    for module in (article, writing):
        monkeypatch.setattr(module, "study_of", study)
    monkeypatch.setattr(article, "page", lambda text, folder: "")
    monkeypatch.setattr(Figure, "savefig", lambda *_, **__: None)
    try:
        main()
    except SystemExit as left:
        assert not left.code
    gc.enable()
    expected, found = _texts(ROOT / folder, kinds), _texts(tmp_path / "out", kinds)
    assert found.keys() == expected.keys()
    changed = [name for name in found if found[name] != expected[name]]
    assert not changed, f"write them anew: python -m {words} --scale small-cpu --seeds {SEEDS}"


def _means(scale: str, column: str) -> dict[str, float]:
    """``table/row`` -> the mean over seeds of its newest records in a column."""
    return {place: fmean(seeds.values()) for place, seeds in _by_seed(scale, column).items()}


def _by_seed(scale: str, column: str) -> dict[str, dict[int | None, float]]:
    values: dict[str, dict[int | None, float]] = {}
    for record in Results(ROOT / "results").read(scale, "head_to_head"):
        _, table, row, name = record.cell.split("/")
        if name == column:
            values.setdefault(f"{table.removeprefix('figure-')}/{row}", {})[record.seed] = record.measured
    return values


@pytest.fixture(scope="module")
def curves():
    return _means("curves", "pool.rr10")


@pytest.fixture(scope="module")
def tables():
    return _means("small-cpu", "dev.rr10")


def _line(points, start):
    return {name.removeprefix(start): value for name, value in points.items() if name.startswith(start)}


def test_what_the_prose_says_of_rates_and_temperatures_holds(curves):
    random, backbone = _line(curves, "rate/cls."), _line(curves, "rate/backbone.")
    assert (max(random, key=random.get), max(backbone, key=backbone.get)) == ("0.001", "0.003")
    assert len(random) == 5
    assert 0 < random["0.001"] - backbone["0.003"] < random["0.001"] - backbone["0.001"]
    plain, cosine = (_line(curves, f"temperature/{line}.") for line in ("backbone", "backbone-cosine"))
    assert max([*plain.values(), *cosine.values()]) == plain["1"] == backbone["0.001"]


def test_what_the_prose_says_of_random_weights_and_queries_holds(curves, tables):
    for share, wins in (("100", False), ("1000", False), ("9935", True)):
        points = {line: curves[f"few-queries/{line}.{share}"] for line in ("random", "backbone", "simlm")}
        assert (max(points, key=points.get) == "random") == wins
    random = _line(curves, "steps/cls.")
    assert all(random[x] > y for x, y in _line(curves, "steps/backbone.").items())
    short = [value for x, value in _line(curves, "backbone/mlm-cls.").items() if x != "0"]
    assert curves["steps/backbone.500"] < min(short) and max(short) < curves["backbone/mlm-cls.0"] + 1
    rows = ("start", "bert", "costa", "cpdae", "cotmae_v2", "simlm")
    best = {table: max(rows, key=lambda row: tables[f"{table}/{row}"]) for table in "14"}
    assert best["1"] != best["4"] and all(tables["4/random-weights"] > tables[f"4/{row}"] for row in rows)
    assert tables["4/random-weights"] > 2 * tables["1/random-weights"]


def test_what_the_prose_says_of_the_objectives_on_other_queries_holds(curves, tables):
    methods = ("bert", "costa", "cpdae", "cotmae_v2", "simlm")
    there, here = ({m: f"objectives/{m}.400" for m in methods}, {m: f"5/{m}" for m in methods})
    assert max(methods, key=lambda m: curves[there[m]]) == "simlm"
    assert max(methods, key=lambda m: tables[here[m]]) == "cpdae"
    assert curves[there["cpdae"]] > curves[there["bert"]]


def test_what_is_said_of_growth_holds(curves):
    methods, sizes = (
        ("bert", "costa", "cpdae", "cotmae_v2", "simlm"),
        ("64.100", "64.400", "128.100", "128.400"),
    )
    ranked = [sorted(methods, key=lambda m, size=size: -curves[f"scaling/{m}-{size}"]) for size in sizes]
    assert len({tuple(order) for order in ranked}) == 4
    assert [order[0] for order in ranked].count("simlm") == 3
    assert curves["scaling/none-64"] > curves["scaling/none-128"]


def _compared(table: str, column: str) -> dict[tuple[str, str], tuple[float, str]]:
    page = (ROOT / f"results/tables/small-cpu/head_to_head-table{table}.md").read_text(encoding="utf-8")
    numbers = r"[^|]+ \| [^|]+ \| (?:< )?([.\d]+) \| [^|]+"
    lines = re.findall(
        rf"^\| (.+) – (.+) \| {re.escape(column)} \| 5 \| {numbers} \| (.+) \|$", page, re.MULTILINE
    )
    return {(first, second): (float(p), verdict) for first, second, p, verdict in lines}


def _verdicts(table: str, column: str = "MS MARCO MRR@10") -> dict[tuple[str, str], str]:
    return {pair: verdict for pair, (_, verdict) in _compared(table, column).items()}


def test_what_the_prose_says_of_tables_with_fewer_queries_or_equal_work_holds():
    bert, start = "BERT (MLM continued)", "no further pre-training"
    found = {table: _verdicts(table) for table in "1235"}
    above = {
        (table, *(pair if verdict.endswith("above") else pair[::-1])): verdict.replace("below", "above")
        for table, verdicts in found.items()
        for pair, verdict in verdicts.items()
        if verdict.endswith(("above", "below")) and "random weights" not in pair
    }
    assert above == {
        ("1", "CPDAE", bert): "above",
        ("2", "CPDAE", "COSTA"): "above",
        ("2", "CoT-MAE v2", "COSTA"): "above",
        **{("3", row, bert): "above" for row in ("CPDAE", "CoT-MAE v2", "SimLM")},
        ("3", "COSTA", bert): "above",
        **{("3", row, start): "above" for row in ("COSTA", "CPDAE", "CoT-MAE v2", "SimLM")},
        ("3", bert, start): "slightly above",
        ("3", "CPDAE", "COSTA"): "above",
        **{("5", row, bert): "above" for row in ("CPDAE", "CoT-MAE v2", "SimLM")},
        **{("5", row, start): "above" for row in ("CPDAE", "SimLM")},
        ("5", "CPDAE", "COSTA"): "above",
        ("5", "CPDAE", "CoT-MAE v2"): "above",
    }
    assert {found["1"][row, bert] for row in ("COSTA", "CoT-MAE v2", "SimLM")} == {"inconclusive"}
    within, above_all = "within ±2 points, at the floor", "above, at the floor"
    of_all = {row: verdict for (row, base), verdict in _verdicts("4").items() if base == bert}
    assert of_all == {"COSTA": within, "CPDAE": within, "CoT-MAE v2": above_all, "SimLM": above_all}


def test_the_leading_objective_changes_with_the_number_of_queries(tables):
    methods = ("bert", "costa", "cpdae", "cotmae_v2", "simlm")
    best = {table: max(methods, key=lambda m, table=table: tables[f"{table}/{m}"]) for table in "314"}
    assert best == {"3": "cpdae", "1": "cpdae", "4": "simlm"}


def test_a_lead_that_the_abstract_calls_too_large_is_below_the_difference_with_a_power_of_80_percent():
    page = (ROOT / "docs/explained/head-to-head/appendix-c.md").read_text(encoding="utf-8")
    [line] = re.findall(r"^\| CPDAE \| \+(.+?) \(.*?\) \| .*? \| (.*?) \| above \|", page, re.MULTILINE)
    assert 0 < float(line[0]) < float(line[1])


def test_what_the_prose_says_of_the_ablations_holds(tables):
    prose = " ".join((ROOT / "papers/head_to_head/README.md").read_text(encoding="utf-8").split())
    found = _verdicts("6")
    weaker = {
        "costa.without-projector": ("COSTA without its projector is below COSTA, by {:.1f} points", "costa"),
        "cpdae.sums": ("CPDAE with its reconstruction as a sum is below CPDAE, by {:.1f}.", "cpdae"),
        "cotmae_v2.auto-encoding": ("decoder alone is below CoT-MAE v2, by {:.1f}.", "cotmae_v2"),
    }
    for row, (sentence, name) in weaker.items():
        assert sentence.format(tables[f"6/{name}.paper"] - tables[f"6/{row}"]) in prose
    assert list(found.values()).count("below") == 3 and not {"above", "slightly above"} & {*found.values()}
    untold = {first for (first, _), verdict in found.items() if verdict == "inconclusive"}
    assert untold == {
        "SimLM with masks (Enc-Dec MLM)",
        "Condenser (its head on that MLM)",
        "CoT-MAE v2, sparse view alone",
    }
    assert list(found.values()).count("within ±2 points") == len(found) - 6
    p, verdict = _compared("6", "MS MARCO R@50")["SimLM with masks (Enc-Dec MLM)", "SimLM"]
    assert verdict == "above"
    assert f"masks are above replaced words, barely (p is {p:.3f})".replace("0.", ".") in prose
    for column in ("dev.rr10", "dev.r50", "scifact.ndcg10", "nfcorpus.ndcg10"):
        means = _means("small-cpu", column)
        assert abs(means["6/cpdae.sums-without-contrast"] - means["6/cpdae.sums"]) < 0.1


def test_most_published_effects_of_switches_are_below_the_difference_with_a_power_of_80_percent():
    page = (ROOT / "docs/explained/head-to-head/appendix-d.md").read_text(encoding="utf-8")
    _, _, table = page.partition("| switch | difference")
    lines = [line.strip("| ").split(" | ") for line in table.partition("\n\n")[0].splitlines()[2:]]
    printed = [(abs(float(line[-1])), float(line[3])) for line in lines if line[-1] != "–"]
    assert len(lines) == 12 and sum(effect < seen for effect, seen in printed) > len(printed) / 2


def test_what_the_prose_says_of_all_ablations_corrected_at_once_holds():
    prose = " ".join((ROOT / "papers/head_to_head/README.md").read_text(encoding="utf-8").split())
    compared = _compared("6", "MS MARCO MRR@10")
    corrected = dict(zip(compared, holm([p for p, _ in compared.values()]), strict=True))
    first, second, *more = sorted(
        corrected[pair] for pair, (_, verdict) in compared.items() if verdict == "below"
    )
    assert first < second <= 0.05 < more[0] and len(compared) == 12
    assert more == [corrected["CoT-MAE v2, auto-encoding decoder alone", "CoT-MAE v2"]]
    assert (
        f"over all twelve at once its p would be {more[0]:.2f}, and two would be found".replace("0.", ".")
        in prose
    )


def test_what_the_page_of_cpdae_says_of_sums_seed_by_seed_holds():
    prose = " ".join((ROOT / "papers/cpdae/README.md").read_text(encoding="utf-8").split())
    apart: dict[int | None, float] = {}
    for column in ("dev.rr10", "dev.r50", "scifact.ndcg10", "nfcorpus.ndcg10"):
        found = _by_seed("small-cpu", column)
        for seed, value in found["6/cpdae.sums"].items():
            difference = abs(value - found["6/cpdae.sums-without-contrast"][seed])
            apart[seed] = max(apart.get(seed, 0.0), difference)
    assert apart.pop(1) == 0.0 and len(apart) == 4
    most = f"{max(apart.values()):.2f}".removeprefix("0")
    assert f"to the last digit of all four measures, at the other four seeds to {most} points" in prose
