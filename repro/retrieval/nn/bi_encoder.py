"""Fine-tuning of one encoder for queries and passages by a contrastive loss."""

from pathlib import Path

import torch

from repro.errors import check_known
from repro.retrieval.nn.architectures import TextModel, Tokenizer
from repro.retrieval.nn.checkpoint import load_encoder, save_model
from repro.retrieval.nn.contrastive import check_negatives, check_similarity, contrastive
from repro.retrieval.nn.encoder import PROJECTORS, Encoder, Projector, saved_projector
from repro.retrieval.nn.objectives import RankedTextsLoss

PROJECTOR_STARTS = ("pre-trained", "new")


class BiEncoderContrastive(RankedTextsLoss):
    """Queries near their positive, far from their negatives and, usually, from everybody else's passages.

    One encoder for both sides, and everybody is all processes that train together; a passage is title,
    separator and text as one sequence, as in Tevatron, or two segments.

    Args:
        model: a transformers encoder without heads.
        tokenizer: its tokenizer.
        temperature, similarity, negatives: of ``contrastive``.
        projector: ``none``, ``linear`` or ``nonlinear``; trained along and kept, so that texts are encoded
            with it. One of the same architecture that the starting model already encodes with is trained on.
        projector_start: of any other projector: ``pre-trained``, from the one beside the starting model if
            that has the same architecture, else afresh; ``new``, always afresh.
        pooling: ``cls`` or ``mean``.
        query_length, passage_length: in tokens, with [CLS] and [SEP].
        separator: between title and text; ``pair`` makes two segments of them.
        start: directory of the starting model, read for its projector only.
    """

    encoder: Encoder
    name = "contrastive"
    version = 1
    load = staticmethod(load_encoder)

    def __init__(
        self,
        model: TextModel,
        tokenizer: Tokenizer,
        *,
        temperature: float,
        similarity: str,
        negatives: str,
        projector: str,
        projector_start: str,
        pooling: str,
        query_length: int,
        passage_length: int,
        separator: str,
        start: Path,
    ):
        super().__init__()
        check_known("projector start", projector_start, valid=PROJECTOR_STARTS)
        check_known("projector", projector, valid=PROJECTORS)  # here for a plan to read it
        head = Projector.of(model.config, projector)
        saved, encodes = saved_projector(start) or (None, False)
        may_continue = encodes or projector_start == "pre-trained"
        if may_continue and saved is not None and saved.architecture == projector:
            head = saved
        self.encoder = Encoder(model, pooling=pooling, projector=head)
        self.tokenizer = tokenizer
        self.temperature, self.similarity = temperature, check_similarity(similarity)
        self.negatives = check_negatives(negatives)
        self.query_length, self.passage_length, self.separator = query_length, passage_length, separator

    def losses(self, represented: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The one loss, ``contrastive``, of vectors as ``represent`` names them."""
        loss = contrastive(
            represented["queries"],
            represented["passages"],
            negatives=self.negatives,
            temperature=self.temperature,
            similarity=self.similarity,
        )
        return {"contrastive": loss}

    def save(self, folder: Path) -> None:
        """The encoder, its tokenizer and, if any, its projector."""
        save_model(self.encoder.model, self.tokenizer, folder)
        if self.encoder.projector is not None:
            self.encoder.projector.save(folder, encodes=True)
