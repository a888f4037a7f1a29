"""costs.yaml beside the papers: what each says of its own cost."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from repro.manifest import papers, yaml_file


class Stated(BaseModel):
    """A sentence of a paper about the cost of one training; null is what it does not say."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    paper: str
    of: str
    gpus: int | None
    gpu: str | None
    hours: float | None
    where: str

    @property
    def gpu_hours(self) -> float | None:
        """GPUs times hours."""
        return None if self.gpus is None or self.hours is None else self.gpus * self.hours

    def __str__(self) -> str:
        if self.gpus is None:
            return f"{self.of}: not stated"
        hours = "hours not stated"
        if self.hours is not None:
            hours = f"{self.hours:g} h = {self.gpu_hours:,.0f} GPU hours"
        return f"{self.of}: {self.gpus} {self.gpu or 'GPUs of no named kind'}, {hours} ({self.where})"


def stated() -> dict[str, list[Stated]]:
    """Paper -> what it says; empty without the file. Raises ManifestError with file and line."""
    path = papers.ROOT / "costs.yaml"
    found: dict[str, list[Stated]] = {}
    if path.exists():
        for entry in yaml_file.read(path, tuple[Stated, ...], faults=_faults):
            found.setdefault(entry.paper, []).append(entry)
    return found


def _faults(entries: tuple[Stated, ...]):
    known = papers.papers()
    for place, entry in enumerate(entries):
        if entry.paper not in known:
            yield (place, "paper"), f"{entry.paper!r} is no paper here ({', '.join(known)})"
