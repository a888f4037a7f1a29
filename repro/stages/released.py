"""Stage ``released``: an encoder that others made, whole or not at all."""

import json
import re
import shutil
from pathlib import Path

from repro.datasets.hub_models import planned_checkpoint
from repro.errors import BlockedError, DataError
from repro.progress import Progress
from repro.stage_table import MODULES
from repro.stages.backbone import check_whole

# what encoders are released with, and retrieval has no use for
HEADS = re.compile(r"(^|\.)(cls|lm_head|pooler|vocab_\w+|(generator|discriminator)_\w+|position_ids)(\.|$)")


def run(params: dict, inputs: dict, out: Path, progress: Progress) -> dict:
    """Write ``model/``: the checkpoint ``name`` at ``revision`` in safetensors and float32, its tokenizer,
    and, where ``pooling`` is ``sentence-transformers``, the modules behind the transformer.

    A ``kind`` of ``splade`` or ``splade-sum`` keeps the masked-language head, ``cross-encoder`` the head that
    scores a pair, ``term-weights`` the one that scores a token, a ``pooling`` of ``pooler`` BERT's. Of DPR's
    two classes the BERT inside is kept. Code that comes with a checkpoint is never run, nothing is
    downloaded.

    Raises:
        BlockedError: it cannot be read, lacks a weight, has one that would be dropped, or is not in the hub's
            cache at the commit that was planned with.
        DataError: it is no longer the one that was planned with.
    """
    from repro.nn.checkpoint import reason, save_model

    shutil.rmtree(out / "model", ignore_errors=True)  # of an attempt on files that were refused
    with planned_checkpoint(params) as folder:
        try:
            if params["pooling"] == MODULES:
                return _keep_modules(folder, out / "model")
            model, tokenizer = _read(folder, params)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, DataError) as error:
            raise BlockedError(
                f"{folder} cannot be read as such an encoder ({reason(error)})",
                "put all of its files there, weights and tokenizer too, or correct what is said of it",
            ) from error
        save_model(model, tokenizer, out / "model")  # weights may lie in their file until they are written
    return {"parameters": model.num_parameters(), "vocabulary": len(tokenizer)}


def _keep_modules(folder: Path, target: Path) -> dict:
    """Write an encoder of sentence-transformers as the library does."""
    from repro.nn.library_encoder import load, transformers

    encoder = load(folder, {"kind": "dense", "precision": "fp32"})
    encoder.save(str(target), create_model_card=False)
    [part] = transformers(encoder)
    return {"parameters": part.auto_model.num_parameters(), "vocabulary": len(part.tokenizer)}


def _read(folder: Path, params: dict):
    """Load model and tokenizer. Raises ValueError where a weight is missing, or one would be lost."""
    from transformers import AutoTokenizer

    from repro.nn.checkpoint import check_vocabulary, pretrained

    loader = _loader(params["kind"])
    is_dpr = json.loads((folder / "config.json").read_text()).get("model_type") == "dpr"
    tokenizer = pretrained(AutoTokenizer, folder)
    if is_dpr:
        loader = _dpr_class(folder)
    model, report = pretrained(loader, folder, dtype="float32", output_loading_info=True)
    needs_pooler = params["pooling"] == "pooler" or params["kind"] == "cross-encoder"
    check_whole(model, report, optional=() if needs_pooler else ("pooler",))
    unknown = sorted(key for key in report["unexpected_keys"] if not HEADS.search(key))
    if unknown:
        raise ValueError(f"its weight {unknown[0]} belongs to a head that is not known here")
    model = _inner_bert(model) if is_dpr else model
    check_vocabulary(model, tokenizer)
    return model, tokenizer


def _loader(kind: str):
    import transformers

    heads = {
        "cross-encoder": "AutoModelForSequenceClassification",
        "term-weights": "AutoModelForTokenClassification",
    }
    heads |= dict.fromkeys(("splade", "splade-sum"), "AutoModelForMaskedLM")
    return getattr(transformers, heads.get(kind, "AutoModel"))


def _dpr_class(folder: Path):
    import transformers

    [name] = json.loads((folder / "config.json").read_text())["architectures"]
    if name not in ("DPRQuestionEncoder", "DPRContextEncoder"):
        raise ValueError(f"its architecture is {name}; DPRQuestionEncoder and DPRContextEncoder are known")
    return getattr(transformers, name)


def _inner_bert(model):
    """The BERT of DPR's class as a model of its own, which gives the same [CLS] vectors."""
    from transformers import BertConfig, BertModel

    if model.config.projection_dim:
        raise ValueError("its vectors are projected to another size, which is not known here")
    inner = (model.question_encoder if hasattr(model, "question_encoder") else model.ctx_encoder).bert_model
    facts = {k: v for k, v in model.config.to_dict().items() if k not in ("model_type", "architectures")}
    bert = BertModel(BertConfig(**facts), add_pooling_layer=False)
    bert.load_state_dict(inner.state_dict())
    return bert
