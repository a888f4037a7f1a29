"""The entry that those of all YAML files of a paper begin from: one with an id."""

import re
from collections.abc import Iterator

from pydantic import model_validator

from repro.manifest.yaml_file import Fault, StrictMapping

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class Identified(StrictMapping):
    """Anything with an id: letters, digits, ``. _ -``; never a slash, which separates the parts of a path."""

    id: str

    @model_validator(mode="after")
    def _id_is_a_path_segment(self):
        if not _ID.fullmatch(self.id):
            raise ValueError(f"id {self.id!r} may hold only letters, digits, '.', '_' and '-'")
        return self


def repetitions(name: str, items: tuple[Identified, ...], location: tuple[str | int, ...]) -> Iterator[Fault]:
    """The entries of a list whose id an earlier one has, each with its place in the document."""
    seen: set[str] = set()
    for number, item in enumerate(items):
        if item.id in seen:
            yield (*location, number), f"{name} {item.id!r} occurs twice"
        seen.add(item.id)
