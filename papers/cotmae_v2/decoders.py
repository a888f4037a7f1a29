"""The two shallow decoders, and the position of a text's vector in their input (§3.2, Eqs. 10-13)."""

import math

import torch
from torch import nn

from papers.baselines.bottleneck_decoder import BottleneckDecoder
from repro.errors import UsageError, check_known

KINDS = {"auto_encoding": ("bert",), "auto_regressive": ("gpt2", "bert")}
SLOTS = ("replace", "prepend")


def new_decoder(config, *, decoder: str, kind: str, layers: int, window: int) -> BottleneckDecoder:
    """Return a decoder with new weights, drawn from torch's generator (reading ``decoder-layers``).

    Args:
        config: the configuration of the BERT with the same sizes.
        decoder: ``auto_encoding``: every position sees the whole text. ``auto_regressive``: every position
            sees those up to and including itself.
        kind: ``bert``: layers that normalise after they add. ``gpt2``, only if auto-regressive: see
            ``PreNormDecoder``.
        layers: the number of layers, 1 in the paper, 2 in its first version.
        window: reading ``autoregressive-window``: an auto-regressive position sees the vector and this many
            last positions, including itself. 0 means all before it.

    Raises UsageError for values that no decoder can have.
    """
    check_known("decoder", decoder, valid=KINDS)
    check_known(f"kind of the {decoder} decoder", kind, valid=KINDS[decoder])
    if layers < 1 or window < 0:
        raise UsageError(
            f"a decoder has {layers!r} layers and a window of {window!r}. Give at least 1 and 0."
        )
    if kind == "gpt2":
        return PreNormDecoder(config, layers=layers, window=window or None)
    if decoder == "auto_encoding":
        return BottleneckDecoder.new(config, layers=layers, attention="full")
    return BottleneckDecoder.new(config, layers=layers, attention="causal", window=window or None)


class PreNormDecoder(BottleneckDecoder):
    """GPT-2's blocks in BERT's sizes: input dropout, layers that normalise first, a final LayerNorm.

    It follows the authors' later code. transformers' block is not causal by itself, so the mask is always
    given. Weights start as GPT-2's: N(0, ``initializer_range``), divided by sqrt(2 * layers) for outputs to
    the residual.

    Args:
        config: the configuration of a BERT.
        layers: the number of blocks.
        window: as for ``BottleneckDecoder``. Position 0 is always seen.
    """

    def __init__(self, config, *, layers: int, window: int | None):
        from transformers import GPT2Config
        from transformers.models.gpt2.modeling_gpt2 import GPT2Block

        sizes = GPT2Config(
            vocab_size=config.vocab_size,
            bos_token_id=None,
            eos_token_id=None,
            n_positions=config.max_position_embeddings,
            n_embd=config.hidden_size,
            n_layer=layers,
            n_head=config.num_attention_heads,
            n_inner=config.intermediate_size,
            activation_function=config.hidden_act,
            resid_pdrop=config.hidden_dropout_prob,
            embd_pdrop=config.hidden_dropout_prob,
            attn_pdrop=config.attention_probs_dropout_prob,
            layer_norm_epsilon=config.layer_norm_eps,
        )
        sizes._attn_implementation = "sdpa"  # takes the mask as booleans, as it is made here
        blocks = [GPT2Block(sizes, layer_idx=place) for place in range(layers)]
        super().__init__(blocks, attention="causal", window=window)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self._draw(config.initializer_range)

    def _draw(self, spread: float) -> None:
        for name, parameter in self.layers.named_parameters():
            if name.endswith("c_proj.weight"):
                nn.init.normal_(parameter, std=spread / math.sqrt(2 * len(self.layers)))
            elif name.endswith(("c_attn.weight", "c_fc.weight")):
                nn.init.normal_(parameter, std=spread)

    def forward(self, hidden: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """Map (N, L, H), and (N, L) with 0 at padding, to (N, L, H)."""
        visible, hidden = self.visible(attention_mask), self.dropout(hidden)
        for layer in self.layers:
            hidden = layer(hidden, attention_mask=visible)
        return self.norm(hidden)


def decoded(
    decoder: nn.Module,
    vectors: torch.Tensor,
    embedded: torch.Tensor,
    attention_mask: torch.Tensor,
    *,
    slot: str,
) -> torch.Tensor:
    """Return the last hidden states of a text's tokens, decoded with a vector, (N, L, H) (Eqs. 10, 11).

    Args:
        decoder: the result of ``new_decoder``.
        vectors: (N, H), neither normalised nor given a position.
        embedded: (N, L, H), embeddings of the tokens from [CLS] to [SEP].
        attention_mask: (N, L), 0 at padding.
        slot: reading ``bottleneck-slot``: the vector comes instead of the embedding of [CLS], ``replace``,
            or before it, ``prepend``. Either way it is at the decoder's position 0.
    """
    vectors = vectors.unsqueeze(1).to(embedded.dtype)  # (N, 1, H)
    if slot == "replace":
        return decoder(torch.cat((vectors, embedded[:, 1:]), dim=1), attention_mask)
    longer = torch.cat((torch.ones_like(attention_mask[:, :1]), attention_mask), dim=1)  # (N, L + 1)
    return decoder(torch.cat((vectors, embedded), dim=1), longer)[:, 1:]
