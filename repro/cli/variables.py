"""The environment variables that the suite heeds, and those that are named almost alike."""

from collections.abc import Iterable, Iterator

VARIABLES = (
    *("REPRO_STORE", "REPRO_RESULTS", "REPRO_DATA", "REPRO_JAVA_HOME"),
    *("REPRO_PAGER", "REPRO_PLUGINS"),
    *("REPRO_MICRO_BATCH", "REPRO_LENGTH_BUCKETS", "REPRO_PADDING_FREE", "REPRO_SAVE_STEPS"),
    "REPRO_SEARCH_MEMORY",
)
NEAR = 0.85  # of difflib's ratio; REPRO_TEST_STORE, which tests heed, is farther from REPRO_STORE


def misspelt(names: Iterable[str]) -> Iterator[str]:
    """A sentence for each variable that is almost one of the suite's, and so has no effect."""
    for name in names:
        if name.startswith("REPRO_") and name not in VARIABLES:
            import difflib

            for near in difflib.get_close_matches(name, VARIABLES, n=1, cutoff=NEAR):
                yield f"the variable {name} has no effect; did you mean {near}?"
