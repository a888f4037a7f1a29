"""CoT-MAE v2's pre-training against its equations written a second time, on made-up states and weights."""

from __future__ import annotations

import pytest
import torch

from oracles.declaration import Mutation
from repro.retrieval.nn.masked_tokens import IGNORED
from tests.papers.cotmae_v2 import written_again as again
from tests.papers.cotmae_v2.pretraining import OPTIONS, made, rows
from tests.papers.scalars import tanh, value
from tests.papers.written_twice import Leaves, named, notices, random, uncollected
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

__all__ = ["uncollected"]
WIDTH, LENGTH = 4, 7
IDS = {f"{name}_id": getattr(tiny_tokenizer(), f"{name}_token_id") for name in ("cls", "sep", "pad")}
AE, AR = "auto_encoding", "auto_regressive"
READINGS = {
    "defaults": {},
    "vocabulary-head": {"vocabulary_head": "plain"},
    "detached-embeddings": {"detached_embeddings": "everywhere"},
    "sparse-pooling-positions, all but the first and last": {
        "sparse_positions": {"cls": False, "sep": "between"}
    },
    "sparse-pooling-positions, all but padding": {"sparse_positions": {"cls": True, "sep": True}},
    "sparse-pooling-positions, with [SEP]": {"sparse_positions": {"cls": False, "sep": True}},
    "token-loss-reduction": {"token_loss_reduction": "sum"},
    "causal-targets": {"causal_targets": False},
    "view-losses": {"view_losses": "mean"},
    "decoder-sharing": {"decoder_sharing": False},
    "bottleneck-slot": {"bottleneck_slot": "prepend"},
    "encoded-texts": {"encoded_texts": "both"},
    "decoder-contexts": {"decoder_contexts": "same"},
    "bottleneck-input": {"bottleneck_input": "clean"},
    "Table 4, dense": {"views": ["dense"]},
    "Table 4, sparse": {"views": ["sparse"]},
    "Table 4, auto-encoding": {"decoders": [AE]},
    "Table 4, auto-regressive": {"decoders": [AR]},
}
OBJECTIVE = "papers.cotmae_v2.multi_view_autoencoder:MultiViewAutoEncoder"
SPARSE = "repro.retrieval.nn.view_encoder:"
CHANGED = [  # a case that notices, and a change
    ("defaults", Mutation(SPARSE + "max_log_saturated", "logits = head(states)", "logits = -head(states)")),
    ("defaults", Mutation(SPARSE + "max_log_saturated", "-torch.inf", "torch.inf")),
    ("defaults", Mutation(SPARSE + "max_log_saturated", ".relu().log1p()", ".relu()")),
    ("defaults", Mutation(SPARSE + "kept_positions", "if not is_kept:", "if is_kept:")),
    ("defaults", Mutation(OBJECTIVE + ".bottlenecks", "hidden[:, 0]", "-hidden[:, 0]")),
    ("defaults", Mutation(OBJECTIVE + ".bottlenecks", "@ embeddings", "@ -embeddings")),
    ("defaults", Mutation(OBJECTIVE + ".bottlenecks", "weight.detach()", "weight")),
    ("defaults", Mutation(OBJECTIVE + ".logits", "hidden if self.plain", "hidden if not self.plain")),
    (
        "defaults",
        Mutation(OBJECTIVE + ".logits", "embeddings, head.decoder.bias", "-embeddings, head.decoder.bias"),
    ),
    (
        "defaults",
        Mutation(OBJECTIVE + ".logits", "embeddings, head.decoder.bias", "embeddings, -head.decoder.bias"),
    ),
    ("detached-embeddings", Mutation(OBJECTIVE + ".logits", "weight.detach()", "weight")),
    ("defaults", Mutation(OBJECTIVE + ".forward", "self.weight * loss", "-self.weight * loss")),
    ("bottleneck-input", Mutation(OBJECTIVE + ".forward", 'batch["encoder_clean"]', 'batch["encoder_ids"]')),
    ("bottleneck-input", Mutation(OBJECTIVE + ".forward", "names and self.clean", "not self.clean")),
    ("view-losses", Mutation(OBJECTIVE + ".forward", "self.weight * loss", "loss")),
    ("encoded-texts", Mutation(OBJECTIVE + ".decode", "vectors[batch", "-vectors[batch")),
    ("defaults", Mutation(OBJECTIVE + "._cross_entropy", "return chunked", "return -chunked")),
    ("defaults", Mutation("papers.cotmae_v2.decoders:decoded", "embedded[:, 1:]", "embedded[:, :-1]")),
    ("bottleneck-slot", Mutation("papers.cotmae_v2.decoders:decoded", "[:, 1:]\n", "[:, :-1]\n")),
    ("defaults", Mutation("papers.cotmae_v2.masked_texts:causal", "ids[1:]", "ids[:-1]")),
    ("causal-targets", Mutation("papers.cotmae_v2.masked_texts:causal", "if not with_sep", "if with_sep")),
]


