"""Stage ``backbone``: a released checkpoint, e.g. ``bert-base-uncased``, or its architecture."""

import shutil
from pathlib import Path

from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoTokenizer, set_seed

from repro.errors import BlockedError
from repro.progress import Progress
from repro.retrieval.datasets.hub_models import model_type, planned_checkpoint
from repro.retrieval.nn import checkpoint, seed_encoder


def run(params: dict, inputs: dict, out: Path, progress: Progress) -> dict:
    """Write ``model/``: the checkpoint ``name`` in safetensors and float32, with its tokenizer.

    ``identity`` is the files' digest, or the commit of a ``source`` in the hub's cache. ``weights``
    ``"random"`` are drawn by ``seed`` for its architecture, with ``layers`` layers if given. SEED's weights
    are converted to RoBERTa. A checkpoint's code is never run.
    """
    shutil.rmtree(out / "model", ignore_errors=True)
    with planned_checkpoint(params) as folder:
        try:
            model, tokenizer, facts = _read(params, folder)
        except (OSError, ValueError, KeyError) as error:
            problem = f"{folder} is not a checkpoint of {params['name']} that transformers can read"
            remedy = f"put it (converted) into $REPRO_DATA/models/{params['name']}, or choose another reading"
            raise BlockedError(f"{problem} ({checkpoint.reason(error)})", remedy) from error
        checkpoint.save_model(model, tokenizer, out / "model")  # may still read the file
    return {
        "parameters": model.num_parameters(),
        "vocabulary": len(tokenizer),
        "commit": params["identity"] if params["source"]["kind"] == "hub" else None,
        **facts,
    }


def _read(params: dict, folder: Path) -> tuple:
    if model_type(folder) == seed_encoder.MODEL_TYPE:
        model, tokenizer, facts = seed_encoder.load(folder)
        return model, tokenizer, {"masked_language_head": hasattr(model, "lm_head"), **facts}
    is_random = params.get("weights") == "random"
    model, has_head = _random_model(params, folder) if is_random else _load_weights(folder)
    tokenizer = checkpoint.pretrained(AutoTokenizer, folder)
    checkpoint.check_vocabulary(model, tokenizer)
    return model, tokenizer, {"masked_language_head": has_head}


def _load_weights(folder: Path) -> tuple:
    options = {"dtype": "float32", "output_loading_info": True}
    model, report = checkpoint.pretrained(AutoModelForMaskedLM, folder, **options)
    if not report["missing_keys"]:
        return model, True
    model, report = checkpoint.pretrained(AutoModel, folder, **options)
    checkpoint.check_missing(model, report)
    return model, False


def _random_model(params: dict, folder: Path) -> tuple:
    config = checkpoint.pretrained(AutoConfig, folder)
    config.num_hidden_layers = params.get("layers", config.num_hidden_layers)
    set_seed(params["seed"])
    return AutoModelForMaskedLM.from_config(config), True
