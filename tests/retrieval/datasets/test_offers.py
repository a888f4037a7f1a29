"""What several downloads come to."""

import pytest

from repro.retrieval.datasets.fetching import amount


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["msmarco-passage", "msmarco-passage/dev/small"], "2 collections (1.06 GB)"),
        (["beir/cqadupstack/android", "beir/cqadupstack/gis"], "2 collections (5.34 GB)"),
        (["beir/cqadupstack"], "1 collection (5.34 GB)"),
        (["beir/scifact", "beir/scifact/test"], "2 collections (2.8 MB)"),
        (["wikipedia"], "1 collection (11.69 GB)"),
        (["wikipedia-bookcorpus"], "1 collection (11.69 GB)"),
        (
            ["beir/scifact", "msmarco-passage/train/hard-negatives"],
            "2 collections (2.8 MB, and 1 of unknown size)",
        ),
        (["msmarco-passage/train/hard-negatives"], "1 collection (size unknown)"),
        (["beir/scifact", "model:a/b", "model:c"], "1 collection (2.8 MB), 2 checkpoints"),
        (["model:a/b", "model:a/b"], "1 checkpoint"),
    ],
)
def test_an_archive_counts_once_and_what_is_unknown_is_said(ids, words):
    assert amount(ids) == words
