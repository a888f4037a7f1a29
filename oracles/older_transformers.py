"""Names where released code of 2021 to 2023 looks for them, while a block lasts; no formula is here."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any
from unittest import mock

import torch

from oracles.shims import extended_attention_mask


@dataclasses.dataclass
class WholeWordCollator:
    """An empty ``DataCollatorForWholeWordMask``: the released collators bring all that is compared."""

    tokenizer: Any = None
    mlm_probability: float = 0.15

    def __post_init__(self):
        pass


class OlderTokenizer:
    """A tokenizer with the methods of slow ones that released collators call, over a fast vocabulary."""

    def __init__(self, tokenizer):
        self.fast = tokenizer
        self.pad_token_id, self.mask_token, self._pad_token = tokenizer.pad_token_id, "[MASK]", "[PAD]"

    def __len__(self) -> int:
        return len(self.fast)

    def num_special_tokens_to_add(self, pair: bool) -> int:
        """[CLS] and [SEP]."""
        return 2

    def _convert_id_to_token(self, place: int) -> str:
        return self.fast.convert_ids_to_tokens(int(place))

    def convert_tokens_to_ids(self, entry: str) -> int:
        """The place of an entry."""
        return self.fast.convert_tokens_to_ids(entry)

    def get_special_tokens_mask(self, ids: list[int], already_has_special_tokens: bool) -> list[int]:
        """1 at every special token."""
        return [int(place in self.fast.all_special_ids) for place in ids]

    def encode_plus(self, ids: list[int], *, max_length: int, **_) -> dict[str, list[int]]:
        """A frame around tokens that are cut already, and padding."""
        framed = [self.fast.cls_token_id, *ids, self.fast.sep_token_id]
        rest = max_length - len(framed)
        return {
            "input_ids": framed + [self.pad_token_id] * rest,
            "attention_mask": [1] * len(framed) + [0] * rest,
        }


def _extended(model, attention_mask: torch.Tensor, *_) -> torch.Tensor:
    return extended_attention_mask(attention_mask)


@contextlib.contextmanager
def older_transformers() -> Iterator[None]:
    """Put back names that were moved or left out, and GPT-2 blocks with a causal mask of their own."""
    import transformers
    from transformers import PretrainedConfig, modeling_utils
    from transformers.models.gpt2 import modeling_gpt2
    from transformers.pytorch_utils import Conv1D

    put_back = [
        (transformers, "DataCollatorForWholeWordMask", WholeWordCollator),
        (modeling_utils, "Conv1D", Conv1D),
        (modeling_utils, "PretrainedConfig", PretrainedConfig),
        (modeling_utils.PreTrainedModel, "get_extended_attention_mask", _extended),
        (modeling_gpt2, "GPT2Block", _causal_block(modeling_gpt2.GPT2Block)),
    ]
    with contextlib.ExitStack() as stack:
        for module, name, value in put_back:
            stack.enter_context(mock.patch.object(module, name, value, create=True))
        yield


def _causal_block(block: type) -> type:
    class CausalBlock(block):
        """Make a block with the buffer ``attn.bias``, from which that of 4.30 reads its causal mask."""

        def __init__(self, config, layer_idx=None):
            config._attn_implementation = "eager"  # adds a mask of numbers
            super().__init__(config, layer_idx=layer_idx)
            size = config.n_positions
            seen = torch.tril(torch.ones(size, size, dtype=torch.uint8)).view(1, 1, size, size)
            self.attn.register_buffer("bias", seen, persistent=False)

        def forward(self, hidden, attention_mask=None, **options):
            length, lowest = hidden.shape[1], torch.finfo(hidden.dtype).min
            seen = self.attn.bias[:, :, :length, :length].bool()
            mask = torch.where(seen, attention_mask, lowest)  # (N, 1, L, L)
            made = super().forward(hidden, attention_mask=mask, **options)
            return made if isinstance(made, tuple) else (made,)

    return CausalBlock
