"""Counts the instructions of runs with many inputs under an emulator, and names the layers that vary."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks.reliability.networks import Network, networks
from benchmarks.reliability.stack import processors
from benchmarks.results import RELIABILITY, table, write_section
from edgekit import target as targets
from edgekit.codegen import bench, counting, toolchain
from edgekit.codegen.fit import fit
from edgekit.codegen.program import Program
from edgekit.codegen.render import Optimize
from edgekit.ir import Array, Graph
from edgekit.target import Target

INPUTS = 1000
_LEAST_INPUTS = 24  # each kind three times
# Inputs of eight kinds in turn: all zero, the least, the largest, one number everywhere, random of all sizes,
# random near zero, mostly zero, extremes in turn. Those of floats reach from -8 to 8.
_MAIN = """
static uint32_t seed;
static uint32_t drawn(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}
static int32_t element(int32_t kind, int32_t i, int32_t same)
{
    const int32_t any = (int32_t)(drawn() >> 16) - 32768;
    switch (kind) {
    case 0: return 0;
    case 1: return -32768;
    case 2: return 32767;
    case 3: return same;
    case 4: return any;
    case 5: return any / 64;
    case 6: return drawn() % 10 ? 0 : any;
    default: return i % 2 ? 32767 : -32768;
    }
}
void ek_begin(void);
void ek_end(void);
__attribute__((noinline)) void ek_begin(void)
{
    __asm volatile("" ::: "memory");
}
__attribute__((noinline)) void ek_end(void)
{
    __asm volatile("" ::: "memory");
}
int main(int argc, char **argv)
{
    const int32_t count = argc > 1 ? atoi(argv[1]) : 1;
    prepare();
    for (int32_t n = 0; n < count; n++) {
        seed = 2463534242u + 7919u * (uint32_t)n;
        const int32_t same = (int32_t)(drawn() >> 16) - 32768;
        {fill}
        ek_begin();
        {run}
        ek_end();
    }
    return 0;
}
"""


@dataclass(frozen=True)
class Spread:
    """Instructions of runs with many inputs: at least and at most, and of the layers where these differ."""

    network: str
    target: str
    inputs: int
    least: int
    most: int
    layers: tuple[tuple[str, str, int, int], ...]  # origin, kernel, least, most


def spread(graph: Graph, target: Target, inputs: int, budget: float = np.inf, name: str = "") -> Spread:
    """Of as many inputs as a budget of instructions allows, and at least of some of each kind."""
    optimize: Optimize = "speed"
    program = fit(graph, target, optimize=optimize)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        main = "\n".join(chain(["#include <stdio.h>"], bench.setting(program), [_text(program)]))
        executable = bench.built(program, Path(folder), toolchain.find(target), optimize, main)
        marked = counting.layer_functions(program, optimize)
        first = counting.count(target, executable, marked, ["1"]).total
        inputs = int(min(inputs, max(budget // first, _LEAST_INPUTS)))
        parts = counting.count(target, executable, marked, [str(inputs)], seconds=3600).parts
    counts = np.array(parts, np.int64).reshape(inputs, len(program.lines))
    return _spread(name, target.name, program, counts)


def _spread(name: str, target: str, program: Program, counts: Array) -> Spread:
    runs = counts.sum(axis=1)
    ends = zip(program.lines, counts.min(axis=0).tolist(), counts.max(axis=0).tolist(), strict=True)
    layers = tuple((line.origin, line.kernel.function, low, high) for line, low, high in ends if low < high)
    return Spread(name, target, len(counts), int(runs.min()), int(runs.max()), layers)


def _text(program: Program) -> str:
    """The program that fills the inputs, and runs the model, as often as its argument says."""
    fill = "\n        ".join(_filled(program))
    return _MAIN.replace("{fill}", fill).replace("{run}", bench.statement(program))


def _filled(program: Program) -> Iterator[str]:
    for i, port in enumerate(program.inputs):
        dtype = port.type.dtype
        number = "element(n % 8, i, same)"
        if dtype.is_float:
            number = f"(float){number} / 4096.0f"
        elif dtype.bytes == 1:
            unsigned = " + 128" if dtype.c.startswith("u") else ""
            number = f"(({number} >> 8){unsigned})"
        yield f"for (int32_t i = 0; i < {port.type.size}; i++)"
        yield f"    p{i}[i] = ({dtype.c}){number};"


def measured(
    names: Sequence[str],
    chosen: Sequence[Network],
    inputs: int,
    budget: float,
    kept: Path | None,
    is_kept_only: bool = False,
) -> Iterator[Spread]:
    """All of them; those that a file holds from before are taken from it, new ones are added."""
    lines = kept.read_text(encoding="utf-8").splitlines() if kept and kept.exists() else []
    before = {(d["network"], d["target"]): d for d in map(json.loads, lines)}
    for network in chosen:
        graph = cache(network.graph)
        for name in names:
            known = before.get((network.name, name))
            if known is not None:
                layers = tuple((str(o), str(k), int(a), int(b)) for o, k, a, b in known["layers"])
                yield Spread(**{**known, "layers": layers})
                continue
            if is_kept_only:
                continue
            found = spread(graph(), targets.load(name), inputs, budget, network.name)
            print(name, network.name, found.inputs, found.least, found.most, found.layers, flush=True)
            if kept:
                with kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(found)) + "\n")
            yield found


def section(found: Sequence[Spread]) -> str:
    """What varies, by how much, and the networks that do not."""
    names = list(dict.fromkeys(one.target for one in found))
    cells: dict[str, dict[str, str]] = {}
    for one in found:
        share = (one.most - one.least) / one.least
        words = f"{share:.2%}" if one.most > one.least else "0"
        cells.setdefault(one.network, {})[one.target] = f"{one.inputs:,}: {words}"
    rows = [[network, *(by.get(name, "") for name in names)] for network, by in cells.items()]
    kernels: dict[str, list[tuple[float, Spread]]] = {}
    for one in found:
        for _, kernel, low, high in one.layers:
            kernels.setdefault(kernel, []).append(((high - low) / low, one))
    worst = {kernel: max(each, key=lambda pair: pair[0]) for kernel, each in kernels.items()}
    named = [
        [f"`{kernel}`", f"{share:.1%}", one.target, one.network]
        for kernel, (share, one) in sorted(worst.items(), key=lambda item: -item[1][0])
    ]
    fewer = [one for one in found if one.inputs < INPUTS]
    fewest = min((one.inputs for one in fewer), default=0)
    zero = sum(one.most == one.least for one in found)
    words = f"; fewer, {fewest} at least, where a run is long" if fewer else ""
    return f"""\
