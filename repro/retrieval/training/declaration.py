"""Declarations of trainings in recipes, without importing objectives or torch.

Memory follows Korthikanti et al. 2022, section 4.1: a layer keeps 34 bytes per hidden number at 16 bits,
without attention matrices, and twice as many at 32 bits, except for dropout.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from repro.errors import UsageError, check_known
from repro.graph import Node
from repro.stage_table import POSITIVE, SHARE, STAGES, check_numbers

OPTION_NUMBERS = {  # also of nested options
    **dict.fromkeys(("temperature", "student_temperature", "teacher_temperature"), POSITIVE),
    **dict.fromkeys(("rate", "encoder_rate", "decoder_rate", "mask", "random"), SHARE),
}
STATE = 16  # bytes of a parameter: four numbers of 32 bits
ACTIVATIONS = {"fp32": 66, "fp16": 50, "bf16": 50}  # bytes a layer, token and hidden number
USABLE = 0.9  # of a GPU's memory
PREDICTED = 0.15  # share of predicted tokens
LOGIT = 12  # bytes of a logit, its softmax and gradient


@dataclass(frozen=True)
class Objective:
    """A training objective, declared next to its recipes. Its name and version are those of the class.

    Attributes:
        path: the class or function, e.g. ``"repro.retrieval.nn.bi_encoder:BiEncoderContrastive"``.
        choices: valid values of text options, e.g. ``"similarity=dot|cosine target=a|b"``.
        token_lengths: options that a scale shrinks like the text.
        vector_widths: options that a scale shrinks like the backbone.
        passes: passes per token, for cost estimates: ``encoders`` through all layers, ``layers`` through
            an extra one, ``heads`` over the vocabulary. ``frozen_`` marks untrained ones.
    """

    name: str
    version: int
    path: str
    choices: str = ""
    token_lengths: tuple[str, ...] = ()
    vector_widths: tuple[str, ...] = ()
    passes: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self):
        _declared[self.path] = self

    @property
    def identity(self) -> dict[str, Any]:
        return {"name": self.name, "version": self.version, "path": self.path}

    @cached_property
    def parameters(self) -> dict[str, bool]:
        """The keyword parameters and whether each is required. Raises UsageError for ``**options``."""
        return keywords(self.identity)


_declared: dict[str, Objective] = {}


def declared(identity: Mapping[str, Any]) -> Objective:
    """Return the objective declared at this path. Raises UsageError if no imported recipe declares it."""
    try:
        return _declared[identity["path"]]
    except KeyError:
        raise UsageError(f"no recipe declares an objective at {identity['path']!r}") from None


def names_in(folders: Iterable[Path]) -> frozenset[str]:
    """Return the names of objectives declared below these folders, without imports."""
    texts = (path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))
    return frozenset(name for text in texts for name in re.findall(r'\bObjective\(\s*"([^"]+)"', text))


def check_options(node: Node) -> None:
    """Raise UsageError unless a training's objective exists and accepts its options."""
    if "objective" not in node.params:
        return
    objective = declared(node.params["objective"])
    optional = {name.rstrip("?") for name in STAGES[node.stage].inputs if name.endswith("?")}
    options = {*node.params["options"], *optional & set(node.inputs)}
    if unknown := options - set(objective.parameters):
        known = _quote(objective.parameters)
        raise UsageError(f"objective {objective.name!r} takes no {_quote(unknown)}. Its options: {known}.")
    _check_values(objective, node.params["options"])
    available = options | set(node.params) | {"start"}
    if missing := {name for name, required in objective.parameters.items() if required} - available:
        raise UsageError(f"objective {objective.name!r} needs {_quote(missing)}, missing in the recipe")


def _check_values(objective: Objective, options: Mapping[str, Any]) -> None:
    for choice in objective.choices.split():
        name, _, valid = choice.partition("=")
        if isinstance(options.get(name), str):
            check_known(f"{name} of objective {objective.name!r}", options[name], valid=valid.split("|"))
    for values in (options, *(value for value in options.values() if isinstance(value, Mapping))):
        check_numbers({k: v for k, v in values.items() if not isinstance(v, Mapping)}, OPTION_NUMBERS)
        if values.keys() >= {"mask", "random"} and values["mask"] + values["random"] > 1:
            shares = f"mask is {values['mask']!r} and random is {values['random']!r}"
            raise UsageError(f"{shares}, but their sum may be 1 at most")


