import pytest
import torch

from repro.retrieval.nn.batches import side_inputs as side
from repro.retrieval.nn.bi_encoder import CosineBiEncoder
from repro.retrieval.nn.checkpoint import load_encoder
from repro.retrieval.nn.contrastive import four_block_contrastive, in_batch_contrastive
from tests.floats import close
from tests.retrieval.nn.parted_objectives import COSINES
from tests.tiny_models import tiny_tokenizer

OPTIONS = COSINES | {"temperature": 0.02, "terms": "four-blocks", "weight": 1.0, "pooling": "cls"}
OPTIONS |= {"separator": "pair", "warmup_steps": 4}
EXAMPLES = [
    {
        "query": f"{query} of the castle",
        "passages": [
            {"title": query, "text": f"the {query} was in battle"},
            {"title": "", "text": f"{other} music"},
            {"title": other, "text": "weather " * 20},
        ],
    }
    for query, other in [("king", "storm"), ("river", "stone"), ("ship", "sailor"), ("queen", "glass")]
]


def objective(start, **changes):
    return CosineBiEncoder(load_encoder(start), tiny_tokenizer(), **OPTIONS | changes)


def vectors(start, inputs):
    return load_encoder(start)(**inputs).last_hidden_state[:, 0]


def test_the_loss_may_be_that_of_mean_vectors(start):
    bi_encoder = objective(start, pooling="mean")
    batch, means = bi_encoder.collate(EXAMPLES), []
    for name in ("query_", "passage_"):
        inputs = side(batch, name)
        texts = zip(load_encoder(start)(**inputs).last_hidden_state, inputs["attention_mask"], strict=True)
        means.append(torch.stack([hidden[mask.bool()].mean(dim=0) for hidden, mask in texts]))
    expected = four_block_contrastive(*means, temperature=0.02)
    close(bi_encoder(batch)["contrastive"], expected)


@pytest.mark.parametrize("separator", ["pair", "[SEP]"])
def test_the_loss_is_that_of_the_last_layers_cls_vectors(start, separator):
    bi_encoder = objective(start, separator=separator)
    batch = bi_encoder.collate(EXAMPLES)
    assert ("passage_token_type_ids" in batch) is (separator == "pair")
    queries, passages = (vectors(start, side(batch, name)) for name in ("query_", "passage_"))
    expected = four_block_contrastive(queries, passages, temperature=0.02)
    close(bi_encoder(batch)["contrastive"], expected)


def test_the_query_alone_is_the_in_batch_loss_with_cosines(start):
    queries, passages = torch.randn(4, 5), torch.randn(12, 5)
    expected = in_batch_contrastive(queries, passages, temperature=0.02, similarity="cosine")
    assert objective(start, terms="query").contrastive(queries, passages).item() == expected.item()


def test_the_weight_multiplies_the_loss(start):
    batch = objective(start).collate(EXAMPLES)
    whole, eighth = (objective(start, weight=weight)(batch)["contrastive"] for weight in (1.0, 0.125))
    close(eighth, whole.item() / 8)


def test_shares_of_a_batch_do_not_meet(start):
    halves = [objective(start).collate(part) for part in (EXAMPLES[:2], EXAMPLES[2:])]
    expected = sum(objective(start)(half)["contrastive"].item() for half in halves) / 2
    whole = objective(start, shares=2)(objective(start).collate(EXAMPLES))["contrastive"]
    close(whole, expected)
    uneven = objective(start, shares=2)(objective(start).collate(EXAMPLES[:3]))["contrastive"]
    alone = objective(start)(objective(start).collate(EXAMPLES[2:3]))["contrastive"]
    close(uneven, (2 * objective(start)(halves[0])["contrastive"] + alone).item() / 3)


def test_the_scale_warms_up_from_1_with_the_steps_of_training_only(start):
    warming = objective(start, temperature_warmup=True)
    batch = warming.collate(EXAMPLES)
    temperatures = []
    for _ in range(6):
        temperatures.append(float(warming.warmed(0.02)))
        warming.eval()
        warming(batch)
        warming.train()
        warming(batch)
    scales = [max(1.0, min(1.0, step / 4) / 0.02) for step in range(6)]
    assert scales[:3] == [1.0, 12.5, 25.0] and scales[-2:] == [50.0, 50.0]
    assert temperatures == pytest.approx([1 / s for s in scales])
    assert warming.steps == 6 and "steps" in warming.state_dict()
    assert objective(start).warmed(0.02) == 0.02


def test_what_is_saved_encodes_alike(start, tmp_path):
    bi_encoder = objective(start).eval()
    bi_encoder.save(tmp_path / "tuned")
    batch = bi_encoder.collate(EXAMPLES)
    queries = bi_encoder.represent(batch)["queries"]
    close(vectors(tmp_path / "tuned", side(batch, "query_")), queries)
