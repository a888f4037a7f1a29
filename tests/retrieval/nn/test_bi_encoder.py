import pytest
import torch

from repro.retrieval.nn.batches import side_inputs as side
from repro.retrieval.nn.bi_encoder import BiEncoderContrastive
from repro.retrieval.nn.checkpoint import load_encoder
from repro.retrieval.nn.contrastive import contrastive
from repro.retrieval.nn.encoder import Projector, load_text_encoder, saved_projector
from repro.stage_table import POOLINGS
from tests.floats import close
from tests.retrieval.nn.parted_objectives import BI_ENCODER
from tests.tiny_models import tiny_tokenizer

OPTIONS = BI_ENCODER | {
    "temperature": 1.0,
    "similarity": "dot",
    "negatives": "in-batch",
    "projector": "none",
    "projector_start": "pre-trained",
}
EXAMPLES = [
    {
        "query": "the king of the castle",
        "passages": [{"title": "king", "text": "the king was in battle"}, {"title": "", "text": "music"}],
    },
    {
        "query": "river",
        "passages": [
            {"title": "river bridge", "text": "a stone bridge"},
            {"title": "storm", "text": "weather " * 30},
        ],
    },
]


def objective(start, **changes):
    return BiEncoderContrastive(load_encoder(start), tiny_tokenizer(), **OPTIONS | changes | {"start": start})


def test_title_and_text_are_one_sequence_joined_by_the_separator_token(start):
    batch = objective(start).collate(EXAMPLES)
    tokens = [" ".join(tiny_tokenizer().convert_ids_to_tokens(row)) for row in batch["passage_input_ids"]]
    assert tokens[0].split(" [PAD]")[0] == "[CLS] king [SEP] the king was in battle [SEP]"
    assert tokens[1].split(" [PAD]")[0] == "[CLS] music [SEP]"
    assert batch["passage_input_ids"].shape == (4, 12) and batch["query_input_ids"].shape == (2, 7)
    assert tokens[3].endswith("weather [SEP]")
    assert set(batch) == {
        f"{s}_{kind}" for s in ("query", "passage") for kind in ("input_ids", "attention_mask")
    }


def test_queries_are_cut_to_their_own_length(start):
    assert objective(start, query_length=4).collate(EXAMPLES)["query_input_ids"].shape == (2, 4)


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("negatives", ["in-batch", "own", "pairwise"])
def test_the_loss_is_the_contrastive_loss_of_the_encoded_batch(start, negatives, pooling):
    how = {"temperature": 0.5, "similarity": "cosine", "negatives": negatives}
    bi_encoder = objective(start, pooling=pooling, **how)
    batch = bi_encoder.collate(EXAMPLES)
    hidden = [load_encoder(start)(**side(batch, name)).last_hidden_state for name in ("query_", "passage_")]
    masks = [batch[f"{name}_attention_mask"].bool() for name in ("query", "passage")]
    queries, passages = (
        torch.stack([text[0] if pooling == "cls" else text[there].mean(dim=0) for text, there in texts])
        for texts in (zip(*pair, strict=True) for pair in zip(hidden, masks, strict=True))
    )
    close(bi_encoder(batch)["contrastive"], contrastive(queries, passages, **how))


def test_queries_and_passages_share_one_encoder(start):
    bi_encoder = objective(start)
    batch = bi_encoder.collate(EXAMPLES)
    queries = {name.replace("query", "passage"): rows for name, rows in batch.items() if "query" in name}
    bi_encoder(batch | queries)["contrastive"].backward()
    assert all(p.grad is not None for p in bi_encoder.parameters())


def test_a_projector_of_the_same_architecture_is_trained_on_and_kept_for_encoding(start, tmp_path):
    pretrained = Projector(32, architecture="nonlinear", layers=1, initializer_range=0.5)
    pretrained.save(start, encodes=False)
    bi_encoder = objective(start, projector="nonlinear")
    assert (bi_encoder.encoder.projector.dense.weight == pretrained.dense.weight).all()
    bi_encoder.save(tmp_path / "tuned")
    kept, encodes = saved_projector(tmp_path / "tuned")
    assert encodes and (kept.dense.weight == pretrained.dense.weight).all()
    afresh = objective(start, projector="linear").encoder.projector.dense.weight.detach()
    assert (afresh != pretrained.dense.weight).any() and afresh.std().item() == pytest.approx(0.02, rel=0.2)


def test_a_new_projector_leaves_the_pre_trained_one_but_not_one_that_was_fine_tuned(start):
    saved = Projector(32, architecture="nonlinear", layers=1, initializer_range=0.5)
    for encodes in (False, True):
        saved.save(start, encodes=encodes)
        found = objective(start, projector="nonlinear", projector_start="new").encoder.projector
        assert bool((found.dense.weight == saved.dense.weight).all()) is encodes


def test_without_a_projector_none_is_kept(start, tmp_path):
    Projector(32, architecture="nonlinear", layers=1, initializer_range=0.5).save(start, encodes=False)
    bi_encoder = objective(start)
    bi_encoder.save(tmp_path / "tuned")
    assert saved_projector(tmp_path / "tuned") is None
    vectors = load_text_encoder(tmp_path / "tuned", pooling="cls").eval()
    batch = bi_encoder.eval().collate(EXAMPLES)
    close(vectors(side(batch, "query_")), bi_encoder.encoder(side(batch, "query_")))
