"""Groups of commands that are imported when they are called."""

import importlib
from collections.abc import Mapping

import click

from repro import errors, hooks

Sections = Mapping[str, Mapping[str, str]]


class LazyGroup(click.Group):
    """A group that lists commands, also of plugins, without importing them.

    Args:
        package: package of modules with a ``command``.
        sections: title -> command -> its line of help.
        kind: a command's name in errors, e.g. "view".
        default: the command to run if the first argument names none of them.
    """

    def __init__(
        self,
        *args,
        package: str = "",
        sections: Sections,
        hidden: tuple[str, ...] = (),
        kind: str = "view",
        default: str = "",
        **kwargs,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.package, self.core, self.unlisted = package, sections, hidden
        self.kind, self.default = kind, default

    @property
    def of_plugins(self) -> dict[str, hooks.Command]:
        start = f"{self.name} " if self.kind != "verb" else ""
        commands = plugin_commands().items()
        own = {name.removeprefix(start): command for name, command in commands if name.startswith(start)}
        return {name: command for name, command in own.items() if " " not in name}

    @property
    def sections(self) -> Sections:
        sections = {title: dict(lines) for title, lines in self.core.items()}
        for name, command in self.of_plugins.items():
            title = command.section if command.section in sections else next(iter(sections))
            home = next((lines for lines in sections.values() if name in lines), sections[title])
            home[name] = command.line
        return sections

    @property
    def names(self) -> list[str]:
        return [name for section in self.sections.values() for name in section]

    def list_commands(self, ctx: click.Context) -> list[str]:
        return self.names

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return self._import(name) if name in (*self.names, *self.unlisted) else None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert "", which names the default command, if the first argument is absent or an option."""
        is_default = self.default and (not args or args[0].startswith("-"))
        if is_default and not ctx.resilient_parsing and not {*args[:1]} & {*ctx.help_option_names}:
            args = ["", *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: click.Context, args: list[str]):
        if args[0] == "" and self.default:
            return "", self._import(self.default), args[1:]
        command = self.get_command(ctx, args[0])
        if command is not None:
            return args[0], command, args[1:]
        if self.default and not self._is_misspelt(args[0]):
            return "", self._import(self.default), args
        path = ctx.command_path.strip()
        hint = f"`{path} --help` describes them."
        raise errors.unknown(self.kind, args[0], self.list_commands(ctx), owner=f"`{path}`", hint=hint)

    def _is_misspelt(self, word: str) -> bool:
        import difflib

        from repro.manifest.papers import papers

        return bool(difflib.get_close_matches(word, self.names, n=1, cutoff=0.7)) and word not in papers()

    def shell_complete(self, ctx: click.Context, incomplete: str):
        found = super().shell_complete(ctx, incomplete)
        if self.default:
            command = self._import(self.default)
            with command.make_context("", [], parent=ctx, resilient_parsing=True) as inner:
                for argument in [p for p in command.params if isinstance(p, click.Argument)][:1]:
                    found += argument.shell_complete(inner, incomplete)
        return found

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not self.default:
            return super().format_usage(ctx, formatter)
        pieces = self._import(self.default).collect_usage_pieces(ctx)
        formatter.write_usage(ctx.command_path, " ".join(pieces))
        formatter.write_usage(ctx.command_path, f"{self.kind.upper()} [ARGS]...", prefix="       ")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        shown = self._import(self.default) if self.default and not self.help else self
        click.Command.format_help_text(shown, ctx, formatter)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        click.Command.format_options(self._import(self.default) if self.default else self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in self.sections.items():
            if section:
                with formatter.section(title.capitalize()):
                    formatter.write_dl(list(section.items()))

    def _import(self, name: str) -> click.Command:
        targets = {name: command.target for name, command in self.of_plugins.items()}
        if name in self.commands and name not in targets:
            return self.commands[name]
        module = "import_" if name == "import" else name
        module, _, attribute = targets.get(name, f"{self.package}.{module}:command").partition(":")
        return getattr(importlib.import_module(module), attribute)


def plugin_commands() -> dict[str, hooks.Command]:
    return hooks.merged(hooks.ask().commands())


def views(verb: str, lines: Mapping[str, str], *, default: str = "", **how) -> LazyGroup:
    """Return the click group of a verb. ``lines`` maps each view to its line of help."""
    kind = "view" if default else "subcommand"
    return LazyGroup(verb, sections={"subcommands": lines}, kind=kind, default=default, **how)
