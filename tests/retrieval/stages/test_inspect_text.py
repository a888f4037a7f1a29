import json

import pytest

from repro.errors import StageError, UsageError
from repro.retrieval.stages import inspect_text


def lengths(folder, text: str, *, length: int, factor: float) -> list[tuple[str, float]]:
    assert (folder / "config.json").exists() and length == 24
    return [(word, factor * len(word)) for word in text.split()]


lengths.name, lengths.version = "lengths", 1
VIEW = {"name": "lengths", "version": 1, "path": f"{__name__}:lengths"}


def _run(model, corpus, out, progress, **changes):
    params = {"view": VIEW, "options": {"factor": 0.5}, "title": "none has it", "words": 5, "length": 24}
    facts = inspect_text.run(params | changes, {"model": model, "corpus": corpus}, out, progress)
    return facts, json.loads((out / "exhibit.json").read_text())


def test_the_first_words_of_the_titled_document_are_viewed(model, corpus, tmp_path, progress):
    from datasets import load_from_disk

    wanted = next(row for row in load_from_disk(str(corpus / "arrow")) if row["title"])
    facts, exhibit = _run(model, corpus, tmp_path, progress, title=wanted["title"])
    words = wanted["text"].split()[:5]
    assert exhibit["words"] == [[word, 0.5 * len(word)] for word in words]
    assert (facts["found"], facts["document"], exhibit["title"]) == (True, wanted["id"], wanted["title"])


def test_without_a_document_of_that_title_the_first_one_stands_in_and_it_says_so(
    model, corpus, tmp_path, progress
):
    facts, exhibit = _run(model, corpus, tmp_path, progress)
    assert (facts["found"], facts["document"], exhibit["found"]) == (False, "d0", False)


def test_a_view_that_is_not_the_planned_one_is_refused(model, corpus, tmp_path, progress):
    with pytest.raises(UsageError, match="version"):
        _run(model, corpus, tmp_path, progress, view=VIEW | {"version": 2})


def test_a_value_that_is_not_finite_is_refused(model, corpus, tmp_path, progress):
    with pytest.raises(StageError, match="not finite"):
        _run(model, corpus, tmp_path, progress, options={"factor": float("nan")})
    assert not (tmp_path / "exhibit.json").exists()


@pytest.mark.parametrize("path", ["no.such.module:view", f"{__name__}:absent", "json", ":view"])
def test_a_view_that_does_not_exist_is_told_in_a_sentence(model, corpus, tmp_path, progress, path):
    with pytest.raises(UsageError, match="there is no view at"):
        _run(model, corpus, tmp_path, progress, view=VIEW | {"path": path})


def test_a_function_that_states_neither_name_nor_version_is_a_view_too(model, corpus, tmp_path, progress):
    view = {"name": "plain", "version": 1, "path": f"{__name__}:plain"}
    facts, exhibit = _run(model, corpus, tmp_path, progress, view=view, options={})
    assert facts["words"] == len(exhibit["words"]) > 0 and exhibit["wanted"] == "none has it"


def plain(folder, text: str, *, length: int) -> list[tuple[str, float]]:
    return [(word, 1.0) for word in text.split()]
