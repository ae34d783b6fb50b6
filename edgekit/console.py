"""The streams of the command line: results on stdout, talk and progress on stderr."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import groupby
from time import monotonic
from typing import TextIO

from edgekit.core.errors import EdgeKitError
from edgekit.core.escape import terminal
from edgekit.core.progress import Milestone

_RED, _PLAIN = "\033[1;31m", "\033[0m"
_CLEAR_LINE = "\r\033[K"
_COUNT = re.compile(r"\b(\d+) of (\d+)\b")
_MIN_BAR, _MAX_BAR = 10, 30
LINES_EVERY = 5.0  # seconds, of progress where there is no terminal
_MAX_EQUAL = 5  # equal faults that are shown one by one; --json has them all


class ClosedPipeError(Exception):
    """Whoever read our output has gone, as `head` does; there is nothing left to do."""


def out(text: str) -> None:
    """A result."""
    _write(sys.stdout, terminal(text) + "\n")


def out_piece(text: str) -> None:
    """A part of a result that comes piece by piece."""
    _write(sys.stdout, terminal(text))


def say(text: str) -> None:
    """Talk."""
    _write(sys.stderr, terminal(text) + "\n")


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


def is_terminal(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def say_error(error: EdgeKitError) -> None:
    """An error and its fellows. Of many equal ones a few are shown; a hint that several share, once."""
    is_colourful = is_terminal(sys.stderr) and not os.environ.get("NO_COLOR")  # https://no-color.org
    mark = f"{_RED}error:{_PLAIN}" if is_colourful else "error:"
    for hint, advised in groupby((error, *error.also), key=lambda e: e.hint):
        for (code, message), equal in groupby(advised, key=lambda e: (e.code, e.message)):
            places = [e.where for e in equal]
            for where in places[:_MAX_EQUAL]:
                line = f"{code} {message}" + (f"   {where}" if where else "")
                _write(sys.stderr, f"{mark} {terminal(line)}\n")
            if len(places) > _MAX_EQUAL:
                _write(sys.stderr, f"{mark} {code} and {len(places) - _MAX_EQUAL} more of these\n")
        if hint:
            say(f"hint: {hint}")


def with_bar(step: str, width: int) -> str:
    """A step, and where it counts, as in `sample 3 of 12`, a bar that shows how much is done."""
    count = _COUNT.search(step)
    done, total = (int(number) for number in count.groups()) if count else (0, 0)
    room = min(width - len(step) - len("  []  100%"), _MAX_BAR)
    if not 0 < done <= total or room < _MIN_BAR:
        return step[:width]
    full = room * done // total
    return f"{step}  [{'#' * full}{'-' * (room - full)}]  {100 * done // total:3}%"


class Progress:
    """One line on the terminal that says what is going on, gone when it is over; elsewhere a line every few
    seconds, or for each step. Milestones stay."""

    def __init__(self, *, plain_lines: bool = False) -> None:
        self._shown = False
        self._plain_lines, self._last = plain_lines, ""
        self._said_at = monotonic()

    def __call__(self, step: str) -> None:
        if _is_quiet.get():
            return
        if isinstance(step, Milestone):
            self.clear()
            self._say(step)
        elif is_terminal(sys.stderr):
            width = shutil.get_terminal_size().columns - 1
            _write(sys.stderr, f"{_CLEAR_LINE}{with_bar(terminal(step), width)}")
            self._shown = True
        elif step != self._last and (self._plain_lines or monotonic() - self._said_at >= LINES_EVERY):
            self._say(step)

    def _say(self, step: str) -> None:
        say(step)
        self._last, self._said_at = step, monotonic()

    def clear(self) -> None:
        if self._shown:
            _write(sys.stderr, _CLEAR_LINE)
            self._shown = False


_is_quiet = ContextVar("_is_quiet", default=False)


@contextmanager
def without_progress(wanted: bool) -> Iterator[None]:
    """--quiet: results, notes, warnings and errors alone, if that is wanted."""
    before = _is_quiet.set(wanted)
    try:
        yield
    finally:
        _is_quiet.reset(before)


@contextmanager
def progress(*, plain_lines: bool = False) -> Iterator[Progress]:
    """Progress while something is done; `plain_lines`: each step where there is no
    terminal."""
    line = Progress(plain_lines=plain_lines)
    try:
        yield line
    finally:
        line.clear()


def quiet(text: str) -> None:
    """Takes the place of `out` and `say` where their text is not wanted."""
