"""The place of a report from the address at which it can be read."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from urllib.parse import unquote

from repro.errors import UsageError
from repro.manifest.places import no_day

NAME = r"[\w.-]+"
FILE = re.compile(rf"https://github\.com/({NAME}/{NAME})/blob/([^/]+)/([^#?]+)(?:#.*)?")
THREAD = re.compile(rf"https://github\.com/({NAME}/{NAME})/(issues|pull)/([1-9]\d{{0,8}})/?(?:#.*)?")
CARD = re.compile(
    rf"https://huggingface\.co/({NAME}/{NAME})(?:/(?:blob|tree|commit)/([^/#?]+)(?:/[^#?]*)?)?/?"
)
PAPER = re.compile(r"https://arxiv\.org/(?:abs|pdf)/(\d{4}\.\d{4,5}(?:v\d+)?)(?:\.pdf)?")
ARTICLE = re.compile(r"https://doi\.org/(10\.\d{4,9}/[^\s#?]+)")
ISSUE = re.compile(rf"({NAME}/{NAME})#([1-9]\d{{0,8}})")
COMMIT = re.compile(r"[0-9a-f]{40}")
KINDS = (
    "https://github.com/OWNER/NAME/blob/COMMIT/PATH, …/issues/NUMBER or …/pull/NUMBER, "
    "https://huggingface.co/OWNER/NAME, https://arxiv.org/abs/NUMBER, https://doi.org/10.…"
)


def place_of(given: dict[str, str], issue: str, day: str) -> tuple[dict, list[str]]:
    """The fields of a ``Source`` that tell its place, and what is wrong with them.

    Args:
        given: the answers of the form; without an address, title and table the issue itself is the place.
        issue: OWNER/NAME#NUMBER.
        day: on which it was opened.
    """
    paper = {name: given[name] for name in ("title", "table") if given[name]}
    if not (given["place"] or paper):
        return _issue_place(given, issue, day)
    try:
        place = (_place_at(given["place"], given["date"]) if given["place"] else {}) | paper
    except UsageError as error:
        return {}, [f"Place: {error}"]
    faults = _paper_faults(place)
    if place.get("date") == "":
        faults.append("Date is empty, and a comment or a model card needs one")
    return place, faults + _day_problems(place.get("date", ""))


def _paper_faults(place: dict) -> list[str]:
    text_keys = place.keys() & {"title", "table"}
    number_keys = place.keys() & {"arxiv", "doi"}
    if text_keys and place.keys() - {*number_keys, *text_keys}:
        return ["Title and Table are filled in, but Place is no paper's"]
    if text_keys and not number_keys:
        return ["a paper needs its address at arxiv.org or doi.org as its Place"]
    return ["a paper needs both Title and Table"] if number_keys and len(text_keys) < 2 else []


def _issue_place(form: dict[str, str], issue: str, day: str) -> tuple[dict, list[str]]:
    faults = [] if form["evidence"] else ["Evidence is empty, and without a Place this issue is the only one"]
    if not (issue and day):
        return {}, [*faults, "Place is empty, and no --issue with its --date was named that could be it"]
    return _issue(issue, day), faults + _day_problems(day)


def _day_problems(day: str) -> list[str]:
    """The reason why nothing can have been said on a day; none where something can, or where it is empty."""
    if reason := day and no_day(day):
        return [f"Date {reason}"]
    today = datetime.now(UTC).date().isoformat()
    return [f"Date {day} is yet to come"] if day > today else []


def _place_at(address: str, date: str) -> dict:
    """The fields of a ``Source`` that an address gives; a paper's title and table are not among them.

    Args:
        date: of a comment, or on which a model card without a commit was read.

    Raises UsageError for an address of another kind, or without what tells the place for good.
    """
    if match := FILE.fullmatch(address):
        repository, commit, path = match.groups()
        if not COMMIT.fullmatch(commit):
            remedy = "press y on GitHub, which shows the address at a commit"
            raise UsageError(f"{address!r} is a file at {commit!r}, which moves: {remedy}")
        return {"repository": repository, "path": unquote(path), "commit": commit}
    if match := THREAD.fullmatch(address):
        repository, kind, number = match.groups()
        return {"repository": repository, "issue" if kind == "issues" else "pull": int(number), "date": date}
    if match := PAPER.fullmatch(address):
        return {"arxiv": match[1]}
    if match := ARTICLE.fullmatch(address):
        return {"doi": unquote(match[1])}
    if match := CARD.fullmatch(address):
        is_commit = COMMIT.fullmatch(match[2] or "")
        return {"card": match[1]} | ({"commit": match[2]} if is_commit else {"date": date})
    raise UsageError(f"{address!r} is no address that is known to stay; known are {KINDS}")


def _issue(name: str, date: str) -> dict:
    """The fields for an issue OWNER/NAME#NUMBER. Raises UsageError for another form."""
    match = ISSUE.fullmatch(name)
    if match is None:
        raise UsageError(f"an issue is named OWNER/NAME#NUMBER, not {name!r}")
    return {"repository": match[1], "issue": int(match[2]), "date": date}
