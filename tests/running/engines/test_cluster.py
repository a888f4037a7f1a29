"""The site file: defaults, what a stage says of its own, and mistakes with file and line."""

import pytest

from repro.errors import ManifestError, UsageError
from repro.running.engines.cluster import Site, site

SITE = """\
default: {partition: cpu, cpus: 4, memory: 16G, time: "4:00:00", prologue: module load python}
stages:
  pretrain: {partition: gpu, gpus: 1, time: "2-00:00:00", options: [--constraint=a100, --account=lab]}
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(SITE)
    return path


def test_a_stage_asks_for_its_own_and_takes_over_the_rest(file):
    found = site(str(file))
    assert found.of("pretrain").words() == [
        "--partition=gpu",
        "--gpus=1",
        "--cpus-per-task=4",
        "--mem=16G",
        "--time=2-00:00:00",
        "--constraint=a100",
        "--account=lab",
    ]
    assert found.of("pretrain").prologue == "module load python"
    assert found.of("bm25").words() == [
        "--partition=cpu",
        "--cpus-per-task=4",
        "--mem=16G",
        "--time=4:00:00",
    ]


def test_it_is_named_by_an_option_or_by_the_environment(file, monkeypatch):
    monkeypatch.delenv("REPRO_SITE", raising=False)
    assert site() == Site() and Site().of("bm25").words() == []
    monkeypatch.setenv("REPRO_SITE", str(file))
    assert site().of("bm25").partition == "cpu"


def test_what_is_wrong_is_told_with_its_place(file):
    with pytest.raises(UsageError, match=r"site file '.*/nowhere.yaml' is not there"):
        site(str(file.with_name("nowhere.yaml")))
    file.write_text(SITE.replace("pretrain", "pretrian"))
    with pytest.raises(UsageError, match=r"there is no stage 'pretrian' .did you mean 'pretrain'"):
        site(str(file))
    file.write_text(SITE.replace("gpus: 1", "gpu: 1"))
    with pytest.raises(ManifestError, match=r"site.yaml:3: stages.pretrain.gpu"):
        site(str(file))


@pytest.mark.parametrize("stated", ["cpus: -8", "cpus: 0", "gpus: -1", "nodes: 0"])
def test_a_number_that_nothing_can_have_is_refused(file, stated):
    file.write_text(f"default: {{{stated}}}\n")
    name = stated.partition(":")[0]
    with pytest.raises(ManifestError, match=rf"site.yaml:1: default.{name}: Input should be greater"):
        site(str(file))


def test_numbers_are_taken_as_they_are_written(file):
    file.write_text("default: {time: 24:00:00, memory: 010, cpus: 4, partition: ~, options: [--x=1, 07]}\n")
    found = site(str(file)).default
    assert found.words() == ["--cpus-per-task=4", "--mem=010", "--time=24:00:00", "--x=1", "07"]
    file.write_text("default: {cpus: 4:30}\n")
    with pytest.raises(ManifestError, match=r"site.yaml:1: default.cpus: Input should be a valid integer"):
        site(str(file))
