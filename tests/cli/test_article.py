"""``repro report article`` refuses bad input in a sentence."""

import pytest
from click.testing import CliRunner

from repro.cli import cli, completion
from repro.errors import UsageError


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "there is no paper 'nothing'"),
        (["costa"], "costa has no article"),
        (["head_to_head", "--seeds", "x"], "--seeds takes whole numbers"),
        (["head_to_head", "--out", ""], "--out names no folder"),
        (["head_to_head", "--scale", "nowhere"], "there is no scale 'nowhere'"),
    ],
)
def test_bad_input_is_one_sentence(words, said, tmp_path):
    folders = ["--store", str(tmp_path / "s"), "--results", str(tmp_path)]
    answer = CliRunner().invoke(cli, ["report", "article", *words, *folders])
    assert isinstance(answer.exception, UsageError) and answer.exception.exit_status == 2
    assert said in str(answer.exception)


def test_papers_with_a_study_are_completed():
    assert completion.study_names(None, None, "") == ["head_to_head"]
    assert completion.study_names(None, None, "c") == []
