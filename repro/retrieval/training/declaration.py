"""Trainings as recipes state them: the objective, how it is minimised, and how a machine carries that out.

A plan imports no objective, nor torch with it. The memory of a step follows from a formula simple enough to
check by hand: weights, gradients and both of Adam's means take 16 bytes a parameter. A layer keeps for its
backward pass 34 bytes a number of its hidden states where these have 16 bits, without the attention's own
matrices, which its kernels compute again (Korthikanti et al. 2022, section 4.1); with 32 bits twice as many,
but for the bytes of dropout. What automatic casting leaves in 32 bits lies between the two.
"""

from __future__ import annotations

import ast
import inspect
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from repro.errors import UsageError, check_known
from repro.graph import Node
from repro.stage_table import POSITIVE, SHARE, STAGES, check_numbers

OPTION_NUMBERS = {  # of options, and of what lies within one, which mean the same in every objective
    **dict.fromkeys(("temperature", "student_temperature", "teacher_temperature"), POSITIVE),
    **dict.fromkeys(("rate", "encoder_rate", "decoder_rate", "mask", "random"), SHARE),
}
STATE = 16  # bytes of a parameter: four numbers of 32 bits
ACTIVATIONS = {"fp32": 66, "fp16": 50, "bf16": 50}  # bytes a layer, token and hidden number
USABLE = 0.9  # of a GPU's memory; the rest is for its context, for NCCL, and lost between blocks
PREDICTED = 0.15  # share of the tokens whose words are predicted, at BERT's rate
LOGIT = 12  # bytes of a logit over the vocabulary: it, its softmax and its gradient


@dataclass(frozen=True)
class Objective:
    """A training objective, declared beside the recipes that train with it.

    A fingerprint has ``name`` and ``version``. Only the path may change freely: moving a file must not
    discard a pre-training.

    Attributes:
        name, version: as the class at ``path`` has them, which is checked before it trains.
        path: of the class or function, "module:name"; the class's constructor names all of its options.
        choices: the valid values of options that are text, e.g. ``"similarity=dot|cosine target=a|b"``.
        token_lengths: options that are lengths inside a text; a scale shrinks them as it does the text.
        vector_widths: options that count numbers of a vector; a scale shrinks them as it does the backbone.
        passes: how many there are for each token of a text under the default readings, for estimates of the
            cost of a pre-training: ``encoders``, passes through all layers; ``layers``, through one more;
            ``heads``, predictions over the vocabulary; with ``frozen_`` before it, of a model that stays;
            those that are not named are of one pass with BERT's head.
        own_parts: whether its losses may be means over parts of a size of its own
            (``repro.retrieval.training.objective.MeansOfParts``).
    """

    name: str
    version: int
    path: str
    choices: str = ""
    token_lengths: tuple[str, ...] = ()
    vector_widths: tuple[str, ...] = ()
    passes: Mapping[str, float] = field(default_factory=dict, hash=False)
    own_parts: bool = False

    def __post_init__(self):
        _declared[self.path] = self

    @property
    def identity(self) -> dict[str, Any]:
        """The name, version and path by which a node identifies its objective."""
        return {"name": self.name, "version": self.version, "path": self.path}

    @cached_property
    def parameters(self) -> dict[str, bool]:
        """Return keyword parameters and whether each is required, e.g. ``{"length": True}``. Raises
        UsageError for ``**options``."""

        return keywords(self.identity)


_declared: dict[str, Objective] = {}


def declared(identity: Mapping[str, Any]) -> Objective:
    """Return the objective that a node names. Raises UsageError if no imported recipe declares it."""
    try:
        return _declared[identity["path"]]
    except KeyError:
        raise UsageError(f"no recipe declares an objective at {identity['path']!r}") from None


