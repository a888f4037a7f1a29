"""Stage ``released``: a released encoder, e.g. SPLADE."""

import shutil
from pathlib import Path

from repro.errors import BlockedError, DataError
from repro.machine.bounded_reading import check_pulled
from repro.progress import Progress
from repro.retrieval.datasets.hub_models import planned_checkpoint
from repro.stage_table import MODULES

HEADS = {"cross-encoder": "ForSequenceClassification", "term-weights": "ForTokenClassification"}


def run(params: dict, inputs: dict, out: Path, progress: Progress) -> dict:
    """Write ``model/``: the checkpoint ``name`` in safetensors and float32, with its tokenizer.

    ``pooling`` ``sentence-transformers`` keeps the modules after the transformer, ``kind`` the head: of MLM
    (``splade``), of pairs (``cross-encoder``) or of ``term-weights``. A checkpoint's code is never
    run. Raises BlockedError if it cannot be read or a weight is missing or unused.
    """
    from repro.retrieval.nn.checkpoint import reason, remedy, save_model

    shutil.rmtree(out / "model", ignore_errors=True)
    with planned_checkpoint(params) as folder:
        try:
            if params["pooling"] == MODULES:
                return _keep_modules(folder, out / "model")
            model, tokenizer = _read(folder, params)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, DataError) as error:
            check_pulled(folder)
            problem = f"{folder} cannot be read as such an encoder ({reason(error)})"
            raise BlockedError(problem, remedy(folder, problem)) from error
        save_model(model, tokenizer, out / "model")  # may still read the file
    return {"parameters": model.num_parameters(), "vocabulary": len(tokenizer)}


def _keep_modules(folder: Path, target: Path) -> dict:
    from repro.retrieval.nn.library_encoder import load, transformers

    encoder = load(folder, {"kind": "dense", "precision": "fp32"})
    encoder.save(str(target), create_model_card=False)
    [part] = transformers(encoder)
    return {"parameters": part.auto_model.num_parameters(), "vocabulary": len(part.tokenizer)}


def _read(folder: Path, params: dict):
    from transformers import AutoTokenizer

    from repro.retrieval.nn.checkpoint import check_heads, check_missing, check_vocabulary, pretrained

    tokenizer = pretrained(AutoTokenizer, folder)
    model, report = pretrained(_loader(params["kind"]), folder, dtype="float32", output_loading_info=True)
    check_missing(model, report, has_pooler=params["kind"] == "cross-encoder")
    check_heads(report)
    check_vocabulary(model, tokenizer)
    return model, tokenizer


def _loader(kind: str):
    import transformers

    head = "ForMaskedLM" if kind.startswith("splade") else HEADS.get(kind, "")
    return getattr(transformers, f"AutoModel{head}")
