"""The page as HTML: what it holds, what it refers to, and that no text of a paper can become markup."""

import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from repro import __version__
from repro.manifest.printed import parse
from repro.verdicts import verdict
from repro.writers.html.cells import interval
from repro.writers.html.elements import VERDICTS, el, identifier
from repro.writers.html.page import page
from tests.writers.html.outline import outline
from tests.writers.html.toy import draw, report

GOLDEN = Path(__file__).with_name("golden.html")
HOSTILE = "</script></style><script>alert(1)</script><img src=http://x/y onerror=alert(2)>\"'&"


def bare(text: str) -> str:
    """The page without its style and script, an element a line."""
    text = re.sub(r"(<style>|<script>).*?(</style>|</script>)", r"\1\2", text, flags=re.DOTALL)
    text = text.replace(f"repro {__version__}", "repro")
    text = re.sub(r"(</(?:p|li|tr|dt|dd|h\d|header|section|nav|head|div)>)", r"\1\n", text)
    return text.replace('","', '",\n"').replace("],[", "],\n[")


def card_of(text: str, cell: str) -> str:
    """What the page's script shows on a cell's card."""
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1])
    [[fields, pieces]] = [[fields, pieces] for name, fields, pieces, _ in data["cells"] if name == cell]
    texts = ["".join(data["pieces"][number] for number in text) for text in data["texts"]]
    shown = " ".join(texts[number] for number in [*fields[:2], *pieces])
    return shown.replace("{cell}", cell)


@pytest.fixture
def drawings(tmp_path) -> Path:
    return draw(tmp_path)


@pytest.mark.needs_plugins
def test_the_small_page_is_the_one_that_was_looked_at(drawings):
    found = bare(page(report(drawings), {"full": "report.html", "tiny": "report-tiny.html"}))
    how = "if the change is meant, look at the page and write what bare() gives here to golden.html"
    assert found == GOLDEN.read_text(encoding="utf-8"), how


def test_equal_inputs_give_equal_bytes_and_no_date_but_those_that_it_was_given(drawings):
    assert page(report(drawings)) == page(report(drawings))
    assert set(re.findall(r"20\d\d-\d\d-\d\d", page(report(drawings)))) == {
        "2026-01-01",
        "2026-01-02",
        "2026-01-03",
    }


@pytest.mark.parametrize("scale", ["full", "tiny"])
def test_ids_are_unique_and_every_link_inside_has_its_place(drawings, scale):
    made = report(drawings, scale=scale)
    found = outline(page(made))
    cards = [outline(card_of(page(made), c.cell.id)) for c in made.compared]
    assert len(found.ids) == len(set(found.ids)) > 20
    links = [a["href"] for read in (found, *cards) for a in read.named("a")]
    targets = [link[1:] for link in links if link.startswith("#")] + [c.cell.id for c in made.compared]
    targets += [a[key] for _, a in found.elements for key in ("aria-labelledby",) if key in a]
    assert len(targets) > 20 and set(targets) <= set(found.ids)


def test_nothing_is_loaded_from_anywhere(drawings):
    text = page(report(drawings))
    found = outline(text)
    sources = [a["src"] for _, a in found.elements if "src" in a]
    assert sources and all(source.startswith("data:image/svg+xml,") for source in sources)
    assert unquote(sources[0].partition(",")[2]) == (drawings / "toy-figure1.svg").read_text(encoding="utf-8")
    assert not found.named("link") and "@import" not in text and "url(" not in text
    policy = next(a["content"] for a in found.named("meta") if "http-equiv" in a)
    assert "default-src 'none'" in policy and "http" not in policy


@pytest.mark.needs_plugins
def test_hostile_texts_stay_texts(drawings):
    plain = page(report(drawings))
    hostile = page(report(draw(drawings, add=HOSTILE), add=HOSTILE))
    one, other = outline(plain), outline(hostile)
    assert [tag for tag, _ in one.elements] == [tag for tag, _ in other.elements]
    assert not any(key.startswith("on") for _, a in other.elements for key in a)
    assert sum(HOSTILE in text for text in other.texts) > 20
    cards = [outline(card_of(text, "toy/1/h.x/a")) for text in (plain, hostile)]
    assert [tag for tag, _ in cards[0].elements] == [tag for tag, _ in cards[1].elements]
    assert sum(HOSTILE in text for text in cards[1].texts) > 5
    assert not any(a["href"].startswith("javascript:") for a in other.named("a"))


