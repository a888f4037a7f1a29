"""A deposit of records as an RO-Crate 1.3: numbers, verdicts and everything that they were made from.

Each artefact is a ``Dataset`` whose files are listed by digest, and the result of a ``CreateAction`` whose
instrument is the code that ran and whose objects are the inputs. The folder holds records and the scores of
every query, and no other file: those of other artefacts hold texts and weights that others license.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from io import BytesIO
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from urllib.parse import quote

from repro.exchange.history import Account, Artefact, History
from repro.graph import canonical
from repro.manifest.papers import Paper
from repro.store import read_json
from repro.store.disk import whole_folder
from repro.store.results import line_of

HOMES = {"python": "https://www.python.org/", "java": "https://openjdk.org/"}  # of what is no package

Reference = dict[str, str]


class Entities(dict[str, dict[str, Any]]):
    """The properties of entities by id; an entity that several need is added once."""

    def entity(self, place: str, kind: str | list[str], /, **properties: Any) -> Reference:
        """Add an entity unless it is there, without what is None or empty; returns the reference to it."""
        nonempty = {name: value for name, value in properties.items() if value not in (None, [], "")}
        values = {name: v[0] if isinstance(v, list) and len(v) == 1 else v for name, v in nonempty.items()}
        self.setdefault(place, {"@type": kind, **values})
        return {"@id": place}

    def value(self, place: str, name: str, value: Any, **properties: Any) -> Reference:
        """Add a number or text as a PropertyValue; what is neither is written as JSON."""
        scalar = value if isinstance(value, str | int | float) else canonical(value)
        return self.entity(place, "PropertyValue", name=name, value=scalar, **properties)


def suite(entities: Entities, environment: Mapping[str, Any]) -> Reference:
    """The suite at the commit, and with the libraries, that a record's environment names."""
    commit, software = environment.get("commit"), environment.get("software", {})
    return _script(
        entities,
        f"#repro/{_digest([commit, software])}",
        "repro.__main__",
        name="repro",
        version=software.get("repro-bench"),
        identifier=entities.value(f"#commit/{commit}", "commit", commit) if commit else None,
        programmingLanguage=_python(entities, software),
        hasPart=_libraries(entities, software),
    )


def stage(entities: Entities, artefact: Artefact) -> Reference:
    """The code that made an artefact, by its digest and commit as far as the artefact records them."""
    facts, module = artefact.facts, f"repro.retrieval.stages.{artefact.stage}"
    code_facts = {name: facts.get(name) for name in ("repro", "code", "commit", "libraries")}
    identifiers = {"code": facts.get("code"), "commit": facts.get("commit")}
    return _script(
        entities,
        f"#stage/{artefact.stage}/{_digest(code_facts)}",
        module,
        name=f"repro, stage {artefact.stage}",
        version=facts.get("repro"),
        identifier=[entities.value(f"#{k}/{v}", k, v) for k, v in identifiers.items() if v],
        hasPart=_libraries(entities, facts.get("libraries", {})),
    )


def _script(entities: Entities, place: str, module: str, **properties: Any) -> Reference:
    """Code of the suite that lies in no crate; ``localPath`` is where a checkout has it."""
    path = module.replace(".", "/") + ".py"
    kind = ["File", "SoftwareSourceCode"]
    return entities.entity(place, kind, localPath=path, encodingFormat="text/x-python", **properties)


def _python(entities: Entities, software: Mapping[str, str]) -> Reference | None:
    """The language in the version that ran; None where no version is told, which the format asks for."""
    if "python" not in software:
        return None
    kind, version = ["ComputerLanguage", "SoftwareApplication"], software["python"]
    properties = {"name": "Python", "version": version, "url": HOMES["python"]}
    return entities.entity(f"#software/python/{version}", kind, **properties)


def _libraries(entities: Entities, versions: Mapping[str, str]) -> list[Reference]:
    return [
        entities.entity(
            f"#software/{quote(name)}/{quote(version)}",
            "SoftwareApplication",
            name=name,
            version=version,
            url=HOMES.get(name),
            identifier=None if name in HOMES else _package_url(name, version),
        )
        for name, version in versions.items()
        if name not in ("repro-bench", "python")
    ]


def _package_url(name: str, version: str) -> str:
    """Return the purl of a distribution: a name of the package that is no place to get it from."""
    return f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{quote(version)}"


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]


STATES = {
    "stored": "in the store when this was written; digests are those taken when it was made",
    "damaged": "damaged in the store when this was written: its files and how it was made are not listed",
    "missing": "no longer in the store when this was written: its files and how it was made are not known",
    "unknown": "of this artefact the store knew the fingerprint alone when this was written",
}
# of an artefact's facts, what properties of its entities tell
PROPERTIES = {"repro", "code", "commit", "libraries", "digest", "finished", "seconds"}