def _quote(names: Iterable[str]) -> str:
    return ", ".join(map(repr, sorted(names)))


@dataclass(frozen=True, kw_only=True)
class Optimisation:
    """How an objective is minimised. Names follow HF's TrainingArguments.

    Attributes:
        batch_size: texts, or queries with their passages, per step over all processes.
        epochs, max_steps: training ends at whichever comes first.
        warmup_ratio, warmup_steps: linear warm-up over this share or number of steps.
        schedule: ``linear`` falls to 0 at the last step. ``logarithmic`` does too, after a warm-up that
            rises with the logarithm of the step. ``deepspeed-0.6.0`` is the same one step later, with the
            first step at the peak. Other names are HF's.
        weight_decay: not applied to biases or LayerNorm. 0 gives Adam.
        max_grad_norm: 0 disables clipping.
    """

    batch_size: int
    epochs: float | None = None
    max_steps: int | None = None
    learning_rate: float
    warmup_ratio: float | None = 0.0
    warmup_steps: int | None = 0
    schedule: str
    weight_decay: float
    max_grad_norm: float
    precision: str
    seed: int

    def __post_init__(self):
        if self.epochs is None and self.max_steps is None:
            raise UsageError("a training needs epochs or max_steps, but both are null")
        if self.warmup_ratio and self.warmup_steps:
            raise UsageError(
                "a training cannot have both warmup_ratio and warmup_steps. Set one of them to 0."
            )

    @classmethod
    def of(cls, params: Mapping[str, Any], *, batch_size: int) -> Optimisation:
        """Return the optimisation of a training stage's parameters.

        Raises UsageError, or BlockedError for half precision without a GPU.
        """
        from repro.retrieval.nn.precision import check_precision

        optimisation = cls(batch_size=batch_size, **{name: params[name] for name in cls._names()})
        check_precision(optimisation.precision)
        return optimisation

    def as_params(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names()}

    @classmethod
    def _names(cls) -> list[str]:
        return [field.name for field in fields(cls) if field.name != "batch_size"]

    def steps(self, examples: int) -> int:
        limits = [] if self.max_steps is None else [self.max_steps]
        if self.epochs is not None:
            limits.append(math.ceil(self.epochs * math.ceil(examples / self.batch_size)))
        return min(limits)

    @property
    def is_all_warm_up(self) -> bool:
        """Whether the warm-up is longer than ``max_steps``. False with ``epochs``."""
        return self.epochs is None and (self.warmup_steps or 0) > (self.max_steps or 0)

    def warmup(self, steps: int) -> int:
        return self.warmup_steps or math.ceil(steps * (self.warmup_ratio or 0.0))


