"""Records handed out: read by the library of the format, held against what the format asks for."""

import getpass
import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from repro.machine.code_digest import code as code_of
from repro.store.results import line_of, record_of
from tests.cli.conftest import CELL
from tests.floats import close

SELECTED = (CELL, "--scale", "tiny")


@pytest.fixture
def crate(repro, measured):
    """``crate(*options)``: the folder of a deposit of CELL, and its entities by id."""

    def export(*options) -> tuple[Path, dict[str, dict]]:
        folder = measured / "crate"
        said = repro("export", "records", *SELECTED, "--to", "ro-crate", "-o", folder, *options)
        assert said.status == 0, said.err
        metadata = json.loads((folder / "ro-crate-metadata.json").read_text())
        assert metadata["@context"] == "https://w3id.org/ro/crate/1.3/context"
        return folder, {entity["@id"]: entity for entity in metadata["@graph"]}

    return export


def values_of(entity: dict) -> list:
    """Every value of an entity's properties, those of lists one by one."""
    values = [value for key, value in entity.items() if not key.startswith("@")]
    return [one for value in values for one in (value if isinstance(value, list) else [value])]


def by_name(entities: dict, name: str) -> list[dict]:
    return [entity for entity in entities.values() if entity.get("name") == name]


def test_a_deposit_has_what_ro_crate_1_3_asks_for(crate):
    from rocrate.rocrate import ROCrate
    from rocrate.vocabs import RO_CRATE

    folder, entities = crate()
    about = entities["ro-crate-metadata.json"]
    assert about["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.3"}
    assert (about["@type"], about["about"]) == ("CreativeWork", {"@id": "./"})
    root = entities["./"]
    assert root["@type"] == "Dataset"
    assert {"name", "description", "datePublished", "license"} <= set(root)
    terms = RO_CRATE["@context"]
    for entity in entities.values():
        kinds = [entity["@type"]] if isinstance(entity["@type"], str) else entity["@type"]
        assert {*kinds, *(key for key in entity if not key.startswith("@"))} <= set(terms), entity
        for value in values_of(entity):
            assert isinstance(value, str | int | float) or set(value) == {"@id"}, entity
            if isinstance(value, dict) and not value["@id"].startswith("https://w3id.org/ro/crate/"):
                assert value["@id"] in entities, value
    read = ROCrate(folder)
    assert {entity.id for entity in read.data_entities} == {part["@id"] for part in root["hasPart"]}


def test_every_file_of_a_deposit_is_the_one_that_its_digest_tells(crate):
    folder, entities = crate()
    parts = [entities[part["@id"]] for part in entities["./"]["hasPart"]]
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert there == {part["@id"] for part in parts} | {"ro-crate-metadata.json"}
    for part in parts:
        content = (folder / part["@id"]).read_bytes()
        assert int(part["contentSize"]) == len(content)
        if "sha256" in part:
            assert part["sha256"] == hashlib.sha256(content).hexdigest()
    assert sum("sha256" in part for part in parts) == 1  # the scores; records are written here


def test_a_deposit_tells_number_verdict_code_libraries_machine_and_data(crate, measured):
    folder, entities = crate()
    lines = (folder / "records.jsonl").read_bytes()
    assert lines == (measured / "results/records/tiny/costa.jsonl").read_bytes()
    record = json.loads(lines)
    [number] = by_name(entities, f"{CELL} at scale tiny, measured")
    assert (number["value"], number["propertyID"]) == (record["measured"], "RR@10")
    told = {entities[one["@id"]]["name"]: entities[one["@id"]]["value"] for one in number["valueReference"]}
    assert told[f"{CELL}, published"] == 0.187
    assert (told["verdict"], told["seed"], told["queries"]) == ("scaled", "the paper's own", 150)
    assert told["machine cores"] == record["environment"]["hardware"]["cores"]
    [recorded] = [e for e in entities.values() if e.get("result") == {"@id": number["@id"]}]
    suite = entities[recorded["instrument"]["@id"]]
    libraries = {entities[one["@id"]]["name"]: entities[one["@id"]] for one in suite["hasPart"]}
    assert libraries["numpy"]["version"] == record["environment"]["software"]["numpy"]
    assert libraries["numpy"]["identifier"] == f"pkg:pypi/numpy@{libraries['numpy']['version']}"
    if commit := record["environment"]["commit"]:
        assert entities[suite["identifier"]["@id"]]["value"] == commit
    made = [e for e in entities.values() if e["@type"] == "CreateAction" and e["name"].startswith("stage ")]
    assert {e["name"].split()[1].rstrip(",") for e in made} == {
        *("corpus", "queries", "qrels", "lucene_index", "bm25", "evaluate")
    }
    for action in made:
        code = entities[action["instrument"]["@id"]]
        stage = action["name"].split()[1].rstrip(",")
        identifiers = code["identifier"] if isinstance(code["identifier"], list) else [code["identifier"]]
        values = {entities[one["@id"]]["name"]: entities[one["@id"]]["value"] for one in identifiers}
        assert values["code"] == code_of(f"repro.retrieval.stages.{stage}").digest
        assert values.get("commit") == commit
        assert all("version" in entities[part["@id"]] for part in code.get("hasPart", ()) if "@id" in part)
        assert action["startTime"] <= action["endTime"]
    [data] = by_name(entities, "data")[:1]
    assert data["value"].startswith("rows:")


