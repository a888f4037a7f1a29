"""``python -m tests.standins DIR``, with an option for each field of ``Sizes``."""

import argparse
from dataclasses import fields
from pathlib import Path

from tests.standins import beir, checkpoints, documents, fill, passages, texts, wiki
from tests.standins.sizes import Sizes


def make_home(folder: Path, sizes: Sizes) -> None:
    """The home below ``folder``, and what a user lays into the data folder."""
    home, data = folder / "home", folder / "data"
    passages.make(home, data, sizes)
    documents.make(home, sizes)
    wiki.make(home, data, sizes)
    beir.make(home, sizes)
    texts.make(data, sizes)


def make(folder: Path, sizes: Sizes) -> None:
    make_home(folder, sizes)
    checkpoints.make(folder / "data", sizes)
    fill.fill(folder / "home", folder / "data")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.standins", description=Sizes.__doc__)
    parser.add_argument("folder", type=Path)
    for field in fields(Sizes):
        parser.add_argument(f"--{field.name}", type=int, default=field.default, help="default: %(default)s")
    chosen = vars(parser.parse_args())
    folder = chosen.pop("folder").resolve()
    make(folder, Sizes(**chosen))
    print(f"REPRO_DATA={folder / 'data'} IR_DATASETS_HOME={folder / 'home'}")


if __name__ == "__main__":
    main()
