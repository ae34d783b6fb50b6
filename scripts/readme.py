"""Writes the tables of README.md from examples and docs/performance.md, or checks them (--check).

What the tests took stands in CONTRIBUTING.md, too.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np
from support import whole_runs

import edgekit
from edgekit import EdgeKitError, Graph, Settings, Target
from edgekit.codegen.gpu.plan import plan as gpu_plan
from edgekit.codegen.program import compile_graph
from edgekit.converters import read
from edgekit.converters.onnx.reader import convert
from edgekit.core import target
from edgekit.core.passes.simplify import simplify

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "CONTRIBUTING.md")
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


# Formats whose files can hold a quantized model, and what of it stays.
QUANTIZED = {
    "ONNX": "int8 (QDQ, QLinear operators), dynamic int8",
    "TFLite": "int8, int16 activations; LiteRT's integers, bit by bit",
    "MediaPipe task bundle": "as TFLite",
    "PyTorch": "int8 of pt2e",
    "OpenVINO": "int8 (FakeQuantize of 256 levels)",
    "GGUF": "integers of blocks without minima, such as Q4_0 and Q8_0",
}
NUMBERS = {
    "float32": None,
    "bf16 weights": Settings(dtype="bf16"),
    "f16 weights": Settings(dtype="f16"),
    "int8": Settings(),
    "int4 weights": Settings(weights="int4"),
    "int16 activations": Settings(activations="int16"),
}


def formats() -> str:
    """One row a reader."""
    rows = ["| model file | suffix | quantized models in it |", "|---|---|---|"]
    readers = sorted(read.readers(), key=lambda reader: (reader.FORMAT not in QUANTIZED, reader.FORMAT))
    assert QUANTIZED.keys() <= {reader.FORMAT for reader in readers}
    for reader in readers:
        suffixes = ", ".join(f"`{suffix}`" for suffix in reader.SUFFIXES)
        rows.append(f"| {reader.FORMAT} | {suffixes} | {QUANTIZED.get(reader.FORMAT, '-')} |")
    return "\n".join(rows) + "\n"


def kernels() -> str:
    """The kernels that the layers of the example digits get, by target and number format."""
    floats = edgekit.convert(ROOT / "examples/digits/digits.onnx")
    with np.load(ROOT / "examples/digits/calib.npz") as data:
        samples = {"x": data["x"][:8]}
    graphs = [
        edgekit.quantize_model(floats, samples, settings, calibrate="minmax")[0] if settings else floats
        for settings in NUMBERS.values()
    ]
    kinds: dict[tuple[object, ...], list[Target]] = {}
    for one in edgekit.list_targets():
        kinds.setdefault((one.isa, one.gpu), []).append(one)
    rows = ["| target | " + " | ".join(NUMBERS) + " |", "|---|" + "---|" * len(NUMBERS)]
    for alike in sorted(
        kinds.values(), key=lambda alike: (alike[0].gpu, alike[0].isa == ("ref",), alike[0].name)
    ):
        names = ", ".join(f"`{one.name}`" for one in alike)
        rows.append(f"| {names} | " + " | ".join(kernels_of(graph, alike[0]) for graph in graphs) + " |")
    return "\n".join(rows) + "\n"


def kernels_of(graph: Graph, wanted: Target) -> str:
    """The instruction set that does most of the multiplications; C where that is portable C."""
    if wanted.gpu:
        try:
            gpu_plan(graph)
            return wanted.gpu
        except EdgeKitError:
            return "-"
    macs: Counter[str] = Counter()
    for call in compile_graph(graph, wanted).lines:
        macs[call.kernel.function.rpartition("__")[2].partition(".")[0]] += call.macs
    ((isa, _),) = macs.most_common(1)
    return "C" if isa == "ref" else isa


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
        "| int8, Cortex-M4 | instructions | TFLM | cycles, modelled | X-CUBE-AI | flash, bytes | TFLM "
        "| arena, bytes | TFLM |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    cycles = {network: cells for network, *cells in table("cycles", 1)[1:]}
    for network, _, *cells in measured_cells("cortex_m"):
        ours, tflm, _, *flash, _, _, arena, arena_there = cells
        most, _, closed, _ = cycles[network]
        made = [network, ours, tflm, f"{most} M", f"{closed} M", *flash, arena, arena_there]
        rows.append("| " + " | ".join(made) + " |")
    return "\n".join(rows) + f"\n\n{CLOSED}\n"


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


def times() -> str:
    """How long all tests took, without and with a cache."""
    return whole_runs.sentences(whole_runs.runs())


def number(cell: str) -> float:
    return float(cell.replace(",", ""))


def measured(script: str) -> list[dict[str, str]]:
    """The first table of a section of docs/performance.md, by the names of its columns."""
    head, *rows = table(script)
    return [dict(zip(head, row, strict=True)) for row in rows]


def measured_cells(script: str) -> list[list[str]]:
    """The rows of that table, without its head."""
    return table(script)[1:]


def table(script: str, number: int = 0) -> list[list[str]]:
    """The cells of a table of a section, with its head."""
    section = MEASURED.read_text(encoding="utf-8").split(f"<!-- {script} -->")[1].split("<!-- end")[0]
    lines = [part for part in section.split("\n\n") if part.startswith("| ")][number].splitlines()
    head, _, *rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
    return [head, *rows]


CLOSED = """\
X-CUBE-AI 10.2 is closed; its cycles are what STMicroelectronics measured for
[MLPerf Tiny v1.3](https://github.com/mlcommons/tiny_results_v1.3) on a board at 120 MHz. Ours are modelled by
Arm's timings, with zero wait states, so that a few per cent decide nothing."""
TABLES: dict[str, Callable[[], str]] = {
    "formats": formats,
    "kernels": kernels,
    "boards": boards,
    "phones": phones,
    "browser": browser,
    "quality": quality,
    "sizes": sizes,
    "times": times,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a table is old")
    check = parser.parse_args().check
    assert TABLES.keys() == {name for page in PAGES for name in _sections(page.read_text(encoding="utf-8"))}
    changed = [page for page in PAGES if _has_changed(page, write=not check)]
    return int(check and bool(changed))


def _sections(text: str) -> list[str]:
    return re.findall(r"<!-- (\w+): scripts/readme.py -->\n", text)


def _has_changed(page: Path, *, write: bool) -> bool:
    old = new = page.read_text(encoding="utf-8")
    for name in _sections(old):
        start, end = f"<!-- {name}: scripts/readme.py -->\n", f"<!-- end of {name} -->\n"
        before, rest = new.split(start)
        new = before + start + TABLES[name]() + end + rest.split(end)[1]
    if write:
        page.write_text(new, encoding="utf-8")
    return new != old


if __name__ == "__main__":
    sys.exit(main())
