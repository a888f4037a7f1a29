"""Check the distributions of a folder as the package index does: metadata, version, long description.

``python .ci/metadata.py dist`` exits with an error for an invalid wheel or source archive.
"""

import sys
import tarfile
import zipfile
from pathlib import Path

from packaging.metadata import Metadata

ROOT = Path(__file__).resolve().parent.parent


def metadata(path: Path) -> Metadata:
    """Return the metadata of a wheel or source archive. Raises an ExceptionGroup for invalid fields."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            [name] = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
            return Metadata.from_email(wheel.read(name), validate=True)
    with tarfile.open(path) as archive:
        member = archive.extractfile(f"{path.name.removesuffix('.tar.gz')}/PKG-INFO")
        return Metadata.from_email(member.read(), validate=True)


def check(folder: Path) -> None:
    """Raise AssertionError unless a wheel and a source archive of this tree are in the folder."""
    version = (ROOT / "repro/version.py").read_text(encoding="utf-8").partition('__version__ = "')[2]
    found = {path.suffix: metadata(path) for path in folder.iterdir() if path.suffix in (".whl", ".gz")}
    assert found.keys() == {".whl", ".gz"}, f"{folder} has {', '.join(found) or 'nothing'}"
    for one in found.values():
        assert str(one.version) == version.partition('"')[0], one.version
        assert one.description_content_type == "text/markdown", one.description_content_type
        assert one.description == (ROOT / "README.md").read_text(encoding="utf-8"), "another README.md"
        assert {"score", "train", "bm25", "all"} <= set(one.provides_extra or ()), one.provides_extra


if __name__ == "__main__":
    check(Path(sys.argv[1]))
