"""Writes the list in docs/quantization.md of operators that compute on integers, or checks it (--check)."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

from edgekit.core.ops import Op, registry
from edgekit.core.ops._map import Compare, Map
from edgekit.core.passes.integer_labels import keeps_scale

PAGE = Path(__file__).parents[1] / "docs/quantization.md"
START, END = "<!-- integer forms: scripts/integer_forms.py -->\n", "<!-- end of integer forms -->\n"
FORMS = {
    "moves": "Elements are moved or picked, and keep their scale",
    "table": "A table of 256 results, for one tensor and numbers",
    "rule": "A rule of its own",
}
_CONVERSIONS = ("cast", "flip_sign", "lookup", "quantize")  # modules of operators that no float model has


def form(op: type[Op]) -> str:
    """The integer form of an operator on tensors that EdgeKit quantizes; empty for none."""
    if op.is_data_movement or (issubclass(op, Map) and keeps_scale(op())):
        return "moves"
    if op.integer not in (Op.integer, Map.integer):
        return "rule"
    if not issubclass(op, Map) or issubclass(op, Compare):
        return ""
    return "table" if op.tabled and (op.c_float or op.c) else ""


def text() -> str:
    """A line for each form."""
    names = defaultdict(list)
    for name, op in registry().items():
        if op.__module__.rpartition(".")[2] not in _CONVERSIONS:
            names[form(op)].append(f"`{name}`")
    rows = [f"| {title} | {', '.join(names[kind])} |" for kind, title in FORMS.items()]
    return "\n".join(["| integer form | operators |", "|---|---|", *rows]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the list is old")
    check = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    before, old = page.split(START)
    new = before + START + text() + END + old.split(END)[1]
    if check:
        return int(new != page)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
