"""A store on another machine or in another folder, from which artefacts are pulled and to which they go."""

import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from repro.errors import ReproError, StoreError, UsageError
from repro.graph import Node
from repro.stage_table import STAGES
from repro.store import RECORD
from repro.store.disk import open_regular
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
        """The address of a node's artefact, without the protocol."""
        return f"{self.root}/{node.stage}/{node.fingerprint}"

    def record(self, node: Node) -> tuple[bytes, Files] | None:
        """The bytes of an artefact's record and the files it names, checked; None where there is no record.

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
        """A file of an artefact, and its size where known. Raises StoreError, also for what is no file."""
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
        """The files that a node's record names, checked. Raises StoreError as ``record`` does."""
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
        """The error for an artefact that is not what was asked for."""
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
    """An address without the password or, after a question mark, the tokens that it may hold."""
    scheme, separator, location = address.partition("://")
    if not separator:
        return address
    host, slash, path = location.partition("?")[0].partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}{'?…' if '?' in location else ''}"
