"""Mutants of C source: one token each, or the statement of an update."""

from __future__ import annotations

import re
from collections.abc import Iterator

from benchmarks.reliability.mutants_python import Edit

# What is no code: comments, directives with the lines that they continue on, strings and characters.
_NO_CODE = re.compile(
    r"/\*.*?\*/|//[^\n]*|^[ \t]*#(?:[^\n\\]|\\.|\\\n)*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'",
    re.DOTALL | re.MULTILINE,
)
_SWAPPED = {
    " + ": ("arithmetic", " - "),
    " - ": ("arithmetic", " + "),
    " * ": ("arithmetic", " + "),
    " / ": ("arithmetic", " * "),
    " % ": ("arithmetic", " / "),
    " += ": ("arithmetic", " -= "),
    " -= ": ("arithmetic", " += "),
    " < ": ("comparison", " <= "),
    " <= ": ("comparison", " < "),
    " > ": ("comparison", " >= "),
    " >= ": ("comparison", " > "),
    " == ": ("comparison", " != "),
    " != ": ("comparison", " == "),
    " << ": ("shift", " >> "),
    " >> ": ("shift", " << "),
    " && ": ("and/or", " || "),
    " || ": ("and/or", " && "),
    " & ": ("arithmetic", " | "),
    " | ": ("arithmetic", " & "),
}
_OPERATOR = re.compile("|".join(re.escape(text) for text in sorted(_SWAPPED, key=len, reverse=True)))
_INTEGER = re.compile(r"(?<![\w.])(0x[0-9a-fA-F]+|\d+)(?=[uUlL]*\b)(?![.\w]*[.e])")
_OPERAND = r"[A-Za-z_]\w*(?:->\w+|\.\w+|\[\w+\])*"
# A difference that no neighbour tears apart.
_DIFFERENCE = re.compile(rf"(?:(?<=[=,?:] )|(?<=[(\[]))({_OPERAND}) - ({_OPERAND})(?=[;),\]])")
_UPDATE = re.compile(r"^[ \t]*((?:\w|->|\.|\[[^\]\n]*\])+ [-+*|&]?= [^;{}\n]*;)$", re.MULTILINE)


def edits(source: str) -> list[Edit]:
    """Every mutant of a file, in the order of the text."""
    code = _NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    found, texts = [], source.splitlines()
    for kind, start, end, text in _changes(code):
        line = code.count("\n", 0, start) + 1
        first, last = len(source[:start].encode()), len(source[:end].encode())
        found.append(Edit(kind, line, first, last, text, (line, line), texts[line - 1].strip()))
    return sorted(found, key=lambda e: (e.start, e.end, e.kind, e.text))


def _changes(code: str) -> Iterator[tuple[str, int, int, str]]:
    """(kind, start, end, text)"""
    for match in _OPERATOR.finditer(code):
        kind, text = _SWAPPED[match[0]]
        if not match[0].strip() or not code[: match.start()].strip():
            continue
        yield kind, match.start(), match.end(), text
    for match in _INTEGER.finditer(code):
        value = int(match[1], 0)
        yield "constant", match.start(1), match.end(1), str(value + 1)
        if value:
            yield "constant", match.start(1), match.end(1), str(value - 1)
    for match in _DIFFERENCE.finditer(code):
        yield "swapped operands", match.start(), match.end(), f"{match[2]} - {match[1]}"
    for match in _UPDATE.finditer(code):
        yield "removed update", match.start(1), match.end(1), ";"
