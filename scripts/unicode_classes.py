#!/usr/bin/env python3
"""Writes edgekit/core/text/unicode_classes.py from unicodedata2 16.0, and from what tokenizers 0.23 does."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import unicodedata2 as unicode
from tokenizers import normalizers

OUT = Path(__file__).parents[1] / "edgekit/core/text/unicode_classes.py"
HEAD = '''"""Classes of characters of Unicode {version}, written by scripts/unicode_classes.py.

Each table has the lengths of runs, in turns outside and inside of the class, from U+0000 on.
"""

VERSION = "{version}"
'''
SCALARS = [*range(0xD800), *range(0xE000, 0x110000)]


def runs(inside: Callable[[int], bool]) -> list[int]:
    """How many characters follow one another outside, inside, outside ... of a class."""
    lengths, is_in = [0], False
    for code in range(0x110000):
        if inside(code) != is_in:
            lengths.append(0)
            is_in = not is_in
        lengths[-1] += 1
    return lengths if is_in else lengths[:-1]


def table(name: str, inside: Callable[[int], bool], comment: str = "") -> str:
    lines = textwrap.wrap(" ".join(map(str, runs(inside))), 100)
    return "\n".join(
        [*([comment] if comment else []), f"{name} = (", *(f'    "{line} "' for line in lines), ")"]
    )


def of_category(initial: str) -> Callable[[int], bool]:
    return lambda code: unicode.category(chr(code))[0] == initial


def unknown_to_nfc() -> set[int]:
    """What Unicode composes or reorders, and the package `tokenizers` does not: it came after Unicode 9."""
    nfc = normalizers.NFC().normalize_str
    found = set()
    for code in SCALARS:
        ch = chr(code)
        tries = (f"a{ch}\u0323", f"a{ch}\u0301", f"a\u0301{ch}", f"a{ch}\u0334", f"a\u0345{ch}")
        if any(nfc(text) != unicode.normalize("NFC", text) for text in tries):
            found.add(code)
        parts = unicode.normalize("NFD", ch)
        if nfc(parts) != unicode.normalize("NFC", parts):  # all but marks of old are of new scripts
            found |= {code, *(ord(part) for part in parts if part > "\uffff")}
    return found


if __name__ == "__main__":
    newer = unknown_to_nfc()
    parts = (
        HEAD.format(version=unicode.unidata_version),
        table("LETTERS", of_category("L")),
        table("NUMBERS", of_category("N")),
        table("UNKNOWN_TO_NFC", newer.__contains__, "# Came after Unicode 9, whose NFC tokenizers use."),
    )
    OUT.write_text("\n".join(parts) + "\n")
