import hashlib

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from repro.errors import BlockedError, DataError
from repro.retrieval.nn.checkpoint import load_encoder, load_masked_lm, load_tokenizer
from repro.retrieval.stages import backbone, released
from tests.retrieval.datasets.folders import planned, write
from tests.tiny_models import save_tiny_model, tiny_masked_lm, tiny_tokenizer

NAME, A, B = "someone/checkpoint", "a" * 40, "b" * 40


def params(path):
    source = {"kind": "folder", "path": str(path)}
    return planned("backbone", name=NAME, revision="main", source=source)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache of the hub with two commits of one checkpoint; ``main`` is A."""
    for commit, seed in ((A, 1), (B, 2)):
        folder = tmp_path / "hub/models--someone--checkpoint/snapshots" / commit
        tiny_masked_lm(seed=seed).save_pretrained(folder)
        tiny_tokenizer().save_pretrained(folder)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    moved(tmp_path / "hub", A)
    return tmp_path / "hub"


def moved(cache, commit):
    write(cache / "models--someone--checkpoint/refs/main", commit)


@pytest.fixture
def no_network(monkeypatch):
    import socket

    asked = []
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *address, **_: asked.append(address))
    monkeypatch.setattr(socket.socket, "connect", lambda _, address: asked.append(address))
    return asked


def test_a_checkpoint_in_a_folder_is_taken_with_its_weights_and_tokenizer(model, tmp_path, progress):
    facts = backbone.run(params(model / "model"), {}, tmp_path, progress)
    assert facts["masked_language_head"] and facts["vocabulary"] == len(tiny_tokenizer())
    given, taken = load_masked_lm(model / "model"), load_masked_lm(tmp_path / "model")
    assert all((taken.state_dict()[name] == tensor).all() for name, tensor in given.state_dict().items())
    assert (tmp_path / "model/model.safetensors").exists()


def test_random_weights_of_a_checkpoint_are_drawn_by_their_seed(model, tmp_path, progress):
    asked = params(model / "model")
    drawn = []
    for seed in (1, 1, 2):
        backbone.run(asked | {"weights": "random", "seed": seed}, {}, tmp_path, progress)
        drawn.append(load_masked_lm(tmp_path / "model"))
    word = "bert.embeddings.word_embeddings.weight"
    first, again, other = (m.state_dict()[word] for m in drawn)
    assert (first == again).all() and not (first == other).all()
    released = load_masked_lm(model / "model")
    assert first.shape == released.state_dict()[word].shape
    assert not (first == released.state_dict()[word]).all()


def test_random_weights_may_have_another_number_of_layers(model, tmp_path, progress):
    asked = params(model / "model") | {"weights": "random", "seed": 1, "layers": 0}
    backbone.run(asked, {}, tmp_path, progress)
    assert len(load_masked_lm(tmp_path / "model").bert.encoder.layer) == 0


def test_a_checkpoint_without_a_head_is_written_without_one_and_in_float32(tmp_path, progress):
    source = tmp_path / "source"
    tiny_masked_lm().bert.half().save_pretrained(source)
    tiny_tokenizer().save_pretrained(source)
    (tmp_path / "out").mkdir()
    facts = backbone.run(params(source), {}, tmp_path / "out", progress)
    weights = load_file(tmp_path / "out/model/model.safetensors")
    assert not facts["masked_language_head"] and not [name for name in weights if "cls" in name]
    assert {tensor.dtype for tensor in weights.values()} == {np.dtype("float32")}
    assert load_encoder(tmp_path / "out/model").config.hidden_size == 32


def test_a_folder_without_a_checkpoint_is_blocked_with_a_remedy(tmp_path, progress):
    with pytest.raises(BlockedError) as caught:
        backbone.run(params(tmp_path / "nowhere"), {}, tmp_path, progress)
    assert "is not a checkpoint of someone/checkpoint" in caught.value.cause
    assert caught.value.remedy.startswith("put it (converted) into $REPRO_DATA/models/")


def test_the_commit_that_was_planned_is_taken_though_main_has_moved(cache, tmp_path, progress, no_network):
    params = planned("backbone", name=NAME, revision="main")
    moved(cache, B)
    facts = backbone.run(params, {}, tmp_path, progress)
    given, taken = tiny_masked_lm(seed=1), load_masked_lm(tmp_path / "model")
    assert all((taken.state_dict()[name] == tensor).all() for name, tensor in given.state_dict().items())
    assert facts["commit"] == A == params["identity"] and no_network == []


@pytest.mark.parametrize("stage", [backbone, released])
def test_a_commit_that_is_gone_is_blocked_with_a_remedy(cache, tmp_path, progress, stage, no_network):
    how = {"kind": "dense", "pooling": "cls"}
    params = planned("released", name=NAME, revision="main", **how)
    (cache / "models--someone--checkpoint/snapshots" / A).rename(tmp_path / "aside")
    moved(cache, B)
    with pytest.raises(BlockedError) as caught:
        stage.run(params, {}, tmp_path, progress)
    assert "\n" not in str(caught.value) and f"planned commit {A} of" in caught.value.cause
    assert "`repro data fetch model:someone/checkpoint`" in caught.value.remedy
    assert not (tmp_path / "model").exists() and no_network == []


def test_a_file_of_the_cache_that_is_not_what_its_name_says_is_refused(cache, tmp_path, progress):
    snapshot, blobs = cache / "models--someone--checkpoint/snapshots" / A, tmp_path / "hub/blobs"
    blobs.mkdir()
    for name, digest in (("model.safetensors", hashlib.sha256), ("config.json", _git_digest)):
        content = (snapshot / name).read_bytes()
        blob = (snapshot / name).rename(blobs / digest(content).hexdigest())
        (snapshot / name).symlink_to(blob)
    params = planned("backbone", name=NAME, revision="main")
    assert backbone.run(params, {}, tmp_path, progress)
    for name in ("model.safetensors", "config.json"):
        before = (snapshot / name).read_bytes()
        after = before.replace(b'"gelu"', b'"relu"') if name == "config.json" else before[:-4] + b"mend"
        (snapshot / name).write_bytes(after)
        words = f"{name}: differs from the hub's file. Remove .* and fetch it again"
        with pytest.raises(DataError, match=words):
            backbone.run(params, {}, tmp_path, progress)
        (snapshot / name).write_bytes(before)


def _git_digest(content):
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content))


def test_a_checkpoint_whose_weights_do_not_fit_is_blocked_and_never_filled_up_at_random(tmp_path, progress):
    folder = tmp_path / "foreign"
    save_tiny_model(folder)
    weights = load_file(folder / "model" / "model.safetensors")
    renamed = {f"encoder_{name}": tensor for name, tensor in weights.items()}
    save_file(renamed, folder / "model" / "model.safetensors", metadata={"format": "pt"})
    (tmp_path / "out").mkdir()
    with pytest.raises(BlockedError, match="do not fit"):
        backbone.run(params(folder / "model"), {}, tmp_path / "out", progress)


def test_seeds_release_becomes_an_architecture_that_is_read_again(tmp_path, progress):
    from tests.seed_release import CONFIG, made_up, retrieval_shapes, shapes, write_release

    weights = made_up(shapes(CONFIG) | retrieval_shapes(CONFIG))
    source = write_release(tmp_path / "seed", weights)
    (tmp_path / "out").mkdir()
    facts = backbone.run(params(source), {}, tmp_path / "out", progress)
    assert facts["retrieval_head"] == "trained" and not facts["masked_language_head"]
    again = load_encoder(tmp_path / "out/model")
    embeddings = weights["seed_encoder.encoder.sentence_encoder.embed_tokens.weight"]
    assert again.config.model_type == "roberta"
    assert (again.embeddings.word_embeddings.weight == embeddings).all()
    assert load_tokenizer(tmp_path / "out/model")("the")["input_ids"][0] == 0
