"""Encoders of others, loaded and run by sentence-transformers, so that settings mean what they mean there."""

from __future__ import annotations

import contextlib
import logging
import math
import re
from collections.abc import Iterator, Mapping
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from repro.errors import DataError
from repro.nn.checkpoint import check_self_contained, check_vocabulary, positions, quiet, reason
from repro.nn.memory import free_memory, is_out_of_memory
from repro.nn.precision import autocast, device

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer, SparseEncoder

SPARSE = {"splade": "max", "splade-sum": "sum"}  # kinds -> what they take over the positions
# weights that no encoder of texts uses, and files hold all the same
UNUSED = re.compile(
    r"(^|\.)(cls|lm_head|pooler|decoder|vocab_\w+|(generator|discriminator)_\w+|position_ids)(\.|$)"
)


def load(folder: Path, settings: Mapping[str, Any]) -> SentenceTransformer | SparseEncoder:
    """Load the encoder in a folder, dense or sparse, on this process' device.

    Code that comes with it is never run, nothing is downloaded.

    Args:
        settings: ``kind`` (dense, splade, splade-sum, or sparse: as its modules are), and above what the
            folder says ``pooling``, ``length`` in tokens, ``truncate_dim`` and ``precision``; None leaves it
            as it is there. Of ``cap`` tokens is the longest text in any case.

    Raises:
        DataError: it cannot be read as such an encoder, a weight is missing, or its tokenizer is not the
            model's.
    """
    reports: list[dict] = []
    try:
        for config in sorted(folder.rglob("*config.json")):
            check_self_contained(config.parent)
        with quiet(), _silent(), _reports_kept(reports):
            model = _loaded(folder, settings)
        _check_weights(model, reports)
        _set_lengths(model, settings)
    except DataError:
        raise
    except Exception as error:  # a library's for each of the many ways in which files can be wrong
        raise DataError(
            f"{folder}: cannot be read as an encoder ({reason(error).removeprefix('Error ')})"
        ) from error
    return model.eval()


def _loaded(folder: Path, settings: Mapping[str, Any]) -> SentenceTransformer | SparseEncoder:
    import sentence_transformers
    from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer

    options = {"device": str(device()), "local_files_only": True, "trust_remote_code": False}
    options["model_kwargs"] = {"dtype": torch.float32} if settings.get("precision") else {}
    if settings["kind"] == "dense":
        model = sentence_transformers.SentenceTransformer(
            str(folder), truncate_dim=settings.get("truncate_dim"), **options
        )
        if settings.get("pooling"):
            _pool(model, folder, settings["pooling"], options["model_kwargs"])
    elif (folder / "modules.json").exists():
        model = sentence_transformers.SparseEncoder(str(folder), **options)
    else:
        local = {"local_files_only": True, "trust_remote_code": False}
        keywords = {"processor_kwargs": dict(local), "config_kwargs": dict(local)}
        keywords["model_kwargs"] = local | options["model_kwargs"]
        transformer = Transformer(str(folder), transformer_task="fill-mask", **keywords)
        pooling = SpladePooling(pooling_strategy=SPARSE[settings["kind"]])
        model = sentence_transformers.SparseEncoder(modules=[transformer, pooling], device=options["device"])
    return model


def _pool(model: SentenceTransformer, folder: Path, mode: str, keywords: Mapping[str, Any]) -> None:
    """Put a pooling of that mode in the place of the encoder's own; ``pooler`` is BERT's, tanh and all."""
    from sentence_transformers.sentence_transformer.modules import Pooling

    places = [name for name, module in model.named_children() if isinstance(module, Pooling)]
    if not places:
        raise DataError(f"{folder}: has no pooling that could be another one; leave pooling out")
    [place] = places
    if mode == "pooler":
        if getattr(model[0].auto_model, "pooler", None) is None:
            raise DataError(f"{folder}: the model has no pooler; choose another pooling")
        model[0].modality_config["text"]["method_output_name"] = "pooler_output"
        model[0].module_output_name = "sentence_embedding"
        del model._modules[place]
        return
    old = model._modules[place]
    model._modules[place] = Pooling(
        old.get_embedding_dimension(), pooling_mode=mode, include_prompt=old.include_prompt
    )


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Silence what sentence-transformers says on reading: a description of the encoder says it."""
    logger = logging.getLogger("sentence_transformers")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


@contextlib.contextmanager
def _reports_kept(reports: list[dict]) -> Iterator[None]:
    """Keep what transformers tells of every model that is read meanwhile, which its callers pass over."""
    from transformers import PreTrainedModel

    original = vars(PreTrainedModel)["from_pretrained"]

    def telling(cls, *arguments, **keywords):
        keywords["output_loading_info"] = True
        model, report = original.__get__(None, cls)(*arguments, **keywords)
        reports.append(report | {"read_as": type(model).__name__})
        return model

    PreTrainedModel.from_pretrained = classmethod(telling)
    try:
        yield
    finally:
        PreTrainedModel.from_pretrained = original


def _check_weights(model: SentenceTransformer | SparseEncoder, reports: list[dict]) -> None:
    """Raise ValueError for a weight that is missing, for it would be drawn at random, or is another's."""
    uses_pooler = any(part.module_output_name == "sentence_embedding" for part in transformers(model))
    for report in reports:
        missing = sorted(key for key in report["missing_keys"] if uses_pooler or "pooler." not in key)
        if missing:
            reading = f"its weights do not fit {report['read_as']}, as which it is read"
            raise ValueError(f"{reading}: {missing[0]} is not among them")
        if others := sorted(filterfalse(UNUSED.search, report["unexpected_keys"])):
            raise ValueError(f"its weight {others[0]} belongs to a head that no encoder of texts has")
    for transformer in transformers(model):
        check_vocabulary(transformer.auto_model, transformer.tokenizer)


