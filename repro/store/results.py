"""Records of measured cells in files that are only appended to; the newest of what has one key counts.

Newest is what was measured last, wherever its line stands: a merge of two branches may put it anywhere.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from repro.errors import DataError
from repro.store import make_writable, translated_errors
from repro.store.record_lines import Record, is_future, line_of, record_of, time_of

__all__ = ["AppendedRecord", "FaultyLine", "Record", "Results"]

_FOLDER = "results folder", "--results or REPRO_RESULTS"


@dataclass(frozen=True)
class AppendedRecord:
    """A record that was added, with the one of equal key whose result it contradicts, if there is one."""

    record: Record
    contradicted: Record | None


@dataclass(frozen=True)
class FaultyLine:
    """A line of a records file that holds and proves no record."""

    path: Path
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}"


class Results:
    """A folder of records, ``records/<scale>/<paper>.jsonl``, and drawings, ``figures/<scale>/``.

    Attributes:
        root: what is added to.
        release: a folder alike that is only read, before ``root``; None without one.
    """

    def __init__(self, root: Path, release: Path | None = None):
        self.root, self.release = root, release
        self._known: dict[Path, tuple[tuple[int, int, int], list[Record | FaultyLine]]] = {}

    @property
    def folders(self) -> list[Path]:
        """The release's folder, if there is one, then the one that is added to."""
        return [folder for folder in (self.release, self.root) if folder]

    def path(self, scale: str, paper: str) -> Path:
        """The file that holds a paper's records at one scale."""
        return self.root / "records" / scale / f"{paper}.jsonl"

    def scales(self, kind: str) -> set[str]:
        """The scales of which there are ``records`` or ``figures``."""
        places = [folder / kind for folder in self.folders]
        return {p.name for place in places if place.is_dir() for p in place.iterdir() if p.is_dir()}

    def papers(self, scale: str) -> list[str]:
        """The papers of which there are records at a scale."""
        return sorted({path.stem for f in self.folders for path in (f / "records" / scale).glob("*.jsonl")})

    def figures(self, scale: str) -> list[Path]:
        """The drawings of a scale by their names; one of ``root`` stands for the release's."""
        places = [folder / "figures" / scale for folder in self.folders]
        by_name = {path.name: path for place in places if place.is_dir() for path in place.iterdir()}
        return [path for _, path in sorted(by_name.items())]

    def make_writable(self) -> None:
        """Raise StoreError, before anything is measured, where no record could be written."""
        make_writable(self.root, *_FOLDER)

    def read(self, scale: str, paper: str) -> list[Record]:
        """Records in the order of their times; of one time those of the release first, then as they stand.

        A last line without its end is the trace of a process that was killed while writing: it is left out.

        Raises:
            DataError: another line is not a record, or not the one that was written; names file and line.
        """
        path_in_root = self.path(scale, paper)
        records = []
        for path in (folder / path_in_root.relative_to(self.root) for folder in self.folders):
            for line in self._lines(path):
                if isinstance(line, FaultyLine):
                    raise DataError(str(line))
                records.append(line)
        return sorted(records, key=time_of)

    def checked(self) -> tuple[int, list[FaultyLine]]:
        """The number of lines in all files, and those that ``read`` would refuse."""
        lines = [line for path in self._paths() for line in self._lines(path)]
        return len(lines), [line for line in lines if isinstance(line, FaultyLine)]

    def doubtful(self) -> list[FaultyLine]:
        """Return the sound lines of a time to come, and those that a newer one of equal key contradicts."""
        lines = [
            (path, number, line)
            for path in self._paths()
            for number, line in enumerate(self._lines(path), 1)
            if isinstance(line, Record)
        ]
        newest = {record.key: record for _, _, record in sorted(lines, key=lambda line: time_of(line[2]))}
        doubts = ((path, number, _doubt(line, newest[line.key])) for path, number, line in lines)
        return [FaultyLine(path, number, reason) for path, number, reason in doubts if reason]

    def unfinished(self) -> list[Path]:
        """The files whose last line has no end, which ``read`` leaves out."""
        texts = ((path, path.read_bytes()) for path in self._paths())
        return [path for path, text in texts if _is_left_out(text.rpartition(b"\n")[2])]

    def _paths(self) -> list[Path]:
        with translated_errors(self.root, *_FOLDER):
            with contextlib.suppress(FileNotFoundError):
                os.scandir(self.root).close()  # a file in its place would hold nothing, without a fault
            return [p for folder in self.folders for p in sorted((folder / "records").glob("*/*.jsonl"))]

    def append(self, records: Iterable[Record]) -> list[AppendedRecord]:
        """Add what is not known yet: new keys, and other results than the newest of their key. Returns those.

        Safe between processes. Raises what ``read`` raises.
        """
        by_file: dict[tuple[str, str], list[Record]] = {}
        for record in records:
            by_file.setdefault((record.scale, record.cell.split("/")[0]), []).append(record)
        return [addition for key, group in by_file.items() for addition in self._append(*key, group)]

    def _append(self, scale: str, paper: str, group: list[Record]) -> list[AppendedRecord]:
        from filelock import FileLock

        path = self.path(scale, paper)
        with translated_errors(self.root, *_FOLDER):
            path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(path.with_suffix(".lock")):
                additions = list(_new_records(group, {r.key: r for r in self.read(scale, paper)}))
                if additions:
                    _write(path, b"".join(line_of(addition.record) for addition in additions))
        return additions

    def _lines(self, path: Path) -> list[Record | FaultyLine]:
        """The lines of a file, which are taken apart anew only where it has changed."""
        try:
            with translated_errors(self.root, *_FOLDER):
                facts = path.stat()
        except FileNotFoundError:
            return []
        state = facts.st_ino, facts.st_mtime_ns, facts.st_size
        if path not in self._known or self._known[path][0] != state:
            self._known[path] = state, list(self._read_lines(path))
        return self._known[path][1]

    def _read_lines(self, path: Path) -> Iterator[Record | FaultyLine]:
        try:
            with translated_errors(self.root, *_FOLDER):
                *lines, last_piece = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        if last_piece and not _is_left_out(last_piece):
            lines.append(last_piece)
        for number, line in enumerate(lines, 1):
            try:
                yield _check_place(record_of(line), path)
            except DataError as error:
                yield FaultyLine(path, number, str(error))


