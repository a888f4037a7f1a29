"""Models of transformers as types see them: the parts that are used here, under the names that BERT's have.

No class here is ever made. A model that is read from a directory has these parts or, where a function says
so, is checked for them first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from torch import nn

if TYPE_CHECKING:
    from transformers import BertConfig, PreTrainedTokenizerFast
    from transformers.models.bert.modeling_bert import BertLayer, BertOnlyMLMHead
    from transformers.models.roberta.modeling_roberta import RobertaEmbeddings

Tokenizer: TypeAlias = "PreTrainedTokenizerFast"


class Layers(nn.Module):
    """The layers of an encoder."""

    layer: Sequence[BertLayer]


class TextModel(nn.Module):
    """A transformers encoder without heads; its call gives ``last_hidden_state``, (N, L, H)."""

    config: BertConfig
    embeddings: RobertaEmbeddings
    encoder: Layers
    pooler: nn.Module | None


class MaskedModel(nn.Module):
    """BertForMaskedLM, or one with ``base_model`` and ``cls`` like it."""

    config: BertConfig
    base_model: TextModel
    cls: BertOnlyMLMHead
