"""A deposit of records as an RO-Crate 1.3: numbers, verdicts and everything that they were made from.

Each artefact is a ``Dataset`` whose files are listed by digest, and the result of a ``CreateAction`` whose
instrument is the code that ran and whose objects are the inputs. The folder holds records and the scores of
every query, and no other file: those of other artefacts hold texts and weights that others license.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from io import BytesIO
from mimetypes import guess_type
from pathlib import Path
from typing import Any
from urllib.parse import quote

from repro.graph import canonical
from repro.plugins.deposit.history import Account, Artefact, History
from repro.store import read_json
from repro.store.disk import whole_folder
from repro.store.results import line_of

HOMES = {"python": "https://www.python.org/", "java": "https://openjdk.org/"}  # of what is no package
NO_LICENCE = "No licence was stated for these records; published numbers are quoted from the papers named."
SCORES = "scores.json"
STATES = {
    "stored": "in the store when this was written; digests are those taken when it was made",
    "damaged": "damaged in the store when this was written: its files and how it was made are not listed",
    "missing": "no longer in the store when this was written: its files and how it was made are not known",
    "unknown": "of this artefact the store knew the fingerprint alone when this was written",
}
# of an artefact's facts, what properties of its entities tell
PROPERTIES = {"repro", "code", "commit", "libraries", "digest", "finished", "seconds"}

Reference = dict[str, str]


class Crate:
    """A crate that is being filled; an entity that several need is added once."""

    def __init__(self) -> None:
        from rocrate.rocrate import ROCrate

        self.crate = ROCrate(version="1.3")

    def entity(self, place: str, kind: str | list[str], /, **properties: Any) -> Reference:
        """Add an entity unless it is there, without what is None or empty; return the reference to it."""
        from rocrate.model.contextentity import ContextEntity

        if self.crate.get(place) is None:
            stated = {name: value for name, value in properties.items() if value not in (None, [], "")}
            single = {k: v[0] if isinstance(v, list) and len(v) == 1 else v for k, v in stated.items()}
            self.crate.add(ContextEntity(self.crate, place, properties={"@type": kind, **single}))
            if kind == "CreateAction":
                self.crate.root_dataset.append_to("mentions", {"@id": place})
        return {"@id": place}

    def value(self, place: str, name: str, value: Any, **properties: Any) -> Reference:
        """Add a number or text as a PropertyValue; what is neither is written as JSON."""
        scalar = value if isinstance(value, str | int | float) else canonical(value)
        return self.entity(place, "PropertyValue", name=name, value=scalar, **properties)

    def values(self, place: str, named: Mapping[str, Any]) -> list[Reference]:
        """Add each of these as a PropertyValue below a place, by its name."""
        return [self.value(f"{place}/{quote(name)}", name, value) for name, value in named.items()]

    def suite(self, environment: Mapping[str, Any]) -> Reference:
        """Add the suite at the commit, and with the libraries, that a record's environment names."""
        commit, software = environment.get("commit"), environment.get("software", {})
        python = None  # where no version is told, which the format asks for
        if "python" in software:
            kind, version = ["ComputerLanguage", "SoftwareApplication"], software["python"]
            place, home = f"#software/python/{version}", HOMES["python"]
            python = self.entity(place, kind, name="Python", version=version, url=home)
        place = f"#repro/{_digest([commit, software])}"
        identifier = self.value(f"#commit/{commit}", "commit", commit) if commit else None
        about = {"version": software.get("repro-bench"), "programmingLanguage": python}
        return self._script(place, "__main__", software, name="repro", identifier=identifier, **about)

    def stage(self, artefact: Artefact) -> Reference:
        """Add the code that made an artefact, by its digest and commit as far as they are recorded."""
        facts, stage = artefact.facts, artefact.stage
        digest = _digest({name: facts.get(name) for name in ("repro", "code", "commit", "libraries")})
        known = {name: facts[name] for name in ("code", "commit") if facts.get(name)}
        identifiers = [self.value(f"#{name}/{value}", name, value) for name, value in known.items()]
        name, module = f"repro, stage {stage}", f"retrieval/stages/{stage}"
        about = {"name": name, "version": facts.get("repro"), "identifier": identifiers}
        return self._script(f"#stage/{stage}/{digest}", module, facts.get("libraries", {}), **about)

    def _script(self, place: str, module: str, libraries: Mapping[str, str], **properties: Any) -> Reference:
        """Add code of the suite that is in no crate; ``localPath`` is where a checkout has it."""
        parts = []
        for library, used in libraries.items():
            if library not in ("repro-bench", "python"):
                # purl: a name of the package that is no place to get it from
                package = f"pkg:pypi/{re.sub(r'[-_.]+', '-', library).lower()}@{quote(used)}"
                where = {"url": HOMES[library]} if library in HOMES else {"identifier": package}
                part = f"#software/{quote(library)}/{quote(used)}"
                parts.append(self.entity(part, "SoftwareApplication", name=library, version=used, **where))
        kind, path = ["File", "SoftwareSourceCode"], f"repro/{module}.py"
        properties |= {"localPath": path, "encodingFormat": "text/x-python", "hasPart": parts}
        return self.entity(place, kind, **properties)

    def record(self, account: Account) -> None:
        """Add a record: what was measured, what was published, the verdict and the circumstances."""
        record, cell = account.record, account.compared.cell
        place = f"#{cell.id}/{record.scale}/{'own-seed' if record.seed is None else f'seed-{record.seed}'}"
        number = {"propertyID": record.measure, "unitText": record.unit}
        published = cell.text if cell.printed.value is None else float(cell.printed.value)
        paper = cell.paper.manifest
        arxiv = f"https://arxiv.org/abs/{paper.arxiv}" if paper.arxiv else f"#{cell.paper.name}"
        link = f"https://doi.org/{paper.doi}" if paper.doi else arxiv
        source = self.entity(link, "ScholarlyArticle", name=paper.title, description=paper.venue)
        name = f"{cell.id}, published"
        references = [self.value(f"#{cell.id}/published", name, published, subjectOf=source, **number)]
        references += self.values(place, _circumstances(account))
        name = f"{cell.id} at scale {record.scale}, measured"
        self.entity(
            f"{place}/recorded",
            "CreateAction",
            name=f"record {name}",
            description="" if account.evaluations else "the evaluations it averages are not known any more",
            endTime=record.recorded,
            instrument=self.suite(record.environment),
            object=[_artefact(fingerprint) for fingerprint in account.evaluations],
            result=self.value(place, name, record.measured, valueReference=references, **number),
        )

    def artefact(self, artefact: Artefact, places: Mapping[str, str]) -> None:
        """Add an artefact with its files and, where it is stored, how it was made.

        Args:
            places: names of its files that lie in the crate -> their ids.
        """
        reference, is_stored = _artefact(artefact.fingerprint), artefact.state == "stored"
        place, inputs = reference["@id"], [_artefact(fingerprint) for fingerprint in artefact.inputs]
        params, facts = artefact.identity.get("params", {}), artefact.facts
        identifiers = {
            "fingerprint": artefact.fingerprint,
            "data": params.get("identity"),
            "content": facts.get("digest"),
        }
        parameters = "" if is_stored or not params else f"; parameters {canonical(params)}"
        parts = []
        for name, (size, digest) in artefact.files.items():
            path = f"{artefact.stage}/{artefact.fingerprint}/{name}"  # where a store has it
            form = guess_type(name)[0] or "application/octet-stream"
            about = {"name": name, "contentSize": str(size), "sha256": digest, "localPath": path}
            inside = {"@id": places[name]} if name in places else None
            parts.append(
                inside or self.entity(f"{place}/{quote(name)}", "File", encodingFormat=form, **about)
            )
        self.entity(
            place,
            "Dataset",
            name=" ".join(filter(None, [artefact.stage, params.get("dataset"), artefact.fingerprint[:12]])),
            description=STATES[artefact.state] + parameters,
            identifier=self.values(place, {name: value for name, value in identifiers.items() if value}),
            hasPart=parts,
            isBasedOn=[] if is_stored else inputs,
        )
        if is_stored:
            others = {name: fact for name, fact in facts.items() if name not in PROPERTIES}
            self.entity(
                f"{place}/made",
                "CreateAction",
                name=f"stage {artefact.stage}, version {artefact.identity['version']}",
                description=canonical(params),
                **_times(facts),
                instrument=self.stage(artefact),
                object=inputs,
                result=[reference, self.value(f"{place}/facts", "facts", others)],
            )


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]


