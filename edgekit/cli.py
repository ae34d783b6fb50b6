"""The command line: words in, a call of edgekit.api, words out; nothing heavy is imported before its use."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from copy import copy
from functools import cache
from importlib import import_module
from itertools import islice
from pkgutil import iter_modules
from types import UnionType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from edgekit import commands, console, settings, usage
from edgekit.command_help import Command, Group
from edgekit.core import limits
from edgekit.core.errors import EdgeKitError, Exit, bug
from edgekit.core.reasons import reason_of
from edgekit.deprecation import former_names
from edgekit.settings import Setting

# As the shell reports programs that a signal ended.
_INTERRUPTED, _CLOSED_PIPE, _TERMINATED = (128 + number for number in (2, 13, 15))

app = typer.Typer(
    cls=Group,
    suggest_commands=False,  # usage.py does
    rich_markup_mode=None,  # plain help: importing rich would double the time of every start
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Turn a trained model into a small, readable C library, measured and verified before it is flashed.",
    epilog="edgekit COMMAND --help shows options and examples, edgekit explain CODE what an error means. "
    "edgekit.toml, your own or in the working folder, sets defaults: a table for each command.",
)


@app.callback(invoke_without_command=True)
def edgekit(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Print the traceback of a bug.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Show no progress.")] = False,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Trust edgekit.toml and target files of this folder to name programs."),
    ] = False,
    raise_limits: Annotated[
        float,
        typer.Option(
            limits.OPTION,
            metavar="N",
            help="Let a model take N times the work and memory.",
            show_default=False,
        ),
    ] = 1,
) -> None:
    # --debug and --quiet are listed here for the help: execute() takes them from the line, and puts the
    # others in front.
    if version:
        from edgekit import __version__

        console.out(f"edgekit {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        console.say(context.get_help())
        raise typer.Exit(Exit.USAGE)
    context.default_map = settings.all_presets(_known, trust)
    context.obj = trust
    context.with_resource(limits.raised_limits(raise_limits))


@cache
def _known() -> settings.Known:
    """The options of each command that presets may name."""
    callbacks = [command.callback for command in app.registered_commands if command.callback]
    return {command.__name__: _options(command) for command in callbacks}


def _options(command: Callable[..., object]) -> dict[str, Setting]:
    """The settings that presets may name: the options of a command."""
    found: dict[str, Setting] = {}
    for name, hint in get_type_hints(command, include_extras=True).items():
        if get_origin(hint) is not Annotated or not isinstance(hint.__metadata__[0], type(typer.Option())):
            continue
        wanted = hint.__origin__
        wanted = get_args(wanted)[0] if isinstance(wanted, UnionType) else wanted
        is_list = get_origin(wanted) is list
        mark = next((note for note in hint.__metadata__ if isinstance(note, str)), "")
        kind = list if is_list else next(kind for kind in (str, bool, int, float) if issubclass(wanted, kind))
        found[name] = Setting(kind, mark)
        declared = hint.__metadata__[0]  # typer takes the first name for a default until it reads the command
        for old in former_names([str(declared.default), *(declared.param_decls or ())]):
            if old.startswith("--"):
                found[old.removeprefix("--").replace("-", "_")] = Setting(kind, mark, today=name)
    return found


for _module in iter_modules(commands.__path__):
    if not _module.name.startswith("_"):
        _verb = import_module(f"edgekit.commands.{_module.name}")
        app.command(cls=Command, rich_help_panel=_verb.PANEL)(getattr(_verb, _module.name))


@cache
def _program() -> Any:
    """All commands; a process that runs several command lines reads the options of each command once."""
    bare = copy(app)
    bare.registered_commands = []
    group = typer.main.get_command(bare)
    assert isinstance(group, Group)
    group.unread = {info.callback.__name__: info for info in app.registered_commands if info.callback}
    return group


# The class of all usage errors: newer typers carry their own copy of click, so it cannot be imported.
_UsageProblem: type[Any] = typer.BadParameter.__mro__[2]


def main() -> int:
    """The installed command; it cleans up when it is told to end, too."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(_TERMINATED))
    return execute(sys.argv[1:])


def execute(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code. The program's own options may stand anywhere on it."""
    ours = list(arguments[: arguments.index("--")] if "--" in arguments else arguments)
    front, rest = _own_options(ours)
    words = [*front, *rest, *arguments[len(ours) :]]
    try:
        with console.without_progress("--quiet" in ours):
            return _run(words, debug="--debug" in ours)
    except console.ClosedPipeError:
        return _CLOSED_PIPE


def _own_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The options of the program, which stand in front of a command, and the other words without --debug and
    --quiet."""
    front: list[str] = []
    rest: list[str] = []
    left = iter(words)
    for word in left:
        if word == limits.OPTION:
            front += [word, *islice(left, 1)]
        elif word == "--trust" or word.startswith(f"{limits.OPTION}="):
            front.append(word)
        elif word not in ("--debug", "--quiet"):
            rest.append(word)
    return front, rest


def _run(words: Sequence[str], *, debug: bool) -> int:
    try:
        code = _program().main(words, prog_name="edgekit", standalone_mode=False)
        return code if isinstance(code, int) else Exit.OK
    except (typer.Abort, KeyboardInterrupt):
        console.say("interrupted")
        return _INTERRUPTED
    except console.ClosedPipeError:
        raise
    except EdgeKitError as error:
        if debug and error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        fault = error
    except _UsageProblem as problem:
        fault = usage.error_of(problem)
    except OSError as error:
        if debug:
            traceback.print_exc()
        what = error.filename or "a file"
        fault = EdgeKitError("E0104", f"cannot use {what}: {reason_of(error)}")
    except MemoryError:
        fault = EdgeKitError("E0402", "the model needs more memory than there is")
    except Exception as error:  # a bug of ours: a sentence, not a page
        if debug:
            traceback.print_exc()
        fault = bug(error, "please report it, with the model if you can; --debug shows more")
    console.say_error(fault)
    if "--json" in words:
        from edgekit.reports import results

        console.out(results.errors_as_json(next((w for w in words if not w.startswith("-")), ""), fault))
    return fault.exit_code
