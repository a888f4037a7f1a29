"""The MLP decoder (§3.1.2, Eq. 2): from one vector to a score for every word of the vocabulary."""

import json
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional

from repro.errors import DataError, check_known
from repro.retrieval.nn.checkpoint import MaskedModel

LAYOUTS = ("mlm-head", "norm-last", "two-before")
STARTS = ("new", "mlm-head", "tied")
FILE = "decoder.safetensors"


class MLPDecoder(nn.Module):
    """z = W2 LN(gelu(W1 h + b1)) + b2: two layers, GELU and a LayerNorm, in the order of BERT's MLM head.

    Reading ``decoder-layers``. Under ``norm-last`` the norm is over the scores, z = LN(W2 gelu(W1 h + b1) +
    b2), with a gain and a bias for every word. Under ``two-before`` h passes LN(gelu(W0 h + b0)) first. W0
    and W1 are H x H. Weights start as N(0, ``initializer_range``), biases as 0.

    Args:
        config: the encoder's configuration: ``hidden_size``, ``vocab_size``, ``layer_norm_eps``,
            ``initializer_range``.
        layout: ``mlm-head``, ``norm-last`` or ``two-before``.
    """

    def __init__(self, config, *, layout: str):
        super().__init__()
        check_known("order of the decoder's layers", layout, valid=LAYOUTS)
        self.layout = layout
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        normed = config.vocab_size if layout == "norm-last" else config.hidden_size
        self.norm = nn.LayerNorm(normed, eps=config.layer_norm_eps)
        self.vocabulary = nn.Linear(config.hidden_size, config.vocab_size)
        self.first = nn.Linear(config.hidden_size, config.hidden_size) if layout == "two-before" else None
        if self.first is not None:
            self.first_norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        for layer in filter(None, (self.dense, self.vocabulary, self.first)):
            nn.init.normal_(layer.weight, std=config.initializer_range)
            nn.init.zeros_(layer.bias)

    def forward(self, h_cls: torch.Tensor) -> torch.Tensor:
        """Map (N, H) to (N, V)."""
        if self.first is not None:
            h_cls = self.first_norm(functional.gelu(self.first(h_cls)))
        inner = functional.gelu(self.dense(h_cls))  # (N, H)
        if self.layout == "norm-last":
            return self.norm(self.vocabulary(inner))
        return self.vocabulary(self.norm(inner))

    def save(self, folder: Path) -> None:
        """Write ``decoder.safetensors`` into a model's folder."""
        from safetensors.torch import save_file

        weights = {name: tensor.contiguous() for name, tensor in self.state_dict().items()}
        # one key: safetensors writes several in an order that changes from process to process
        save_file(weights, folder / FILE, metadata={"decoder": json.dumps({"layout": self.layout})})


def starting_decoder(model: MaskedModel, *, layout: str, start: str) -> MLPDecoder:
    """Return the decoder at the start of pre-training. New weights are drawn from torch's generator.

    Args:
        model: BertForMaskedLM, which is not changed.
        layout: see ``MLPDecoder``.
        start: reading ``decoder-start``. ``new``: new weights. ``mlm-head``: a copy of the model's own head
            and its output matrix. Parts that this head lacks (a norm over the scores, a layer before) are
            new. ``tied``: new weights except for the output matrix, which is the matrix of embeddings itself.
    """
    check_known("start of the decoder", start, valid=STARTS)
    decoder = MLPDecoder(model.config, layout=layout)
    words = model.base_model.embeddings.word_embeddings.weight  # (V, H)
    if start == "mlm-head":
        head = model.cls.predictions
        decoder.dense.load_state_dict(head.transform.dense.state_dict())
        if layout != "norm-last":
            decoder.norm.load_state_dict(head.transform.LayerNorm.state_dict())
        with torch.no_grad():
            decoder.vocabulary.weight.copy_(head.decoder.weight)
            decoder.vocabulary.bias.copy_(head.bias)
    if start == "tied":
        decoder.vocabulary.weight = words
    return decoder


def saved_decoder(folder: Path, config) -> MLPDecoder:
    """Return the decoder in the folder of a model with configuration ``config``. Raises DataError if the
    folder has none."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(folder / FILE, framework="pt") as file:
            about = json.loads(file.metadata()["decoder"])
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        decoder = MLPDecoder(config, layout=about["layout"])
        decoder.load_state_dict(weights)
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        reason = str(error).strip().split("\n")[0]
        raise DataError(
            f"{folder / FILE}: cannot be read as a decoder of words ({reason}). Give the folder of a model "
            "that was pre-trained with one"
        ) from error
    return decoder
