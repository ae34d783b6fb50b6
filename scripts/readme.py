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


def boards() -> str:
    """What benchmarks/cortex_m.py measured on Cortex-M4."""
    rows = [
        "| int8, Cortex-M4 | instructions | TFLM | code, bytes | TFLM | arena, bytes | TFLM |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for cells in measured_cells("cortex_m"):
        network, _, *instructions, _, code, code_there, arena, arena_there = cells
        rows.append("| " + " | ".join([network, *instructions, code, code_there, arena, arena_there]) + " |")
    return "\n".join(rows) + "\n"


def phones() -> str:
    """What benchmarks/aarch64.py measured on processors with dot products."""
    rows = ["| AArch64 with dot products, thousands | instructions | LiteRT |", "|---|---:|---:|"]
    for cells in measured_cells("aarch64"):
        ours, theirs = (number(cell.split()[0]) / 1e3 for cell in cells[3:5])
        rows.append(f"| {cells[0]} | {ours:,.0f} | {theirs:,.0f} |")
    return "\n".join(rows) + "\n"


def browser() -> str:
    """What benchmarks/browser.py measured; beside it the best peer, which is not the same in each column."""
    rows = [
        "| int8, Chromium | shipped KB | next | latency, ms | next | first result, ms | next |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    ours: list[str] = []
    peers: list[list[str]] = []
    cells = [*measured_cells("browser"), [", EdgeKit"]]
    for name, *numbers in cells:
        if name.endswith(", EdgeKit"):
            if ours:
                pairs = [(ours[1 + k], min((p[k] for p in peers), key=number)) for k in (0, 1, 3)]
                rows.append("| " + " | ".join([ours[0], *(cell for pair in pairs for cell in pair)]) + " |")
            ours, peers = [name.removesuffix(", EdgeKit"), *numbers], []
        else:
            peers.append(numbers)
    return "\n".join(rows) + "\n"


def number(cell: str) -> float:
    return float(cell.replace(",", ""))


def measured(script: str) -> list[dict[str, str]]:
    """The first table of a section of docs/performance.md, by the names of its columns."""
    head, *rows = table(script)
    return [dict(zip(head, row, strict=True)) for row in rows]


def measured_cells(script: str) -> list[list[str]]:
    """The rows of that table, without its head."""
    return table(script)[1:]


def table(script: str) -> list[list[str]]:
    """The cells of the first table of a section, with its head."""
    section = MEASURED.read_text(encoding="utf-8").split(f"<!-- {script} -->")[1]
    lines = section.split("<!-- end")[0].partition("\n| ")[2].split("\n\n")[0].splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return [head, *rows]


TABLES: dict[str, Callable[[], str]] = {
    "boards": boards,
    "phones": phones,
    "browser": browser,
    "quality": quality,
    "sizes": sizes,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a table is old")
    check = parser.parse_args().check
    old = new = PAGE.read_text(encoding="utf-8")
    for name, write in TABLES.items():
        start, end = f"<!-- {name}: scripts/readme.py -->\n", f"<!-- end of {name} -->\n"
        before, rest = new.split(start)
        new = before + start + write() + end + rest.split(end)[1]
    if check:
        return int(new != old)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
