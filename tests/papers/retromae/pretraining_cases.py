from __future__ import annotations

from pathlib import Path

from tests.papers.retromae import test_masked_autoencoder as retromae


def made(kind, folder: Path, **changes):
    return kind.objective(**changes)


CASES = {"retromae": (retromae, {}), "retromae, basic": (retromae, retromae.BASIC)}
