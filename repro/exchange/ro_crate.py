"""A deposit of records as an RO-Crate 1.3: numbers, verdicts and everything that they were made from.

Each artefact is a ``Dataset`` whose files are listed by digest, and the result of a ``CreateAction`` whose
instrument is the code that ran and whose objects are the inputs. The folder holds records and the scores of
every query, and no other file: those of other artefacts hold texts and weights that others license.
"""

from collections.abc import Sequence
from datetime import datetime
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

from repro.exchange.crate_entities import Entities, Reference, add_artefact, add_record
from repro.exchange.history import Account, Artefact, History
from repro.exchange.whole_folder import whole_folder
from repro.store import read_json
from repro.store.record_lines import line_of

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