def transformers(model: SentenceTransformer | SparseEncoder) -> list:
    """The transformers in an encoder, one or several."""
    from sentence_transformers.base.modules import Transformer

    return [module for module in model.modules() if isinstance(module, Transformer)]


def _set_lengths(model: SentenceTransformer | SparseEncoder, settings: Mapping[str, Any]) -> None:
    """Cut texts at the ``length`` that is said, else where the encoder does, and at the ``cap`` at most.

    Raises ValueError for more than a transformer has positions.
    """
    for part in _parts(model):
        for name in ("max_seq_length", "query_length", "document_length"):
            own = getattr(part, name, None)
            said = settings.get("length") or own
            if own is not None and said != math.inf:
                setattr(part, name, min(said, settings.get("cap") or said))
    for transformer in transformers(model):
        count = positions(transformer.auto_model)
        limit = max(filter(None, lengths(transformer)), default=0)
        if count is not None and limit > count:
            raise ValueError(f"a length of {limit} tokens is more than the model's {count} positions")


def _parts(model: SentenceTransformer | SparseEncoder) -> list[torch.nn.Module]:
    """The parts of an encoder that cut texts, each by itself."""
    from sentence_transformers.base.modules import Router

    parts = (part for part in model.modules() if part is not model and not isinstance(part, Router))
    return [part for part in parts if getattr(part, "max_seq_length", None) is not None]


def lengths(part: torch.nn.Module) -> list[int | None]:
    """The most tokens of a query and of a document that a part of an encoder reads."""
    whole = getattr(part, "max_seq_length", None)
    return [getattr(part, f"{kind}_length", None) or whole for kind in ("query", "document")]


def encode(
    model: SentenceTransformer | SparseEncoder,
    texts: list[str | tuple[str, str]],
    *,
    kind: str,
    prompt: str | None,
    precision: str | None = None,
    batch_size: int = 32,
) -> torch.Tensor:
    """Encode texts, or pairs of segments, to (N, H) float32 or, of a sparse encoder, (N, V) in sparse form.

    Args:
        kind: ``queries`` or ``passages``, the library's documents.
        prompt: in place of the encoder's own for such texts; None keeps that.

    Batches become smaller where memory does not suffice for 32 texts.
    """
    method = model.encode_query if kind == "queries" else model.encode_document
    options = {"convert_to_tensor": True, "show_progress_bar": False}
    with autocast(precision or "fp32"):
        while True:
            try:
                return method(texts, prompt=prompt, batch_size=batch_size, **options).cpu().float()
            except RuntimeError as error:
                if batch_size == 1 or not is_out_of_memory(error):
                    raise
                batch_size //= 2
                free_memory()


def reading(model: SentenceTransformer | SparseEncoder, kind: str) -> tuple[str, int | None]:
    """The prompt that the library puts before such texts, and the most tokens that it reads of one."""
    place = 0 if kind == "queries" else 1
    limits = [lengths(part)[place] for part in _parts(model)]
    return model.prompts.get(_prompt_name(model, kind), ""), max(filter(None, limits), default=None)


def unused_prompts(model: SentenceTransformer | SparseEncoder) -> list[str]:
    """The names of prompts that the library puts before neither queries nor documents."""
    used = {_prompt_name(model, kind) for kind in ("queries", "passages")}
    return [name for name, text in model.prompts.items() if text and name not in used]


def _prompt_name(model: SentenceTransformer | SparseEncoder, kind: str) -> str | None:
    names = ("query",) if kind == "queries" else ("document", "passage", "corpus")
    return next((name for name in names if name in model.prompts), model.default_prompt_name)


def named(module: torch.nn.Module) -> str:
    """A module of an encoder by its name, a transformer's class or a pooling's mode behind it."""
    name = type(module).__name__
    if hasattr(module, "auto_model"):
        return f"{name} ({type(module.auto_model).__name__})"
    if hasattr(module, "pooling_mode"):
        return f"{name} ({module.pooling_mode})"
    if hasattr(module, "sub_modules"):
        routes = (f"{key}: {', '.join(map(named, parts))}" for key, parts in module.sub_modules.items())
        return f"{name} ({'; '.join(routes)})"
    return name
