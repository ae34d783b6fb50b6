"""Writes the tables of README.md from examples and docs/performance.md, or checks them (--check)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from edgekit import target
from edgekit.codegen.program import compile_graph
from edgekit.converters.from_onnx import convert
from edgekit.passes.simplify import simplify

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "README.md"
MEASURED = ROOT / "docs" / "performance.md"


def sizes() -> str:
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


def quality() -> str:
    """What benchmarks/quantization.py measured, each tool at its best."""
    rows = ["| dB | EdgeKit | onnxruntime | LiteRT | lead |", "|---|---:|---:|---:|---:|"]
    for row in measured("quantization"):
        network, *_ = row.values()
        best = [
            max(float(cell) for name, cell in row.items() if name.startswith(tool) and cell != "-")
            for tool in ("EdgeKit", "onnxruntime", "LiteRT")
        ]
        rows.append("| " + " | ".join([network, *(f"{v:.1f}" for v in best), row["lead"]]) + " |")
    return "\n".join(rows) + "\n"


def speed() -> str:
    """What benchmarks/onnx2c.py measured; of int8 code the slower."""
    rows = [
        "| microseconds | EdgeKit float32 | EdgeKit int8 | onnx2c float32 |",
        "|---|---:|---:|---:|",
    ]
    for row in measured("onnx2c"):
        network, *_ = row.values()
        int8 = max(
            (row["int8 of the file"], row["int8 of `quantize`"]), key=lambda n: int(n.replace(",", ""))
        )
        cells = (network, row["float32"], int8, row["onnx2c float32, -O3"])
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def measured(script: str) -> list[dict[str, str]]:
    """The first table of a section of docs/performance.md, by the names of its columns."""
    section = MEASURED.read_text(encoding="utf-8").split(f"<!-- {script} -->")[1]
    lines = section.split("<!-- end")[0].partition("\n| ")[2].split("\n\n")[0].splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return [dict(zip(head, row, strict=True)) for row in rows]


TABLES: dict[str, Callable[[], str]] = {"sizes": sizes, "quality": quality, "speed": speed}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a table is old")
    check = parser.parse_args().check
    old = new = PAGE.read_text(encoding="utf-8")
    for name, table in TABLES.items():
        start, end = f"<!-- {name}: scripts/readme.py -->\n", f"<!-- end of {name} -->\n"
        before, rest = new.split(start)
        new = before + start + table() + end + rest.split(end)[1]
    if check:
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
