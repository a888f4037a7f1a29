"""Model directories, read and written with transformers, quietly and without a network."""

from __future__ import annotations

import contextlib
import copy
import logging
import re
from collections.abc import Sequence
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from torch import nn

from repro.errors import DataError, UsageError
from repro.machine.bounded_reading import check_pulled, read_json_file

if TYPE_CHECKING:
    from transformers import BertConfig, PreTrainedTokenizerFast
    from transformers.models.bert.modeling_bert import BertLayer, BertOnlyMLMHead
    from transformers.models.roberta.modeling_roberta import RobertaEmbeddings

HEADS = re.compile(
    r"(^|\.)(cls|lm_head|pooler|decoder|vocab_\w+|(generator|discriminator)_\w+|position_ids)(\.|$)"
)
OTHER = "it is another model's"
POSITION_TABLES = ("position_embeddings", "embed_positions", "wpe")
Tokenizer: TypeAlias = "PreTrainedTokenizerFast"


def load_tokenizer(folder: Path):
    """Return a directory's fast tokenizer, set to pad on the right. Raises DataError."""
    from transformers import AutoTokenizer

    tokenizer = load(AutoTokenizer, folder)
    tokenizer.padding_side = "right"
    return tokenizer


def load_masked_lm(folder: Path):
    """Return a masked language model in float32. Raises DataError.

    A missing head is drawn from torch's global generator.
    """
    from transformers import AutoModelForMaskedLM

    return load(AutoModelForMaskedLM, folder, dtype="float32")


def load_encoder(folder: Path):
    """Return a model without heads and pooler, in float32. Raises DataError."""
    from transformers import AutoModel

    model = load(AutoModel, folder, dtype="float32")
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model


def check_fits(model, tokenizer, length: int) -> None:
    """Raise UsageError if ``length`` exceeds the positions, DataError if model and tokenizer differ."""
    count = positions(model)
    if count is not None and length > count:
        raise UsageError(f"a length of {length} tokens is more than the model's {count} positions")
    try:
        check_vocabulary(model, tokenizer)
    except ValueError as error:
        raise DataError(f"{tokenizer.name_or_path}: {error}") from None


def positions(model) -> int | None:
    """Return the maximum number of tokens of a text, or None without a limit."""
    table = _position_table(model)
    if table is None:
        return getattr(model.config, "max_position_embeddings", None)
    padding = -1 if table.padding_idx is None else table.padding_idx
    return table.num_embeddings - getattr(table, "offset", padding + 1)  # the first ones are for padding


def _position_table(model):
    tables = (module for name, module in model.named_modules() if name.endswith(POSITION_TABLES))
    return next((table for table in tables if getattr(table, "num_embeddings", None)), None)


def check_missing(model, report: dict, *, has_pooler: bool = False) -> None:
    """Raise ValueError if ``report`` lists a missing weight, except an unused pooler's."""
    lost = sorted(key for key in report["missing_keys"] if has_pooler or not key.startswith("pooler"))
    if lost:
        name = type(model).__name__
        raise ValueError(f"its weights do not fit {name}: {lost[0]} is missing")


def check_heads(report: dict) -> None:
    """Raise ValueError if ``report`` lists an unused weight that retrieval may need."""
    if others := sorted(filterfalse(HEADS.search, report["unexpected_keys"])):
        raise ValueError(f"its weight {others[0]} belongs to a head that is not known here")


