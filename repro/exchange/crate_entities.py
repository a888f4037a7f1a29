"""The entities of an RO-Crate that tell of records: numbers, artefacts, what made them and from what."""

import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

from repro.exchange.provenance import Account, Artefact
from repro.graph import canonical
from repro.manifest.papers import Paper
from repro.store.results import Record

CODE = ["SoftwareApplication", "SoftwareSourceCode"]
TOLD_ELSEWHERE = (
    "repro",
    "source",
    "code",
    "libraries",
    "digest",
    "finished",
    "seconds",
)  # of an artefact's facts
STATES = {
    "stored": "in the store when this was written; digests are those taken when it was made",
    "damaged": "damaged in the store when this was written: its files and how it was made are not told",
    "missing": "no longer in the store when this was written: its files and how it was made are not known",
    "unknown": "of this artefact the store knew the fingerprint alone when this was written",
}

Reference = dict[str, str]


class Entities(dict[str, dict[str, Any]]):
    """The properties of entities by id; an entity that several need is added once."""

    def entity(self, place: str, kind: str | list[str], /, **properties: Any) -> Reference:
        """Add an entity unless it is there, without what is None or empty; returns the reference to it."""
        stated = {name: value for name, value in properties.items() if value not in (None, [], "")}
        self.setdefault(place, {"@type": kind, **stated})
        return {"@id": place}

    def value(self, place: str, name: str, value: Any, **properties: Any) -> Reference:
        """Add a number or text as a PropertyValue; what is neither is written as JSON."""
        plain = value if isinstance(value, str | int | float) else canonical(value)
        return self.entity(place, "PropertyValue", name=name, value=plain, **properties)

    def record(self, account: Account) -> None:
        """Add a record: what was measured, what was published, the verdict and the circumstances."""
        record, cell = account.record, account.compared.cell
        place = f"#{cell.id}/{record.scale}/{'own-seed' if record.seed is None else f'seed-{record.seed}'}"
        number = {"propertyID": account.measure, "unitText": cell.unit}
        value = cell.text if cell.printed.value is None else float(cell.printed.value)
        source = self._paper(cell.paper)
        published = self.value(
            f"#{cell.id}/published", f"{cell.id}, published", value, subjectOf=source, **number
        )
        circumstances = (
            self.value(f"{place}/{quote(name)}", name, told) for name, told in _circumstances(account).items()
        )
        name = f"{cell.id} at scale {record.scale}, measured"
        references = [published, *circumstances]
        measured = self.value(place, name, record.measured, valueReference=references, **number)
        self.entity(
            f"{place}/recorded",
            "CreateAction",
            name=f"record {name}",
            description="" if account.evaluations else "the evaluations it averages are not known any more",
            endTime=record.recorded,
            instrument=self._suite(record.environment),
            object=[_artefact(fingerprint) for fingerprint in account.evaluations],
            result=measured,
        )

    def artefact(self, artefact: Artefact, places: Mapping[str, str]) -> None:
        """Add an artefact with its files and, where it is stored, how it was made.

        Args:
            places: names of its files that lie in the crate -> their ids.
        """
        here, params, facts = (
            _artefact(artefact.fingerprint),
            artefact.identity.get("params", {}),
            artefact.facts,
        )
        of_data = {
            "fingerprint": artefact.fingerprint,
            "data": params.get("identity"),
            "content": facts.get("digest"),
        }
        inputs = [_artefact(fingerprint) for fingerprint in artefact.inputs]
        self.entity(
            here["@id"],
            "Dataset",
            name=" ".join(filter(None, [artefact.stage, params.get("dataset"), artefact.fingerprint[:12]])),
            description=STATES[artefact.state],
            identifier=[self.value(f"{here['@id']}/{k}", k, v) for k, v in of_data.items() if v],
            hasPart=[
                {"@id": places[name]} if name in places else self._file(here["@id"], name, *facts_of_file)
                for name, facts_of_file in artefact.files.items()
            ],
            isBasedOn=inputs if artefact.state != "stored" else [],
        )
        if artefact.state == "stored":
            version = artefact.identity["version"]
            self.entity(
                f"{here['@id']}/made",
                "CreateAction",
                name=f"stage {artefact.stage}, version {version}",
                description=canonical(params),
                **_times(facts),
                instrument=self._stage(artefact),
                object=inputs,
                result=[here, self.value(f"{here['@id']}/facts", "facts", _rest(facts))],
            )

    def _file(self, place: str, name: str, size: int, digest: str) -> Reference:
        about = {"name": name, "contentSize": str(size), "sha256": digest}
        return self.entity(f"{place}/{quote(name)}", "File", **about)

    def _stage(self, artefact: Artefact) -> Reference:
        """The code that made an artefact: the stage's module and, where they were noted, all that it ran."""
        facts, stage = artefact.facts, artefact.stage
        of_code = {name: facts.get(name) for name in ("repro", "source", "code", "libraries")}
        modules = [
            self.value(f"#code/{quote(module)}/{digest}", module, digest, propertyID="digest of the code")
            for module, digest in facts.get("code", {}).items()
        ]
        if source := facts.get("source"):
            kind = ["File", "SoftwareSourceCode"]
            file = self.entity(f"#source/{source}", kind, name=f"repro/stages/{stage}.py", sha256=source)
        return self.entity(
            f"#stage/{stage}/{_digest(of_code)}",
            CODE,
            name=f"repro, stage {stage}",
            version=facts.get("repro"),
            identifier=modules,
            hasPart=file if source else None,
            softwareRequirements=self._libraries(facts.get("libraries", {})),
        )

    def _suite(self, environment: Mapping[str, Any]) -> Reference:
        """The suite at the commit, and with the libraries, that recorded a number."""
        commit, software = environment.get("commit"), environment.get("software", {})
        version = software.get("repro-bench")
        return self.entity(
            f"#repro/{_digest([commit, software])}",
            CODE,
            name="repro",
            version=version,
            identifier=self.value(f"#commit/{commit}", "commit", commit) if commit else None,
            softwareRequirements=self._libraries(software),
        )

    def _libraries(self, versions: Mapping[str, str]) -> list[Reference]:
        return [
            self.entity(f"#software/{quote(n)}/{quote(v)}", "SoftwareApplication", name=n, softwareVersion=v)
            for n, v in versions.items()
            if n != "repro-bench"
        ]

    def _paper(self, source: Paper) -> Reference:
        manifest = source.manifest
        doi, arxiv = manifest.doi, manifest.arxiv
        link = (
            f"https://doi.org/{doi}"
            if doi
            else f"https://arxiv.org/abs/{arxiv}"
            if arxiv
            else f"#{source.name}"
        )
        return self.entity(link, "ScholarlyArticle", name=manifest.title, description=manifest.venue)


