"""The streams of the command line: results on stdout, talk on stderr, progress only on a terminal."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from edgekit.errors import EdgeKitError

_BOLD, _RED, _PLAIN = "\033[1m", "\033[1;31m", "\033[0m"
_CLEAR_LINE = "\r\033[K"


class ClosedPipeError(Exception):
    """Whoever read our output has gone, as `head` does; there is nothing left to do."""


def out(text: str) -> None:
    """A result."""
    _write(sys.stdout, text + "\n")


def say(text: str) -> None:
    """Talk."""
    _write(sys.stderr, text + "\n")


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        # What the interpreter still flushes at its end goes nowhere, instead of failing again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        raise ClosedPipeError from None
    except UnicodeEncodeError:
        stream.write(text.encode("ascii", "backslashreplace").decode())
        stream.flush()


def is_colourful(stream: TextIO) -> bool:
    """May this stream carry colours? https://no-color.org"""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def bold(text: str, stream: TextIO | None = None) -> str:
    """A heading, where the stream shows such things."""
    return f"{_BOLD}{text}{_PLAIN}" if is_colourful(stream or sys.stdout) else text


def say_error(error: EdgeKitError) -> None:
    """An error and its fellows: each on its line, a hint that several share once."""
    mark = f"{_RED}error:{_PLAIN}" if is_colourful(sys.stderr) else "error:"
    faults = [error, *error.also]
    for i, fault in enumerate(faults):
        where = f"   {fault.where}" if fault.where else ""
        say(f"{mark} {fault.code} {_printable(fault.message)}{_printable(where)}")
        is_last = i + 1 == len(faults) or faults[i + 1].hint != fault.hint
        if fault.hint and is_last:
            say(f"hint: {_printable(fault.hint)}")


def _printable(text: str) -> str:
    """Text that may come from a model: it must not steer the terminal."""
    return "".join(ch if ch.isprintable() or ch == "\n" else "?" for ch in text)


class Progress:
    """One line on the terminal that says what is going on, gone when it is over."""

    def __init__(self) -> None:
        self._shown = False

    def __call__(self, step: str) -> None:
        if is_terminal(sys.stderr):
            width = shutil.get_terminal_size().columns - 1
            _write(sys.stderr, f"{_CLEAR_LINE}{_printable(step)[:width]}")
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            _write(sys.stderr, _CLEAR_LINE)
            self._shown = False


@contextmanager
def progress() -> Iterator[Progress]:
    """Progress while something is done."""
    line = Progress()
    try:
        yield line
    finally:
        line.clear()


def quiet(text: str) -> None:
    """Takes the place of `out` and `say` where nobody listens."""
