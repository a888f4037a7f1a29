import pytest

from repro.retrieval.nn.checkpoint import load_masked_lm, load_tokenizer, save_model
from repro.retrieval.stages import initialise
from tests.tiny_models import tiny_masked_lm, tiny_tokenizer

PARAMS = {"hidden_size": 32, "layers": 2, "heads": 4, "intermediate_size": 48, "max_positions": 40}
PARAMS |= {"dropout": 0.1, "seed": 1}


@pytest.fixture
def tokenizer(tmp_path):
    tiny_tokenizer().save_pretrained(tmp_path / "tokenizer/model")
    return tmp_path / "tokenizer"


def weights(folder) -> bytes:
    return (folder / "model/model.safetensors").read_bytes()


def test_a_model_has_the_asked_size_over_the_tokenizers_vocabulary(tokenizer, tmp_path, progress):
    facts = initialise.run(PARAMS, {"tokenizer": tokenizer}, tmp_path, progress)
    model = load_masked_lm(tmp_path / "model")
    config = model.config
    assert (config.hidden_size, config.num_hidden_layers, config.num_attention_heads) == (32, 2, 4)
    assert (config.intermediate_size, config.max_position_embeddings) == (48, 40)
    assert config.vocab_size == len(tiny_tokenizer()) == facts["vocabulary"]
    assert facts["parameters"] == model.num_parameters()
    query = model.bert.encoder.layer[0].attention.self.query
    assert query.weight.std().item() == pytest.approx(0.02, rel=0.1)
    assert load_tokenizer(tmp_path / "model").get_vocab() == tiny_tokenizer().get_vocab()


def test_a_narrow_model_may_begin_with_a_wider_spread(tokenizer, tmp_path, progress):
    initialise.run(PARAMS | {"deviation": 0.07}, {"tokenizer": tokenizer}, tmp_path, progress)
    query = load_masked_lm(tmp_path / "model").bert.encoder.layer[0].attention.self.query
    assert query.weight.std().item() == pytest.approx(0.07, rel=0.1)


def test_weights_depend_on_the_seed_only(tokenizer, tmp_path, progress):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        (tmp_path / name).mkdir()
        initialise.run(PARAMS | {"seed": seed}, {"tokenizer": tokenizer}, tmp_path / name, progress)
    assert weights(tmp_path / "a") == weights(tmp_path / "b") != weights(tmp_path / "c")


def test_a_saved_model_is_read_back_by_transformers_itself(tmp_path):
    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

    save_model(tiny_masked_lm(), tiny_tokenizer(), tmp_path / "model")
    assert AutoModel.from_pretrained(tmp_path / "model").config.hidden_size == 32
    assert AutoModelForMaskedLM.from_pretrained(tmp_path / "model").config.hidden_size == 32
    assert AutoTokenizer.from_pretrained(tmp_path / "model")("the king")["input_ids"][0] == 2
