import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Public collections, judgements and runs beside the checkout; the test is skipped without them."""
    place = Path(os.environ.get("REPRO_TEST_DATA") or REPOSITORY.parent / "shared" / "data")
    if not (place / "qrels").is_dir():
        pytest.skip(f"no real data at {place}; set REPRO_TEST_DATA")
    return place