def _artefact(fingerprint: str) -> Reference:
    return {"@id": f"#artefact/{fingerprint}"}


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]


def _rest(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of an artefact that no property of its entities tells."""
    return {name: fact for name, fact in facts.items() if name not in TOLD_ELSEWHERE}


def _circumstances(account: Account) -> dict[str, Any]:
    """What stands beside a number in its record and its verdict, in words; what is not known is left out."""
    record: Record = account.record
    verdict = account.compared.verdict
    told = {
        "verdict": verdict.name,
        "why": verdict.why,
        "scale": record.scale,
        "seed": "the paper's own" if record.seed is None else record.seed,
        "fingerprint": record.fingerprint,
        "made by the graph as it is now": "yes" if account.compared.current else "no",
        "queries": record.queries,
        "queries missing": record.missing,
        "run of others": record.origin or None,
    }
    told |= {f"reading {name}": choice for name, choice in record.readings.items()}
    told |= {f"substitute for {name}": why for name, why in record.substitutes.items()}
    told |= {f"machine {name}": fact for name, fact in record.environment.get("hardware", {}).items()}
    return {name: value for name, value in told.items() if value is not None}


def _times(facts: Mapping[str, Any]) -> dict[str, str]:
    if "finished" not in facts:
        return {}
    end = datetime.fromisoformat(facts["finished"])
    start = end - timedelta(seconds=facts.get("seconds", 0))
    return {"startTime": start.isoformat(), "endTime": end.isoformat()}