def test_the_page_has_language_title_landmarks_and_heads_with_scope(drawings):
    found = outline(page(report(drawings)))
    assert found.named("html") == [{"lang": "en"}]
    assert len(found.named("main")) == len(found.named("footer")) == 1 and found.elements[5][0] == "title"
    assert found.named("nav") and all(a["aria-label"] for a in found.named("nav"))
    assert found.named("th") and all(a.get("scope") for a in found.named("th"))
    assert all(a.get("alt") for a in found.named("img"))


def test_every_measured_cell_opens_a_card_that_tells_how_it_was_made(drawings):
    text = page(report(drawings))
    cards = {c.cell.id: card_of(text, c.cell.id) for c in report().compared}
    for told in (
        "0.3415 to 0.3425",
        "RR@10 on <code>msmarco-passage/dev/small</code>",
        "fraction",
        'data-readings="#toy/reading">seed<',
        "repro run toy/1/g.y/a --scale full<",
    ):
        assert told in cards["toy/1/g.y/a"]
    told = "repro run toy/1/g.x/a --scale full --seeds 1,2 --reading seed=two<"
    assert told in cards["toy/1/g.x/a"]
    buttons = re.findall(r'<td id="([^"]*)"><button class', text)
    assert buttons == list(cards)


def test_a_measured_card_tells_seeds_difference_tests_and_provenance():
    text = page(report())
    told_by = card_of(text, "toy/1/g.x/a")
    for told in (
        "1: 0.326, 2: 0.336",
        "+0.01",
        "± 0.02",
        "0.0100",
        "f1",
        "c0ffee",
        "2026-01-01",
        "2 cores",
        "data: not here",
        "seed = two",
        "1 of them without an answer",
    ):
        assert told in told_by, told


def test_rows_of_the_same_label_are_told_apart_in_cards():
    assert "X (First)" in page(report())


def test_every_verdict_there_is_has_its_own_sign():
    assert set(VERDICTS) == verdict.PASSES | verdict.FAILS | verdict.NEITHER
    assert len({sign for _, sign, _ in VERDICTS.values()}) == len(VERDICTS)


def test_below_full_scale_a_failing_statement_does_not_look_like_a_failure():
    full, tiny = page(report()), page(report(scale="tiny"))
    assert _badges(full, "ours: fails") == ["v-fail"]
    assert _badges(tiny, "ours: fails") == ["v-scaled"]
    assert _badges(tiny, "paper: fails") == ["v-fail"]
    assert "neither confirm nor refute the published" in tiny and "neither confirm" not in full


def test_print_s_rounding_interval_is_half_a_unit_to_either_side():
    assert interval(parse("0.342*")) == "0.3415 to 0.3425"
    assert interval(parse("41")) == "40.5 to 41.5"
    assert interval(parse(">150GB")) is None and interval(parse("-")) is None


def test_text_and_attributes_are_escaped_and_elements_are_not():
    made = el("p", "a<b", [el("b", "&"), None], title='"<', class_="x", hidden=True, lang=None, tabindex=0)
    assert made == '<p title="&quot;&lt;" class="x" hidden tabindex="0">a&lt;b<b>&amp;</b></p>'


def test_different_names_give_different_ids():
    assert identifier("a", "b-c") != identifier("a-b", "c")
    assert identifier("p", "x y") != identifier("p", "x/y") != identifier("p", "x", "y")


def _badges(text: str, ending: str) -> list[str]:
    return re.findall(rf'class="badge (v-\w+)"><span class="sign" aria-hidden="true">.</span> {ending}', text)


def test_lists_of_passages_are_tables_with_their_texts_as_they_were(drawings):
    found = outline(page(report(drawings)))
    texts = [text.strip() for text in found.texts]
    for told in ("BM|25", "a | b *c*", "relevant (grade 1), score 0.5, id d1", "a note"):
        assert told in texts


def test_a_drawing_that_is_too_large_is_named_and_left_out(drawings, monkeypatch):
    monkeypatch.setattr("repro.writers.html.paper_part.LARGEST", 10)
    text = page(report(drawings))
    assert "toy-figure1.svg is too large to be shown here" in text and "data:image/svg" not in text


def test_gains_over_the_authors_own_baseline_stand_below_its_table():
    told = "Dev R@1k: Y over X (First), effect ratio 1.00"
    assert told in page(report())


