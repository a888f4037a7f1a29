"""The entities of an RO-Crate, and those among them that tell which code and libraries ran."""

import hashlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from repro.exchange.history import Artefact
from repro.graph import canonical

KIND = ["SoftwareApplication", "SoftwareSourceCode"]

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


def suite(entities: Entities, environment: Mapping[str, Any]) -> Reference:
    """The suite at the commit, and with the libraries, that a record's environment names."""
    commit, software = environment.get("commit"), environment.get("software", {})
    return entities.entity(
        f"#repro/{_digest([commit, software])}",
        KIND,
        name="repro",
        version=software.get("repro-bench"),
        identifier=entities.value(f"#commit/{commit}", "commit", commit) if commit else None,
        softwareRequirements=_libraries(entities, software),
    )


def stage(entities: Entities, artefact: Artefact) -> Reference:
    """The code that made an artefact, by digests of its modules as far as the artefact records them."""
    facts = artefact.facts
    of_code = {
        name: facts[name] for name in ("repro", "source", "code", "modules", "libraries") if name in facts
    }
    modules = facts.get("modules") or {f"repro.stages.{artefact.stage}": facts.get("source")}
    parts = [
        entities.entity(f"#code/{module}/{digest}", "SoftwareSourceCode", name=module, identifier=digest)
        for module, digest in modules.items()
        if digest
    ]
    return entities.entity(
        f"#stage/{artefact.stage}/{_digest(of_code)}",
        KIND,
        name=f"repro, stage {artefact.stage}",
        version=facts.get("repro"),
        identifier=facts.get("code"),
        hasPart=parts,
        softwareRequirements=_libraries(entities, facts.get("libraries", {})),
    )


def _libraries(entities: Entities, versions: Mapping[str, str]) -> list[Reference]:
    return [
        entities.entity(
            f"#software/{quote(name)}/{quote(version)}",
            "SoftwareApplication",
            name=name,
            softwareVersion=version,
        )
        for name, version in versions.items()
        if name != "repro-bench"
    ]


def _digest(value: Any) -> str:
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]
