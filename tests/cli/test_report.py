"""``repro report``."""

import pytest

from repro.locations import committed_results
from repro.store.results import Results
from tests.writers.html.outline import outline
from tests.writers.html.test_page import card_of

README = "# x\n\n<!-- verdicts:begin -->\nold\n<!-- verdicts:end -->\n\nlast\n"


def test_the_page_of_one_paper_is_written_without_store_or_results(repro, folders):
    said = repro("report costa --scale tiny -o", folders / "r.html")
    assert (said.status, said.out) == (0, f"{folders / 'r.html'}\n")
    assert (folders / "r.html").stat().st_size < 600_000
    found = outline((folders / "r.html").read_text(encoding="utf-8"))
    assert {"overview", "costa", "costa/1", "costa/7", "costa/figure-3", "costa/claims"} <= set(found.ids)
    assert "costa/1/hardneg.costa/dev.rr10" in found.ids and "simlm" not in found.ids
    assert len(found.ids) == len(set(found.ids))
    links = {a["href"][1:] for a in found.named("a") if a["href"].startswith("#")}
    assert links <= set(found.ids)


def test_every_scale_with_a_record_has_a_page_and_the_first_opens_in_the_browser(
    repro, measured, monkeypatch
):
    seen = []
    monkeypatch.setattr("webbrowser.open", seen.append)
    said = repro("report costa --open -o", measured / "r.html")
    paths = measured / "r.html", measured / "r-tiny.html"
    assert (said.status, said.out) == (0, f"{paths[0]}\n{paths[1]}\n")
    assert "no browser could be started. Open" in said.err
    assert seen == [paths[0].as_uri()]
    for path in paths:
        found = outline(path.read_text(encoding="utf-8"))
        shown = {a["href"]: a.get("aria-current") for a in found.named("a") if a["href"].endswith(".html")}
        assert shown == {each.name: "page" if each == path else None for each in paths}
    text = paths[1].read_text(encoding="utf-8")
    assert "r.html#costa/readings" in text and "costa/readings" not in found.ids
    card = card_of(text, "costa/1/sparse.bm25/dev.rr10")
    assert "scaled" in card and "<dt>fingerprint</dt>" in card and "<dt>commit</dt>" in card


def test_without_a_scale_those_with_stages_or_records_of_the_user_are_shown(repro, folders, monkeypatch):
    monkeypatch.delenv("REPRO_RESULTS")  # equal results are not recorded again
    assert repro("report costa -o", folders / "r.html").out == f"{folders / 'r.html'}\n"
    record = Results(committed_results()).read("tiny", "costa")[0]
    (folders / "store" / "evaluate" / record.fingerprint).mkdir(parents=True)
    assert f"{folders / 'r-tiny.html'}\n" in repro("report costa -o", folders / "r.html").out


def test_the_summary_counts_every_table_and_goes_to_standard_output(repro):
    said = repro("report --format markdown costa --scale tiny")
    assert said.status == 0
    others = "and 0 of 36 points of figures, 0 of 8 cells of reference rows"
    known = "40 stated by others (exact), 7 stated by others (close), 5 stated by others (loose), 105 nothing known"
    assert said.out.startswith(
        f"157 published numbers: {known}.\n\n"
        "## Verdicts at scale tiny\n\n0 of 157 published cells measured at tiny, "
        f"{others}: 0 failing. Scores at smaller scales are not compared"
    )
    assert "| costa | 7 | 4 | 4 |" in said.out


def test_a_readme_gets_its_table_and_keeps_the_rest(repro, folders):
    path = folders / "README.md"
    path.write_text(README, encoding="utf-8")
    assert repro("report costa --readme", path).out == f"{path} was brought up to date\n"
    text = path.read_text(encoding="utf-8")
    assert "| `costa` | 157 |" in text and "old" not in text
    assert text.startswith("# x\n\n<!-- verdicts:begin -->\n| paper |") and text.endswith(
        ":end -->\n\nlast\n"
    )
    assert repro("report costa --readme", path).out == f"{path} is up to date\n"
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("text", ["", README + README, "<!-- verdicts:end --><!-- verdicts:begin -->"])
def test_a_readme_without_one_pair_of_markers_is_left_alone_before_anything_is_judged(
    repro, folders, monkeypatch, text
):
    monkeypatch.setattr("repro.writers.markdown.judged_cells", None)
    path = folders / "README.md"
    path.write_text(text, encoding="utf-8")
    said = repro("report costa --readme", path)
    assert "once each, around the table" in said.refusal
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["costb"], "'costb' is not a known paper. Did you mean costa?"),
        (["--readme", "x.md", "--format", "markdown"], "--readme cannot be combined with other options"),
        (
            ["--format", "markdown", "--open"],
            "--format markdown cannot be combined with --open or a second --scale",
        ),
        (["--readme", "missing.md"], "missing.md: No such file or directory"),
        (["costa", "-o", "."], "is a folder. Name a file for the report."),
    ],
)
def test_mistakes_are_told_in_one_sentence_before_anything_is_judged(
    repro, folders, monkeypatch, arguments, sentence
):
    monkeypatch.chdir(folders)
    monkeypatch.setattr("repro.verdicts.comparison.judged_cells", None)
    monkeypatch.setattr("repro.writers.html.page.page", None)
    assert sentence in repro("report", *arguments).refusal


def test_latex_goes_where_it_is_asked_to(repro, folders):
    places = ("--out", folders / "out", "--document", folders / "all.tex")
    said = repro("tables costa --table 7 --scale tiny", *places)
    assert said.out == f"{folders / 'out' / 'costa-table7.tex'}\n{folders / 'all.tex'}\n"
    table = (folders / "out" / "costa-table7.tex").read_text(encoding="utf-8")
    assert table in (folders / "all.tex").read_text(encoding="utf-8")
    assert not (folders / "results").exists()


def test_pages_of_tables_are_written_with_their_commands(repro, folders, toy):
    said = repro("report site toy -o", folders / "pages")
    assert (said.status, said.out) == (0, f"2 pages in {folders / 'pages'}\n")
    text = (folders / "pages/toy-table1.md").read_text(encoding="utf-8")
    assert "repro run toy --table 1 --row bm25 --scale tiny\n" in text
    assert "toy-table1.md" in (folders / "pages/index.md").read_text(encoding="utf-8")
    full = repro("report site toy -o", folders / "pages", "--scale", "full")
    assert full.refusal.endswith("--scale full is always included. Name a smaller scale or remove --scale.")