def test_a_run_that_others_made_stands_apart_and_is_made_again_by_importing_it():
    found = page(report())
    told = card_of(found, "toy/1/g.y/a")
    assert "repro import run run.trec toy/1/g.y/a</code>" in told and "sha256: 5e" in told
    assert "not run</span>" in told and "higher</span>run by others, a file" in told
    cell = re.search(r'<td id="toy/1/g\.y/a">.*?</td>', found)[0]
    assert 'class="v-none"' in cell and "by A toolkit, not the suite&#x27;s: higher" in cell
    tiles = re.findall(r"<dt>([^<]*)</dt><dd>(?:<a[^>]*>)?(\d+)", found)[:5]
    assert tiles == [
        ("measured", "4"),
        ("distinct measurements", "2"),
        ("pass", "2"),
        ("fail", "1"),
        ("run by others", "1"),
    ]


@pytest.mark.needs_plugins
def test_the_front_leads_with_what_is_known_of_each_published_number():
    made = report()
    found = page(made)
    known = found.partition("<h2>What is known of 6 published numbers</h2>")[2].partition("<section")[0]
    said = "what is known of all published numbers: 4 measured, 1 run by others, 1 stated by others (exact)"
    assert f'aria-label="{said}"' in known and "What is not measured here takes many hours." in known
    [head, row] = re.findall(r"<tr>(.*?)</tr>", known)
    heads, values = re.findall(r"<th[^>]*>([^<]+)</th>", head), re.findall(r"<td>([^<]+)</td>", row)
    counts = {name: value for name, value in zip(heads, values, strict=True) if value != "–"}
    assert counts == {
        "published": "6",
        "measured": "4",
        "run by others": "1",
        "stated by others (exact)": "1",
        "also rehearsed: tiny": "6",
    }
    assert f"<p>{made.words}.</p>" in found and made.words == "4 of 6 published cells measured at full"


def test_a_card_tells_the_interval_over_queries_and_tests_against_the_same_system_of_others():
    told = card_of(page(report()), "toy/1/g.x/a")
    assert "0.2665 to 0.3955 in 95 %; the published mean lies inside" in told
    assert '<th scope="row">B toolkit</th><td>+0.0200</td><td>0.0300</td><td>0.0600</td>' in told


def test_data_that_stand_in_for_the_paper_s_are_named():
    text = page(report(scale="tiny"))
    assert "Measured on <code>tiny/passage/dev</code>, which stand in for the papers&#x27; data." in text
    told = "<code>tiny/passage/dev</code>, which stands in for the paper&#x27;s data"
    cells = [c.cell.id for c in report().compared if c.measured is not None]
    assert len(cells) == 4 and all(told in card_of(text, cell) for cell in cells)
    assert "stand in for the papers" not in page(report())


@pytest.mark.needs_plugins
def test_what_others_report_stands_below_ours_at_full_scale_and_on_the_card_with_its_places():
    found = page(report())
    cell = re.search(r'<td id="toy/1/h\.x/a">.*?</td>', found, re.DOTALL)[0]
    assert cell.count("“0.3352” ×2</span>") == 1
    assert "0.3352 A toolkit (toolkit): released checkpoint encoded again; match exact; a/b@" in cell
    told = card_of(found, "toy/1/h.x/a")
    address = f"https://github.com/a/b/blob/{0:040}/its%20results.md"
    assert f'<b>0.3352</b> released checkpoint encoded again; match exact (<a href="{address}"' in told
    assert "<b>0.339</b> trained from the start; noted; match close" in told
    assert '<dt>stated by others</dt><dd><a href="#cells" data-filter="only=stated">1</a>' in found


@pytest.mark.needs_plugins
def test_a_claim_has_a_third_judge_with_the_reports_that_it_rests_on():
    found = page(report())
    claim = re.search(r'<li id="statement/toy/claim/better">.*?</details>', found, re.DOTALL)[0]
    assert "</span> others: fails</span>" in claim and "0.3352 (checkpoint) beside 0.339 (trained)" in claim
    assert "2 of 3 cells: released checkpoint encoded again (1), trained from the start (1)" in claim
    bold = re.search(r'<li id="statement/toy/1/bold/g\.y/a">.*?</li>', found, re.DOTALL)[0]
    assert "others" not in bold
    assert "What others state bears 0 of them out and contradicts 1." in found
