"""Mistakes on the command line as errors of EdgeKit, with the word that is closest to what was typed."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from edgekit.core import suggest
from edgekit.core.errors import EdgeKitError
from edgekit.deprecation import former_names

_TYPED = re.compile(r"'(?P<word>[^']*)' is not one of (?P<known>.*)\.")
_NO_COMMAND = re.compile(r"No such command '(?P<word>[^']*)'")


def error_of(problem: Any) -> EdgeKitError:
    """The error for what the command line's parser says. It is `Any`: newer typers carry their own click."""
    context = getattr(problem, "ctx", None)
    help_of = f"see {context.command_path if context else 'edgekit'} --help"
    # `message` goes without the parser's own suggestions; pydantic puts "Value error" in front.
    is_plain = hasattr(problem, "possibilities") or type(problem).__name__ == "UsageError"
    message = (problem.message if is_plain else problem.format_message()).replace("Value error, ", "")
    if close := _closest(problem, message, context):
        help_of = f"did you mean {close}? {help_of}"
    return EdgeKitError("E0100", message, hint=help_of)


def _closest(problem: Any, message: str, context: Any) -> str | None:
    """The option, command or choice that was meant."""
    if context is None:
        return None
    if option := getattr(problem, "option_name", ""):
        # A letter is close to many words, and means none of them.
        return suggest.closest(option, _options(context.command)) if len(option) > len("-x") else None
    if found := _NO_COMMAND.match(message):
        return suggest.closest(found["word"], context.command.list_commands(context))
    if found := _TYPED.search(message):
        choice = suggest.closest(found["word"], re.findall(r"'([^']*)'", found["known"]))
        return choice or _shorter_option(problem, found["word"], context)
    return None


def _shorter_option(problem: Any, word: str, context: Any) -> str | None:
    """--data, once --calib, where a file was given to --calibrate."""
    used = getattr(getattr(problem, "param", None), "opts", [])
    shorter = (
        parameter.opts[0]
        for parameter in context.command.params
        for name in parameter.opts
        if name.startswith("--") and any(u != name and u.startswith(name) for u in used)
    )
    option = next(shorter, None)
    return f"{option} {word}" if option and Path(word).suffix else None


def _options(command: Any) -> Iterable[str]:
    """Of today: no name that an option had before is suggested."""
    for parameter in command.params:
        former = former_names(parameter.opts)
        yield from (name for name in (*parameter.opts, *parameter.secondary_opts) if name not in former)
