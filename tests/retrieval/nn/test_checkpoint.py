import json
import re
from pathlib import Path

import pytest

from repro.errors import BlockedError, DataError, UsageError
from repro.progress import Progress
from repro.retrieval.nn.checkpoint import load_encoder, load_masked_lm, load_tokenizer, positions, save_model
from repro.retrieval.stages import backbone, encode, released
from tests.retrieval.datasets.folders import planned
from tests.tiny_models import save_tiny_model

CODE = """
from pathlib import Path
Path(MARK).touch()
class Own: pass
"""


@pytest.fixture
def yes(monkeypatch):
    asked = []
    monkeypatch.setattr("builtins.input", lambda question="": asked.append(question) or "y")
    return asked


def with_code(tmp_path, **settings) -> Path:
    """A checkpoint that names code of its own, which leaves ``tmp_path/ran`` when it runs."""
    save_tiny_model(tmp_path)
    folder = tmp_path / "model"
    (folder / "own.py").write_text(CODE.replace("MARK", repr(str(tmp_path / "ran"))))
    names = ("AutoConfig", "AutoModel", "AutoModelForMaskedLM")
    own = {"auto_map": dict.fromkeys(names, "own.Own") | {"AutoTokenizer": ["own.Own", "own.Own"]}}
    for file in ("config.json", "tokenizer_config.json"):
        config = json.loads((folder / file).read_text())
        (folder / file).write_text(json.dumps(config | own | settings))
    return folder


def test_a_checkpoint_of_a_known_kind_is_read_by_the_librarys_own_class(tmp_path, yes):
    folder = with_code(tmp_path)
    model, tokenizer = load_masked_lm(folder), load_tokenizer(folder)
    assert type(model).__name__ == "BertForMaskedLM" and type(load_encoder(folder)).__name__ == "BertModel"
    save_model(model, tokenizer, tmp_path / "again")
    assert not (tmp_path / "ran").exists() and yes == []
    assert not [file for file in (tmp_path / "again").glob("*.json") if "auto_map" in file.read_text()]


@pytest.mark.parametrize("load", [load_encoder, load_masked_lm])
def test_a_checkpoint_of_a_kind_of_its_own_is_refused_in_one_sentence(tmp_path, yes, load):
    folder = with_code(tmp_path, model_type="own")
    with pytest.raises(DataError, match=r"\(it needs code that comes with it, which is never run here\)$"):
        load(folder)
    assert not (tmp_path / "ran").exists() and yes == []


def test_a_tokenizer_of_a_class_of_its_own_never_runs(tmp_path, yes):
    folder = with_code(tmp_path, tokenizer_class="Own", model_type="own")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(DataError, match="cannot be read as a model directory"):
        load_tokenizer(folder)
    assert not (tmp_path / "ran").exists() and yes == []


@pytest.mark.parametrize("stage", [backbone, released])
def test_stages_refuse_it_too_and_ask_nobody(tmp_path, yes, stage):
    source = {"kind": "folder", "path": str(with_code(tmp_path, model_type="own"))}
    params = planned("released", name="a/b", revision="main", kind="dense", pooling="cls", source=source)
    with pytest.raises(BlockedError, match="it needs code that comes with it, which is never run here"):
        stage.run(params, {}, tmp_path / "out", Progress())
    assert not (tmp_path / "ran").exists() and yes == []


@pytest.mark.parametrize("key", ["attn_implementation", "_attn_implementation"])
def test_a_kernel_of_the_hub_is_refused(tmp_path, key):
    folder = with_code(tmp_path, **{key: "somebody/kernel"})
    with pytest.raises(DataError, match=f"its {key} is 'somebody/kernel', code of the hub"):
        load_encoder(folder)


def test_an_adapter_is_refused_whether_or_not_a_library_knows_it(tmp_path):
    folder = with_code(tmp_path)
    (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "somebody/model"}')
    with pytest.raises(DataError, match=r"it has an adapter, adapter_config\.json, which is not known here"):
        load_encoder(folder)


def with_more_tokens(folder) -> Path:
    save_tiny_model(folder)
    tokenizer = load_tokenizer(folder / "model")
    tokenizer.add_tokens(["[Q]", "[D]"])
    tokenizer.save_pretrained(folder / "model")
    return folder


@pytest.mark.parametrize("stage", [backbone, released])
def test_a_checkpoint_with_more_tokens_than_embeddings_is_refused(tmp_path, stage):
    source = {"kind": "folder", "path": str(with_more_tokens(tmp_path) / "model")}
    params = planned("released", name="a/b", revision="main", kind="dense", pooling="cls", source=source)
    with pytest.raises(BlockedError, match="the tokenizer has 79 tokens and the embeddings 77 rows"):
        stage.run(params, {}, tmp_path / "out", Progress())


def test_what_encodes_holds_tokenizer_positions_and_embeddings_against_each_other(tmp_path):
    (tmp_path / "queries.jsonl").write_text('{"id": "1", "text": "[Q] the river"}')
    inputs = {"model": with_more_tokens(tmp_path / "m"), "texts": tmp_path}
    how = {"kind": "queries", "separator": "", "normalize": False, "precision": "fp32", "pooling": "cls"}
    with pytest.raises(DataError, match="the tokenizer has 79 tokens and the embeddings 77 rows"):
        encode.run(how | {"length": 24}, inputs, tmp_path, Progress())
    with pytest.raises(UsageError, match="a length of 65 tokens is more than the model's 64 positions"):
        encode.run(how | {"length": 65}, inputs, tmp_path, Progress())


def test_positions_are_counted_behind_that_of_padding():
    from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel, T5Config, T5EncoderModel

    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    sizes |= {"vocab_size": 20, "max_position_embeddings": 40}
    assert positions(BertModel(BertConfig(**sizes))) == 40
    assert positions(RobertaModel(RobertaConfig(**sizes))) == 38
    small = T5Config(vocab_size=20, d_model=8, d_ff=8, num_layers=1, num_heads=1, d_kv=8)
    assert positions(T5EncoderModel(small)) is None


def test_one_function_alone_reads_checkpoints():
    root = Path(__file__).resolve().parents[3]
    files = [*(root / "repro").rglob("*.py"), *(root / "papers").rglob("*.py")]
    callers = [file for file in files if re.search(r"\.from_pretrained\(", file.read_text())]
    assert [file.name for file in callers] == ["checkpoint.py"]


def test_what_is_saved_of_a_tokenizer_does_not_depend_on_the_texts_it_read_last(tmp_path):
    save_tiny_model(tmp_path)
    model, tokenizer = load_encoder(tmp_path / "model"), load_tokenizer(tmp_path / "model")
    files = []
    for length, padding in ((8, False), (16, "max_length")):
        tokenizer(["some words"], truncation=True, max_length=length, padding=padding)
        save_model(model, tokenizer, tmp_path / f"cut at {length}")
        files.append({path.name: path.read_bytes() for path in (tmp_path / f"cut at {length}").iterdir()})
        assert tokenizer.backend_tokenizer.truncation["max_length"] == length
    assert files[0] == files[1] and "tokenizer.json" in files[0]
    kept = load_tokenizer(tmp_path / "cut at 8")
    assert kept.backend_tokenizer.truncation is None and kept.backend_tokenizer.padding is None
    text = "some words that are more than eight tokens of a tokenizer " * 3
    assert kept(text).input_ids == tokenizer(text).input_ids
