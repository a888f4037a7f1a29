import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from repro import __version__
from repro.locations import data_folder
from repro.manifest.cells import select
from repro.manifest.papers import paper
from repro.running.plan import plan
from repro.running.requirements import Machine
from repro.running.scale import scale
from repro.store.results import Results
from repro.verdicts import verdict
from repro.writers.html.elements import VERDICTS
from repro.writers.html.page import page
from repro.writers.html.sections import drawings as drawings_of
from tests.writers.html.outline import outline
from tests.writers.html.toy import draw, report

GOLDEN = Path(__file__).with_name("golden.html")
HOSTILE = "</script></style><script>alert(1)</script><img src=http://x/y onerror=alert(2)>\"'&"


def bare(text: str) -> str:
    text = re.sub(r"(<style>|<script>).*?(</style>|</script>)", r"\1\2", text, flags=re.DOTALL)
    text = text.replace(f"repro {__version__}", "repro")
    text = re.sub(r"(</(?:p|li|tr|dt|dd|h\d|header|section|nav|head|div)>)", r"\1\n", text)
    return text.replace('","', '",\n"').replace("],[", "],\n[")


def card_of(text: str, cell: str) -> str:
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


def test_every_part_with_signs_explains_them(drawings):
    articles = page(report(drawings)).split("<article")[1:]
    assert len(articles) == 3
    for article in articles:
        rest, _, legend = article.partition("How to read a cell")
        assert all(mark in legend for mark in ("⊘", "▼", "“1.2”", "[1.2]", "(1.2)")), rest[:80]


def test_folders_of_the_machine_are_in_no_page(drawings, monkeypatch):
    monkeypatch.setenv("REPRO_DATA", "/mnt/papers & more")
    text = page(report(drawings, add=f" {data_folder()}/models/x {Path.home()}/y"))
    assert "/mnt" not in text and str(Path.home()) not in text
    assert "$REPRO_DATA/models/x" in text and "~/y" in text


def test_every_verdict_there_is_has_its_own_sign():
    assert set(VERDICTS) == verdict.PASSES | verdict.FAILS | verdict.NEITHER
    assert len({sign for _, sign, _ in VERDICTS.values()}) == len(VERDICTS)


def test_below_full_scale_a_failing_statement_does_not_look_like_a_failure():
    full, tiny = page(report()), page(report(scale="tiny"))
    assert _badges(full, "ours: fails") == ["v-fail"]
    assert _badges(tiny, "ours: fails") == ["v-scaled"]
    assert _badges(tiny, "paper: fails") == ["v-fail"]
    assert "neither confirm nor refute the published" in tiny and "neither confirm" not in full


def _badges(text: str, ending: str) -> list[str]:
    return re.findall(rf'class="badge (v-\w+)"><span class="sign" aria-hidden="true">.</span> {ending}', text)


def test_a_drawing_that_is_too_large_is_named_and_left_out(drawings, monkeypatch):
    monkeypatch.setattr("repro.writers.html.paper_part.LARGEST", 10)
    text = page(report(drawings))
    assert "toy-figure1.svg is too large to be shown here" in text and "data:image/svg" not in text


def test_data_that_stand_in_for_the_paper_s_are_named():
    text = page(report(scale="tiny"))
    assert "Measured on <code>tiny/passage/dev</code>, substitutes for the papers&#x27; data." in text
    told = "<code>tiny/passage/dev</code>, a substitute for the paper&#x27;s data"
    cells = [c.cell.id for c in report().compared if c.measured is not None]
    assert len(cells) == 4 and all(told in card_of(text, cell) for cell in cells)
    assert "substitutes for the papers" not in page(report())


def test_drawings_are_found_by_their_paper_and_place(tmp_path):
    tmp_path = tmp_path / "figures/tiny"
    tmp_path.mkdir(parents=True)
    source = paper("simlm")
    for name in ("simlm-figure3.svg", "simlm-table9.md", "simlm-table9.csv", "simlm-table99.svg"):
        (tmp_path / name).touch()
    (tmp_path / "costa-figure3.svg").touch()
    by_owner = drawings_of(Results(tmp_path.parents[1]).figures(tmp_path.name), source)
    found = {owner: [path.name for path in paths] for owner, paths in by_owner.items()}
    assert found == {"figure-3": ["simlm-figure3.svg"], "9": ["simlm-table9.md"]}
    assert Results(tmp_path / "nowhere").figures("tiny") == []


def test_a_study_sees_the_measurements_of_its_own_table_only():
    cells = select(("costa",), tables=("1", "4"), rows=(), cells=())
    whole = plan(cells, scale=scale("tiny"), machine=Machine())
    own = whole.of_table("costa", "4")
    assert {m.cell.table.id for m in own.measurements} == {"4"} and len(own.measurements) == 10
    assert len(whole.measurements) > 10