class Mixing(torch.nn.Module):
    """In the place of a decoder: every position sees itself and, as far as its own weight goes, the first."""

    def __init__(self, weight: float):
        super().__init__()
        self.weight = weight

    def forward(self, states: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        return torch.tanh(states + self.weight * states[:, :1])


def objective(**changes):
    """The objective with stand-ins for its decoders, and weights of all that Eqs. 4 and 11 have."""
    autoencoder = made(length=LENGTH, **changes)
    model = tiny_masked_lm(hidden_size=WIDTH, dropout=0.0).double()
    autoencoder.encoder = model
    for at, name in enumerate(autoencoder.decoders):
        autoencoder.decoders[name] = Mixing(0.5 + 0.25 * at)
    embeddings, head = model.bert.embeddings, model.cls.predictions
    parts = {
        "words": embeddings.word_embeddings.weight,
        "biases": head.bias,
        "weights": head.transform.dense.weight,
        "shifts": head.transform.dense.bias,
        "scale": head.transform.LayerNorm.weight,
        "shift": head.transform.LayerNorm.bias,
    }
    for seed, parameter in enumerate(parts.values()):
        parameter.data = random(*parameter.shape, seed=seed, scale=0.7)
    assert head.decoder.weight is parts["words"] and head.decoder.bias is parts["biases"]
    return autoencoder, parts


def check(**changes):
    """Eqs. 3 to 14: the encoder's states, all embeddings and the head are made up."""
    autoencoder, parts = objective(**changes)
    batch = autoencoder.collate(rows(2))
    hidden = random(*batch["encoder_ids"].shape, WIDTH, seed=20)
    embedded = {name: random(*batch[f"{name}_ids"].shape, WIDTH, seed=21) for name in autoencoder.names}
    clean = {"clean": random(*hidden.shape, seed=22)} if "bottleneck_input" in changes else {}
    leaves = Leaves(hidden=hidden, **clean, **embedded, **parts)
    unmasked = batch["encoder_clean"]
    autoencoder.encode = lambda batch: clean["clean"] if batch["encoder_ids"] is unmasked else hidden
    given = {id(batch[f"{name}_ids"]): embedded[name] for name in autoencoder.names}
    autoencoder.encoder.bert.embeddings.forward = lambda input_ids: given[id(input_ids)]
    losses = autoencoder(batch)
    leaves.held(
        sum(losses.values()),
        lambda n: Written(n, batch, OPTIONS | changes).total(autoencoder),
        case=f"{__name__} {changes}",
    )


class Written:
    """Eq. 14 of a batch, whose arrays are read text by text, without padding."""

    def __init__(self, inputs, batch, options):
        self.inputs, self.batch, self.options = inputs, batch, options
        names = {"weights": "weights", "biases": "shifts", "scales": "scale", "shifts": "shift"}
        self.head = {name: inputs[given] for name, given in names.items()}

    def total(self, autoencoder):
        """Eq. 14; the stand-ins for the decoders are those of the objective."""
        encoder = self.loss("encoder", self.inputs["hidden"])
        views = []
        for view in self.options["views"]:
            vectors, pair = self.vectors(view), {AE: 0.0, AR: 0.0}
            for name in self.options["decoders"]:
                key = name if self.options["decoder_sharing"] else f"{name}_{view}"
                pair[name] = self.loss(name, self.decoded(name, vectors, autoencoder.decoders[key].weight))
            views.append((pair[AE], pair[AR]))
        return again.total(encoder, views, reduction=self.options["view_losses"])

    def texts(self, side):
        """The tokens of each text as they were before masking."""
        arrays = (self.batch[f"{side}_{name}"] for name in ("clean", "attention"))
        return [ids[: int(there.sum())].tolist() for ids, there in zip(*arrays, strict=True)]

    def vectors(self, view):
        """DEN, or SPR brought to the hidden size, of each text that is encoded."""
        states_of = self.inputs["clean" if "clean" in self.inputs else "hidden"]  # bottleneck-input
        if view == "dense":
            return [again.dense_view(states) for states in states_of]
        head = self.head if self.options["vocabulary_head"] == "transform" else None
        words = self.inputs["words"]
        cut = [[value(one) for one in row] for row in words]
        there, vectors = (cut if self.options["detached_embeddings"] == "everywhere" else words), []
        for states, tokens in zip(states_of, self.texts("encoder"), strict=True):
            logits = [again.word_logits(state, there, self.inputs["biases"], head) for state in states]
            positions = again.pooled_positions(tokens, **IDS, **self.options["sparse_positions"])
            vectors.append(again.bottleneck(again.sparse_view(logits, positions), words))
        return vectors

    def decoded(self, name, vectors, weight):
        """The states at each context's tokens; a stand-in mixes each position with the first."""
        found, slot = [], self.options["bottleneck_slot"]
        sources = self.batch[f"{name}_sources"].tolist()
        for embedded, tokens, source in zip(self.inputs[name], self.texts(name), sources, strict=True):
            states = again.decoder_input(vectors[source], embedded[: len(tokens)], slot=slot)
            mixed = [[tanh(x + weight * y) for x, y in zip(one, states[0], strict=True)] for one in states]
            found.append(mixed[1:] if slot == "prepend" else mixed)
        return found

    def loss(self, side, states):
        """Eq. 9, 12 or 13 from the states at each text's tokens."""
        predictions, labels = [], self.batch[f"{side}_labels"]
        for one, tokens, wanted in zip(states, self.texts(side), labels, strict=True):
            words, biases = self.inputs["words"], self.inputs["biases"]
            masked = (wanted != IGNORED).nonzero().flatten().tolist()
            logits = [
                again.word_logits(state, words, biases, self.head) if side == AR or at in masked else None
                for at, state in enumerate(one)
            ]
            if side == AR:
                ends = {"sep_id": IDS["sep_id"], "pad_id": IDS["pad_id"]}
                how = ends | {"with_sep": self.options["causal_targets"]}
                predictions.append(again.causal_predictions(logits, tokens, **how))
            else:
                predictions.append(again.masked_predictions(logits, tokens, masked))
        return again.token_loss(predictions, reduction=self.options["token_loss_reduction"])


@pytest.mark.parametrize("case", READINGS.values(), ids=READINGS)
def test_both_writings_give_one_loss_and_one_gradient(case):
    check(**case)


@pytest.mark.parametrize(("case", "changed"), CHANGED, ids=named)
def test_a_changed_equation_is_noticed(case, changed):
    assert notices(changed, check, READINGS[case])
