"""Which kernels call a function of the runtime's headers, by its name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_WORD = re.compile(r"\w+")
_FUNCTION = re.compile(r"^(?:static|EK_)[^;={]*?\b(\w+)\(", re.MULTILINE)


def users(tree: Path, file: str, line: int) -> set[str]:
    """The kernels that call the function of a header in which a line is, or one that calls it."""
    if "/include/" not in file:
        return set()
    before = "\n".join((tree / file).read_text(encoding="utf-8").splitlines()[:line])
    names = {match[1] for match in [*_FUNCTION.finditer(before)][-1:]}
    headers = [path.read_text(encoding="utf-8") for path in (tree / "runtime_c/include").rglob("*.h")]
    functions = [(match[1], text) for header in headers for match, text in _functions(header)]
    count = 0
    while len(names) > count:
        count = len(names)
        names |= {name for name, text in functions if names.intersection(_WORD.findall(text))}
    kernels = (tree / "runtime_c/kernels").glob("*/*.c")
    found = [path for path in kernels if names.intersection(_WORD.findall(path.read_text(encoding="utf-8")))]
    return {path.relative_to(tree).as_posix() for path in found}


def _functions(header: str) -> Iterator[tuple[re.Match[str], str]]:
    """Each function of a header, and its text."""
    starts = [*_FUNCTION.finditer(header)]
    for i, match in enumerate(starts):
        yield match, header[match.start() : starts[i + 1].start() if i + 1 < len(starts) else None]
