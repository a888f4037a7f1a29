"""Every objective that is trained in parts, small, with examples for it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import torch
from torch import nn

from repro.retrieval.nn.bi_encoder import BiEncoderContrastive, CosineBiEncoder, DistilledBiEncoder
from repro.retrieval.nn.cross_encoder import CrossEncoder
from repro.retrieval.nn.multi_view_bi_encoder import MultiViewBiEncoder
from repro.retrieval.nn.objectives import MaskedLanguageModel, NeighbouringSentences
from repro.retrieval.training.declaration import Execution
from repro.retrieval.training.parts import Parts, backward_in_parts
from tests.floats import close
from tests.retrieval.nn.text_contrast import OPTIONS, TextContrast
from tests.tiny_models import tiny_masked_lm, tiny_text, tiny_tokenizer

COUNT = 5  # examples: not as many for each of two processes
LENGTHS = {"query_length": 8, "passage_length": 12, "separator": "[SEP]"}
COSINES = LENGTHS | {
    "temperature": 0.1,
    "temperature_warmup": False,
    "shares": 1,
    "weight": 0.5,
    "pooling": "mean",
    "warmup_steps": 0,
}
VIEWS = LENGTHS | {
    "views": ["dense", "sparse"],
    "top_k": 20,
    "vocabulary_head": "transform",
    "dense_reduction": None,
    "sparse_truncation": {"after": "saturation", "queries": True, "passages": True},
    "sparse_positions": {"cls": False, "sep": False},
    "hybrid_similarity": ["dense", "sparse"],
    "similarity": "dot",
    "view_objective": "both",
    "contrastive_denominator": "softmax",
    "in_batch_negatives": "batch",
    "temperature": 5.0,
    "flops_vectors": "before",
    "start": Path("none"),
    "flops_weight": {"queries": 0.5, "passages": 0.25, "ramp_steps": 0},
    "distillation": {"direction": "teacher-student", "contrastive_weight": 0.5, "teacher_temperature": 1.0},
}
BI_ENCODER = LENGTHS | {
    "temperature": 0.5,
    "similarity": "cosine",
    "projector": "linear",
    "projector_start": "new",
    "pooling": "cls",
    "start": Path("none"),
}
NAMES = (
    "mlm",
    "summed mlm",
    "neighbours",
    "contrast",
    "in-batch",
    "own",
    "pairwise",
    "four blocks",
    "distillation",
    "views",
    "own views",
    "cross-encoder",
    "r-drop",
)


class Halves(nn.Dropout):
    def forward(self, rows):
        if not self.training:
            return rows
        places, half = torch.arange(rows.shape[-1], device=rows.device) % 3, len(rows) // 2
        return torch.cat((rows[:half] * (places != 0), rows[half:] * (places != 1)))


class Texts:
    def __init__(self, name: str, count: int = COUNT):
        self.ranks, self.count = not ("mlm" in name or name in ("neighbours", "contrast")), count

    def __len__(self) -> int:
        return self.count

    def __getitems__(self, places):
        return [self._ranked(*place) if self.ranks else self._tokens(*place) for place in places]

    def _tokens(self, epoch: int, index: int) -> dict:
        text = tiny_text(np.random.default_rng(index), 8 + 5 * index)
        ids = tiny_tokenizer()(text, add_special_tokens=False)["input_ids"]
        return {"input_ids": np.array(ids), "epoch": epoch, "index": index}

    def _ranked(self, epoch: int, index: int) -> dict:
        generator = np.random.default_rng((epoch, index))
        passages = [{"title": tiny_text(generator, 1), "text": tiny_text(generator, 5)} for _ in range(3)]
        scores = generator.normal(size=3).tolist()
        return {"query": tiny_text(generator, 3), "passages": passages, "scores": scores}


def batch_in_parts(made: nn.Module, name: str, size: int, indices=range(COUNT)) -> list[dict]:
    examples = Texts(name).__getitems__([(0, index) for index in indices])
    return Parts(made.collate, Execution(micro_batch=size))(examples)


def objective(name: str, *, dropout: float = 0.0) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return _objective(name, tiny_masked_lm(dropout=dropout), tiny_tokenizer())


def _objective(name: str, model, tokenizer) -> nn.Module:
    for parameter in model.parameters():  # else all vectors are alike, and so are all losses
        if parameter.dim() == 2:
            parameter.data *= 6
    if "mlm" in name:
        return MaskedLanguageModel(
            model, tokenizer, reduction="sum" if name.startswith("summed") else "mean", **OPTIONS
        )
    if name == "neighbours":
        return NeighbouringSentences(model, tokenizer, sentence_end=".", **OPTIONS)
    if name == "contrast":
        return TextContrast(model, tokenizer, **OPTIONS)
    if "views" in name:
        negatives = {"in_batch_negatives": "own"} if "own" in name else {}
        return MultiViewBiEncoder(model, tokenizer, **VIEWS | negatives)
    if name in ("cross-encoder", "r-drop"):
        return _cross_encoder(model, tokenizer, reads_twice=name == "r-drop")
    if name in ("in-batch", "own", "pairwise"):
        return BiEncoderContrastive(model.base_model, tokenizer, **BI_ENCODER, negatives=name)
    if name == "four blocks":
        return CosineBiEncoder(model.base_model, tokenizer, terms="four-blocks", **COSINES)
    teacher = {"teacher_temperature": 2.0, "student_temperature": 0.2}
    return DistilledBiEncoder(model.base_model, tokenizer, terms="query", **COSINES, **teacher)


def _cross_encoder(model, tokenizer, *, reads_twice: bool) -> nn.Module:
    from transformers import BertForSequenceClassification

    model.config.num_labels = 1
    made = BertForSequenceClassification(model.config)
    for parameter in (made.bert.pooler.dense.weight, made.classifier.weight):
        parameter.data *= 20
    made.bert.load_state_dict(model.bert.state_dict(), strict=False)
    if reads_twice:
        made.bert.embeddings.dropout = made.dropout = Halves(0.1)
    return CrossEncoder(
        made, tokenizer, trained_passages=2, regulariser="r-drop", passage_length=20, separator="[SEP]"
    )


def cached_is_uncached(name: str, way: Callable[[nn.Module, bool], AbstractContextManager]) -> None:
    """Hold the cached gradient of a batch in parts against the uncached one, both of the same dropout.

    In the context ``way(made, False)`` the same dropout falls on other places: the gradient must differ.
    """
    found = {}
    for how in ("cached", "uncached", "as always"):
        made = objective(name, dropout=0.3).double().train()
        pieces = [
            {key: v.double() if v.is_floating_point() else v for key, v in piece.items()}
            for piece in batch_in_parts(made, name, 2)
        ]
        torch.manual_seed(7)
        with way(made, how != "as always"):
            if how == "cached":
                backward_in_parts(made, pieces, backward=torch.Tensor.backward)
            else:
                encoded = [made.represent(piece) for piece in pieces]
                together = {key: torch.cat([some[key] for some in encoded]) for key in encoded[0]}
                sum(made.losses(together).values()).backward()
        found[how] = {key: p.grad.numpy() for key, p in made.named_parameters() if p.grad is not None}
    close(found["cached"], found["uncached"])
    other = found["as always"]
    assert any(abs(value - other[key]).max() > 1e-4 for key, value in found["uncached"].items())


def check_gradient(made: nn.Module, batch: dict[str, torch.Tensor], *, is_coarse: bool = False) -> None:
    """Hold the gradient of all layers against the rise of the losses along one random direction."""
    step, share = (3e-5, 0.05) if is_coarse else (1e-6, 1e-4)
    layers = [p for name, p in made.named_parameters() if "layer" in name and p.requires_grad]
    generator = torch.Generator().manual_seed(0)
    ways = [torch.randn(p.shape, generator=generator, dtype=p.dtype) for p in layers]
    sum(made(batch).values()).backward()
    pairs = list(zip(layers, ways, strict=True))
    slope = sum((p.grad * way).sum().item() for p, way in pairs if p.grad is not None)

    def moved(distance: float) -> float:
        with torch.no_grad():
            for parameter, way in pairs:
                parameter.add_(way, alpha=distance)
            return sum(made(batch).values()).item()

    above, below = moved(step), moved(-2 * step)
    assert abs(slope) > 1e-3
    assert abs((above - below) / (2 * step) - slope) < share * abs(slope), ((above - below) / 2 / step, slope)