def test_a_record_whose_artefacts_are_gone_is_still_told_and_so_is_what_is_missing(crate, measured):
    for stage in ("evaluate", "corpus"):
        shutil.rmtree(measured / "store" / stage)
    folder, entities = crate()
    assert "2 of 6 artefacts were not in the store" in entities["./"]["description"]
    gone = [e for e in entities.values() if "no longer in the store" in e.get("description", "")]
    assert sorted(e["name"].split()[0] for e in gone) == ["corpus", "evaluate"]
    assert all("; parameters {" in e["description"] for e in gone)
    assert not (folder / "per-query").exists()
    shutil.rmtree(measured / "store")
    shutil.rmtree(folder)
    _, entities = crate()
    assert by_name(entities, f"{CELL} at scale tiny, measured")
    assert "1 of 1 artefacts were not in the store" in entities["./"]["description"]


def test_scores_that_were_altered_are_not_handed_out(repro, measured):
    [scores] = (measured / "store/evaluate").glob("*/scores.json")
    scores.write_text(scores.read_text().replace("1.0", "0.5", 1))
    said = repro("export", "records", *SELECTED, "--to", "ro-crate", "-o", measured / "crate")
    assert said.status == 2 and "damaged" in said.sentence
    assert not (measured / "crate").exists()


@pytest.mark.parametrize("form", ["ro-crate", "every-eval-ever"])
def test_a_record_that_the_stored_scores_contradict_is_not_handed_out(repro, measured, form):
    path = measured / "results/records/tiny/costa.jsonl"
    path.write_bytes(line_of(replace(record_of(path.read_bytes().strip()), measured=0.9)))
    said = repro("export", "records", *SELECTED, "--to", form, "-o", measured / "out")
    assert said.status == 2 and f"`repro run` records them anew): {CELL}" in said.err
    assert not (measured / "out").exists()


def test_nobody_is_named_unless_asked_for(crate, measured):
    folder, _ = crate()
    text = (folder / "ro-crate-metadata.json").read_text() + (folder / "records.jsonl").read_text()
    for name in (str(measured), str(Path.home()), f'"{getpass.getuser()}"', "@gmail", "author"):
        assert name not in text


@pytest.mark.parametrize(
    ("name", "kind"), [("https://orcid.org/0000-0001-2345-6789", "Person"), ("A Lab", "Organization")]
)
def test_who_publishes_and_under_which_licence_is_what_the_user_says(crate, name, kind):
    licence = "https://creativecommons.org/licenses/by/4.0/"
    _, entities = crate("--by", name, "--license", licence)
    author = entities[entities["./"]["author"]["@id"]]
    assert (author["name"], author["@type"]) == (name, kind)
    assert entities["./"]["license"] == {"@id": licence} and licence in entities


def test_what_is_not_recorded_cannot_be_exported(repro, folders):
    said = repro("export", "records", *SELECTED, "--to", "ro-crate", "-o", folders / "crate")
    assert said.status == 2
    assert said.sentence.startswith("there is no record of the selected cells at scale tiny to export; ")


def test_a_folder_that_holds_something_is_left_alone(repro, measured):
    (measured / "crate").mkdir()
    (measured / "crate/mine").touch()
    said = repro("export", "records", *SELECTED, "--to", "ro-crate", "-o", measured / "crate")
    assert said.status == 2 and "not empty" in said.sentence
    assert [path.name for path in (measured / "crate").iterdir()] == ["mine"]


def test_a_cell_is_logged_for_every_eval_ever_as_published_and_as_measured(repro, measured):
    from tests.plugins.deposit import every_eval_ever_0_3_0 as schema

    folder = measured / "logs"
    said = repro("export", "records", *SELECTED, "--to", "every-eval-ever", "-o", folder)
    assert said.status == 0 and said.err == ""
    assert said.out.startswith("1 logs of published numbers, 1 of ours\n")
    logs = [schema.Log.model_validate_json(path.read_text()) for path in folder.rglob("*.json")]
    published, ours = sorted(logs, key=lambda log: log.source_metadata.source_type)
    [line] = (measured / "results/records/tiny/costa.jsonl").read_text().splitlines()
    score = ours.evaluation_results[0].score_details
    assert published.evaluation_results[0].score_details.score == 0.187
    assert score.score == json.loads(line)["measured"]
    interval = score.uncertainty.confidence_interval
    assert interval.lower < score.score < interval.upper
    rows = (folder / ours.detailed_evaluation_results.file_path).read_text().splitlines()
    scores = [schema.Row.model_validate_json(row).evaluation.score for row in rows]
    close(sum(scores) / len(scores), score.score)


def test_a_licence_is_refused_where_the_form_has_no_place_for_it(repro, folders):
    options = ("--to", "every-eval-ever", "-o", folders / "logs", "--license", "https://example.org/licence")
    assert repro("export", "records", *SELECTED, *options).sentence.startswith(
        "--license is for --to ro-crate; "
    )


def test_an_exported_run_tells_the_resources_that_it_took_in_version_0_2(repro, measured):
    head = repro("export", "run", CELL, "--scale", "tiny", "--annotate", "0.2").out.splitlines()
    assert head[1] == "# schema version: 0.2"
    assert any(line.startswith("#     wallclock: ") and line.endswith(" ms") for line in head)
    plain = repro("export", "run", CELL, "--scale", "tiny", "--annotate").out.splitlines()
    assert plain[1] == "# schema-version: 0.1" and "# resources:" not in plain
