"""Writes files of lines, packed or not, with equal bytes for equal lines."""

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def plain(path: Path, lines: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(lines)
    return path


def packed(path: Path, lines: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 1, raw, mtime=0) as file:
        file.writelines(line.encode() for line in lines)
    return path


def tar(path: Path, members: Mapping[str, Iterable[str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 1, raw, mtime=0) as file:
        with tarfile.open(fileobj=file, mode="w") as archive:
            for name, lines in members.items():
                content = "".join(lines).encode()
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return path


def archive(path: Path, members: Mapping[str, Iterable[str]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, lines in members.items():
            file.writestr(zipfile.ZipInfo(name), "".join(lines), zipfile.ZIP_DEFLATED)
    return path


def rows(values: Iterable[Iterable[Any]], separator: str = "\t") -> list[str]:
    return [separator.join(map(str, row)) + "\n" for row in values]


def json_line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) + "\n"