def add_record(entities: Entities, account: Account) -> None:
    """Add a record: what was measured, what was published, the verdict and the circumstances."""
    record, cell = account.record, account.compared.cell
    place = f"#{cell.id}/{record.scale}/{'own-seed' if record.seed is None else f'seed-{record.seed}'}"
    number = {"propertyID": record.measure, "unitText": record.unit}
    value = cell.text if cell.printed.value is None else float(cell.printed.value)
    source = _paper(entities, cell.paper)
    name = f"{cell.id}, published"
    published_value = entities.value(f"#{cell.id}/published", name, value, subjectOf=source, **number)
    circumstances = [
        entities.value(f"{place}/{quote(name)}", name, value)
        for name, value in _circumstances(account).items()
    ]
    name, references = f"{cell.id} at scale {record.scale}, measured", [published_value, *circumstances]
    measured_value = entities.value(place, name, record.measured, valueReference=references, **number)
    entities.entity(
        f"{place}/recorded",
        "CreateAction",
        name=f"record {name}",
        description="" if account.evaluations else "the evaluations it averages are not known any more",
        endTime=record.recorded,
        instrument=suite(entities, record.environment),
        object=[_artefact(fingerprint) for fingerprint in account.evaluations],
        result=measured_value,
    )


def add_artefact(entities: Entities, artefact: Artefact, places: Mapping[str, str]) -> None:
    """Add an artefact with its files and, where it is stored, how it was made.

    Args:
        places: names of its files that lie in the crate -> their ids.
    """
    reference, params, facts = (
        _artefact(artefact.fingerprint),
        artefact.identity.get("params", {}),
        artefact.facts,
    )
    place, inputs = reference["@id"], [_artefact(fingerprint) for fingerprint in artefact.inputs]
    identifiers = {
        "fingerprint": artefact.fingerprint,
        "data": params.get("identity"),
        "content": facts.get("digest"),
    }
    parameters = "" if artefact.state == "stored" or not params else f"; parameters {canonical(params)}"
    entities.entity(
        place,
        "Dataset",
        name=" ".join(filter(None, [artefact.stage, params.get("dataset"), artefact.fingerprint[:12]])),
        description=STATES[artefact.state] + parameters,
        identifier=[entities.value(f"{place}/{k}", k, v) for k, v in identifiers.items() if v],
        hasPart=[
            {"@id": places[name]} if name in places else _file(entities, artefact, name)
            for name in artefact.files
        ],
        isBasedOn=[] if artefact.state == "stored" else inputs,
    )
    if artefact.state == "stored":
        other_facts = {name: fact for name, fact in facts.items() if name not in PROPERTIES}
        entities.entity(
            f"{place}/made",
            "CreateAction",
            name=f"stage {artefact.stage}, version {artefact.identity['version']}",
            description=canonical(params),
            **_times(facts),
            instrument=stage(entities, artefact),
            object=inputs,
            result=[reference, entities.value(f"{place}/facts", "facts", other_facts)],
        )


def _artefact(fingerprint: str) -> Reference:
    return {"@id": f"#artefact/{fingerprint}"}


def _file(entities: Entities, artefact: Artefact, name: str) -> Reference:
    """A file that is not in the crate, by its digest; ``localPath`` is where a store has it."""
    size, digest = artefact.files[name]
    properties = {"name": name, "contentSize": str(size), "sha256": digest}
    properties["localPath"] = f"{artefact.stage}/{artefact.fingerprint}/{name}"
    properties["encodingFormat"] = guess_type(name)[0] or "application/octet-stream"
    return entities.entity(f"{_artefact(artefact.fingerprint)['@id']}/{quote(name)}", "File", **properties)


def _paper(entities: Entities, source: Paper) -> Reference:
    manifest = source.manifest
    arxiv = f"https://arxiv.org/abs/{manifest.arxiv}" if manifest.arxiv else f"#{source.name}"
    link = f"https://doi.org/{manifest.doi}" if manifest.doi else arxiv
    return entities.entity(link, "ScholarlyArticle", name=manifest.title, description=manifest.venue)


def _circumstances(account: Account) -> dict[str, Any]:
    """The record and verdict of a number as named texts; those that are not known are left out."""
    record, verdict = account.record, account.compared.verdict
    circumstances = {
        "verdict": verdict.name,
        "why": verdict.why,
        "scale": record.scale,
        "measured on": ", ".join(account.compared.measured_on) or None,
        "seed": "the paper's own" if record.seed is None else record.seed,
        "fingerprint": record.fingerprint,
        "doubts": "; ".join(map(str, account.compared.doubts)) or None,
        "documents of a query, fewer than the measure looks at": account.compared.cut_at,
        "queries": record.queries,
        "queries missing": record.missing,
        "run of others": record.origin or None,
    }
    circumstances |= {f"reading {name}": choice for name, choice in record.readings.items()}
    circumstances |= {f"substitute for {name}": why for name, why in record.substitutes.items()}
    circumstances |= {
        f"machine {name}": fact for name, fact in record.environment.get("hardware", {}).items()
    }
    return {name: value for name, value in circumstances.items() if value is not None}


