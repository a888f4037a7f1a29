"""The pages of the article: one of HTML, or several of Markdown, e.g. ``appendix-a.md``."""

import re
from base64 import b64encode
from pathlib import Path

from repro.writers.html.elements import Markup, el, rendered, section, standalone


def page(markdown: str, folder: Path) -> str:
    """Return the article, given in Markdown, as one HTML page that contains its styles and the SVG drawings
    in ``folder``."""
    text, _, foot = markdown.rstrip().rpartition("\n\n*Written by ")
    opening, *parts = re.split(r"^## ", text, flags=re.MULTILINE)
    title, _, lead = opening.strip().removeprefix("# ").partition("\n")
    sections = {name.strip(): body for name, _, body in (part.partition("\n") for part in parts)}
    places = {re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-"): name for name in sections}
    return standalone(
        title,
        [section(name, _html(sections[name], folder), place=place) for place, name in places.items()],
        above=f"a study at scale {foot.partition('--scale ')[2].split()[0]}",
        lead=el("div", _html(lead, folder), class_="lead"),
        links=places,
        sheet=("papers.head_to_head", "article.css"),
        foot=f"Written by {foot.partition(' [')[0].replace('`', '')}",
    )


APPENDICES, FOOT = "\n## Appendices\n", "\n\n*Written by "


def split(markdown: str) -> dict[str, str]:
    """Split the article into pages, file name -> Markdown: ``index.md``, which links to the appendices, and
    one page for each appendix, e.g. ``appendix-a.md``."""
    text, written_by, foot = markdown.rpartition(FOOT)
    body, *appendices = re.split(r"^## (?=Appendix )", text, flags=re.MULTILINE)
    pages = {f"appendix-{part[9].lower()}.md": _raised(part) for part in appendices}
    links = (f"* [{page[2:].partition(chr(10))[0]}]({name})" for name, page in pages.items())
    return {"index.md": "\n".join([body + APPENDICES[1:], *links]) + written_by + foot, **pages}


def _raised(part: str) -> str:
    return "# " + re.sub(r"^##(#+ )", r"#\1", part, flags=re.MULTILINE).rstrip() + "\n"


def joined(folder: Path) -> str:
    """Return the whole article in Markdown, joined from the pages of ``split`` in a folder."""
    body, _, rest = (folder / "index.md").read_text(encoding="utf-8").partition(APPENDICES)
    pages = (path.read_text(encoding="utf-8") for path in sorted(folder.glob("appendix-*.md")))
    parts = [re.sub(r"^(#+ )", r"#\1", page.rstrip(), flags=re.MULTILINE) for page in pages]
    return body + "\n" + "\n\n".join(parts) + FOOT + rest.partition(FOOT)[2]


def _html(markdown: str, folder: Path) -> Markup:
    text = rendered(markdown, tags=True).replace(' markdown="1"', "")

    def drawn(place: re.Match[str]) -> str:
        drawing = b64encode((folder / place[1]).read_bytes()).decode()
        return f'src="data:image/svg+xml;base64,{drawing}"'

    return Markup(re.sub(r'src="([\w.-]+\.svg)"', drawn, text))
