"""Released encoders, e.g. SPLADE, loaded by sentence-transformers."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, nn

from repro.errors import BlockedError, DataError, check_known
from repro.machine.bounded_reading import check_pulled
from repro.retrieval.nn import batches, checkpoint
from repro.retrieval.nn.encoder import Encoder
from repro.retrieval.nn.precision import Tensors, autocast, device
from repro.retrieval.nn.view_encoder import POSITIONS, max_log_saturated, sum_log_saturated
from repro.stage_table import POOLINGS

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer, SparseEncoder

    AnyEncoder = SentenceTransformer | SparseEncoder


SPARSE: dict[str, Literal["max", "sum"]] = {"splade": "max", "splade-sum": "sum"}
TASKS = {"queries": "query", "passages": "document"}


def load(folder: Path, settings: Mapping[str, Any]) -> AnyEncoder:
    """Load the dense or sparse encoder in a folder, without running its own code.

    The ``kind`` in ``settings`` is ``dense``, ``splade``, ``splade-sum``, or ``sparse`` for the folder's own
    modules. ``pooling``, ``length`` in tokens, ``truncate_dim`` and ``precision`` replace the folder's
    settings unless None. ``cap`` limits all lengths. Raises DataError, or BlockedError for a Git LFS pointer
    or a missing padding token.
    """
    reports: list[tuple] = []
    try:
        for config in sorted(folder.rglob("*config.json")):
            checkpoint.check_self_contained(config.parent)
        with checkpoint.quiet(), _reports_kept(reports):
            model = _loaded(folder, settings)
        _check_weights(model, reports)
        _set_lengths(model, settings)
        _check_lengths(model)
    except (BlockedError, DataError):
        check_pulled(folder)
        raise
    except Exception as error:
        check_pulled(folder)
        why = _unreadable_file(folder) or checkpoint.reason(error).removeprefix("Error ")
        raise DataError(f"{folder}: cannot be read as an encoder ({why})") from error
    return model.eval()


def _unreadable_file(folder: Path) -> str:
    from safetensors import SafetensorError, safe_open

    for path in sorted(folder.rglob("*.json")) + sorted(folder.rglob("*.safetensors")):
        try:
            if path.suffix == ".json":
                json.loads(path.read_text(encoding="utf-8"))
            else:
                with safe_open(path, "pt"):
                    pass
        except (ValueError, SafetensorError) as error:
            return f"{path.relative_to(folder)}: {checkpoint.reason(error)}"
    return ""


def _loaded(folder: Path, settings: Mapping[str, Any]) -> AnyEncoder:
    import sentence_transformers
    from sentence_transformers.sparse_encoder.modules import SpladePooling, Transformer

    local = {"local_files_only": True, "trust_remote_code": False}
    weights = {"dtype": torch.float32} if settings.get("precision") else {}
    options: dict[str, Any] = local | {"device": str(device()), "model_kwargs": weights}
    if settings["kind"] == "dense":
        truncate_dim = settings.get("truncate_dim")
        model = sentence_transformers.SentenceTransformer(str(folder), truncate_dim=truncate_dim, **options)
        if settings.get("pooling"):
            _pool(model, folder, settings["pooling"])
        return model
    if (folder / "modules.json").exists():
        return sentence_transformers.SparseEncoder(str(folder), **options)
    transformer = Transformer(
        str(folder),
        transformer_task="fill-mask",
        model_kwargs=local | weights,
        processor_kwargs=dict(local),
        config_kwargs=dict(local),
    )
    pooling = SpladePooling(pooling_strategy=SPARSE[settings["kind"]])
    return sentence_transformers.SparseEncoder(modules=[transformer, pooling], device=str(device()))


def _pool(model: SentenceTransformer, folder: Path, mode: str) -> None:
    from sentence_transformers.sentence_transformer.modules import Pooling

    places = [name for name, module in model.named_children() if isinstance(module, Pooling)]
    if not places:
        raise DataError(f"{folder}: it has no pooling to replace. Remove the setting pooling")
    [place] = places
    if mode == "pooler":
        first: Any = model[0]
        if getattr(first.auto_model, "pooler", None) is None:
            raise DataError(f"{folder}: the model has no pooler. Choose another pooling")
        first.modality_config["text"]["method_output_name"] = "pooler_output"
        first.module_output_name = "sentence_embedding"
        delattr(model, place)
        return
    old = getattr(model, place)
    pooling = Pooling(old.embedding_dimension, pooling_mode=mode, include_prompt=old.include_prompt)
    setattr(model, place, pooling)


@contextlib.contextmanager
def _reports_kept(reports: list[tuple]) -> Iterator[None]:
    from transformers import PreTrainedModel

    name = "from_pretrained"
    original = vars(PreTrainedModel)[name]

    def telling(cls, *arguments, **keywords):
        keywords["output_loading_info"] = True
        model, report = original.__get__(None, cls)(*arguments, **keywords)
        reports.append((model, report))
        return model

    setattr(PreTrainedModel, name, classmethod(telling))
    try:
        yield
    finally:
        setattr(PreTrainedModel, name, original)


def _check_weights(model: AnyEncoder, reports: list[tuple]) -> None:
    parts = transformers(model)
    has_pooler = any(part.module_output_name == "sentence_embedding" for part in parts)
    for each, report in reports:
        checkpoint.check_missing(each, report, has_pooler=has_pooler)
        checkpoint.check_heads(report)
    for part in parts:
        if part.tokenizer.pad_token_id is None:
            problem = f"{part.tokenizer.name_or_path}: the tokenizer has no padding token, which batches need"
            raise BlockedError(problem, 'add it to tokenizer_config.json, e.g. "pad_token": "[PAD]"')
        checkpoint.check_vocabulary(part.auto_model, part.tokenizer)


def transformers(model: AnyEncoder) -> list:
    from sentence_transformers.base.modules import Transformer

    return [module for module in model.modules() if isinstance(module, Transformer)]


def _set_lengths(model: AnyEncoder, settings: Mapping[str, Any]) -> None:
    for part in model.modules():
        if part is model or hasattr(part, "sub_modules"):
            continue
        text = _text_settings(part)
        for name in ("max_seq_length", "query_length", "document_length"):
            if (limit := _limit(getattr(part, name, None), settings)) is not None:
                setattr(part, name, limit)
        if (limit := _limit(text.get("max_length"), settings)) is not None:
            text["max_length"] = limit


def _check_lengths(model: AnyEncoder) -> None:
    for transformer in transformers(model):
        count = checkpoint.positions(transformer.auto_model)
        limit = max((_length(transformer, kind) or 0 for kind in TASKS), default=0)
        if count is not None and limit > count:
            raise ValueError(f"a length of {limit} tokens is more than the model's {count} positions")


def _limit(own: float | None, settings: Mapping[str, Any]) -> float | None:
    if own is None or own == math.inf:
        return None
    limit = settings.get("length") or own
    return min(limit, settings.get("cap") or limit)


def _text_settings(part: torch.nn.Module) -> dict[str, Any]:
    return (getattr(part, "processing_kwargs", None) or {}).get("text", {})


def _length(part: torch.nn.Module, kind: str) -> int | None:
    whole = getattr(part, f"{TASKS[kind]}_length", None) or getattr(part, "max_seq_length", None)
    return _text_settings(part).get("max_length") or whole


def encode(
    model: AnyEncoder,
    texts: list[str | tuple[str, str]],
    *,
    kind: str,
    prompt: str | None,
    precision: str | None = None,
    batch_size: int = 32,
) -> Tensor:
    """Return vectors of texts, or of pairs of segments: (N, H) float32 or sparse (N, V), on the CPU.

    ``kind`` is ``queries`` or ``passages``. ``prompt`` replaces the encoder's own unless None.
    """
    method: Callable[..., Any] = model.encode_query if kind == "queries" else model.encode_document
    options = {"convert_to_tensor": True, "show_progress_bar": False}
    with autocast(precision or "fp32"):
        while True:
            try:
                return method(texts, prompt=prompt, batch_size=batch_size, **options).cpu().float()
            except RuntimeError as error:
                if batch_size == 1 or not batches.is_out_of_memory(error):
                    raise
                batch_size //= 2
                batches.release_memory()


def batch_difference(
    model: AnyEncoder, texts: list[str | tuple[str, str]], *, kind: str, prompt: str | None
) -> tuple[float, float] | None:
    """Compare a text's vectors, encoded alone and in a batch with a longer text.

    ``texts`` are the text and the longer one. Returns (cosine, relative difference), or None
    if only rounding differs.
    """
    alone, together = (
        encode(model, batch, kind=kind, prompt=prompt).to_dense()[0].double() for batch in (texts[:1], texts)
    )
    cosine = float(torch.nn.functional.cosine_similarity(alone, together, dim=0))
    dtype = getattr(model, "dtype", None) or torch.float32
    difference = float((alone - together).norm() / alone.norm().clamp_min(torch.finfo(dtype).tiny))
    return (cosine, difference) if difference > torch.finfo(dtype).eps ** 0.5 else None


def reading(model: AnyEncoder, kind: str) -> tuple[str, int | None]:
    """Return the encoder's prompt for ``kind``, or "", and its maximum number of tokens, or None."""
    parts = [part for child in model.children() for part in _on_route(child, TASKS[kind])]
    limits = [limit for part in parts if (limit := _length(part, kind)) is not None]
    name = _prompt_name(model, kind)
    return (model.prompts.get(name) if name else None) or "", max(limits, default=None)


