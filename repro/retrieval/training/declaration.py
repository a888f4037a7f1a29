"""Read an objective's class from its source: a plan imports no objective, nor torch with it."""

import ast
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro.errors import UsageError, check_known
from repro.graph import Node
from repro.retrieval.training.class_source import checked_choices, constants_of, lineage
from repro.stage_table import POSITIVE, SHARE, STAGES, check_numbers

OPTION_NUMBERS = {  # of options, and of what lies within one, which mean the same in every objective
    **dict.fromkeys(("temperature", "student_temperature", "teacher_temperature"), POSITIVE),
    **dict.fromkeys(("rate", "encoder_rate", "decoder_rate", "mask", "random"), SHARE),
}


@dataclass(frozen=True)
class Declaration:
    """The keyword parameters of an objective, and which of its options a scale shrinks.

    Attributes:
        parameters: names, and whether one has to be given.
        token_lengths, vector_widths: of ``repro.retrieval.training.objective.ScaledOptions``.
        own_parts: whether its losses may be means over parts of a size of its own (``MeansOfParts``).
        passes: of ``repro.retrieval.training.objective.PretrainingPasses``, where it says so.
        stated: its ``name`` and ``version``, where they are literals.
        methods: the names of its methods and of other attributes of the class.
        choices: the valid values of parameters that it checks, where the source tells them.
    """

    parameters: dict[str, bool]
    token_lengths: tuple[str, ...]
    vector_widths: tuple[str, ...]
    own_parts: bool = False
    passes: dict[str, float] = field(default_factory=dict)
    stated: dict[str, str | int] = field(default_factory=dict)
    methods: frozenset[str] = frozenset()
    choices: dict[str, tuple] = field(default_factory=dict)


@functools.cache
def declaration(path: str) -> Declaration:
    """The declaration of the class at ``path`` ("module:Class"), with what it inherits.

    Raises:
        UsageError: there is no such class.
    """
    module, _, name = path.partition(":")
    methods: dict[str, ast.FunctionDef] = {}
    constants: dict[str, ast.expr] = {}
    definitions = list(lineage(module, name))
    for _, definition in reversed(definitions):
        methods |= {s.name: s for s in definition.body if isinstance(s, ast.FunctionDef)}
        constants |= constants_of(definition.body)
    lengths, widths, passes = (
        tuple(ast.literal_eval(constants[key])) if key in constants else ()
        for key in ("token_lengths", "vector_widths", "passes")
    )
    parameters = _keywords(methods["__init__"].args) if "__init__" in methods else {}
    literals = {key: constants.get(key) for key in ("name", "version")}
    stated = {key: value.value for key, value in literals.items() if isinstance(value, ast.Constant)}
    others = {"own_parts": "part_size" in methods, "passes": dict(passes), "stated": stated}
    others |= {
        "methods": frozenset({*methods, *constants}),
        "choices": checked_choices(definitions, constants),
    }
    return Declaration(parameters, lengths, widths, **others)


def names_in(folders: Iterable[Path]) -> frozenset[str]:
    """The names of the objectives whose classes are below these folders, where a class states its own."""
    files = (path for folder in folders for path in folder.rglob("*.py"))
    texts = (text for path in files if " version = " in (text := path.read_text(encoding="utf-8")))
    classes = (item for text in texts for item in ast.parse(text).body if isinstance(item, ast.ClassDef))
    constants = (
        found for item in classes if {"name", "version"} <= (found := constants_of(item.body)).keys()
    )
    return frozenset(c["name"].value for c in constants if isinstance(c["name"], ast.Constant))


def check_options(node: Node) -> None:
    """Refuse a training whose objective would not take its options.

    Raises:
        UsageError: there is no such objective, it has another name or version or lacks a method, an option of
            it is unknown, or one is missing.
    """
    if "objective" not in node.params:
        return
    optional = {name.rstrip("?") for name in STAGES[node.stage].inputs if name.endswith("?")}
    objective, options = node.params["objective"], {*node.params["options"], *optional & set(node.inputs)}
    declared = declaration(objective["path"])
    for key, value in declared.stated.items():
        if value != objective[key]:
            told = f"{objective['path']} has {key} {value!r}, the recipe says {objective[key]!r}"
            raise UsageError(f"{told}; give both the same")
    if missing := _missing_methods(node.stage, declared.methods):
        raise UsageError(f"{objective['path']} has no method {missing!r}, which the stage {node.stage} calls")
    parameters = declared.parameters
    if unknown := options - set(parameters):
        raise UsageError(
            f"objective {objective['name']!r} takes no {_quote(unknown)}; it takes {_quote(parameters)}"
        )
    _check_values(objective, node.params["options"])
    available = options | set(node.params) | {"start"}
    if missing := {name for name, required in parameters.items() if required} - available:
        raise UsageError(f"objective {objective['name']!r} needs {_quote(missing)}; the recipe gives none")


def _check_values(objective: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Refuse options that name none of what the objective checks, or are no such numbers."""
    for name, valid in declaration(objective["path"]).choices.items():
        if isinstance(options.get(name), str):
            check_known(f"{name} of objective {objective['name']!r}", options[name], valid=valid)
    for values in (options, *(value for value in options.values() if isinstance(value, Mapping))):
        check_numbers({k: v for k, v in values.items() if not isinstance(v, Mapping)}, OPTION_NUMBERS)
        if values.keys() >= {"mask", "random"} and values["mask"] + values["random"] > 1:
            shares = f"mask is {values['mask']!r} and random is {values['random']!r}"
            raise UsageError(f"{shares}, shares of the masked tokens; together they have to be 1 at most")


def _missing_methods(stage: str, methods: frozenset[str]) -> str:
    """The first method of the contract of ``training.objective`` that an objective lacks, or ''."""
    needed = ["collate", "save", *(["load"] if stage == "finetune" else [])]
    needed += ["represent", "losses"] if methods & {"represent", "losses"} else ["forward", "denominators"]
    return next((name for name in needed if name not in methods), "")


def _keywords(arguments: ast.arguments) -> dict[str, bool]:
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {argument.arg: default is None for argument, default in pairs}


def _quote(names: Iterable[str]) -> str:
    return ", ".join(map(repr, sorted(names)))