def names_in(folders: Iterable[Path]) -> frozenset[str]:
    """Return names of objectives that recipes below these folders declare; imports none."""
    texts = (path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py"))
    return frozenset(name for text in texts for name in re.findall(r'\bObjective\(\s*"([^"]+)"', text))


def check_options(node: Node) -> None:
    """Refuse a training whose objective would not take its options.

    Raises:
        UsageError: there is no such objective, its class has ``**options``, an option of it is unknown, has
            no such value, or one is missing.
    """
    if "objective" not in node.params:
        return
    objective = declared(node.params["objective"])
    optional = {name.rstrip("?") for name in STAGES[node.stage].inputs if name.endswith("?")}
    options = {*node.params["options"], *optional & set(node.inputs)}
    if unknown := options - set(objective.parameters):
        known = _quote(objective.parameters)
        raise UsageError(f"objective {objective.name!r} takes no {_quote(unknown)}; it takes {known}")
    _check_values(objective, node.params["options"])
    available = options | set(node.params) | {"start"}
    if missing := {name for name, required in objective.parameters.items() if required} - available:
        raise UsageError(f"objective {objective.name!r} needs {_quote(missing)}; the recipe gives none")


def _check_values(objective: Objective, options: Mapping[str, Any]) -> None:
    for name, _, valid in (word.partition("=") for word in objective.choices.split()):
        if valid and isinstance(options.get(name), str):
            check_known(f"{name} of objective {objective.name!r}", options[name], valid=valid.split("|"))
    for values in (options, *(value for value in options.values() if isinstance(value, Mapping))):
        check_numbers({k: v for k, v in values.items() if not isinstance(v, Mapping)}, OPTION_NUMBERS)
        if values.keys() >= {"mask", "random"} and values["mask"] + values["random"] > 1:
            shares = f"mask is {values['mask']!r} and random is {values['random']!r}"
            raise UsageError(f"{shares}, shares of the masked tokens; together they have to be 1 at most")


def _quote(names: Iterable[str]) -> str:
    return ", ".join(map(repr, sorted(names)))


@dataclass(frozen=True, kw_only=True)
class Optimisation:
    """How an objective is minimised; names as in HF's TrainingArguments where it has them.

    Attributes:
        batch_size: examples a step, of all processes together: in-batch negatives make it part of the loss.
            An example is a text, or a query with its passages.
        epochs, max_steps: the training ends at whichever comes first; either may be None, not both.
        warmup_ratio, warmup_steps: linear warm-up over that share or number of steps; one is 0 or None.
        schedule: the learning rate's course after warm-up, HF's name where HF has it; ``linear`` falls to 0
            at the last step. ``logarithmic`` does too, after a warm-up that rises with the step's logarithm;
            ``deepspeed-0.6.0`` likewise, one step later, its first step at the peak.
        weight_decay: AdamW's, applied to neither biases nor LayerNorm; 0 makes it Adam.
        max_grad_norm: gradients are clipped to it; 0 for no clipping.
        precision: ``fp32``, ``fp16`` or ``bf16``.
        seed: of dropout and of the order of the examples.

    Raises UsageError where neither or both of two exclusive arguments are given.
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
            raise UsageError("a training needs epochs or max_steps; both are null")
        if self.warmup_ratio and self.warmup_steps:
            raise UsageError("a training takes warmup_ratio or warmup_steps, not both; set one to 0")

    @classmethod
    def of(cls, params: Mapping[str, Any], *, batch_size: int) -> Optimisation:
        """Return the optimisation among a training node's parameters.

        Raises:
            UsageError: the precision is unknown, or as of the class.
            BlockedError: half precision without a GPU.
        """
        from repro.retrieval.nn.precision import check_precision

        names = [field.name for field in fields(cls) if field.name != "batch_size"]
        optimisation = cls(batch_size=batch_size, **{name: params[name] for name in names})
        check_precision(optimisation.precision)
        return optimisation

    def as_params(self) -> dict[str, Any]:
        """Return parameters of a training node, without the batch size, which stages name differently."""
        names = (field.name for field in fields(self) if field.name != "batch_size")
        return {name: getattr(self, name) for name in names}

    def steps(self, examples: int) -> int:
        """Optimiser steps over so many examples; the last batch of an epoch may be smaller."""
        limits = [] if self.max_steps is None else [self.max_steps]
        if self.epochs is not None:
            limits.append(math.ceil(self.epochs * math.ceil(examples / self.batch_size)))
        return min(limits)

    @property
    def is_all_warm_up(self) -> bool:
        """Whether a warm-up of so many steps goes on beyond the end of the training, where that is known."""
        return (
            self.epochs is None and self.max_steps is not None and (self.warmup_steps or 0) > self.max_steps
        )

    def warmup(self, steps: int) -> int:
        """Return steps of warm-up in a training of so many steps."""
        return self.warmup_steps or math.ceil(steps * (self.warmup_ratio or 0.0))


VARIABLES = {
    "micro_batch": ("REPRO_MICRO_BATCH", "examples encoded at once, or unset it for all"),
    "save_steps": ("REPRO_SAVE_STEPS", "steps, or unset it for every ten minutes"),
}


@dataclass(frozen=True, kw_only=True)
class Execution:
    """Options that leave the gradient as it is, but for what is drawn from torch's generator, as dropout is.

    To end with the same bits, an interrupted training goes on with the same ones.

    Attributes:
        micro_batch: examples encoded at a time where a process's share of a batch does not fit; None for all.
        padding_free: 1 where models that are built as BERT read the texts of a batch end to end, 0 where no
            model does; None for whichever takes less time (``padding_free.trains_faster``).
        save_steps: steps between checkpoints; None for one every ten minutes.
        origin: how the micro-batch came about, in a word or two; empty where it was asked for.
        parts_are_fixed: whether the objective's loss is a mean over parts of just that size.
    """

    micro_batch: int | None = None
    padding_free: int | None = None
    save_steps: int | None = None
    origin: str = ""
    parts_are_fixed: bool = False

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> Execution:
        """Read the REPRO_ variables. Raises UsageError, e.g. for one that is no number above 0."""
        from repro.retrieval.nn.padding_free import is_asked_for

        is_packed = is_asked_for(environment)
        values: dict[str, Any] = {} if is_packed is None else {"padding_free": int(is_packed)}
        for name, (variable, description) in VARIABLES.items():
            text = environment.get(variable)
            if text is None:
                continue
            if not (text.isascii() and text.isdigit()) or int(text) == 0:
                raise UsageError(f"{variable} is {text!r}; give a number of {description}")
            values[name] = int(text)
        return cls(**values)

    def for_parts_of(self, size: int | None) -> Execution:
        """Return the execution of an objective of means over parts of ``size``, or None for any."""
        if size is None:
            return self
        return replace(self, micro_batch=size, parts_are_fixed=True)


WHOLE_BATCHES = Execution()


@dataclass(frozen=True)
class StepMemory:
    """The sizes that the memory of a step follows from.

    Attributes:
        parameters: all that are trained.
        layers, hidden: of the encoder.
        tokens: of an example, with padding.
        vocabulary: over which words are predicted; 0 where none are.
        precision: ``fp32``, ``fp16`` or ``bf16``.
    """

    parameters: int
    layers: int
    hidden: int
    tokens: int
    vocabulary: int
    precision: str

    @property
    def example(self) -> float:
        """Bytes that an example keeps for the backward pass."""
        hidden_states = max(1, self.layers) * self.hidden * ACTIVATIONS[self.precision]  # or the embeddings'
        return self.tokens * (hidden_states + PREDICTED * self.vocabulary * LOGIT)

    def whole(self, examples: int) -> float:
        """Return bytes of a step over so many examples at once, with the parameters."""
        return STATE * self.parameters + examples * self.example

    def fitting(self, memory: float) -> int:
        """Return how many examples a GPU of so many bytes holds beside the parameters; at least 1."""
        return max(1, int((USABLE * memory - STATE * self.parameters) // self.example))

    def micro_batch(self, examples: int, memory: float) -> int | None:
        """Return the examples of a part of a step cut into the fewest equal parts; None for one part."""
        parts = math.ceil(examples / self.fitting(memory))
        return None if parts == 1 else math.ceil(examples / parts)


def step_memory(objective, params: dict) -> StepMemory | None:
    """Return the memory of a step of an ``nn.Module``; None where the sizes of its encoder are not known."""
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
    """Return the tokens, with padding, of an example: a text, or a query with its passages."""
    if "texts_per_batch" in params:
        return params["length"]
    return params.get("query_length", 0) + params["passages_per_query"] * params["passage_length"]


def predicts_words(params: dict) -> bool:
    """Return whether a training with these parameters predicts words, as pre-training does."""
    return "texts_per_batch" in params


def keywords(objective: Mapping[str, Any]) -> dict[str, bool]:
    """Return the keyword parameters of an objective and whether each is required.

    E.g. ``{"temperature": True, "span_unit": False}``. The class is imported only where its source does not
    show its constructor, e.g. where a function makes the class.

    Args:
        objective: its name, version and path.

    Raises:
        UsageError: there is no such class, or its constructor has ``**options``.
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
        raise UsageError(f"{objective['path']} has **{others[0]}; its __init__ has to name each option")
    return taken


def _constructor(module: str, name: str) -> ast.arguments | None:
    """Return the arguments of a class's ``__init__``, own or inherited; None if the source is not enough."""
    try:
        spec = find_spec(module)
    except (ModuleNotFoundError, ValueError):  # an import says what is wrong
        return None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    tree = ast.parse(Path(spec.origin).read_bytes(), spec.origin)
    match [statement for statement in tree.body if name in _names(statement)]:
        case [ast.ImportFrom(module=str(origin), names=aliases, level=0)]:
            return _constructor(origin, next(a.name for a in aliases if name == (a.asname or a.name)))
        case [ast.ClassDef(decorator_list=[], bases=bases, body=body)]:
            own = [item for item in body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
            match own, bases:
                case [ast.FunctionDef(decorator_list=[], args=arguments)], _:
                    return arguments
                case [], [ast.Name(id=base)]:  # of several, Python's order decides
                    return _constructor(module, base)
    return None


def _names(statement: ast.stmt) -> set[str]:
    aliases = statement.names if isinstance(statement, ast.ImportFrom) else []
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    named = {alias.asname or alias.name for alias in aliases} | {ast.unparse(target) for target in targets}
    return named | {getattr(statement, "name", "")}
