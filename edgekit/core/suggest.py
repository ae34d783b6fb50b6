"""Did you mean: the known name that a mistyped one is closest to."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def hint(name: str, known: Iterable[str], what: str = "known") -> str:
    """A hint for a name that is not known: the closest one first, then all of them."""
    names = {n.lower(): n for n in known}
    close = difflib.get_close_matches(name.lower(), names, 1, 0.5)
    listed = f"{what}: {', '.join(names.values()) or 'none'}"
    return f"did you mean {names[close[0]]}? {listed}" if close else listed
