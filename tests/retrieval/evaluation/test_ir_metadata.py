import pytest
import yaml

from repro.errors import StoreError
from repro.retrieval.evaluation.run_writer import (
    END,
    START,
    complete_metadata,
    header,
    read_metadata,
    resources,
)

ENVIRONMENT = {
    "commit": "abc",
    "hardware": {
        "cpu": "A CPU",
        "cores": 2,
        "architecture": "x86_64",
        "gpu": None,
        "memory_gib": 8,
        "system": "L",
    },
    "software": {"numpy": "2.4"},
}


def test_the_header_is_yaml_behind_comment_marks_between_its_two_lines():
    first, *body, last = header({"tag": "t", "actor": {"team": "é: # x"}}).splitlines()
    assert (first, last) == (START, END) == ("# ir_metadata.start", "# ir_metadata.end")
    assert all(line.startswith("# ") for line in body)
    content = yaml.safe_load("\n".join(line[2:] for line in body))
    assert content == {"schema-version": 0.1, "tag": "t", "actor": {"team": "é: # x"}}


def test_what_the_suite_knows_is_put_under_the_schemas_keys_and_what_it_does_not_is_absent():
    known = {"tag": "t", "method": {"automatic": True}, "data": {"test collection": {"name": "old"}}}
    found = complete_metadata(
        known, collection={"name": "x", "ir_datasets": "x"}, measures=["RR@10"], environment=ENVIRONMENT
    )
    assert found == {
        "tag": "t",
        "method": {"automatic": True},
        "data": {"test collection": {"name": "x", "ir_datasets": "x"}},
        "research goal": {"evaluation": {"reported measures": ["RR@10"]}},
        "platform": {
            "hardware": {
                "cpu": {"model": "A CPU", "architecture": "x86_64", "number of cores": 2},
                "ram": "8 GiB",
            },
            "operating system": {"kernel": "L"},
            "software": {"libraries": ["numpy==2.4"]},
        },
        "implementation": {"source": {"lang": ["Python"], "commit": "abc"}},
    }
    assert complete_metadata(known, collection={}, measures=[], environment={}) == known


def test_the_gpus_of_a_machine_are_one_text_as_the_model_of_its_cpu_is():
    environment = {"hardware": {"gpu": ["A GPU, 1 MiB", "B GPU, 2 MiB"]}}
    platform = complete_metadata({}, collection={}, measures=[], environment=environment)["platform"]
    assert platform["hardware"]["gpu"] == {"model": "A GPU, 1 MiB; B GPU, 2 MiB"}


def test_a_damaged_file_is_told(tmp_path):
    path = tmp_path / "run.ir_metadata.yml"
    path.write_text("a: [")
    with pytest.raises(StoreError, match="damaged"):
        read_metadata(path)


def test_version_0_2_states_its_number_under_its_own_key_and_once():
    _, first, *_ = header({"schema-version": 0.1, "tag": "t"}, version="0.2").splitlines()
    assert first == "# schema version: 0.2"
    assert "schema-version" not in header({"schema-version": 0.1}, version="0.2")


def test_resources_are_what_the_artefact_took_and_nothing_where_its_facts_are_silent():
    facts = {"finished": "2026-01-02T03:04:05+00:00", "seconds": 1.5, "peak_memory_kib": 2048, "lines": 3}
    assert resources(facts) == {
        "runtime": {
            "start time": "2026-01-02T03:04:03.500+00:00",
            "stop time": "2026-01-02T03:04:05+00:00",
            "wallclock": "1500 ms",
        },
        "ram": {"used process": {"max": 2048}},
    }
    assert resources({"lines": 3}) == {}


@pytest.mark.parametrize("key", ["schema-version: 0.1", "schema version: 0.2", "schema version: '0.2'"])
@pytest.mark.parametrize(
    "marks", [("", ""), ("ir_metadata.start\n", "ir_metadata.end\n"), (START + "\n", END + "\n")]
)
def test_both_versions_are_read_with_and_without_their_marks(tmp_path, key, marks):
    path = tmp_path / "run.ir_metadata.yml"
    path.write_text(f"{marks[0]}{key}\ntag: t\nresources:\n  runtime: {{wallclock: 2 ms}}\n{marks[1]}")
    read = read_metadata(path)
    assert (read["tag"], read["resources"]) == ("t", {"runtime": {"wallclock": "2 ms"}})


def test_a_version_that_is_not_known_is_refused(tmp_path):
    path = tmp_path / "run.ir_metadata.yml"
    path.write_text("schema-version: 0.3\n")
    with pytest.raises(StoreError, match=r"ir_metadata 0\.3 is not known here, 0\.1 and 0\.2 are"):
        read_metadata(path)


@pytest.mark.parametrize("text", ["a: " + "[" * 10**5, "a: " + "b" * 2**21])
def test_metadata_of_a_peer_without_an_end_is_damaged(tmp_path, text):
    path = tmp_path / "run.ir_metadata.yml"
    path.write_text(text)
    with pytest.raises(StoreError, match=r"run.ir_metadata.yml: damaged"):
        read_metadata(path)
