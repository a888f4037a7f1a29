"""The page in a browser fits a phone, prints no errors and opens by keyboard."""

import pytest

from repro.writers.html.page import page
from tests.writers.html.toy import report

PLACES = ("", "#cells", "#toy", "#toy/1", "#toy/1/g.y/a", "#toy/claims", "#nowhere", "#%zz")
CELL = "document.getElementById('toy/1/g.y/a').querySelector('button')"
OPEN = "(document.querySelector(':popover-open') || {id: ''}).id"
# the weakest contrast of all texts on show, by WCAG's formula, on the nearest ground that is opaque
CONTRAST = """
(() => {
  const numbers = (c) => c.match(/[\\d.]+/g).map(Number);
  const channels = (c) => numbers(c).length < 4 ? [...numbers(c), 1] : numbers(c);
  const linear = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = (c) => c.slice(0, 3).map(linear)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (c.startsWith("rgb") && channels(c)[3] === 1) return channels(c); } return [255, 255, 255, 1]; };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !e.checkVisibility() || e.closest("script, .unseen, svg")) continue;
    const [a, b] = [light(channels(getComputedStyle(e).color)), light(ground(e))].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), e.className || e.tagName]);
  }
  return found.sort((x, y) => x[0] - y[0])[0].concat(found.length);
})()
"""


@pytest.mark.parametrize("width", [360, 1200])
def test_no_part_is_wider_than_its_window_or_complains(browser, address, width):
    browser.said.clear()
    for place in PLACES:
        browser.show(address + place, width=width)
        browser.ask("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
        assert browser.ask("document.documentElement.scrollWidth") == width, place
    assert browser.said == []


@pytest.mark.parametrize("width", [360, 1200])
def test_marks_stay_in_their_boxes_and_names_whole(browser, address, width):
    box, name = "getBoundingClientRect()", "document.querySelector('[id=\"toy/1\"] tbody th[scope=row]')"
    browser.show(address + "#toy/1", width=width)
    marks = "[...document.querySelectorAll('td sup')]"
    assert browser.ask(f"{marks}.length") > 0
    assert browser.ask(f"{marks}.every((s) => s.{box}.right <= s.closest('button').{box}.right)")
    browser.ask(f"globalThis.room = (n) => {{ const r = new Range(); r.selectNode(n); return r.{box}; }}")
    # what stands behind a mark, such as a gain, is not written over it
    assert browser.ask(f"{marks}.every((s) => !s.nextSibling || s.{box}.right <= room(s.nextSibling).left)")
    browser.ask(f"{name}.textContent = 'a_long_name_2'")
    assert browser.ask(f"room({name}.firstChild).height") < 30


@pytest.mark.parametrize("width", [390, 1280])
def test_what_an_address_names_is_not_below_the_bar(browser, address, width):
    for place in ("toy/1", "toy/claims", "toy/readings", "toy/1/g.y/a", "cells"):
        browser.show(f"{address}#{place}", width=width, height=500)
        top = browser.ask(f"document.getElementById({place!r}).getBoundingClientRect().top")
        assert browser.ask("document.querySelector('.top').getBoundingClientRect().bottom") <= top, place


def test_one_part_is_shown_at_a_time_and_print_has_the_shown_paper_or_all(browser, address):
    visible = "[...document.querySelectorAll('article')].filter((a) => a.checkVisibility())"
    shown = f"{visible}.map((a) => a.id).join()"
    for place, expected in {"": "overview", "#toy": "toy", "#toy/1": "toy", "#nowhere": "overview"}.items():
        browser.show(address + place, width=1200)
        assert browser.ask(shown) == expected, place
        current = browser.ask("document.querySelector('[aria-current]').getAttribute('href')")
        assert current == f"#{expected}"
    for place, expected in {"": "overview,toy", "#toy/1/g.y/a": "toy"}.items():
        browser.show(address + place, width=1200, media="print")
        assert browser.ask(shown) == expected, place


def test_names_of_rows_stay_in_view_on_a_phone(browser, address):
    browser.show(address + "#toy/1", width=360)
    box = "document.querySelector('[id=\"toy/1\"] .scroll')"
    browser.ask(f"{box}.style.width = '8rem'")
    browser.ask(f"{box}.scrollLeft = 60")
    left = "getBoundingClientRect().left"
    assert browser.ask(f"{box}.scrollLeft") > 0
    assert browser.ask(f"{box}.querySelector('tbody th[scope=row]').{left} - {box}.{left}") == 0


def test_a_card_opens_by_keyboard_and_escape_gives_the_focus_back(browser, address):
    browser.show(address + "#toy/1", width=1200)
    browser.ask(f"{CELL}.focus()")
    browser.press("Enter")
    assert browser.ask(OPEN) == "about/toy/1/g.y/a"
    assert browser.ask(f"{CELL}.getAttribute('aria-expanded')") == "true"
    browser.press("Escape")
    assert browser.ask(OPEN) == ""
    assert browser.ask(f"{CELL}.getAttribute('aria-expanded')") == "false"
    assert browser.ask(f"document.activeElement === {CELL}")


def test_a_card_shows_while_the_mouse_is_over_its_cell_and_stays_after_a_click(browser, address):
    shown = f"{OPEN} === 'about/toy/1/g.y/a'"
    browser.show(address + "#toy/1", width=1200)
    box = browser.ask(f"{CELL}.getBoundingClientRect().toJSON()")
    browser.move(box["x"] + 5, box["y"] + 5)
    browser.wait(shown)
    browser.move(3, 300)
    browser.wait(f"{OPEN} === ''")
    browser.move(box["x"] + 5, box["y"] + 5)
    browser.ask(f"{CELL}.click()")
    browser.move(3, 300)
    # longer than the time after which an unpressed card goes; a slow machine only waits longer
    browser.ask("new Promise((done) => setTimeout(done, 500))")
    assert browser.ask(shown)


def test_numbers_can_be_read_and_scales_changed_without_the_page_s_script(browser, address, tmp_path):
    text = page(report(), {"full": "still.html", "tiny": "other.html"})
    start = text.index("<script>")
    (tmp_path / "still.html").write_text(text[:start] + text[text.rindex("</script>") :], encoding="utf-8")
    browser.show((tmp_path / "still.html").as_uri() + "#toy/1", width=1200)
    assert browser.ask(f"{CELL}.checkVisibility() && {CELL}.textContent").startswith("0.342")
    links = "[...document.querySelectorAll('.scales a')].map((link) => link.getAttribute('href')).join()"
    assert browser.ask(links) == "still.html,other.html"


@pytest.mark.parametrize("dark", [False, True])
def test_every_text_stands_out_from_its_ground(browser, address, dark):
    for place in ("", "#toy"):
        browser.show(address + place, width=1200, dark=dark)
        browser.ask("document.querySelectorAll('details').forEach((box) => { box.open = true; })")
        if place:
            browser.ask(f"{CELL}.click()")
        weakest, where, texts = browser.ask(CONTRAST)
        assert texts > 20
        assert weakest >= 4.5, where