def _artefact(fingerprint: str) -> Reference:
    return {"@id": f"#artefact/{fingerprint}"}


def _circumstances(account: Account) -> dict[str, Any]:
    """Return the record and verdict of a number as named texts; those that are not known are left out."""
    record = account.record
    circumstances = {
        **account.circumstances,
        "measured on": ", ".join(account.compared.measured_on) or None,
        "seed": "the paper's own" if record.seed is None else record.seed,
        "fingerprint": record.fingerprint,
        **{f"reading {name}": choice for name, choice in record.readings.items()},
        **{f"substitute for {name}": why for name, why in record.substitutes.items()},
        **{f"machine {name}": fact for name, fact in record.environment.get("hardware", {}).items()},
    }
    return {name: value for name, value in circumstances.items() if value is not None}


def _times(facts: Mapping[str, Any]) -> dict[str, str]:
    if "finished" not in facts:
        return {}
    end = datetime.fromisoformat(facts["finished"])
    start = end - timedelta(seconds=facts.get("seconds", 0))
    return {"startTime": start.isoformat(), "endTime": end.isoformat()}


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
    filling = Crate()
    crate, root = filling.crate, filling.crate.root_dataset
    artefacts = history.behind([fingerprint for account in accounts for fingerprint in account.evaluations])
    papers = sorted({account.compared.cell.paper.name for account in accounts})
    root["name"] = f"Measurements of {', '.join(papers)} by repro at scale {accounts[0].record.scale}"
    root["description"] = _description(accounts, artefacts)
    root["datePublished"] = now.isoformat(timespec="seconds")
    root["license"] = licence or NO_LICENCE
    if licence and "://" in licence:
        about = "the licence of this crate"
        root["license"] = filling.entity(licence, "CreativeWork", name=licence, description=about)
    if author:
        kind = "Person" if author.startswith("https://orcid.org/") else "Organization"
        url = author if "://" in author else None
        named = filling.entity(url or f"#author/{quote(author)}", kind, name=author, url=url)
        root["author"] = root["publisher"] = named
    for account in accounts:
        filling.record(account)
    lines = b"".join(line_of(account.record) for account in accounts)
    about_records = {"name": "records", "description": "one record a line, with a digest of its own"}
    about_records["encodingFormat"] = "application/jsonl"
    crate.add_file(BytesIO(lines), "records.jsonl", properties=about_records, record_size=True)
    for artefact in artefacts:
        is_scores = artefact.state == "stored" and artefact.stage == "evaluate"
        place = f"per-query/{artefact.fingerprint}.json"  # in the crate
        filling.artefact(artefact, {SCORES: place} if is_scores else {})
        if is_scores:
            read_json(history.path(artefact) / SCORES)  # refuses what is not as it was written
            size, digest = artefact.files[SCORES]
            properties = {
                "name": f"scores of every query, {artefact.fingerprint[:12]}",
                "description": "fractions by measure, in the order of the queries",
                "encodingFormat": "application/json",
                "contentSize": str(size),
                "sha256": digest,
            }
            crate.add_file(history.path(artefact) / SCORES, place, properties=properties)
    with whole_folder(to) as scratch:
        crate.write(scratch)


def _description(accounts: Sequence[Account], artefacts: Sequence[Artefact]) -> str:
    """Describe the crate to its readers: its content, and what was left out of it."""
    cells = {account.compared.cell.id: account.compared.published for account in accounts}
    published = sum(value is not None for value in cells.values())
    subject = f"{len(accounts)} records of {len(cells)} cells, {published} of them with a published number"
    sentences = [f"{subject}, with what they were measured from."]
    if (scale := accounts[0].record.scale) != "full":
        smaller = "data and trainings are smaller, and nothing is compared with the published numbers"
        sentences.append(f"Scale {scale} is not the paper's: {smaller}.")
    if absent := sum(artefact.state != "stored" for artefact in artefacts):
        sentences.append(
            f"{absent} of {len(artefacts)} artefacts were not in the store when this was written."
        )
    if unknown := sum(not account.evaluations for account in accounts):
        sentences.append(f"What {unknown} of the records were measured from is not known any more.")
    return " ".join(sentences)
