"""The files of the page: itself twice, its pictures, and the numbers behind each."""

from pathlib import Path

from repro import __version__
from repro.report.figures.canvas import write_csv
from repro.report.reproduction import html, markdown
from repro.report.reproduction.blocks import Document

FOOT = (
    f"Written by `repro show others` of repro {__version__} from papers/*/others.yaml. Numbers, names and "
    "places are facts; what is said at a place is restated."
)


def write(document: Document, folder: Path) -> list[Path]:
    """Write others.html, index.md, NAME.svg and NAME.csv of each picture; equal data give equal bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {
        "others.html": html.page(document, FOOT.replace("`", "")),
        "index.md": markdown.page(document, FOOT),
    }
    texts |= {f"{picture.name}.svg": f"{picture.alone}\n" for picture in document.pictures}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    for picture in document.pictures:
        write_csv(folder / f"{picture.name}.svg", picture.head, picture.rows)
    return sorted(folder / name for name in texts) + sorted(
        folder / f"{p.name}.csv" for p in document.pictures
    )
