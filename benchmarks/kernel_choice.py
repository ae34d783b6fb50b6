"""Counts random layers with every kernel that fits: is the selected one the best?

`python -m benchmarks.kernel_choice --keep FILE` takes layers for which several kernels of a target fit, few
for the same kernels, until there are `--layers` of them. FILE keeps the counts, so that a run goes on where
another one stopped, and that only kernels whose code has changed are counted again. Costs are made from other
layers in the same way: benchmarks/calibrate.py.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.calibration_plans import PLANS
from benchmarks.kernel_layers import Kept, Layer, fitting, graph, on
from benchmarks.results import PAGE, table, write_section
from edgekit.core.target import Target

TARGETS = (
    *("cortex-m0plus", "cortex-m4", "cortex-m55", "aarch64-dotprod", "armv7-neon"),
    *("x86-64-avx2", "x86-64-avx512", "riscv64-rvv", "riscv32", "wasm32-simd"),
)
FIRST = 500  # seeds below are those of benchmarks/calibrate.py, from 700 on those of tests
_SEEDS = 200  # of a report, at most
_NEAR = 1.03
_NOTE = """\
Random layers in all formats and rounding rules for which several kernels of a target fit, few for the same
kernels. Each kernel is counted: in instructions by QEMU, or by Bochs for AVX-512, as operations by wasmtime,
and for RVV by the vector registers that instructions work on. `near` is the share of layers whose selected
kernel takes at most 3 % more than the best one; `worst` is the largest excess. None of these layers had a
part in a fit. On a target without layers no two kernels fit the same one."""
_HEAD = ("target", "layers", "near", "worst")


def layers(target: Target, first: int, number: int, each: int) -> list[Layer]:
    """So many of seeded networks, at most `each` for which the same kernels fit; fewer where a seed has no
    other ones."""
    found: list[Layer] = []
    seen = Counter[tuple[str, ...]]()
    for seed in range(first, first + _SEEDS):
        before = len(found)
        for plan in range(len(PLANS)):
            if len(found) >= number:
                break
            for layer in fitting(graph(seed, plan), target, f"{seed} {plan}"):
                same = tuple(sorted(layer.kernels))
                if seen[same] < each:
                    seen[same] += 1
                    found.append(layer)
        if len(found) == before:  # there are as many as are asked for, or no others
            break
    return found[:number]


def row(name: str, offs: Sequence[float]) -> list[str]:
    """Of the table: how far off the selected kernels are."""
    near = f"{sum(off <= _NEAR for off in offs) / len(offs):.1%}" if offs else "-"
    return [name, f"{len(offs):,}", near, f"{max(offs, default=1.0) - 1:.0%}"]


def merged(rows: Iterable[list[str]], page: str) -> list[list[str]]:
    """Those rows, and those of a page for other targets, as they stand there."""
    section = page.partition("<!-- kernel_choice -->")[2].partition("<!-- end of kernel_choice -->")[0]
    lines = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    kept = lines[2:] if lines and tuple(lines[0]) == _HEAD else []
    found = {line[0]: line for line in (*kept, *rows)}
    return [found[name] for name in (*TARGETS, *sorted(set(found) - {*TARGETS})) if name in found]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--targets", nargs="+", default=TARGETS)
    parser.add_argument("--layers", type=int, default=300)
    parser.add_argument("--each", type=int, default=12, help="layers that the same kernels fit")
    parser.add_argument("--first", type=int, default=FIRST, help="the first seed")
    parser.add_argument("--keep", type=Path, required=True, help="a file of counts")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="these rows of docs/performance.md")
    given = parser.parse_args()
    rows = []
    for name in given.targets:
        target = on(name)
        found = layers(target, given.first, given.layers, given.each)
        counts = Kept(given.keep).of(target, found, given.jobs)
        found = [layer for layer in found if layer.name in counts]
        for layer in found:
            if (off := layer.off(counts)) > _NEAR:
                print(f"{off:.2f} {layer.words}: {counts[layer.name]}", flush=True)
        rows.append(row(name, [layer.off(counts) for layer in found]))
        print(*rows[-1], flush=True)
    if given.write:
        text = table(_HEAD, merged(rows, PAGE.read_text(encoding="utf-8")))
        write_section("kernel_choice", "Choice of kernels", f"{text}\n\n{_NOTE}")


if __name__ == "__main__":
    main()
