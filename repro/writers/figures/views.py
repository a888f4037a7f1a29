"""Texts as drawings, e.g. words shaded by probability."""

import html
from collections.abc import Iterable, Sequence
from pathlib import Path

from repro.writers.figures.charts import write_csv
from repro.writers.markdown import escaped

STEPS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)  # where a word's shade changes
SHADES = ("#ffffff", "#e6eef7", "#c3d7ec", "#92b9dd", "#5b93c7", "#24619e")


def shade(value: float) -> str:
    """Return a value's colour, e.g. "#ffffff" for 0."""
    return SHADES[max(0, sum(value >= step for step in STEPS) - 1)]


def shaded_text(words: Iterable[tuple[str, float]]):
    """Return a rich Text of shaded words and a legend."""
    from rich.text import Text

    text = Text()
    for word, value in words:
        text.append(word, style=_terminal_style(value))
        text.append(" ")
    text.append("\n\nprobability: ")
    for step in STEPS:
        text.append(f" {_format_step(step)} ", style=_terminal_style(step))
    return text


def shaded_words(exhibit: dict, path: Path, *, note: str) -> None:
    """Write an exhibit of the stage ``inspect_text`` as an HTML page and a .csv."""
    title = html.escape(exhibit["title"] or "Untitled")
    legend = "".join(_span(_format_step(step), step) for step in STEPS)
    body = " ".join(_span(word, value) for word, value in exhibit["words"])
    lines = [note] if note else []
    if not exhibit.get("found", True):
        lines.insert(0, f"No document here is titled “{exhibit['wanted']}”. The first document is shown.")
    small_print = "".join(f"\n<p><small>{html.escape(line)}</small></p>" for line in lines)
    page = f"""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 16px/1.8 Georgia, serif; max-width: 42em; margin: 2em auto; padding: 0 1em }}
body {{ color: #000; background: #fff }}
span {{ padding: 0.1em 0.2em; border-radius: 0.2em }} small {{ color: #555 }}
</style>
<h1>{title}</h1>
<p>{body}</p>
<p>Probability: {legend}</p>{small_print}
</html>
"""
    path.write_text(page, encoding="utf-8", newline="\n")
    write_csv(path, ("word", "value"), exhibit["words"])


def _span(text: str, value: float) -> str:
    colour = "; color: #fff" if _is_dark(value) else ""
    return f'<span style="background: {shade(value)}{colour}" title="{value:.3f}">{html.escape(text)}</span>'


def _format_step(step: float) -> str:
    return f"> {step:g}" if step == STEPS[-1] else f"{step:g}"


def _terminal_style(value: float) -> str:
    return f"{'white' if _is_dark(value) else 'black'} on {shade(value)}"


def _is_dark(value: float) -> bool:
    return value >= STEPS[-1]


_HEAD = ("system", "wanted", "query", "found", "rank", "id", "grade", "score", "title", "text")


def passages(exhibits: Sequence[tuple[str, dict]], path: Path, *, note: str) -> None:
    """Write a Markdown table per query, a column per system and a row per rank, and a .csv.

    ``exhibits`` are pairs of a label and an exhibit of the stage ``top_passages``.
    """
    blocks = []
    for entries in zip(*(exhibit["queries"] for _, exhibit in exhibits), strict=True):
        blocks += [_heading(entries[0]), _table([label for label, _ in exhibits], entries)]
    if note:
        blocks.append(f"*{escaped(note)}*")
    path.write_text("\n\n".join(blocks) + "\n", encoding="utf-8", newline="\n")
    rows = [
        (label, entry["wanted"], entry["id"], entry["found"], *(passage[key] for key in _HEAD[4:]))
        for label, exhibit in exhibits
        for entry in exhibit["queries"]
        for passage in entry["passages"]
    ]
    write_csv(path, _HEAD, rows)


def _heading(entry: dict) -> str:
    heading = f"## {escaped(entry['text'])}"
    substituted = f"\n\nStands in for “{escaped(entry['wanted'])}”, which is not among these queries."
    return heading if entry["found"] else heading + substituted


def _table(labels: Sequence[str], entries: Sequence[dict]) -> str:
    depth = max(len(entry["passages"]) for entry in entries)
    lines = [_line("rank", *map(escaped, labels)), _line("--:", *["---"] * len(labels))]
    for place in range(depth):
        passages = (entry["passages"][place : place + 1] for entry in entries)
        lines.append(_line(str(place + 1), *(_cell(*passage) for passage in passages)))
    return "\n".join(lines)


def _cell(passage: dict | None = None) -> str:
    if passage is None:
        return "–"
    title = f"**{escaped(passage['title'])}** " if passage["title"] else ""
    grade = passage["grade"]
    judgement = "not judged" if grade is None else f"{'not ' * (grade < 1)}relevant (grade {grade})"
    facts = f"{judgement}, score {passage['score']:.4g}, id {escaped(passage['id'])}"
    return f"{title}{escaped(passage['text'])}<br>*{facts}*"


def _line(*entries: str) -> str:
    return f"| {' | '.join(entries)} |"
