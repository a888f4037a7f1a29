"""The form "I measured a cell" as GitHub renders it when it was filled in."""

from __future__ import annotations

from pathlib import Path

import yaml

FORM = Path(__file__).resolve().parents[1] / ".github/ISSUE_TEMPLATE/measured-a-cell.yml"
CELL = "simlm/2/dense.ance/dev.rr10"  # 33.0, percent
ANSWERS = {
    "cells": CELL,
    "value": "0.3287",
    "unit": "fraction (0.3412)",
    "measure": "MRR@10",
    "dataset": "MS MARCO passage, dev",
    "start": "fine-tuned (from a released pre-training)",
    "software": "",
    "seeds": "2",
    "hardware": "one A100",
    "batch": "",
    "differs": "- other negatives\n- half precision",
    "match": "close (something differs that may matter)",
    "who": "independent (neither the system's authors nor a toolkit)",
    "name": "ANCE on one A100",
    "place": "",
    "date": "",
    "title": "",
    "table": "",
    "at": "",
    "note": 'the first try: "as it is"',
    "evidence": "$ repro compare my.run\n### Cells\n0.3287",
}


def fields() -> list[dict]:
    """The fields of the form as its file has them."""
    return yaml.safe_load(FORM.read_text(encoding="utf-8"))["body"]


def filled(**changed: str) -> str:
    """The body of an issue: a heading for every field of the form and below it the answer."""
    answers, parts = ANSWERS | changed, []
    for field in fields():
        answer = answers[field["id"]] or "_No response_"
        if field["attributes"].get("render") and answers[field["id"]]:
            answer = f"```{field['attributes']['render']}\n{answer}\n```"
        parts.append(f"### {field['attributes']['label']}\n\n{answer}")
    return "\n\n".join(parts)