def _on_route(module: torch.nn.Module, task: str) -> Iterator[torch.nn.Module]:
    routes = dict(getattr(module, "sub_modules", {}))
    for part in routes.get(task, [part for parts in routes.values() for part in parts]):
        yield from _on_route(part, task)
    if not routes:
        yield module


def unused_prompts(model: AnyEncoder) -> list[str]:
    used = {_prompt_name(model, kind) for kind in ("queries", "passages")}
    return [name for name, text in model.prompts.items() if text and name not in used]


def _prompt_name(model: AnyEncoder, kind: str) -> str | None:
    names = ("query",) if kind == "queries" else ("document", "passage", "corpus")
    return next((name for name in names if name in model.prompts), model.default_prompt_name)


def named(module: torch.nn.Module) -> str:
    """Return a module's name with its model or pooling, e.g. ``Pooling (mean)``."""
    name = type(module).__name__
    if hasattr(module, "auto_model"):
        return f"{name} ({type(module.auto_model).__name__})"
    if hasattr(module, "pooling_mode"):
        return f"{name} ({module.pooling_mode})"
    if sub_modules := dict(getattr(module, "sub_modules", {})):
        routes = (f"{key}: {', '.join(map(named, parts))}" for key, parts in sub_modules.items())
        return f"{name} ({'; '.join(routes)})"
    return name


