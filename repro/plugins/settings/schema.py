"""The schema of settings.yaml, e.g. ``options.learning_rate: {published: 5.0e-6, where: §4.3}``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from repro import errors, stage_table
from repro.manifest import papers as at_hand
from repro.manifest import yaml_file
from repro.manifest.papers import Paper
from repro.manifest.yaml_file import Fault, Identified, StrictMapping, repetitions

FILE = "settings.yaml"


class Script(StrictMapping):
    repository: str
    commit: str


class Nodes(StrictMapping):
    """A description of planned stages.

    Attributes:
        inputs: name of an input -> a stage or another description. One match is enough.
        with_: parameters that distinguish the stages, e.g. the ``kind`` of an encoding.
    """

    stage: str
    objective: str | None = None
    inputs: dict[str, str | Nodes] = Field(default_factory=dict)
    with_: dict[str, Any] = Field(default_factory=dict, alias="with")


class SourcedValue(StrictMapping):
    """A value with its sources, in the units of the plan.

    Attributes:
        published: the paper's value. ``{any: [...]}`` lists the values of a row's stages, and
            ``{by: {row: value}}`` has a value for each beginning of a row's id.
        cell: the cell of a manifest with the published number.
        plus: a number to add to the cell's number.
        script: ``source:path`` and the option.
    """

    published: Any = None
    where: str = ""
    cell: str = ""
    plus: int = 0
    released: Any = None
    script: str = ""
    note: str = ""

    @property
    def is_published(self) -> bool:
        return self.published is not None or bool(self.cell)


class Setting(SourcedValue):
    """The sources of the value of a planned parameter.

    Attributes:
        planned: the value in the plan if it differs. Null: the plan has no such parameter.
        reading: the reading that justifies a difference or fills a gap. ``id.key`` is a part of its value.
    """

    planned: Any = None
    reading: str = ""

    @property
    def departs(self) -> bool:
        return "planned" in self.model_fields_set

    def taken(self, published: Any, default: Any) -> Any:
        """Return the first of: a stated ``planned`` value, ``published``, the released value, ``default``."""
        released = default if self.released is None else self.released
        return self.planned if self.departs else published if self.is_published else released


class StatedElsewhere(SourcedValue):
    """A statement that is not a parameter of a stage, e.g. hardware."""

    what: str
    because: str


class Step(Identified):
    """A training or another step, with its rows and the settings of its stages.

    Attributes:
        rows: beginnings of cell ids, e.g. ``PAPER/1``.
        like: a step to inherit from, ``id`` or ``paper/id``. A setting that is null is not inherited.
        settings: path of a parameter -> its setting. A path includes all paths below it.
    """

    about: str = ""
    rows: tuple[str, ...] = ()
    nodes: Nodes | None = None
    like: str = ""
    settings: dict[str, Setting | None] = Field(default_factory=dict)

    @property
    def stage(self) -> str:
        return self.nodes.stage if self.nodes else ""

    @property
    def stated(self) -> list[tuple[str, Setting]]:
        return [(path, setting) for path, setting in self.settings.items() if setting]


class Settings(StrictMapping):
    sources: dict[str, Script] = Field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    elsewhere: tuple[StatedElsewhere, ...] = ()


def read_settings(folder: Path) -> Settings:
    """Return the settings.yaml of a folder, if any. Raises ManifestError."""
    path = folder / FILE
    return yaml_file.read_shared(path, Settings, faults=_faults) if path.exists() else Settings()


def settings_of(source: Paper) -> Settings:
    return read_settings(source.folder)


@at_hand.once_per_paper
def steps_of(source: Paper) -> list[Step]:
    """Return the steps that have rows, with inherited settings. Raises ManifestError."""
    made: list[Step] = []
    folders = {path.parent.name: path.parent for path in at_hand.ROOT.glob(f"*/{FILE}")}
    folders |= {each.name: each.folder for each in (*at_hand.papers().values(), source)}
    for number, step in enumerate(settings_of(source).steps):
        try:
            made += [completed_step(folders, source.name, step)] if step.rows else []
        except errors.UsageError as error:
            place = ("steps", number, "like")
            raise yaml_file.fault_at(source.folder / FILE, place, str(error)) from None
    return made


def completed_step(folders: Mapping[str, Path], home: str, step: Step) -> Step:
    """Return a step of paper ``home`` with inherited settings. Raises UsageError, e.g. for a cycle."""
    trail, chain = [f"{home}/{step.id}"], [step]
    while chain[-1].like:
        like = chain[-1].like
        folder_name, _, name = like.rpartition("/")
        home = folder_name or home
        errors.check_known("folder of papers with settings", home, valid=folders)
        steps = {step.id: step for step in read_settings(folders[home]).steps}
        valid = [step_id for step_id in steps if f"{home}/{step_id}" not in trail]
        errors.check_known(f"step of {home} for {trail[0]!r} to be like", name, valid=valid)
        chain.append(steps[name])
        trail.append(f"{home}/{name}")
    settings: dict[str, Setting | None] = {}
    for item in reversed(chain):
        settings |= item.settings
    nodes = next((item.nodes for item in chain if item.nodes), None)
    final_settings = {path: setting for path, setting in settings.items() if setting is not None}
    return step.model_copy(update={"nodes": nodes, "settings": final_settings})


def _faults(content: Settings) -> Iterator[Fault]:
    yield from repetitions("step", content.steps, ("steps",))
    for number, step in enumerate(content.steps):
        yield from ((("steps", number, *place), fault) for place, fault in _step_faults(content, step))
    for number, item in enumerate(content.elsewhere):
        yield from ((("elsewhere", number), fault) for fault in _value_faults(content, item))


def _step_faults(content: Settings, step: Step) -> Iterator[Fault]:
    if step.rows and not (step.nodes or step.like):
        yield (), f"step {step.id!r} has rows but neither `nodes` nor `like`"
    if step.nodes and step.nodes.stage not in stage_table.STAGES:
        yield ("nodes",), f"there is no stage {step.nodes.stage!r}"
    for path, setting in step.settings.items():
        faults = _setting_faults(content, setting) if setting else ()
        yield from ((("settings", path), fault) for fault in faults)


def _setting_faults(content: Settings, setting: Setting) -> Iterator[str]:
    if not (setting.is_published or setting.released is not None or setting.reading):
        yield "the value has no source (give published, cell, released or reading)"
    if setting.departs and not setting.reading:
        yield "the plan deviates from the stated value and names no unspecified choice (add one as `reading`)"
    yield from _value_faults(content, setting)


def _value_faults(content: Settings, value: SourcedValue) -> Iterator[str]:
    if value.published is not None and not (value.where or value.cell):
        yield "a published value needs where or cell"
    if (value.released is None) != (not value.script):
        yield "a released value needs its script, and a script its value"
    source = value.script.partition(":")[0]
    if value.script and source not in content.sources:
        yield f"{source!r} is not among the sources ({', '.join(content.sources) or 'none'})"
