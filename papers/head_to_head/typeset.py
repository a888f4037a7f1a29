"""Makes the article's PDF: pandoc converts its Markdown for typst (extra ``article``)."""

import re
from pathlib import Path

from repro.errors import UsageError

PREAMBLE = Path(__file__).with_name("article.typ")
FOLD = re.compile(r"<details[^>]*><summary>(.*?)</summary>.*?</details>", re.DOTALL)
APPENDIX = "\n## Appendix"


def check_packages() -> None:
    """Raise UsageError if a package that makes the PDF is missing."""
    try:
        import pypandoc  # noqa: F401
        import typst  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"a PDF needs the package {error.name}: pip install 'repro-bench[article]'"
        ) from None


def pdf(markdown: str, folder: Path) -> bytes:
    """Return the bytes of the article's PDF, with the drawings in the folder. Equal Markdown gives equal
    bytes. Only the titles of folded parts are printed. The appendix begins on a new page."""
    import pypandoc
    import typst

    text = FOLD.sub(r"*\1: on the page, and in results/tables.*", markdown)
    text = re.sub(r"(?<=[ (])-(?=\d)", "−", text)
    text = text.replace(APPENDIX, f"\n```{{=typst}}\n#pagebreak()\n```\n{APPENDIX}", 1)
    body = pypandoc.convert_text(text, "typst", format="gfm+raw_attribute", extra_args=["--columns=10000"])
    title = markdown.partition("\n")[0].removeprefix("# ")
    content = PREAMBLE.read_text(encoding="utf-8").replace("TITLE", title) + body
    return typst.compile(content.encode(), root=str(folder))
