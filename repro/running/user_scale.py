"""The settings of a scale in a user's file, e.g. `--scale my-scale.yaml`."""

import functools
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from repro.errors import UsageError, unknown
from repro.manifest import yaml_file
from repro.manifest.papers import papers
from repro.manifest.yaml_file import Fault
from repro.retrieval import recipe
from repro.retrieval.datasets.catalog import catalog
from repro.retrieval.recipe import Optimisation, Texts
from repro.retrieval.training.declaration import names_in
from repro.running.scale_facts import RowCounts, ScaleFacts, inherit_facts
from repro.stage_table import NUMBERS, TRAININGS

NAME = re.compile(r"[a-z][a-z0-9-]*")
OF_PARAMETERS, OF_STAGES = ("caps", "replace", "without_gpu"), ("steps", "learning_rate")


def read_user_scale(path: Path, known: Mapping[str, ScaleFacts]) -> tuple[str, ScaleFacts]:
    """Read the name and settings of a file's scale. ``known`` are the built-in ones.

    Raises ManifestError for invalid content, UsageError for several scales.
    """

    def faults(content: dict[str, ScaleFacts]) -> Iterator[Fault]:
        for name, facts in content.items():
            others = (*_mixture_faults(facts, known), *_name_faults(facts, known))
            for place, reason in (*_own_faults(name, facts, known), *others):
                yield (name, *place), reason

    content = yaml_file.read(path, dict[str, ScaleFacts], faults=faults)
    if len(content) != 1:
        described_names = ", ".join(content) or "none"
        raise UsageError(f"{path} describes {len(content)} scales ({described_names}) instead of one")
    return next(iter(content.items()))


def _own_faults(name: str, facts: ScaleFacts, known_scales: Mapping[str, ScaleFacts]) -> Iterator[Fault]:
    if not NAME.fullmatch(name):
        yield (), f"{name!r} is not a valid scale name (small letters, digits and hyphens, e.g. my-scale)"
    if name in known_scales:
        yield (), f"{name!r} is a built-in scale, choose another name"
    if facts.like is not None and facts.like not in known_scales:
        yield ("like",), f"{facts.like!r} is not a scale ({', '.join(known_scales)})"


def _mixture_faults(facts: ScaleFacts, known_scales: Mapping[str, ScaleFacts]) -> Iterator[Fault]:
    like = facts.like or "full"
    has_stand_ins = like in known_scales and inherit_facts(like, known_scales).backbone is not None
    if facts.backbone and not has_stand_ins:
        yield ("backbone",), "the papers' data need the papers' checkpoints, remove it or use like: tiny"
    if has_stand_ins and facts.first != RowCounts():
        yield ("first",), f"{like} does not use the papers' data, remove it or use like: full"


def _name_faults(facts: ScaleFacts, known_scales: Mapping[str, ScaleFacts]) -> Iterator[Fault]:
    scale_tables = [getattr(scale, table) for scale in known_scales.values() for table in OF_PARAMETERS]
    parameters = sorted(parameter_names().union(*scale_tables))
    suite_caps = (scale.caps for scale in known_scales.values())
    counts = sorted({name for name, numbers in NUMBERS.items() if numbers.is_whole}.union(*suite_caps))
    for table, kind, valid in (
        *((table, "training", TRAININGS) for table in OF_STAGES),
        ("caps", "number to cap", counts),
        ("replace", "parameter", parameters),
        ("without_gpu", "parameter", parameters),
        ("objectives", "objective", sorted(objective_names()) if facts.objectives else ()),
    ):
        keys = getattr(facts, table)
        yield from _unknown_keys((table,), keys if isinstance(keys, dict) else (), kind, valid)
    for objective, settings in facts.objectives.items():
        location = ("objectives", objective, "replace")
        yield from _unknown_keys(location, settings.replace, "parameter", parameters)
    if facts.backbone and facts.backbone.corpus not in catalog():
        yield ("backbone", "corpus"), str(unknown("dataset", facts.backbone.corpus, catalog()))


def _unknown_keys(location: tuple, keys: Iterable[str], kind: str, valid: Iterable[str]) -> Iterator[Fault]:
    yield from (((*location, key), str(unknown(kind, key, valid))) for key in keys if key not in valid)


TAKEN = (Texts, Optimisation)
OWN = Path(recipe.__file__).parent


@functools.cache
def parameter_names() -> frozenset[str]:
    """Return the parameters of recipes, e.g. "depth"."""
    of_verbs = [inspect.signature(verb) for verb in vars(recipe).values() if inspect.isfunction(verb)]
    keywords = [p.name for verb in of_verbs for p in verb.parameters.values() if p.kind is p.KEYWORD_ONLY]
    return frozenset([*keywords, *(f.name for each in TAKEN for f in fields(each))]) - {"batch_size"}


def objective_names() -> frozenset[str]:
    return names_in((OWN, *{paper.folder.parent for paper in papers().values()}))
