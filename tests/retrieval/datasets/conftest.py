"""Fixtures of the tests about collections."""

import pytest

from tests.once import made_once


@pytest.fixture(scope="session")
def standins(tmp_path_factory):
    """Stand-ins to be read only: ``home`` as downloads leave it, and what a user lays into ``data``."""
    from tests.standins.__main__ import make_home
    from tests.standins.sizes import Sizes

    few = {"passages": 80, "documents": 70, "wiki": 90, "beir": 12, "articles": 5, "books": 2}
    sizes = Sizes(**few, queries=6, evaluated=3, triples=3, questions=2)
    return made_once(tmp_path_factory, "standins", lambda folder: make_home(folder, sizes))
