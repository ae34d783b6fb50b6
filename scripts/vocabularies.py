"""Writes docs/vocabularies.md: the helpers of the SIMD vocabularies, and what each does."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from edgekit.codegen.kernels.support_headers import definitions, made_by_macros, of_widths

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "vocabularies.md"
_SIMD = ROOT / "runtime_c" / "include" / "edgekit" / "simd"
# By prefix what the helpers work on.
_TITLES = {
    "vf": "vectors of float32",
    "vi": "vectors of int32",
    "v16": "sixteen sums of int16",
    "fm2": "floats in two registers of RISC-V",
    "fm4": "floats in four registers of RISC-V",
    "fm8": "floats in eight registers of RISC-V",
    "m2": "sums of int32 in two registers of RISC-V",
    "m4": "sums of int32 in four registers of RISC-V",
    "m8": "sums of int32 in eight registers of RISC-V",
    "x8": "eight sums of int32 on x86",
    "x8v": "eight sums of int32 on x86 with AVX-VNNI",
    "x16": "sixteen sums of int32 on x86",
    "x8x2": "two vectors of eight sums on x86",
    "c8": "eight channels of int8 on NEON",
    "c16": "sixteen channels of int8 on NEON",
    "dr": "sums of a block of outputs, of rows that are quantized in each run",
    "a8": "products of int8 for attention",
    "sme": "panels and tiles of SME",
}
_HEAD = """# Helpers of the SIMD vocabularies

Kernels are written in these names, and each instruction set defines them in a header of its own: see
[kernels.md](kernels.md#the-header-of-a-kernel-file). `python scripts/vocabularies.py` writes this page from
the headers: what stands beside a helper is the comment above it, where it has one.
"""
_NOTE = re.compile(
    r"^/\*((?:(?!\*/).)*)\*/\n(?:(?:EK_|static )[\w *]*?\b(EK_WIDE\(\w+\)|ek_\w+)\(|#define (EK_\w+)"
    r"|typedef [^;]*?\b(ek_\w+);)",
    re.MULTILINE | re.DOTALL,
)


def helpers() -> Mapping[str, Mapping[str, tuple[str, Sequence[str]]]]:
    """By prefix and helper what it does, and the headers that define it."""
    notes, of_a_width = _notes(), {name for _, name in of_widths()}
    found: dict[str, dict[str, tuple[str, Sequence[str]]]] = {prefix: {} for prefix in _TITLES}
    for name, headers in sorted({**made_by_macros(), **definitions()}.items()):
        prefix, _, rest = name.lower().removeprefix("ek_").partition("_")
        if prefix in found:
            written = f"EK_WIDE({rest})" if name in of_a_width else name
            found[prefix][name] = notes.get(name, notes.get(written, "")), tuple(dict.fromkeys(headers))
    return found


def _notes() -> Mapping[str, str]:
    """The comments right above helpers."""
    found: dict[str, str] = {}
    for path in sorted(_SIMD.rglob("*.h")):
        for note, *names in _NOTE.findall(path.read_text(encoding="utf-8")):
            found.setdefault("".join(names), " ".join(note.replace("\n *", " ").split()))
    return found


def page() -> str:
    parts = [_HEAD]
    for prefix, names in helpers().items():
        rows = [
            f"| `{name}` | {note.replace('|', chr(92) + '|')} | {', '.join(f'`{h}`' for h in headers)} |"
            for name, (note, headers) in names.items()
        ]
        head = ["| helper | what it does | defined by |", "|---|---|---|"]
        parts.append("\n".join([f"## `ek_{prefix}_`: {_TITLES[prefix]}", "", *head, *rows, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
