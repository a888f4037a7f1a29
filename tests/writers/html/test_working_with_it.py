"""The report's addresses, list, scales, keys and copies in a browser."""

import pytest

CELL = "document.getElementById('toy/1/g.y/a')"
OPEN = "(document.querySelector(':popover-open') || {id: ''}).id"
LINES = "[...document.querySelectorAll('table.list tbody tr')].filter((line) => line.checkVisibility())"
CELLS = f"{LINES}.map((line) => line.dataset.cell).join()"
COUNT = "document.querySelector('#chosen output').textContent"
VISIBLE = "[...{}.querySelectorAll('button')].find((button) => button.checkVisibility())"


def _enter(browser, name: str, value: str) -> None:
    control = f"document.querySelector('#chosen [name={name}]')"
    event = f"{control}.dispatchEvent(new Event('input', {{bubbles: true}}))"
    browser.ask(f"({control}.value = {value!r}, {event})")


def test_a_cell_s_address_opens_its_card_and_a_press_changes_the_address(browser, address):
    browser.show(address + "#toy/1/g.y/a", width=1200)
    assert browser.ask(OPEN) == "about/toy/1/g.y/a"
    browser.press("Escape")
    browser.wait(f"{OPEN} === ''")
    assert browser.ask("location.hash") == "#toy/1"
    browser.ask(VISIBLE.format("document.getElementById('toy/1/h.x/b')") + ".click()")
    assert browser.ask("location.hash") == "#toy/1/h.x/b"
    assert browser.ask(OPEN) == "about/toy/1/h.x/b"


@pytest.mark.needs_plugins
def test_the_list_is_searched_and_filtered_and_its_address_says_so(browser, address):
    browser.show(address + "#cells", width=1200)
    assert browser.ask(COUNT) == "6 of 6 published cells"
    _enter(browser, "search", "z label")
    assert browser.ask(COUNT) == "0 of 6 published cells"
    _enter(browser, "search", "r@1k g.y")
    assert browser.ask(CELLS) == "toy/1/g.y/b"
    _enter(browser, "search", "")
    _enter(browser, "verdict", "= exact")
    assert browser.ask(CELLS) == "toy/1/g.x/a"
    assert browser.ask("location.hash") == "#cells?verdict=%3D+exact"
    browser.show(address + "#cells?only=fails", width=1200)
    assert browser.ask(CELLS) == "toy/1/g.x/b"
    assert browser.ask("document.querySelector('#chosen [value=fails]').checked")
    browser.show(address + "#overview", width=1200)
    links = "[...document.querySelectorAll('.tiles a')].filter((link) => link.checkVisibility())"
    browser.ask(f"{links}.at(-3).click()")
    browser.wait(f"location.hash === '#cells?only=fails' && {COUNT} === '1 of 6 published cells'")
    browser.show(address + "#cells?only=stated", width=1200)
    assert browser.ask(CELLS) == "toy/1/h.x/a"


def test_a_press_on_a_head_sorts_the_list_and_numbers_go_by_size(browser, address):
    browser.show(address + "#cells", width=1200)
    head = "document.querySelectorAll('table.list thead button')[5]"
    published = f"{LINES}.map((line) => line.cells[5].textContent).join(' ')"
    browser.ask(f"{head}.click()")
    assert browser.ask(published) == "0.316 0.335 0.342 0.941 0.957 0.959"
    assert browser.ask(f"{head}.parentElement.ariaSort") == "ascending"
    browser.ask(f"{head}.click()")
    assert browser.ask(published) == "0.959 0.957 0.941 0.342 0.335 0.316"


def test_a_card_opens_from_the_list_and_leads_to_its_table(browser, address):
    browser.show(address + "#cells?search=toy/1/g.y/a", width=1200)
    browser.ask(f"{LINES}[0].querySelector('button').click()")
    assert browser.ask(OPEN) == "about/toy/1/g.y/a"
    assert browser.ask("location.hash") == "#cells?search=toy%2F1%2Fg.y%2Fa"
    browser.ask("document.querySelector(':popover-open > p:last-child a').click()")
    browser.wait("location.hash === '#toy/1/g.y/a'")
    browser.wait(f"{OPEN} === 'about/toy/1/g.y/a' && {CELL}.checkVisibility()")


