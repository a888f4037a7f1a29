"""Serves a home of ir_datasets as the web does: its list of downloads then names a server on this machine."""

import gzip
import importlib
from hashlib import md5
from pathlib import Path

from tests.local_site import Site

MODULES = ("msmarco_passage", "msmarco_document", "dpr_w100", "beir")


def serve(site: Site, home: Path, monkeypatch) -> None:
    """Give every file of ``home`` that ir_datasets' list names, under its md5."""
    from ir_datasets.util import DownloadConfig

    contents = {name: dict(part) for name, part in DownloadConfig.contents().items()}
    for collection in ("msmarco-passage", "msmarco-document", "dpr-w100", "beir"):
        for key, stated in contents[collection].items():
            if (file := _file(home / collection, key, stated.get("cache_path"))) is not None:
                path = f"{collection}/{key}"
                site.files[path] = file
                digest = md5(file).hexdigest()
                kept = {"cache_path": stated["cache_path"]} if "cache_path" in stated else {}
                contents[collection][key] = {"url": f"{site.address}/{path}", "expected_md5": digest, **kept}
    monkeypatch.setattr(DownloadConfig, "_contents", contents)


def at_home(home: Path, monkeypatch) -> None:
    """Let ir_datasets have this home: it fixes that when a module of collections is imported."""
    import ir_datasets

    monkeypatch.setenv("IR_DATASETS_HOME", str(home))
    registered = ir_datasets.registry._registered
    for name in MODULES:
        module = importlib.import_module(f"ir_datasets.datasets.{name}")
        for id in [id for id in registered if id.split("/")[0] == module.NAME]:
            monkeypatch.delitem(registered, id)
        importlib.reload(module)


def _file(folder: Path, key: str, cached: str | None) -> bytes | None:
    """The content that a download has; topics that ir_datasets keeps unpacked are packed again."""
    if cached is None:
        unpacked = folder / f"{key}.tsv"
        return gzip.compress(unpacked.read_bytes(), mtime=0) if unpacked.is_file() else None
    return (folder / cached).read_bytes() if (folder / cached).is_file() else None
