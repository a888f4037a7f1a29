import json

import pytest

from repro.errors import BlockedError
from repro.graph import Node
from repro.manifest.papers import Checkpoint, check_on_hub
from repro.running.requirements import Machine

BACKBONE = Node("backbone", {"name": "some/bert", "revision": "main"})


def _model(root, text):
    folder = root / "models/some/bert"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(text)
    (folder / "model.safetensors").write_bytes(b"")
    return Machine(root).resolve(BACKBONE)


def test_two_checkpoints_of_one_name_are_told_apart_by_their_bytes(tmp_path):
    one, two = _model(tmp_path / "a", "{}"), _model(tmp_path / "b", "{ }")
    assert one.fingerprint != two.fingerprint
    assert one.fingerprint == _model(tmp_path / "c", "{}").fingerprint


def test_a_folder_without_weights_is_no_checkpoint(tmp_path):
    folder = tmp_path / "models/some/bert"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    machine = Machine(tmp_path)
    node = machine.resolve(BACKBONE)
    assert "repro data fetch model:some/bert" in machine.obstacles[node.fingerprint].remedy
    (folder / "pytorch_model.bin").write_bytes(b"")
    machine = Machine(tmp_path)
    assert machine.resolve(BACKBONE).fingerprint not in machine.obstacles


def test_half_precision_without_a_gpu_is_an_obstacle(monkeypatch):
    monkeypatch.setattr("repro.machine.system.gpu", lambda: [])
    machine = Machine()
    node = machine.resolve(Node("search", {}, {"passages": Node("encode", {"precision": "fp16"})}))
    encode = node.inputs["passages"]
    assert "needs a GPU" in machine.obstacles[encode.fingerprint].cause
    machine.leave()
    assert machine.obstacles == {}


def test_what_is_recorded_of_files_that_are_not_here_is_planned_with_and_still_missing(tmp_path):
    node = Node("corpus", {"dataset": "cranfield"})
    (tmp_path / "cranfield").mkdir()
    (tmp_path / "cranfield/corpus.jsonl").write_text(json.dumps({"_id": "1", "title": "", "text": "x"}))
    here = Machine(tmp_path).resolve(node)
    absent = Machine(recorded={"cranfield documents": here.params["identity"]})
    found = absent.resolve(node)
    assert found.fingerprint == here.fingerprint != Machine().resolve(node).fingerprint
    assert "cranfield" in absent.obstacles[found.fingerprint].cause
    edited = Machine(tmp_path, recorded={"cranfield documents": "sha256:other"}).resolve(node)
    assert edited.fingerprint == here.fingerprint  # what is here is known by its bytes


def test_a_recorded_checkpoint_that_is_not_here_is_planned_with_and_still_missing(tmp_path):
    here = _model(tmp_path, "{}")
    absent = Machine(recorded={"model:some/bert@main": here.params["identity"]})
    found = absent.resolve(BACKBONE)
    assert found.fingerprint == here.fingerprint != Machine().resolve(BACKBONE).fingerprint
    assert "repro data fetch model:some/bert" in absent.obstacles[found.fingerprint].remedy


def test_an_edited_collection_has_another_identity(tmp_path):
    def corpus(root, text):
        (root / "cranfield").mkdir(parents=True)
        (root / "cranfield/corpus.jsonl").write_text(json.dumps({"_id": "1", "title": "", "text": text}))
        return Machine(root).resolve(Node("corpus", {"dataset": "cranfield"}))

    assert corpus(tmp_path / "a", "x").fingerprint != corpus(tmp_path / "b", "y").fingerprint
    assert corpus(tmp_path / "c", "x").fingerprint == corpus(tmp_path / "d", "x").fingerprint


def test_missing_data_can_be_planned_with_and_says_how_to_get_it():
    machine = Machine()
    node = machine.resolve(Node("corpus", {"dataset": "beir/fiqa"}))
    assert node.params["identity"].startswith("library:beir/fiqa")
    assert "repro data fetch beir/fiqa" in machine.obstacles[node.fingerprint].remedy
    other = machine.resolve(Node("queries", {"dataset": "small/beir/fiqa/test"}))
    assert machine.obstacles[other.fingerprint].cause == "scale small has no replacement of beir/fiqa/test"


