"""Did you mean: the known name that a mistyped one is closest to."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is closest, if any is close."""
    names = {n.lower(): n for n in known}
    close = difflib.get_close_matches(name.lower(), names, 1, 0.5)
    return names[close[0]] if close else None


def hint(name: str, known: Iterable[str], what: str = "known") -> str:
    """A hint for a name that is not known: the closest one first, then all of them."""
    names = list(known)
    listed = f"{what}: {', '.join(names) or 'none'}"
    close = closest(name, names)
    return f"did you mean {close}? {listed}" if close else listed
