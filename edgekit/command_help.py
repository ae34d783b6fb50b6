"""The help of commands: options and commands in groups, and command lines as examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from enum import StrEnum
from itertools import groupby, takewhile
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info
from typer.models import CommandInfo

from edgekit import console
from edgekit.deprecation import former_names


class Panel(StrEnum):
    """The groups of `edgekit --help`, in the order in which a model goes through them."""

    MODELS = "Look at models and convert them"
    SMALLER = "Make models smaller"
    LIBRARIES = "Build libraries"
    CHECKS = "Run, measure and compare"
    HELP = "Find your way"


# The groups of options; those of a command itself come first, without one.
INPUTS = "Reading the model"
CODE = "Generated code"
TEXT = "Text of language models"
GATES = "Limits and gates"
GENERAL = "General"
_LAST = (CODE, INPUTS, GENERAL)

# Contexts and formatters are `Any`: newer typers carry their own copy of click, with other classes.
Records = Iterable[tuple[str, tuple[str, str]]]


def _write(formatter: Any, records: Records, order: Iterable[str]) -> None:
    """Rows of help under the titles of their groups."""
    places = {title: place for place, title in enumerate(order)}
    for title, rows in groupby(sorted(records, key=lambda r: places[r[0]]), key=lambda r: r[0]):
        with formatter.section(title):
            formatter.write_dl([row for _, row in rows])


class Command(TyperCommand):
    """A command whose docstring is a sentence, and after it command lines that show its use."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Options go on to work under the names that they had, with a note."""
        today = {old: parameter.opts[0] for parameter in self.params for old in former_names(parameter.opts)}
        used = (word.partition("=")[0] for word in takewhile(lambda word: word != "--", args))
        for word in dict.fromkeys(word for word in used if word in today):
            console.say(f"note: {word} is called {today[word]} now")
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        sentence, _, examples = (self.help or "").partition("\n\n")
        with formatter.indentation():
            formatter.write_paragraph()
            formatter.write_text(sentence)
        if examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in examples.splitlines()))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        records: list[tuple[str, tuple[str, str]]] = []
        for each in self.get_params(ctx):
            parameter = copy(each)
            parameter.opts = [name for name in each.opts if name not in former_names(each.opts)]
            if (row := parameter.get_help_record(ctx)) is None:
                continue
            is_argument = parameter.param_type_name == "argument"
            own = "Arguments" if is_argument else "Options"
            title = GENERAL if "--help" in parameter.opts else getattr(parameter, "rich_help_panel", None)
            records.append((title or own, row))
        found = list(dict.fromkeys(title for title, _ in records))
        _write(formatter, records, [*(t for t in found if t not in _LAST), *_LAST])


class Group(TyperGroup):
    """All commands, in the groups that their modules name. Each is put together when it is asked for: its
    options are read from annotations, which takes longer than most of what else happens at the start."""

    unread: Mapping[str, CommandInfo] = {}

    def list_commands(self, ctx: Any) -> list[str]:
        return [*(self.unread or self.commands)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in self.unread and cmd_name not in self.commands:
            self.commands[cmd_name] = get_command_from_info(
                self.unread[cmd_name], pretty_exceptions_short=False, rich_markup_mode=None
            )
        return self.commands.get(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        width = formatter.width - 6 - max(len(name) for name, _ in commands)
        _write(
            formatter,
            [
                (str(getattr(command, "rich_help_panel", "")), (name, command.get_short_help_str(width)))
                for name, command in commands
                if command
            ],
            Panel,
        )


def option(*declared: str, group: str, **details: Any) -> Any:
    """An option that the help lists in a group."""
    return typer.Option(*declared, rich_help_panel=group, **details)
