"""A small objective whose pre-training losses are of the whole batch, in place of a paper's."""

import torch

from repro.retrieval.nn.contrastive import in_batch_contrastive
from repro.retrieval.nn.encoder import Projector, span_means
from repro.retrieval.nn.masked_tokens import mlm_loss, mlm_rows
from repro.retrieval.nn.objectives import BatchLoss, MaskedPretraining

OPTIONS = {"masking": {"rate": 0.3, "mask": 0.8, "random": 0.1}, "length": 24, "seed": 7}


class TextContrast(MaskedPretraining, BatchLoss):
    name, version = "text-contrast", 1

    def __init__(self, model, tokenizer, *, masking, length, seed):
        super().__init__()
        self.encoder, self.tokenizer = model, tokenizer
        self.masking, self.length, self.seed = masking, length, seed
        self.projector = Projector.of(model.config, "nonlinear", layers=1)

    def represent(self, batch):
        hidden = self.hidden(batch["masked_ids"], batch["attention_mask"])
        ends = batch["attention_mask"].sum(dim=1)
        whole = torch.stack((torch.zeros_like(ends), ends), dim=1).unsqueeze(1)
        rows = {"texts": self.projector(hidden[:, 0]), "means": span_means(hidden, whole).squeeze(1)}
        return mlm_rows(hidden, self.encoder.cls, batch["labels"]) | rows

    def losses(self, represented):
        pair = represented["texts"], represented["means"]
        contrast = in_batch_contrastive(*pair, temperature=0.5, similarity="cosine")
        return mlm_loss(represented, reduction="mean") | {"contrastive": contrast}

    def save(self, folder):
        super().save(folder)
        self.projector.save(folder, encodes=False)
