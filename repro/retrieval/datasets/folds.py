"""The two parts of a split that is trained on: queries to train on, and some held out to choose settings by.

Which part a query is in depends on its id alone. Another rule would give other counts than the catalogue has.
"""

import zlib

FOLDS = FITTING, VALIDATION = "fitting", "validation"
EVERY = 11  # one query of so many is held out


def in_fold(query: str, fold: str | None) -> bool:
    """Whether the query of this id is in the part named; every query is where none is named."""
    if fold is None:
        return True
    return (zlib.crc32(query.encode()) % EVERY == 0) == (fold == VALIDATION)
