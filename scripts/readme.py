"""Writes the table of README.md that says what the examples need, or checks it (--check)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from edgekit import target
from edgekit.codegen.program import compile_graph
from edgekit.converters.from_onnx import convert
from edgekit.passes.simplify import simplify

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "README.md"
START, END = "<!-- sizes: scripts/readme.py -->\n", "<!-- end of sizes -->\n"


def table() -> str:
    """One row an example. No column depends on a compiler, so every machine writes the same."""
    rows = [
        "| example | multiply-accumulates | weights, bytes | arena, bytes | at least |",
        "|---|---:|---:|---:|---:|",
    ]
    for path in sorted(ROOT.glob("examples/*/*.onnx")):
        program = compile_graph(simplify(convert(path)), target.load("host"))
        numbers = (program.macs, program.weight_bytes, program.arena.size, program.arena.lower_bound)
        cells = (f"[{path.stem}](examples/{path.stem})", *(f"{n:,}" for n in numbers))
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the table is old")
    check = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    before, old = page.split(START)
    new = before + START + table() + END + old.split(END)[1]
    if check:
        return int(new != page)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