def _doubt(record: Record, newest: Record) -> str:
    """Return why a record is not to be relied upon beside the one that counts; nothing where it is."""
    if is_future(record):
        return (
            f"recorded at {record.recorded}, which is still to come: any other of its cell counts before it"
        )
    if record.result == newest.result:
        return ""
    other = f"{newest.measured} was measured later ({newest.recorded or 'at an unknown time'}) and counts"
    return f"{record.measured} for {record.cell}, but under the same fingerprint {other}"


def _new_records(group: list[Record], newest_by_key: dict[tuple, Record]) -> Iterator[AppendedRecord]:
    """The records of a group that say something else, or more, than the newest of their key."""
    for record in group:
        previous = newest_by_key.get(record.key)
        differs = previous is not None and previous.result != record.result
        is_news = previous is None or differs or is_future(previous)
        if is_news or record.tells_more_than(previous):
            newest_by_key[record.key] = record
            yield AppendedRecord(record, previous if differs else None)


def _check_place(record: Record, path: Path) -> Record:
    """The record. Raises DataError where its scale or paper is not that of its file."""
    paper = record.cell.partition("/")[0]
    if (record.scale, paper) != (path.parent.name, path.stem):
        reason = f"a record of {paper} at scale {record.scale}"
        raise DataError(f"{reason} in the file of {path.stem} at scale {path.parent.name}; move it back")
    return record


def _is_left_out(end: bytes) -> bool:
    """Whether a file's last piece is a line not written to its end; one whose end was altered is damaged."""
    try:
        record_of(end[:-1])
    except DataError:
        return bool(end)
    return False


def _write(path: Path, text: bytes) -> None:
    """Append whole lines, after removing an unfinished last one that a killed writer left."""
    with path.open("a+b") as stream:
        end = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        complete = stream.read().rfind(b"\n") + 1
        if complete < end:
            stream.truncate(complete)
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
