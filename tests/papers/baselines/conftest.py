"""Statistics of made-up texts, as objectives read them."""

import pytest

from tests.papers.baselines.tiny_texts import save_statistics, texts


@pytest.fixture(scope="module")
def statistics(tmp_path_factory):
    return save_statistics(tmp_path_factory.mktemp("statistics"), texts(300))