def _spans(splitter):
    corpus = Node("corpus", {"dataset": "tiny/document"})
    params = {"policy": "spans", "splitter": splitter, "length": 16}
    return Node("tokenize", params, {"corpus": corpus, "model": Node("initialise", {}, {})})


def test_java_is_of_the_machine_and_data_are_not(monkeypatch):
    monkeypatch.setattr("repro.machine.system.missing_java", lambda: ("no Java", "install it"))
    machine = Machine()
    index = machine.resolve(Node("lucene_index", {}, {"corpus": Node("corpus", {"dataset": "beir/fiqa"})}))
    corpus = index.inputs["corpus"]
    assert set(machine.obstacles) == {index.fingerprint, corpus.fingerprint}
    machine.leave()
    assert set(machine.obstacles) == {corpus.fingerprint}


def test_a_splitter_without_its_model_is_an_obstacle_and_rules_need_none(tmp_path):
    machine = Machine(tmp_path)
    missing = machine.resolve(_spans("nltk"))
    assert "rules" in machine.obstacles[missing.fingerprint].remedy
    assert machine.resolve(_spans("rules")).fingerprint not in machine.obstacles


def test_a_splitter_is_known_by_the_bytes_of_its_model(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    model = tmp_path / "nltk_data/tokenizers/punkt_tab/english"
    model.mkdir(parents=True)
    prints = set()
    for text in ("one", "other"):
        (model / "abbrev_types.txt").write_text(text)
        prints.add(Machine(tmp_path).resolve(_spans("nltk")).fingerprint)
    assert len(prints) == 2


def test_an_architecture_that_nothing_reads_is_an_obstacle_before_and_after_it_is_here(tmp_path, monkeypatch):
    entries = {"some/bert": Checkpoint(model_type="half_a_bert")}
    monkeypatch.setattr("repro.running.requirements.known_checkpoints", lambda: entries)
    machine = Machine(tmp_path)
    absent = machine.resolve(BACKBONE)
    here = _model(tmp_path, json.dumps({"model_type": "half_a_bert"}))
    machine_here = Machine(tmp_path)
    assert machine_here.resolve(BACKBONE).fingerprint == here.fingerprint
    for obstacles, node in ((machine.obstacles, absent), (machine_here.obstacles, here)):
        obstacle = obstacles[node.fingerprint]
        assert "'half_a_bert', which neither transformers nor the suite reads" in obstacle.cause
        assert f"{tmp_path.name}" in obstacle.remedy or "models/some/bert" in obstacle.remedy
        assert obstacle.fetch == ()


def test_seeds_architecture_is_read_as_a_backbone_and_not_as_an_encoder_to_search_with(tmp_path):
    folder = tmp_path / "models/some/bert"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text('{"model_type": "seed_encoder"}')
    (folder / "pytorch_model.bin").write_bytes(b"")
    for stage, read in (("backbone", True), ("released", False)):
        machine = Machine(tmp_path)
        params = BACKBONE.params | ({} if read else {"kind": "dense", "pooling": "cls"})
        node = machine.resolve(Node(stage, params))
        assert (node.fingerprint not in machine.obstacles) is read


def test_what_no_hub_has_says_where_it_is_and_is_not_fetched():
    machine = Machine()
    name = "microsoft/seed-encoder-3-layer-decoder"
    node = machine.resolve(Node("backbone", {"name": name, "revision": "main"}))
    obstacle = machine.obstacles[node.fingerprint]
    assert "SEED-Encoder-3-decoder-layers.tar" in obstacle.remedy and f"models/{name}" in obstacle.remedy
    assert obstacle.fetch == () and obstacle.otherwise == obstacle.remedy
    with pytest.raises(BlockedError, match="is not on the hub"):
        check_on_hub(name)
    check_on_hub("bert-base-uncased")
