"""A document as Markdown for a documentation site, with its pictures beside it."""

from collections.abc import Iterator

from repro.report.markdown import escaped, link, table
from repro.report.reproduction.blocks import Block, Document, Fold, Grid, Inline, Link, Picture, Words


def page(document: Document, foot: str) -> str:
    """The whole page; equal documents give equal text."""
    lines = [f"# {escaped(document.title)}\n", *_blocks(document.lead)]
    for section in document.sections:
        lines += [f"## {escaped(section.title)} {{ #{section.place} }}\n", *_blocks(section.blocks)]
    return "\n".join([*lines, f"*{escaped(foot)}*\n"])


def _blocks(blocks) -> Iterator[str]:
    for block in blocks:
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    if isinstance(block, Words):
        strong = "**" if block.look == "finding" else ""
        yield f"{strong}{_inline(block.inline)}{strong}\n"
    elif isinstance(block, Grid):
        yield from table(block.head, [[_inline(cell) for cell in row] for row in block.rows])
    elif isinstance(block, Fold):
        yield f'<details markdown="1"><summary>{escaped(block.summary)}</summary>\n'
        yield from _blocks(block.blocks)
        yield "</details>\n"
    else:
        for picture in block.pictures:
            yield from _picture(picture)


def _picture(picture: Picture) -> Iterator[str]:
    yield f"### {escaped(picture.title)} {{ #{picture.name}-picture }}\n"
    yield f"![{escaped(picture.title)}]({picture.name}.svg)\n"
    yield f"{escaped(picture.words)} [The numbers as CSV]({picture.name}.csv).\n".lstrip()
    yield from _blocks(picture.below)


def _inline(inline: Inline) -> str:
    if isinstance(inline, Link):
        return link(inline.words, inline.address)
    return escaped(inline) if isinstance(inline, str) else "".join(map(_inline, inline))
