"""The costs.yaml of a paper: what it says of its own trainings' cost."""

from repro.manifest import yaml_file
from repro.manifest.papers import Paper
from repro.manifest.yaml_file import StrictMapping


class StatedCost(StrictMapping):
    """A sentence of a paper about the cost of one training; null is what it does not say."""

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


def stated_costs(source: Paper) -> tuple[StatedCost, ...]:
    """The statements of a paper; none without the file. Raises ManifestError with file and line."""
    path = source.folder / "costs.yaml"
    return yaml_file.read(path, tuple[StatedCost, ...]) if path.exists() else ()
