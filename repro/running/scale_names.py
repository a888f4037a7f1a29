"""The names that a scale may say something of: parameters of nodes, and objectives."""

import functools
import inspect
from dataclasses import fields
from pathlib import Path

from repro import recipe
from repro.manifest.papers import papers
from repro.recipe import Optimisation, Texts
from repro.training.declaration import names_in

TAKEN = (Texts, Optimisation)
MODELS = Path(__file__).parents[1] / "nn"  # where the objectives are that belong to no paper


@functools.cache
def parameter_names() -> frozenset[str]:
    """The parameters that recipes state: keywords of the public verbs, and fields of what these take.

    Stages call an optimisation's batch size by names of their own, which the suite's scales have.
    """
    of_verbs = [inspect.signature(verb) for verb in vars(recipe).values() if inspect.isfunction(verb)]
    keywords = [p.name for verb in of_verbs for p in verb.parameters.values() if p.kind is p.KEYWORD_ONLY]
    return frozenset([*keywords, *(f.name for each in TAKEN for f in fields(each))]) - {"batch_size"}


def objective_names() -> frozenset[str]:
    """The names of all objectives: the suite's own, those of papers, and of folders beside papers."""
    return names_in((MODELS, *{paper.folder.parent for paper in papers().values()}))