def check_vocabulary(model, tokenizer) -> None:
    """Raise ValueError if the tokenizer does not match the embeddings."""
    table, vocabulary = model.get_input_embeddings(), tokenizer.get_vocab()
    rows = getattr(table, "num_embeddings", None)
    if rows is None:
        raise ValueError("it has no embeddings of tokens, so it reads no texts")
    media = {getattr(tokenizer, f"{kind}_token_id", None) for kind in ("image", "audio", "video")}
    tokens = max((place for place in vocabulary.values() if place not in media), default=-1) + 1
    sizes = f"the tokenizer has {tokens:,} tokens and the embeddings {rows:,} rows"
    if tokens > rows:
        raise ValueError(f"{sizes}: tokens were added without resizing the embeddings, or {OTHER}")
    if 2 * tokens < rows:
        raise ValueError(f"{sizes}: its files are missing, or {OTHER}")
    padding, row = tokenizer.pad_token_id, table.padding_idx
    counted = getattr(_position_table(model), "padding_idx", None)
    if counted is not None and padding != counted:
        raise ValueError(f"the tokenizer pads with token {padding} and the model with {counted}: {OTHER}")
    if row not in (None, padding) and row not in tokenizer.all_special_ids:
        word = tokenizer.convert_ids_to_tokens(row)
        raise ValueError(f"row {row} of the embeddings is for padding and {word!r} to the tokenizer: {OTHER}")


def save_model(model, tokenizer, folder: Path) -> None:
    """Write a model directory, without references to custom code."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = copy.deepcopy(tokenizer)
    tokenizer.backend_tokenizer.no_truncation()
    tokenizer.backend_tokenizer.no_padding()
    for settings in (vars(model.config), tokenizer.init_kwargs):
        settings.pop("auto_map", None)
    with quiet():
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def load(kind: Any, folder: Path, **options) -> Any:
    """Return a directory's model or tokenizer, by transformers' class ``kind``. Raises DataError."""
    try:
        return pretrained(kind, folder, **options)
    except (OSError, ValueError, KeyError) as error:
        check_pulled(folder)
        raise DataError(f"{folder}: cannot be read as a model directory ({reason(error)})") from error


def pretrained(kind: Any, folder: Path, **options) -> Any:
    """Return the same as ``load()``. Raises the library's errors, or ValueError for adapters or hub code."""
    if (folder / "adapter_config.json").exists():
        raise ValueError("it has an adapter, adapter_config.json, which is not known here")
    check_self_contained(folder)
    with quiet():
        return kind.from_pretrained(folder, local_files_only=True, trust_remote_code=False, **options)


def check_self_contained(folder: Path) -> None:
    """Raise ValueError if config.json refers to code of the hub."""
    if not (folder / "config.json").exists():
        return
    config = read_json_file(folder / "config.json")
    for key, value in dict(config).items():
        if key.endswith("_implementation") and "/" in str(value):  # the hub's kernels
            raise ValueError(f"its {key} is {value!r}, code of the hub, which is never run here")


def reason(error: Exception) -> str:
    if "trust_remote_code" in str(error):
        return "it needs code that comes with it, which is never run here"
    if "ignore_mismatched_sizes" in str(error):
        return "the shapes of its weights do not match its config.json"
    if "Weights only load failed" in str(error):
        return "its weights are a pickle that holds more than tensors, which is never read here"
    first, *others = str(error).strip().split("\n")
    if first.endswith(":") and others:
        first = f"{first} {others[0].strip()}"
    return first.rstrip(".")


FILES = "put all of its files there, including weights and tokenizer"
_ABSENT = re.compile(
    r"no file|not find|No such file|not appear to have|its files are missing|none of its files"
)


def remedy(folder: Path, problem: str) -> str:
    has_weights = any(path.suffix in (".safetensors", ".bin") for path in folder.rglob("*"))
    is_whole = has_weights and any(folder.rglob("config.json")) and not _ABSENT.search(problem)
    return "correct its files or its settings" if is_whole else FILES


@contextlib.contextmanager
def quiet():
    """Suppress progress bars and loading reports of transformers and sentence-transformers."""
    from transformers.utils import logging as library

    loggers = [logging.getLogger(name) for name in ("transformers", "sentence_transformers")]
    levels, bars = [logger.level for logger in loggers], library.is_progress_bar_enabled()
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    library.disable_progress_bar()
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars:
            library.enable_progress_bar()


class Layers(nn.Module):
    layer: Sequence[BertLayer]


class TextModel(nn.Module):
    config: BertConfig
    embeddings: RobertaEmbeddings
    encoder: Layers
    pooler: nn.Module | None


class MaskedModel(nn.Module):
    config: BertConfig
    base_model: TextModel
    cls: BertOnlyMLMHead
