"""``repro audit``, e.g. ``repro audit paper.tex``."""

from pathlib import Path

import click
from click.shell_completion import CompletionItem

from repro.cli import completion, groups, printing
from repro.errors import UsageError, unknown
from repro.manifest.papers import papers


class _Audit(groups.LazyGroup):
    """Views by plugins. Names of papers select view ``papers``, and paths view ``file``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing and not {*args[:1]} & {*self.names, *ctx.help_option_names}:
            args = [self._view(args), *args]
        return super().parse_args(ctx, args)

    def _view(self, args: list[str]) -> str:
        words = [word for word in args if not word.startswith("-")]
        named = list(filter(papers().__contains__, words))
        paths = [word for word in words if "://" in word or Path(word).expanduser().exists()]
        if args[:1] == words[:1] != [] and not paths + named:
            raise unknown("path, view or paper", words[0], (*self.names, *papers()))
        view = "file" if _are_paths(named, paths) else "papers"
        if view not in self.names:
            raise UsageError(f"REPRO_PLUGINS excludes the plugin of `repro audit {view}`")
        return view

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [CompletionItem(name) for name in completion.names(ctx, None, incomplete)]
        items = [*super().shell_complete(ctx, incomplete), *names]
        return items or [CompletionItem(incomplete, type="file")]


def _are_paths(named: list[str], paths: list[str]) -> bool:
    both, files = set(paths) & set(named), [path for path in paths if path not in named]
    for word in both:
        printing.say(f"{word} is a paper and a path. ./{word} names the path.")
    if named and files:
        raise UsageError(f"{named[0]} is a paper and {files[0]} a path. Audit one at a time.")
    return bool(files)


command = _Audit(
    "audit",
    package=__package__,
    sections={"views": {}},
    subcommand_metavar="[VIEW] [PAPER]...|FILE... [OPTIONS]",
    help="""List inconsistent numbers, marks and sentences in the suite's papers or the source of any paper.

    The default is all papers of the suite.
    """,
    epilog="""\b
Examples:
  repro audit PAPER
  repro audit paper.tex
  repro audit paper.tex --strict --format github
  repro audit papers PAPER --references
  repro audit claims PAPER --failing""",
)
