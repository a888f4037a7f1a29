"""Fetches a pre-training text of the hub, file by file: what was written of it is kept and gone on with."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from repro.errors import BlockedError
from repro.progress import Progress
from repro.retrieval.datasets.catalog import Dataset
from repro.retrieval.datasets.records import Document
from repro.retrieval.datasets.writing import json_document


class _PartialText:
    """The lines that were written, and a note beside them of how many files of which commit they are.

    Args:
        place: where the text belongs once it is whole.
        commit: of the hub's repository; lines of another one are thrown away.
    """

    def __init__(self, place: Path, commit: str):
        self._place, self._commit = place, commit
        self._lines = place.with_name(f"{place.name}.partial")
        self._note = place.with_name(f"{place.name}.partial.json")
        place.parent.mkdir(parents=True, exist_ok=True)
        note = self._read_note()
        self.files, self._bytes = note["files"], note["bytes"]

    def add(self, lines: Iterable[str]) -> None:
        """Write the lines of one more file behind the others."""
        with self._lines.open("r+b" if self._lines.exists() else "w+b") as out:
            out.seek(self._bytes)
            out.truncate()  # of a file that was cut off
            for line in lines:
                out.write(line.encode())
            self._bytes = out.tell()
        self.files += 1
        scratch = self._note.with_suffix(".fresh")
        scratch.write_text(json.dumps({"commit": self._commit, "files": self.files, "bytes": self._bytes}))
        scratch.replace(self._note)

    def finish(self) -> Path:
        """Move the text into its place."""
        self._lines.replace(self._place)
        self._note.unlink()
        return self._place

    def _read_note(self) -> dict[str, int]:
        try:
            note = json.loads(self._note.read_text())
            fits = note["commit"] == self._commit and self._lines.stat().st_size >= note["bytes"]
        except (OSError, ValueError, KeyError, TypeError):
            fits = False
        return note if fits else {"files": 0, "bytes": 0}


def fetch(entry: Dataset, data_root: Path, progress: Progress) -> Path:
    """Download the text of ``entry``, one Parquet file after the other, and write it as JSON lines.

    Cut off, it goes on with the file that it had come to. Raises BlockedError where the hub cannot be
    reached or does not have the text.
    """
    from huggingface_hub import hf_hub_download

    place = data_root / f"{entry.file}.jsonl"
    try:
        commit, names = _files(entry)
        partial_text = _PartialText(place, commit)
        with progress.task(f"fetching {entry.id}, files", len(names)) as advance:
            advance(partial_text.files)
            for name in names[partial_text.files :]:
                options = {"revision": commit, "local_dir": place.parent / f"{place.name}.files"}
                file = Path(hf_hub_download(entry.hub, name, repo_type="dataset", **options))
                partial_text.add(map(json_document, _documents(file)))
                file.unlink()
                advance()
    except Exception as error:  # the hub's errors share no class with its network library's
        reason = getattr(error, "strerror", None) or type(error).__name__
        remedy = "check the network and the free disk space and run it again: it goes on where it stopped"
        raise BlockedError(f"{entry.id} could not be downloaded ({reason})", remedy) from error
    return partial_text.finish()


def _files(entry: Dataset) -> tuple[str, list[str]]:
    """The commit at which the repository is, and its Parquet files of this version, in order."""
    from huggingface_hub import HfApi

    info = HfApi().dataset_info(entry.hub)
    names = [file.rfilename for file in info.siblings or ()]
    version_names = [
        name for name in names if name.startswith(f"{entry.version}/") and name.endswith(".parquet")
    ]
    if not version_names:
        raise FileNotFoundError(2, f"{entry.hub} has no files of {entry.version}")
    return info.sha, sorted(version_names)


def _documents(file: Path) -> Iterator[Document]:
    import pyarrow.parquet

    for batch in pyarrow.parquet.ParquetFile(file).iter_batches():
        for row in batch.to_pylist():
            yield Document(str(row["id"]), row["title"], row["text"], row.get("url") or "")