class Heads(nn.ModuleList):
    """The modules of sentence-transformers after the pooling, which map vectors, (N, H)."""

    def forward(self, vectors: Tensor) -> Tensor:
        features = {"sentence_embedding": vectors}
        for head in self:
            features = head(features)
        return features["sentence_embedding"]


def released_encoder(folder: Path) -> Encoder:
    """Return an encoder made of sentence-transformers' modules.

    Raises DataError unless they are a transformer, one known pooling and heads.
    """
    children: list[Any] = list(load(folder, {"kind": "dense", "precision": "fp32"}).children())
    transformer, pooling, *heads = children
    mode = getattr(pooling, "pooling_mode", None)
    if mode not in POOLINGS:
        raise DataError(f"{folder}: its pooling {mode} is unknown. Known: {', '.join(POOLINGS)}")
    return Encoder(transformer.auto_model, pooling=mode, projector=Heads(heads))


class SpladeEncoder(nn.Module):
    """Maps token ids to max_i log(1 + ReLU(w_ij)) of masked-language logits w (Formal et al. 2021).

    The maximum (or the sum, by ``pooling``) includes [CLS] and [SEP], as in released code.
    """

    def __init__(
        self, model: checkpoint.MaskedModel, tokenizer: checkpoint.Tokenizer, *, pooling: str = "max"
    ):
        super().__init__()
        check_known("pooling of logits", pooling, valid=("max", "sum"))
        self.model, self.tokenizer, self.pooling = model, tokenizer, pooling

    def forward(self, inputs: Tensors) -> Tensors:
        """Map model inputs, (N, L) each, to ``sparse``, (N, V)."""
        (count, length), rows = inputs["input_ids"].shape, []
        step = max(1, POSITIONS // length)
        for start in range(0, count, step):
            part = {name: value[start : start + step] for name, value in inputs.items()}
            keep = part["attention_mask"].bool()
            logits = self.model(**part).logits
            if self.pooling == "sum":
                rows.append(sum_log_saturated(logits, keep))
            else:
                rows.append(max_log_saturated(logits, lambda highest: highest, keep))
        return {"sparse": torch.cat(rows)}
