"""The encoder behind a measured run, as transformers, sentence-transformers and `repro compare` load it."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from repro.errors import DataError, UsageError
from repro.exchange.measured_encoder import MeasuredEncoder
from repro.exchange.whole_folder import whole_folder
from repro.store import Store

FILE = "repro.json"  # what no other file of an exported encoder says
TYPES = {  # names that every version of sentence-transformers takes
    kind: f"sentence_transformers.models.{kind}" for kind in ("Transformer", "Pooling", "Dense", "Normalize")
}
ACTIVATION = "torch.nn.modules.{}"


def export(source: MeasuredEncoder, store: Store, to: Path, *, card: str, about: Mapping) -> None:
    """Write the directory ``to`` whole, or not at all.

    Args:
        card: README.md.
        about: what ``repro.json`` says beside the conventions.

    Raises:
        UsageError: ``to`` holds something, or the model is not in the store.
        DataError: the model cannot be read.
        StoreError: the model is damaged.
    """
    if store.state(source.model) != "stored":
        remedy = "`repro run` the cell at this scale first"
        raise UsageError(f"the model {source.model} is not in the store; {remedy}")
    with whole_folder(to) as scratch:
        _write_model(source, store.checked(source.model) / "model", scratch)
        (scratch / "README.md").write_text(card, encoding="utf-8")
        _write_json(scratch / FILE, {"conventions": asdict(source.conventions), **about})


def _write_model(source: MeasuredEncoder, folder: Path, target: Path) -> None:
    """Transformer, tokenizer, and the modules that make of its output what the suite's encoding does."""
    from repro.retrieval.nn.checkpoint import load_encoder, load_tokenizer, save_model

    model, conventions = load_encoder(folder), source.conventions
    save_model(model, load_tokenizer(folder), target)
    pooling = source.passages.params.get("pooling", "cls")
    entries = [("Transformer", "", None)]
    modes = {"cls": "cls_token", "mean": "mean_tokens", "max": "max_tokens"}
    pooling_config = {f"pooling_mode_{mode}": pooling == name for name, mode in modes.items()}
    pooling_config["word_embedding_dimension"] = model.config.hidden_size
    entries.append(("Pooling", "1_Pooling", pooling_config))
    for weight, bias, activation in _layers(source, folder, model):
        place = f"{len(entries)}_Dense"
        outer, inner = weight.shape
        config = {"in_features": inner, "out_features": outer, "bias": bias is not None}
        config["activation_function"] = ACTIVATION.format(activation)
        entries.append(("Dense", place, config))
        _write_dense(target / place, weight, bias)
    if conventions.similarity == "cosine":
        entries.append(("Normalize", f"{len(entries)}_Normalize", {}))
    for _, place, config in entries[1:]:
        (target / place).mkdir(exist_ok=True)
        _write_json(target / place / "config.json", config)
    modules = ((TYPES[kind], place) for kind, place, _ in entries)
    module_list = [{"idx": n, "name": str(n), "path": p, "type": kind} for n, (kind, p) in enumerate(modules)]
    _write_json(target / "modules.json", module_list)
    max_length = max(conventions.query_length, conventions.passage_length)
    _write_json(target / "sentence_bert_config.json", {"max_seq_length": max_length, "do_lower_case": False})
    prompts = {"query": conventions.query_prefix, "document": conventions.passage_prefix}
    settings = {"prompts": prompts, "default_prompt_name": None, "similarity_fn_name": conventions.similarity}
    _write_json(target / "config_sentence_transformers.json", settings)


def _layers(source: MeasuredEncoder, folder: Path, model):
    """Yield weight, bias or None, and activation of each layer behind the pooling."""
    if source.passages.stage == "encode_views":
        yield from _reduction(folder, model)
        return
    from repro.retrieval.nn.encoder import saved_projector

    projector, encodes = saved_projector(folder) or (None, False)
    if not encodes:
        return
    last_activation = "activation.Tanh" if projector.architecture == "nonlinear" else "linear.Identity"
    if projector.inner is not None:
        yield projector.inner.weight, projector.inner.bias, "activation.GELU"
    yield projector.dense.weight, projector.dense.bias, last_activation


def _reduction(folder: Path, model):
    """Yield the matrix after a dense view, also where its first numbers are kept; nothing without one."""
    import torch

    from repro.retrieval.nn.view_encoder import FILE as VIEWS
    from repro.retrieval.nn.view_encoder import PROJECTION

    config = json.loads((folder / VIEWS).read_text()) if (folder / VIEWS).exists() else {}
    reduction = config.get("dense_reduction")
    if reduction is None:
        return
    if reduction["by"] == "truncate":
        yield torch.eye(reduction["to"], model.config.hidden_size), None, "linear.Identity"
        return
    from safetensors.torch import load_file

    if not (folder / PROJECTION).exists():
        raise DataError(f"{folder}: {PROJECTION} is missing, which its dense vectors pass")
    yield load_file(folder / PROJECTION)["weight"], None, "linear.Identity"


def _write_dense(folder: Path, weight, bias) -> None:
    from safetensors.torch import save_file

    folder.mkdir()
    weights = {"linear.weight": weight} | ({} if bias is None else {"linear.bias": bias})
    save_file({k: v.detach().contiguous() for k, v in weights.items()}, folder / "model.safetensors")


def _write_json(path: Path, value) -> None:
    path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