def _times(facts: Mapping[str, Any]) -> dict[str, str]:
    if "finished" not in facts:
        return {}
    end = datetime.fromisoformat(facts["finished"])
    start = end - timedelta(seconds=facts.get("seconds", 0))
    return {"startTime": start.isoformat(), "endTime": end.isoformat()}


NO_LICENCE = "No licence was stated for these records; published numbers are quoted from the papers named."
SCORES = "scores.json"


def write_crate(
    accounts: Sequence[Account],
    history: History,
    to: Path,
    *,
    licence: str | None,
    author: str | None,
    now: datetime,
) -> None:
    """Write the folder ``to`` whole, or not at all.

    Args:
        accounts: records of one scale, with their evaluations.
        licence: a URL or a sentence, for the crate; None says that none was stated.
        author: an ORCID, or the name of an organisation; None names nobody.
        now: the date of publication.

    Raises UsageError when ``to`` holds something, StoreError when stored scores are not what was written.
    """
    from rocrate.model.contextentity import ContextEntity
    from rocrate.rocrate import ROCrate

    crate, entities = ROCrate(version="1.3"), Entities()
    artefacts = history.behind([fingerprint for account in accounts for fingerprint in account.evaluations])
    evaluations = [a for a in artefacts if a.state == "stored" and a.stage == "evaluate"]
    for account in accounts:
        add_record(entities, account)
    for artefact in artefacts:
        add_artefact(entities, artefact, {SCORES: _place(artefact)} if artefact in evaluations else {})
    root = {
        "name": _name(accounts),
        "description": _description(accounts, artefacts),
        "datePublished": now.isoformat(timespec="seconds"),
        "license": _licence(entities, licence),
        "mentions": [{"@id": name} for name, facts in entities.items() if facts["@type"] == "CreateAction"],
    }
    if author:
        root["author"] = root["publisher"] = _author(entities, author)
    for name, value in root.items():
        crate.root_dataset[name] = value
    for identifier, properties in entities.items():
        crate.add(ContextEntity(crate, identifier, properties=properties))
    lines = b"".join(line_of(account.record) for account in accounts)
    file_properties = {"name": "records", "description": "one record a line, with a digest of its own"}
    file_properties["encodingFormat"] = "application/jsonl"
    crate.add_file(BytesIO(lines), "records.jsonl", properties=file_properties, record_size=True)
    for artefact in evaluations:
        read_json(history.path(artefact) / SCORES)  # refuses what is not as it was written
        size, digest = artefact.files[SCORES]
        file_properties = {
            "name": f"scores of every query, {artefact.fingerprint[:12]}",
            "description": "fractions by measure, in the order of the queries",
            "encodingFormat": "application/json",
        }
        file_properties |= {"contentSize": str(size), "sha256": digest}
        crate.add_file(history.path(artefact) / SCORES, _place(artefact), properties=file_properties)
    with whole_folder(to) as scratch:
        crate.write(scratch)


def _place(artefact: Artefact) -> str:
    """The file of the crate that has the scores of an evaluation."""
    return f"per-query/{artefact.fingerprint}.json"


def _name(accounts: Sequence[Account]) -> str:
    papers = sorted({account.compared.cell.paper.name for account in accounts})
    return f"Measurements of {', '.join(papers)} by repro at scale {accounts[0].record.scale}"


def _description(accounts: Sequence[Account], artefacts: Sequence[Artefact]) -> str:
    """A text for readers of the crate: its content, and what was left out of it."""
    cells = {account.compared.cell.id: account.compared.published for account in accounts}
    published = sum(value is not None for value in cells.values())
    subject = f"{len(accounts)} records of {len(cells)} cells, {published} of them with a published number"
    sentences = [f"{subject}, with what they were measured from."]
    if accounts[0].record.scale != "full":
        scale = f"Scale {accounts[0].record.scale} is not the paper's"
        sentences.append(
            f"{scale}: data and trainings are smaller, and nothing is compared with the published numbers."
        )
    absent_count = sum(artefact.state != "stored" for artefact in artefacts)
    unknown_count = sum(not account.evaluations for account in accounts)
    if absent_count:
        sentences.append(
            f"{absent_count} of {len(artefacts)} artefacts were not in the store when this was written."
        )
    if unknown_count:
        sentences.append(f"What {unknown_count} of the records were measured from is not known any more.")
    return " ".join(sentences)


def _licence(entities: Entities, licence: str | None) -> Reference | str:
    if licence and "://" in licence:
        return entities.entity(licence, "CreativeWork", name=licence, description="the licence of this crate")
    return licence or NO_LICENCE


def _author(entities: Entities, author: str) -> Reference:
    kind = "Person" if author.startswith("https://orcid.org/") else "Organization"
    if "://" in author:
        return entities.entity(author, kind, name=author, url=author)
    return entities.entity(f"#author/{quote(author)}", kind, name=author)
