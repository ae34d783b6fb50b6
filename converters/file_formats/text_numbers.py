"""Numbers that a file has as text: an integer or a real, or an error that says what should be one."""

from __future__ import annotations

import re

from edgekit.core.errors import EdgeKitError

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(
    r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|[+-]?inf(inity)?|[+-]?nan", re.IGNORECASE
)


def is_integer(text: str) -> bool:
    return _INTEGER.fullmatch(text) is not None


def integer(text: str, what: str, where: str = "") -> int:
    """An integer of as many digits as 64 bits have."""
    if not is_integer(text):
        raise EdgeKitError("E0401", f"{what} is {text[:40]!r}, it should be an integer", where)
    return int(text)


def number(text: str, what: str, where: str = "") -> float:
    """A real, infinite ones and NaN included."""
    if not _NUMBER.fullmatch(text):
        raise EdgeKitError("E0401", f"{what} is {text[:40]!r}, it should be a number", where)
    return float(text)