def test_a_link_leads_to_the_same_place_at_another_scale(browser, address):
    verdict = f"({VISIBLE.format(CELL)} || {{}}).className"
    browser.show(address + "#toy/1/g.x/a", width=1200)
    browser.press("Escape")
    assert browser.ask(verdict) == "v-none"
    browser.ask("[...document.querySelectorAll('.scales a')].find((a) => a.textContent === 'tiny').click()")
    browser.wait("location.href.endsWith('report-tiny.html#toy/1') && document.readyState === 'complete'")
    assert browser.ask("document.querySelector('.scales [aria-current]').textContent") == "tiny"
    assert browser.ask("document.querySelector('#overview .eyebrow').textContent").endswith("2026-01-02")
    tiny = address.replace("report.html", "report-tiny.html")
    browser.show(tiny + "#toy/1/g.x/a", width=1200)
    assert browser.ask("document.querySelector(':popover-open .badge').textContent") == "◐ scaled"
    readings = "document.querySelector(':popover-open a[href*=reading]').getAttribute('href')"
    assert browser.ask(readings) == "report.html#toy/reading/seed"
    browser.show(tiny + "#cells?only=fails", width=1200)
    assert browser.ask(COUNT) == "0 of 6 published cells"


def test_a_table_is_one_stop_of_the_tab_key_and_arrows_go_within_it(browser, address):
    focused = "document.activeElement.closest('td, th')?.id || document.activeElement.textContent"
    browser.show(address + "#toy/1", width=1200)
    browser.ask(VISIBLE.format("document.getElementById('toy/1/g.x/a')") + ".focus()")
    keys = ("ArrowRight", "ArrowDown", "Home", "End", "ArrowLeft", "ArrowUp")
    for key, place in zip(keys, ("g.x/b", "g.y/b", "g.y/a", "g.y/b", "g.y/a", "g.x/a"), strict=True):
        browser.press(key)
        assert browser.ask(focused) == f"toy/1/{place}", key
    browser.press("Tab")
    assert not browser.ask("document.activeElement.closest('table')")
    stops = "[...document.querySelectorAll('table.list button, table.printed button')]"
    reached = f"{stops}.filter((button) => button.tabIndex === 0 && button.closest('tbody')).length"
    assert browser.ask(reached) <= 2


@pytest.mark.needs_plugins
def test_what_is_copied_is_what_stands_there(browser, address):
    keep = "navigator.clipboard.writeText = (text) => { window.kept = text; return Promise.resolve(); }"
    browser.show(address + "#cells?search=toy/1/g.x", width=1200)
    browser.ask(keep)
    browser.ask("document.querySelector('#chosen .csv').click()")
    head, first, _ = browser.ask("kept").strip().split("\n")
    names = "cell,scale,system,paper,table,column,dataset,published,measured,difference,verdict"
    assert head == f"{names},run by others,stated by others"
    assert first.startswith("toy/1/g.x/a,") and first.endswith(",0.316,0.331,+0.01,= exact,,")
    browser.ask("document.querySelector('[id=\"toy/1\"] .csv').click()")
    assert len(browser.ask("kept").strip().split("\n")) == 7
    browser.ask("document.querySelector('[id=\"toy/1/g.y/b\"] button').click()")
    browser.ask("document.querySelector(':popover-open .copy').click()")
    assert browser.ask("kept") == "repro run toy/1/g.y/b --scale full --seeds 1,2 --reading seed=two"
    browser.ask("document.querySelector('[id=\"toy/1\"] pre + .copy').click()")
    assert browser.ask("kept").startswith("% full\n\\begin{tabular}")


@pytest.mark.parametrize(
    ("width", "dark", "places"), [(1200, False, ("", "#toy/1/g.x/a")), (400, True, ("#cells", "#toy"))]
)
def test_axe_finds_nothing(browser, address, width, dark, places):
    axe = pytest.importorskip("axe_core_python.base", reason="no axe: pip install axe-core-python")
    named = "violations.map((rule) => `${rule.id}: ${rule.nodes[0].html}`).join('\\n')"
    for place in places:
        browser.show(address + place, width=width, dark=dark)
        browser.ask("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
        browser.ask(axe.AXE_SCRIPT)
        found = browser.ask(f"axe.run(document, {{iframes: false}}).then((found) => found.{named})")
        assert found == "", place
