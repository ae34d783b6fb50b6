"""Counts what Python does, as a measure of work that is the same on every machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(function: Callable[[], object]) -> int:
    """Lines that Python runs, each turn of a loop or a comprehension once. What C code does inside is not
    seen."""
    count = 0

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        function()
    finally:
        sys.settrace(before)
    return count