VARIABLES = {
    "micro_batch": ("REPRO_MICRO_BATCH", "examples encoded at once, or unset it for all"),
    "save_steps": ("REPRO_SAVE_STEPS", "steps, or unset it for every ten minutes"),
}


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Options that change the gradient only through random draws such as dropout.

    Attributes:
        micro_batch: examples encoded at a time. None encodes all at once.
        padding_free: 1 reads texts without padding, 0 with padding. None chooses the faster way.
        save_steps: steps between checkpoints. None saves every ten minutes.
        origin: how the micro-batch was chosen, e.g. ``"estimated"``, or "" if the user set it.
    """

    micro_batch: int | None = None
    padding_free: int | None = None
    save_steps: int | None = None
    origin: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Execution:
        """Read the REPRO_ variables, e.g. ``REPRO_MICRO_BATCH=8``. Raises UsageError for wrong values."""
        from repro.retrieval.nn.padding_free import is_asked_for

        is_packed = is_asked_for(environment)
        values: dict[str, Any] = {} if is_packed is None else {"padding_free": int(is_packed)}
        for name, (variable, description) in VARIABLES.items():
            text = environment.get(variable)
            if text is None:
                continue
            if not (text.isascii() and text.isdigit()) or int(text) == 0:
                raise UsageError(f"{variable} is {text!r}. Set a number of {description}.")
            values[name] = int(text)
        return cls(**values)


WHOLE_BATCHES = Execution()


@dataclass(frozen=True)
class StepMemory:
    """The sizes that determine a training step's memory. ``tokens`` are per example."""

    parameters: int
    layers: int
    hidden: int
    tokens: int
    vocabulary: int
    precision: str

    @property
    def example(self) -> float:
        """Bytes that one example keeps for the backward pass."""
        hidden_states = max(1, self.layers) * self.hidden * ACTIVATIONS[self.precision]
        return self.tokens * (hidden_states + PREDICTED * self.vocabulary * LOGIT)

    def whole(self, examples: int) -> float:
        return STATE * self.parameters + examples * self.example

    def fitting(self, memory: float) -> int:
        return max(1, int((USABLE * memory - STATE * self.parameters) // self.example))

    def micro_batch(self, examples: int, memory: float) -> int | None:
        """Return the examples per part for the fewest equal parts that fit, or None if all fit at once."""
        parts = math.ceil(examples / self.fitting(memory))
        return None if parts == 1 else math.ceil(examples / parts)


def step_memory(objective, params: dict) -> StepMemory | None:
    """Return the sizes of an objective, or None if no module has a transformer's config."""
    configs = (getattr(module, "config", None) for module in objective.modules())
    config = next((candidate for candidate in configs if hasattr(candidate, "num_hidden_layers")), None)
    if config is None:
        return None
    return StepMemory(
        parameters=sum(parameter.numel() for parameter in objective.parameters()),
        layers=config.num_hidden_layers,
        hidden=config.hidden_size,
        tokens=example_tokens(params),
        vocabulary=config.vocab_size if predicts_words(params) else 0,
        precision=params["precision"],
    )


def example_tokens(params: dict) -> int:
    """Return the tokens of an example: a text, or a query with its passages."""
    if "texts_per_batch" in params:
        return params["length"]
    return params.get("query_length", 0) + params["passages_per_query"] * params["passage_length"]


def predicts_words(params: dict) -> bool:
    return "texts_per_batch" in params


def keywords(objective: Mapping[str, Any]) -> dict[str, bool]:
    """Return an objective's keyword parameters and whether each is required, e.g. ``{"temperature": True}``.

    A class is imported only if its source does not show its constructor. Raises UsageError for ``**options``
    or a wrong path.
    """
    module, _, name = objective["path"].partition(":")
    if arguments := _constructor(module, name):
        pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        taken = {argument.arg: default is None for argument, default in pairs}
        others = [arguments.kwarg.arg] if arguments.kwarg else []
    else:
        from repro.retrieval.training.objective import import_declared

        parameters = inspect.signature(import_declared("objective", objective)).parameters.values()
        taken = {p.name: p.default is p.empty for p in parameters if p.kind is p.KEYWORD_ONLY}
        others = [p.name for p in parameters if p.kind is p.VAR_KEYWORD]
    if others:
        raise UsageError(f"{objective['path']} has **{others[0]}, but its __init__ must name each option")
    return taken


def _constructor(module: str, name: str) -> ast.arguments | None:
    match _named(_statements(module), name):
        case [ast.ImportFrom(module=str(origin), names=aliases, level=0)]:
            return _constructor(origin, {a.asname or a.name: a.name for a in aliases}[name])
        case [ast.ClassDef(decorator_list=[], bases=bases, body=body)]:
            match _named(body, "__init__"), bases:
                case [ast.FunctionDef(decorator_list=[], args=arguments)], _:
                    return arguments
                case [], [ast.Name(id=base)]:  # of several, Python's order decides
                    return _constructor(module, base)
    return None


def _statements(module: str) -> list[ast.stmt]:
    package, *names = module.split(".")
    try:
        spec = find_spec(package)
    except ValueError:  # no name, or a script
        return []
    file = Path(spec.origin) if spec and spec.origin else Path()
    file = file.parent.joinpath(*names).with_suffix(".py") if names else file
    if file.suffix != ".py" or not file.is_file():  # an import raises the error
        return []
    return ast.parse(file.read_bytes(), str(file)).body


def _named(statements: Iterable[ast.stmt], name: str) -> list[ast.stmt]:
    return [statement for statement in statements if name in _names(statement)]


def _names(statement: ast.stmt) -> set[str]:
    aliases = statement.names if isinstance(statement, ast.ImportFrom) else []
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    named = [*(alias.asname or alias.name for alias in aliases), *map(ast.unparse, targets)]
    return {*named, getattr(statement, "name", "")}
