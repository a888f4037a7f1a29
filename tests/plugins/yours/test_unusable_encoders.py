from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from repro.errors import ReproError
from repro.plugins.yours.encoders import UserEncoder
from tests.retrieval.stages.test_encode_by_library import dense, plain, splade
from tests.tiny_models import SPECIAL, tiny_masked_lm, tiny_tokenizer

SIZES = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
SETTINGS = "config_sentence_transformers.json"
pytestmark = pytest.mark.filterwarnings("ignore")


def edited(file: str, **values):
    def change(folder: Path):
        path = folder / file
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def replaced(file: str, old: str, new: str):
    def change(folder: Path):
        text = (folder / file).read_text()
        assert old in text
        (folder / file).write_text(text.replace(old, new))

    return change


def without(*files: str):
    return lambda folder: [(folder / file).unlink() for file in files]


def with_weights(change):
    def write(folder: Path):
        weights = load_file(folder / "model.safetensors")
        name = next(name for name in weights if "query.weight" in name)
        value = change(weights.pop(name))
        others = {} if value is None else {name: value}
        save_file(weights | others, folder / "model.safetensors", metadata={"format": "pt"})

    return write


def with_tokens(folder: Path):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["[Q]", "[D]"])
    tokenizer.save_pretrained(folder)


def with_vocabulary(words: int, special=SPECIAL):
    def write(folder: Path):
        from transformers import BertTokenizer

        tokens = ("word", *special) if special != SPECIAL else special
        names = (*tokens, *(f"w{n}" for n in range(words - len(tokens))))
        BertTokenizer(vocab={name: place for place, name in enumerate(names)}).save_pretrained(folder)

    return write


def model_of(name: str, **settings):
    def write(folder: Path):
        import transformers

        kind = getattr(transformers, name)
        config = kind.config_class(vocab_size=len(tiny_tokenizer()), **SIZES | settings)
        shutil.rmtree(folder)
        plain(folder, kind(config))

    return write


def pickled(folder: Path):
    (folder / "model.safetensors").unlink()
    torch.save({"a": Path("b")}, folder / "pytorch_model.bin")


def pointer_in(file: str):
    def write(folder: Path):
        lines = "version https://git-lfs.github.com/spec/v1", f"oid sha256:{64 * '0'}", "size 667176", ""
        (folder / file).write_text("\n".join(lines))

    return write


PULL = "is a Git LFS pointer instead of the file itself; run `git lfs pull` in its folder"
TOKENIZER = "tokenizer_config.json"


def all_of(*changes):
    return lambda folder: [change(folder) for change in changes]


CASES = {
    "pointers": (pointer_in("model.safetensors"), f"it: model.safetensors {PULL}"),
    "a pointer of a head": (pointer_in("2_Dense/model.safetensors"), f"2_Dense/model.safetensors {PULL}"),
    "a pointer of a tokenizer": (pointer_in("tokenizer.json"), f"tokenizer.json {PULL}"),
    "a pointer of settings": (pointer_in(SETTINGS), f"{SETTINGS} {PULL}"),
    "two pointers": (
        all_of(pointer_in("model.safetensors"), pointer_in("tokenizer.json")),
        "model.safetensors, tokenizer.json are Git LFS pointers",
    ),
    "no token for padding": (edited(TOKENIZER, pad_token=None), "the tokenizer has no padding token"),
    "padding at the left": (
        all_of(edited("1_Pooling/config.json", pooling_mode="cls"), edited(TOKENIZER, padding_side="left")),
        "the vector of a text changes with the other texts of its batch (cosine 0.",
    ),
    "tokens added": (with_tokens, "79 tokens and the embeddings 77 rows: tokens were added"),
    "a word for padding": (with_vocabulary(70, SPECIAL[::-1]), "for padding and 'word' to the tokenizer"),
    "another's padding": (model_of("RobertaModel", max_position_embeddings=66), "pads with token 0"),
    "too long": (
        edited("sentence_bert_config.json", max_seq_length=512),
        "more than the model's 64 positions",
    ),
    "a weight is missing": (with_weights(lambda weight: None), "its weights do not fit BertModel: "),
    "weights that are no numbers": (with_weights(lambda w: w * float("nan")), "a text is not finite"),
    "no weights": (without("model.safetensors"), "no file named model.safetensors"),
    "objects in weights": (pickled, "a pickle that holds more than tensors, which is never read here"),
    "no weights of a head": (without("2_Dense/model.safetensors"), "Could not find 'model.safetensors'"),
    "a head of another size": (edited("2_Dense/config.json", in_features=64), "size mismatch"),
    "a pooling that is none": (edited("1_Pooling/config.json", pooling_mode="median"), "'median'"),
    "code of its own": (replaced("modules.json", "pooling.Pooling", "pooling.Pulling"), "Pulling"),
    "code of others": (replaced("modules.json", "sentence_transformers.", "else."), "is never run here"),
    "a folder outside": (replaced("modules.json", "1_Pooling", "../1_Pooling"), "without '..' components"),
    "broken modules": (lambda folder: (folder / "modules.json").write_text("{"), "cannot be read"),
    "a default without a prompt": (edited(SETTINGS, default_prompt_name="x"), "name 'x' not found"),
    "a distance": (edited(SETTINGS, similarity_fn_name="manhattan"), "set one of dot, cosine, euclidean"),
    "late interaction": (edited(SETTINGS, similarity_fn_name="maxsim"), "does not use the similarity"),
    "a cross-encoder": (edited(SETTINGS, model_type="CrossEncoder"), "makes no vectors"),
    "a kernel of the hub": (edited("config.json", attn_implementation="a/b"), "code of the hub"),
    "a classifier": (model_of("BertForSequenceClassification"), "classifier.bias belongs to a head"),
}


