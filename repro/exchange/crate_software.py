"""The entities of an RO-Crate, and those among them that tell which code and libraries ran."""

import hashlib
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from repro.exchange.history import Artefact
from repro.graph import canonical

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
    facts, module = artefact.facts, f"repro.stages.{artefact.stage}"
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
