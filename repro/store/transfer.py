"""Moves artefacts to and from another store: a folder, or whatever fsspec reaches. Arrivals are checked.

The other side has the layout of a store, so that a folder of it can be given to ``--store``. Checksums show
that an artefact arrived as its giver wrote it down, and the fingerprint that it claims to be what was asked
for; that it is what its recipe makes, only making it again shows. So what was not made again is noted.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from repro.errors import DataError, ReproError, StoreError, UsageError
from repro.graph import Node
from repro.stage_table import STAGES
from repro.store import RECORD, Store, make_writable
from repro.store.disk import open_regular, remove, sha256, size_on_disk
from repro.store.seal import Files, files_of

LARGEST_RECORD = 64 * 2**20  # bytes; one line for each of a few hundred thousand shards
_ARROW = r"arrow/([\w.-]+\.arrow|state\.json|dataset_info\.json)"
_MODEL = (
    r"model/((\w*config|tokenizer|\w+_tokens(_map)?|vocab|views)\.json|(vocab|merges)\.txt|[\w.-]+\.model"
    r"|[\w-]+\.safetensors|model\.safetensors\.index\.json)"
)
_LUCENE = (  # formats 9 and 10
    r"fields\.json|lucene/(segments_\w+|write\.lock|_\w+\.(cf[es]|di[im]|doc|dv[dm]|fd[mtx]|fnm|kd[dim]|liv|nv[dm]"
    r"|pay|pos|psm|si|ti[mp]|tmd|tv[dmx]))"
)
# The files that stages write, by a stage's name or the type of its artefact. What another file holds, some
# program might run, and a library that loads a folder might follow it.
WRITTEN_FILES = {
    "released": rf"{_MODEL}|model/(modules\.json|\d_\w+/(config\.json|model\.safetensors))",
    **dict.fromkeys(("corpus", "training_set", "tokens"), _ARROW),
    **dict.fromkeys(("model", "tokenizer"), rf"train_log\.jsonl|{_MODEL}"),
    "queries": r"queries\.jsonl",
    "qrels": r"qrels\.trec",
    "term_statistics": r"counts\.json|(collection|document)_frequency\.npy",
    "embeddings": r"ids\.txt|vectors\.npy",
    "views": r"ids\.txt|views\.json|[\w-]+\.npy",
    "lucene_index": rf"lucene\.log|{_LUCENE}",
    "run": r"run\.trec|run\.ir_metadata\.yml|raw\.npy|lucene\.log",
    "scores": r"scores\.json",
    "significance": r"significance\.json",
    "exhibit": r"exhibit\.json",
}


class RemoteStore:
    """A store reached through fsspec. Nothing read from it is trusted until its checksum matches.

    Args:
        address: a folder, or a URL of fsspec such as ``s3://bucket/store`` or ``sftp://host/store``.

    Raises:
        UsageError: no address, no such kind of it, or the package that it takes is not installed.
    """

    def __init__(self, address: str):
        from fsspec.core import url_to_fs

        if not address.strip():
            raise UsageError("the address of the other store is empty; give a folder or URL")
        is_local = "://" not in address and "::" not in address
        try:
            self.files, root = url_to_fs(str(Path(address).expanduser().absolute()) if is_local else address)
        except (ValueError, ImportError, OSError) as error:
            reason = str(error).strip().rstrip(".").replace(address, _redact(address))
            raise UsageError(f"{_redact(address)} cannot be opened: {reason}; give a folder or URL") from None
        self.root, self.name = root.rstrip("/"), _redact(address)

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder of this machine, and so can be locked and renamed in."""
        from fsspec.implementations.local import LocalFileSystem

        return issubclass(type(self.files), LocalFileSystem)  # a cache in front of it passes for its class

    def place(self, node: Node) -> str:
        """Return the address of a node's artefact, without the protocol."""
        return f"{self.root}/{node.stage}/{node.fingerprint}"

    def record(self, node: Node) -> tuple[bytes, Files] | None:
        """Return the bytes of an artefact's record and its files, checked; None without a record.

        Raises:
            StoreError: it is not this artefact's, names files outside it, or files that are code.
        """
        with self.errors():
            if not self.files.exists(f"{self.place(node)}/{RECORD}"):
                return None
            stream, _ = self.open(node, RECORD)
            with stream:
                content = _beginning(stream, LARGEST_RECORD + 1)  # not every server says how large a file is
        if len(content) > LARGEST_RECORD:
            raise self.refusal(node, f"{RECORD} is larger than any that was ever written")
        try:
            record = json.loads(content)
        except (ValueError, RecursionError):
            raise self.refusal(node, f"{RECORD} cannot be read") from None
        return content, self.files_of(node, record)

    def open(self, node: Node, name: str) -> tuple[IO[bytes], int | None]:
        """Open an artefact's file; return its size, where known, too. Raises StoreError, also for no file."""
        path = f"{self.place(node)}/{name}"
        with self.errors():
            if not self.is_folder:
                stream = self.files.open(path, "rb")
                return stream, getattr(stream, "size", None)
            if not stat.S_ISREG(os.lstat(path).st_mode):
                raise self.refusal(node, f"{name} is a link, a pipe or a device, not a file")
            stream = open_regular(Path(path))
            return stream, os.fstat(stream.fileno()).st_size

    def files_of(self, node: Node, record: Any) -> Files:
        """Return the files that a node's record names, checked. Raises StoreError as ``record`` does."""
        try:
            files = files_of(record, stage=node.stage, fingerprint=node.fingerprint)
        except StoreError as error:
            raise self.refusal(node, str(error)) from None
        for name in files:
            if not re.fullmatch(
                WRITTEN_FILES.get(node.stage) or WRITTEN_FILES[STAGES[node.stage].output], name
            ):
                reason = f"it holds {name!r}, which may run code: the stage {node.stage} writes no such file"
                raise self.refusal(node, reason)
        return files

    def refusal(self, node: Node, reason: str) -> StoreError:
        """Return the error for an artefact that is not what was asked for."""
        return StoreError(f"{node} of {self.name} is refused: {reason}; it was not stored")

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn whatever a file system raises, and each kind has errors of its own, into a StoreError."""
        try:
            yield
        except ReproError:
            raise
        except Exception as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            if "://" in self.root:
                reason = reason.replace(self.root, _redact(self.root))
            remedy = "with it at hand the same command continues"
            raise StoreError(f"{self.name} cannot be used: {reason}; {remedy}") from error


def _beginning(stream: IO[bytes], limit: int) -> bytes:
    content = bytearray()
    while piece := stream.read(limit - len(content)):
        content += piece
    return bytes(content)


def _redact(address: str) -> str:
    """Return an address without the password or, after a question mark, the tokens that it may hold."""
    scheme, separator, location = address.partition("://")
    if not separator:
        return address
    host, slash, path = location.partition("?")[0].partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}{'?…' if '?' in location else ''}"


PIECE = 2**20


Check = Callable[[Path, Mapping[str, Any]], str | None]


def pull(node: Node, store: Store, source: RemoteStore, *, waiting: Callable[[], None], check: Check) -> str:
    """Fetch one artefact. Returns ``fetched``, ``already there`` or ``absent``.

    Files that an interrupted fetch left are kept where their checksums match.

    Args:
        check: what is to be noted of the artefact in a folder with these facts; None where nothing is, since
            it was made again here, or its giver is believed. Raises DataError for one that is not what it
            says.

    Raises:
        StoreError: it is not what the record says, the record is not that of the node, or ``check`` refuses.
    """
    state = store.state(node)
    if state == "damaged":
        raise StoreError(f"{node} is damaged in {store.root}; `repro store verify --rebuild` removes it")
    if state == "stored":
        return "already there"
    record = source.record(node)
    if record is None:
        return "absent"
    content, files = record

    def fetch(directory: Path) -> None:
        _clear(directory, files)
        _check_space(node, directory, sum(size for size, _ in files.values()))
        for name, (size, digest) in files.items():
            target = directory / name
            if target.is_file() and target.stat().st_size == size and sha256(target) == digest:
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            _download(source, node, name, target, size=size, digest=digest)
        for name in files:
            if name.lower().endswith("config.json") and _names_code(directory / name):
                (directory / name).unlink()
                raise source.refusal(node, f"{name} names code to be loaded with the model (auto_map)")
        _note_origin(node, store, source, directory, content=content, check=check)
        (directory / RECORD).write_bytes(content)

    store.adopt(node, fetch, waiting=waiting)
    return "fetched"


def _note_origin(
    node: Node, store: Store, source: RemoteStore, directory: Path, *, content: bytes, check: Check
) -> None:
    """Note what is unchecked of an artefact before it has its name. Raises StoreError where it is refused."""
    facts = json.loads(content).get("facts")
    try:
        remark = check(directory, facts if isinstance(facts, dict) else {})
    except DataError as error:
        remove(directory)
        raise source.refusal(node, str(error)) from None
    if remark is None:
        store.vouch(node)
    else:
        store.mark_unchecked(node, remark)


def _check_space(node: Node, directory: Path, size: int) -> None:
    """Refuse what the disk has no room for before it is full. Raises StoreError."""
    missing_bytes, free_bytes = size - size_on_disk(directory), shutil.disk_usage(directory).free
    if missing_bytes > free_bytes:
        reason = f"its record says {missing_bytes:,} bytes more, and the disk has {free_bytes:,} left"
        raise StoreError(
            f"{node} was not fetched to {directory}: {reason}; free some, or name another --store"
        )


def _names_code(config: Path) -> bool:
    """Return whether a configuration has an ``auto_map``: classes that transformers might fetch and run."""
    names: set[str] = set()
    try:
        json.loads(config.read_bytes(), object_pairs_hook=lambda pairs: names.update(dict(pairs)))
    except (ValueError, RecursionError):  # nothing loads it
        return False
    return "auto_map" in names


def _clear(directory: Path, files: Files) -> None:
    """Take away what an interrupted fetch left and the record does not name; no link is among it any more."""
    for path in sorted(directory.rglob("*"), reverse=True):
        if path.is_dir():
            if path.relative_to(directory).as_posix() in files or not any(path.iterdir()):
                path.rmdir()
        elif path.relative_to(directory).as_posix() not in files:
            path.unlink()


def _download(source: RemoteStore, node: Node, name: str, target: Path, *, size: int, digest: str) -> None:
    hasher, bytes_read = hashlib.sha256(), 0
    stream, remote_size = source.open(node, name)
    if remote_size not in (None, size):
        stream.close()
        raise source.refusal(node, f"{name} is not what its record says: {remote_size:,} bytes, not {size:,}")
    with stream, target.open("wb") as file:
        while True:
            with source.errors():
                piece = stream.read(PIECE)
            if not piece:
                break
            bytes_read += len(piece)
            if bytes_read > size:  # where nothing says how large it is, it may have no end
                break
            hasher.update(piece)
            file.write(piece)
    if bytes_read != size or hasher.hexdigest() != digest:
        target.unlink()
        raise source.refusal(node, f"{name} is not what its record says")


def push(node: Node, store: Store, target: RemoteStore) -> str:
    """Send one artefact. Returns ``sent``, ``already there``, or ``absent`` where this store lacks it.

    A folder takes it as a store takes what it fetches. On any other place the record is written last, after
    every byte was read back, so that an artefact with a record is complete.

    Raises:
        StoreError: the artefact is damaged here, arrived otherwise, or could not be written.
    """
    if store.state(node) in ("missing", "partial"):
        return "absent"
    path = store.checked(node)
    content = (path / RECORD).read_bytes()
    files = target.files_of(node, json.loads(content))
    if target.is_folder:
        make_writable(Path(target.root), "place", "")
        receiver = Store(Path(target.root))
        giver = RemoteStore(str(store.root))

        def check(folder: Path, facts: Mapping[str, Any]) -> str | None:
            return giver.name if store.is_unchecked(node) else None

        state = pull(node, receiver, giver, waiting=lambda: None, check=check)
        return "sent" if state == "fetched" else state
    if target.record(node) is not None and _complete(target, node, files):
        return "already there"
    with target.errors():
        target.files.makedirs(target.place(node), exist_ok=True)
        for name, (size, digest) in files.items():
            address = f"{target.place(node)}/{name}"
            if not _has(target, address, size, digest):
                target.files.makedirs(address.rpartition("/")[0], exist_ok=True)
                target.files.put_file(str(path / name), address)
                if not _has(target, address, size, digest):
                    raise StoreError(f"{node} arrived damaged at {target.name}: {name}; push it again")
        _write_record(target, node, content)
    return "sent"


def _write_record(target: RemoteStore, node: Node, content: bytes) -> None:
    """Write the record under another name and rename it: half of one must not pass for a record."""
    record_path = f"{target.place(node)}/{RECORD}"
    target.files.pipe_file(f"{record_path}.partial", content)
    target.files.mv(f"{record_path}.partial", record_path)


def _complete(target: RemoteStore, node: Node, files: Files) -> bool:
    with target.errors():
        return all(_has(target, f"{target.place(node)}/{name}", size) for name, (size, _) in files.items())


def _has(target: RemoteStore, path: str, size: int, digest: str = "") -> bool:
    """Return whether a file is there, of this size and, where one is given, of this digest."""
    if not target.files.exists(path) or target.files.size(path) != size:
        return False
    if not digest:
        return True
    with target.files.open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == digest
