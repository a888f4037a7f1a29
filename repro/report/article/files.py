"""The files of an article: Markdown, HTML, and drawings with their numbers."""

from pathlib import Path

from repro import __version__
from repro.report.article import html
from repro.report.article.answers import answers
from repro.report.article.blocks import blocks
from repro.report.article.pictures import pictures
from repro.report.article.prose import fill_directives, prose
from repro.report.article.results import StudyResults
from repro.report.article.verdicts import verdicts
from repro.report.article.words import words

ONE_FILE = "[The same as one file](article.html)."


def write(results: StudyResults, folder: Path, *, command: str) -> list[Path]:
    """Write index.md, article.html and the drawings; equal results give equal bytes.

    Args:
        command: what writes the files, as they say.

    Raises:
        UsageError: the paper has no article or no study.
        ManifestError: a directive of its prose names nothing known.
    """
    path, text = prose(results.source.folder)
    folder.mkdir(parents=True, exist_ok=True)
    directives = words(results) | verdicts(results) | answers(results) | blocks(results)
    markdown = fill_directives(path, text, directives | pictures(results, folder))
    foot = f"Written by {{}} of repro {__version__} from {path.name}, records and stored scores."
    texts = {
        "index.md": f"{markdown.rstrip()}\n\n*{foot.format(f'`{command}`')} {ONE_FILE}*\n",
        "article.html": html.page(
            markdown, folder, above=f"a study at scale {results.scale}", foot=foot.format(command)
        ),
    }
    for name, content in texts.items():
        (folder / name).write_text(content, encoding="utf-8")
    return [folder / name for name in texts]
