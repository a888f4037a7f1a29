"""Fine-tuning of one encoder for queries and passages with in-batch negatives."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from repro.errors import unknown
from repro.nn.checkpoint import save_model
from repro.nn.contrastive import in_batch_contrastive
from repro.nn.encoder import Encoder
from repro.nn.projector import Projector, saved_projector
from repro.nn.similarity import check_similarity
from repro.nn.text import passage_text, tokenised

PROJECTOR_STARTS = ("pre-trained", "new")


class BiEncoderContrastive(nn.Module):
    """Queries near their positive, far from their negatives and from everybody else's passages.

    One encoder for both sides; a passage is title, separator and text as one sequence, as in Tevatron.

    Args:
        model: a transformers encoder without heads.
        tokenizer: its tokenizer.
        temperature, similarity: of ``in_batch_contrastive``.
        projector: ``none``, ``linear`` or ``nonlinear``; trained along and kept, so that texts are encoded
            with it. One of the same architecture that the starting model already encodes with is trained on.
        projector_start: of any other projector: ``pre-trained``, from the one beside the starting model if
            that has the same architecture, else afresh; ``new``, always afresh.
        pooling: ``cls`` or ``mean``.
        query_length, passage_length: in tokens, with [CLS] and [SEP].
        separator: between title and text.
        start: directory of the starting model, read for its projector only.
    """

    name = "contrastive"
    version = 1

    def __init__(
        self,
        model: nn.Module,
        tokenizer,
        *,
        temperature: float,
        similarity: str,
        projector: str,
        projector_start: str,
        pooling: str,
        query_length: int,
        passage_length: int,
        separator: str,
        start: Path,
    ):
        super().__init__()
        if projector_start not in PROJECTOR_STARTS:
            raise unknown("projector start", projector_start, PROJECTOR_STARTS)
        head = Projector(
            model.config.hidden_size, architecture=projector, initializer_range=model.config.initializer_range
        )
        saved, encodes = saved_projector(start) or (None, False)
        wanted = encodes or projector_start == "pre-trained"
        if wanted and saved is not None and saved.architecture == projector:
            head.load_state_dict(saved.state_dict())
        self.encoder = Encoder(model, pooling=pooling, projector=head)
        self.tokenizer = tokenizer
        self.temperature, self.similarity = temperature, check_similarity(similarity)
        self.query_length, self.passage_length, self.separator = query_length, passage_length, separator

    def collate(self, examples: list[dict]) -> dict[str, torch.Tensor]:
        """Token ids of examples ``{"query", "passages": [{"title", "text"}, …]}``, the positive first."""
        passages = [
            passage_text(passage["title"], passage["text"], separator=self.separator)
            for example in examples
            for passage in example["passages"]
        ]
        queries = tokenised(
            self.tokenizer, [example["query"] for example in examples], length=self.query_length
        )
        passages = tokenised(self.tokenizer, passages, length=self.passage_length)
        return {f"query_{k}": v for k, v in queries.items()} | {
            f"passage_{k}": v for k, v in passages.items()
        }

    def forward(self, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The one loss, ``contrastive``."""
        queries = self.encoder(batch["query_input_ids"], batch["query_attention_mask"])  # (Q, H)
        passages = self.encoder(batch["passage_input_ids"], batch["passage_attention_mask"])  # (Q*P, H)
        loss = in_batch_contrastive(
            queries, passages, temperature=self.temperature, similarity=self.similarity
        )
        return {"contrastive": loss}

    def save(self, folder: Path) -> None:
        """The encoder, its tokenizer and, if any, its projector."""
        save_model(self.encoder.model, self.tokenizer, folder)
        self.encoder.projector.save(folder, encodes=True)
