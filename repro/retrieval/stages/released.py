"""Stage ``released``: a released encoder, e.g. SPLADE."""

import shutil
from pathlib import Path

import transformers

from repro.errors import BlockedError, DataError
from repro.machine.bounded_reading import check_pulled
from repro.progress import Progress
from repro.retrieval.datasets.hub_models import planned_checkpoint
from repro.retrieval.nn import checkpoint, library_encoder
from repro.stage_table import MODULES

HEADS = dict.fromkeys(("splade", "splade-sum"), "ForMaskedLM")
HEADS |= {"cross-encoder": "ForSequenceClassification", "term-weights": "ForTokenClassification"}


def run(params: dict, inputs: dict, out: Path, progress: Progress) -> dict:
    """Write ``model/``: the checkpoint ``name`` in safetensors and float32, with its tokenizer.

    ``pooling`` ``sentence-transformers`` keeps the modules after the transformer, ``kind`` the head: of MLM
    (``splade``), of pairs (``cross-encoder``) or of ``term-weights``. A checkpoint's code is never
    run. Raises BlockedError if it cannot be read or a weight is missing or unused.
    """
    shutil.rmtree(out / "model", ignore_errors=True)
    with planned_checkpoint(params) as folder:
        try:
            if params["pooling"] == MODULES:
                return _keep_modules(folder, out / "model")
            model, tokenizer = _read(folder, params)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, DataError) as error:
            check_pulled(folder)
            problem = f"{folder} cannot be read as such an encoder ({checkpoint.reason(error)})"
            raise BlockedError(problem, checkpoint.remedy(folder, problem)) from error
        checkpoint.save_model(model, tokenizer, out / "model")  # may still read the file
    return {"parameters": model.num_parameters(), "vocabulary": len(tokenizer)}


def _keep_modules(folder: Path, target: Path) -> dict:
    encoder = library_encoder.load(folder, {"kind": "dense", "precision": "fp32"})
    encoder.save(str(target), create_model_card=False)
    [part] = library_encoder.transformers(encoder)
    return {"parameters": part.auto_model.num_parameters(), "vocabulary": len(part.tokenizer)}


def _read(folder: Path, params: dict):
    kind = params["kind"]
    tokenizer = checkpoint.pretrained(transformers.AutoTokenizer, folder)
    loader = getattr(transformers, f"AutoModel{HEADS.get(kind, '')}")
    model, report = checkpoint.pretrained(loader, folder, dtype="float32", output_loading_info=True)
    checkpoint.check_missing(model, report, has_pooler=kind == "cross-encoder")
    checkpoint.check_heads(report)
    checkpoint.check_vocabulary(model, tokenizer)
    return model, tokenizer
