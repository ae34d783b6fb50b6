"""Progress in notebooks: the step that a call is at, until its cell ends; a bar where steps are counted."""

from __future__ import annotations

import re
import sys
import time
from functools import cache
from importlib import import_module
from typing import Any

from edgekit.core.escape import html

_PAUSE = 0.1  # seconds at least between two messages, which go to the browser
_COUNTED = re.compile(r"(\d+) of (\d+)|(\d+)%")


def show(message: str) -> None:
    """Shows a message below the running cell; does nothing outside of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if getattr(shell, "kernel", None) is not None:
        _line(shell).show(message)


class _Line:
    """The line of one shell; each cell that reports progress gets a new one."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.handle: Any = None
        self.last = 0.0

    def show(self, message: str) -> None:
        now = time.monotonic()
        if self.handle is not None and now - self.last < _PAUSE:
            return
        self.last = now
        data = {"text/plain": message, "text/html": _bar(message)}
        if self.handle is None:
            display: Any = import_module("IPython.display").display  # in a notebook it is imported already
            self.handle = display(data, raw=True, display_id=True)
            self.shell.events.register("post_run_cell", self.clear)
        else:
            self.handle.update(data, raw=True)

    def clear(self, _result: object) -> None:
        self.shell.events.unregister("post_run_cell", self.clear)
        self.handle.update({"text/plain": "", "text/html": ""}, raw=True)
        self.handle = None


@cache
def _line(shell: Any) -> _Line:
    return _Line(shell)


def _bar(message: str) -> str:
    found = _COUNTED.search(message)
    bar = ""
    if found:
        done, most = (found[3], "100") if found[3] else (found[1], found[2])
        bar = f'<progress value="{done}" max="{most}"></progress> '
    return f'<div class="edgekit">{bar}{html(message)}</div>'
