"""The engines by name: each a function that carries out a plan."""

from repro.running.engines import inline, local, slurm
from repro.running.runner import Engine

ENGINES: dict[str, Engine] = {"inline": inline.execute, "local": local.execute, "slurm": slurm.execute}
