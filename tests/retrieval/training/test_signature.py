"""An objective's keyword parameters are its constructor's, and it is imported only where it has to be."""

import itertools
import sys

import pytest

from repro.errors import UsageError
from repro.retrieval.training.signature import keywords

BASE = """
class Made:
    name, version = "made", 1

    def __init__(self, model, tokenizer, *, way, more=1): ...
"""
NUMBERS = itertools.count()


def keywords_of(tmp_path, monkeypatch, text: str) -> tuple[dict[str, bool], bool]:
    """Return the keywords of the class ``Own`` of a new module, and whether its module was imported."""
    name = f"made_for_signature_{next(NUMBERS)}"
    (tmp_path / f"{name}_base.py").write_text(BASE)
    (tmp_path / f"{name}.py").write_text(f"from {name}_base import Made\n{text}\n")
    monkeypatch.syspath_prepend(tmp_path)
    return keywords({"name": "made", "version": 1, "path": f"{name}:Own"}), name in sys.modules


@pytest.mark.parametrize(
    "text",
    [
        "class Own(Made): ...",
        "class Between(Made): ...\nclass Own(Between): ...",
        "class Own:\n    def __init__(self, model, tokenizer, *, way, more=None): ...",
        "class Own(Made, dict):\n    def __init__(self, model, tokenizer, *, way, more=None): ...",
    ],
)
def test_a_constructor_that_the_source_shows_is_read_without_an_import(tmp_path, monkeypatch, text):
    assert keywords_of(tmp_path, monkeypatch, text) == ({"way": True, "more": False}, False)


@pytest.mark.parametrize(
    "text",
    [
        "Own = type('Own', (Made,), {})",
        "class Second: ...\nclass Own(Second, Made): ...",
        "@lambda own: Made\nclass Own: ...",
        "class Own: ...\nOwn = Made",
    ],
)
def test_a_class_that_the_source_does_not_show_is_imported(tmp_path, monkeypatch, text):
    assert keywords_of(tmp_path, monkeypatch, text) == ({"way": True, "more": False}, True)


@pytest.mark.parametrize(
    "text",
    [
        "class Own(Made):\n    def __init__(self, model, tokenizer, **others): ...",
        "class Between(Made):\n    def __init__(self, *texts, **others): ...\nclass Own(Between): ...",
        "Own = type('Own', (), {'__init__': lambda self, model, tokenizer, **others: None})",
    ],
)
def test_a_class_with_options_that_it_does_not_name_is_refused(tmp_path, monkeypatch, text):
    message = r"made_for_signature_\d+:Own has \*\*others; its __init__ has to name each option"
    with pytest.raises(UsageError, match=message):
        keywords_of(tmp_path, monkeypatch, text)
