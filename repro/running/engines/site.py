"""The site file: the resources that stages ask of a cluster, in a few lines of YAML."""

import os
from pathlib import Path

from pydantic import Field

from repro.errors import UsageError, check_known
from repro.manifest import yaml_file
from repro.manifest.yaml_file import StrictMapping
from repro.stage_table import STAGES


class Resources(StrictMapping):
    """The resources of one stage; those left out are left to the cluster.

    Attributes:
        gpus: of each machine.
        nodes: machines, of a stage that shares its work among processes.
        memory, time: as sbatch takes them: ``16G``, ``24:00:00``.
        options: further words for sbatch, one each.
        prologue: shell lines before the stage, ``module load cuda`` say.
    """

    partition: str | None = None
    gpus: int | None = Field(None, ge=0)
    nodes: int | None = Field(None, ge=1)
    cpus: int | None = Field(None, ge=1)
    memory: str | None = None
    time: str | None = None
    options: tuple[str, ...] = ()
    prologue: str | None = None

    def words(self) -> list[str]:
        """These resources as options of sbatch."""
        gpus = "--gpus-per-node" if (self.nodes or 1) > 1 else "--gpus"
        pairs = {"--partition": self.partition, gpus: self.gpus or None, "--cpus-per-task": self.cpus}
        pairs |= {"--mem": self.memory, "--time": self.time}
        return [f"{name}={value}" for name, value in pairs.items() if value is not None] + list(self.options)


class Site(StrictMapping):
    """The content of a site file.

    Attributes:
        python: the interpreter on the cluster's nodes; None for the one that submits.
        default: of every stage; what ``stages`` says of one goes before.
    """

    python: str | None = None
    default: Resources = Resources()
    stages: dict[str, Resources] = Field(default_factory=dict)

    def of(self, stage: str) -> Resources:
        """The resources of a stage: its own, and the default ones for the rest."""
        settings = self.stages.get(stage, Resources()).model_dump(exclude_unset=True)
        return self.default.model_copy(update=settings)


def site(path: str | None = None) -> Site:
    """The site file of ``--site``, else of REPRO_SITE, else one that leaves everything to the cluster.

    Raises:
        UsageError: it names a stage that does not exist, or is not there.
        ManifestError: it is not YAML of this shape; says file and line.
    """
    name = path or os.environ.get("REPRO_SITE")
    if not name:
        return Site()
    file = Path(name).expanduser()
    if not file.is_file():
        raise UsageError(f"the site file {str(file)!r} is not there; give another with --site or REPRO_SITE")
    content = yaml_file.read(file, Site, as_text=True)
    check_known("stage", *content.stages, valid=STAGES)
    return content