Instructions of a run of code for speed, counted by the emulator for each of up to {INPUTS:,} inputs: zeros,
extremes, one number everywhere, random ones, small ones, mostly zeros{words}.
Cells are the spread, most above least, as a share of the least, behind the number of inputs: 0 where all
runs took the same instructions, as {zero} of {len(found)} did.

{table(["network", *names], rows)}

{_varying(named)}
"""


def _varying(named: Sequence[Sequence[str]]) -> str:
    if not named:
        return "No kernel varies."
    rows = table(["kernel", "spread", "processor", "network"], named)
    return (
        f"The kernels that vary, each where it varies most; all others took the same in every run:\n\n{rows}"
    )


def main() -> None:
    """Count, print, and write docs/reliability.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=processors())
    parser.add_argument("--networks", nargs="+", metavar="NAME", help="some of them, without writing docs")
    parser.add_argument("--inputs", type=int, default=INPUTS)
    parser.add_argument("--budget", type=float, default=4e8, help="instructions of a network on a target")
    parser.add_argument("--keep", type=Path, help="a file of results, to go on with after an interruption")
    parser.add_argument("--kept-only", action="store_true", help="measure nothing more: write what it holds")
    arguments = parser.parse_args()
    chosen = [x for x in networks() if not arguments.networks or x.name in arguments.networks]
    options = arguments.inputs, arguments.budget, arguments.keep, arguments.kept_only
    text = section(list(measured(arguments.targets, chosen, *options)))
    print(text)
    if not arguments.networks:
        title = "Instructions of a run, whatever the data"
        write_section("reliability.data_independence", title, text, on=RELIABILITY)


if __name__ == "__main__":
    main()