@pytest.mark.parametrize("change, said", CASES.values(), ids=CASES)
def test_an_unusable_folder_is_refused(tmp_path, change, said):
    dense(("Dense", 32, 16), max_seq_length=None)(tmp_path)
    change(tmp_path / "it")
    with pytest.raises(ReproError) as refused:
        UserEncoder.find(str(tmp_path / "it"), None, {})
    assert said in str(refused.value) and "\n" not in str(refused.value)
    assert refused.value.exit_status in (2, 4)
    asks_for_files = "put all of its files there" in str(refused.value)
    assert asks_for_files == ("no file" in said or "Could not find" in said)


@pytest.mark.parametrize(
    "facts, said",
    [
        ({"kind": "splade"}, "is a SentenceTransformer, not of kind splade. Remove kind"),
        ({"passage_length": 100}, "100 tokens is more than the model's 64 positions"),
        ({"precision": "fp16"}, "needs a CUDA GPU"),
        ({"query_model": "{}/narrow/it"}, "passages have 32 dense numbers, but queries 16 dense"),
        ({"query_model": "{}/sparse/it"}, "passages have 32 dense numbers, but queries 77 sparse"),
        ({"query_model": "{}/sparse/it", "pooling": "cls"}, "is a sparse encoder. Remove pooling"),
        ({"colour": "red"}, "'colour' is not a known key of an encoder"),
        ({"separator": 5}, "separator of an encoder cannot be 5"),
        ({"truncate_dim": 0}, "truncate_dim of an encoder is 0. It must be at least 1"),
        ({"truncate_dim": 100_000}, "truncate_dim is 100,000, but vectors have 32 numbers"),
    ],
)
def test_what_does_not_fit_the_folder_is_refused(tmp_path, facts, said):
    if torch.cuda.is_available() and "precision" in facts:
        pytest.skip("half precision is there on a GPU")
    dense()(tmp_path)
    if "query_model" in facts:
        dense(("Dense", 32, 16))(tmp_path / "narrow")
        splade(tmp_path / "sparse")
    with pytest.raises(ReproError) as refused:
        filled = {
            name: value.format(tmp_path) if name == "query_model" else value for name, value in facts.items()
        }
        UserEncoder.find(str(tmp_path / "it"), None, filled)
    assert said in str(refused.value)


def test_a_plain_folder_is_refused_for_a_head_that_it_lacks(tmp_path):
    plain(tmp_path / "it", tiny_masked_lm().bert)
    for facts in ({"pooling": "pooler"}, {"kind": "splade"}):
        with pytest.raises(ReproError, match=r"do not fit \w+: [\w.]+ is missing"):
            UserEncoder.find(str(tmp_path / "it"), None, facts)


def test_a_model_of_the_suite_with_layers_that_the_library_does_not_read_is_refused(tmp_path):
    (plain(tmp_path / "it") / "projector.safetensors").touch()
    with pytest.raises(ReproError, match="`repro export encoder` converts it"):
        UserEncoder.find(str(tmp_path / "it"), None, {})


def test_an_adapter_needs_its_library_and_its_model(tmp_path, monkeypatch):
    dense()(tmp_path)
    base = {"base_model_name_or_path": "nobody/nothing", "peft_type": "LORA"}
    (tmp_path / "it/adapter_config.json").write_text(json.dumps(base))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ReproError, match=r"pip install 'repro-bench\[adapters\]'"):
        UserEncoder.find(str(tmp_path / "it"), None, {})
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    with pytest.raises(ReproError, match="is an adapter of nobody/nothing, which is not on this machine"):
        UserEncoder.find(str(tmp_path / "it"), None, {})


def test_a_small_difference_between_batches_is_a_note(tmp_path, monkeypatch):
    dense(max_seq_length=None)(tmp_path)
    assert UserEncoder.find(str(tmp_path / "it"), None, {}).faults == ()
    change, _ = CASES["padding at the left"]
    change(tmp_path / "it")
    monkeypatch.setattr("repro.plugins.yours.encoders.LEAST_COSINE", -1)
    _, *notes = UserEncoder.find(str(tmp_path / "it"), None, {}).notes
    assert [note.partition(" (")[0].partition(":")[0] for note in notes] == ["passages", "queries"]
    assert all("so scores depend slightly on the batches" in note for note in notes)
