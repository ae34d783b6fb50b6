"""Counts the instructions of runs with many inputs under an emulator, and names the layers that vary."""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain
from pathlib import Path

import numpy as np

from benchmarks.reliability.networks import Network, networks
from benchmarks.reliability.stack import processors
from benchmarks.results import RELIABILITY, table, write_section
from edgekit.codegen.compilation import elf, toolchain
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.library_objects import compile_objects
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.cost import bench, counting
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.program import Program
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.target import Optimize, Target
from edgekit.core.types import Array

INPUTS = 1000
_MIN_INPUTS = 24  # each kind three times
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


# Functions of compilers that take their time by what they are given. Products of 64 bits do not, nor do
# shifts by the same number.
_FLOATS = r"__aeabi_(?:[cfd](?!mem)\w+|u?[il]2[fd]|ul2[fd])|__\w+[sd]f[23]|__fix\w+|__float\w+"
_SOFTWARE = {
    "floating point in software": _FLOATS,
    "division in software": r"__aeabi_u?[il]div(?:mod)?|__u?(?:div|mod|divmod)[sd]i[34]",
}
_BRANCHES = "branches on data"


@dataclass(frozen=True)
class Layer:
    """A layer that does not take the same instructions for all data, and why that may be."""

    origin: str
    kernel: str
    least: int
    most: int
    why: str

    @property
    def share(self) -> float:
        """By how much of the least."""
        return (self.most - self.least) / self.least


@dataclass(frozen=True)
class Spread:
    """Instructions of runs with many inputs: at least and at most, and of the layers where these differ."""

    network: str
    target: str
    inputs: int
    least: int
    most: int
    layers: tuple[Layer, ...]


def spread(graph: Graph, target: Target, inputs: int, budget: float = np.inf, name: str = "") -> Spread:
    """Of as many inputs as a budget of instructions allows, and at least of some of each kind."""
    optimize: Optimize = "speed"
    program = fit(graph, target, optimize=optimize)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        main = "\n".join(chain(["#include <stdio.h>"], bench.setting(program), [_text(program)]))
        executable = bench.built(program, Path(folder), toolchain.find(target), optimize, main)
        marked = counting.entered(program, optimize)
        first = counting.count(target, executable, marked, ["1"]).total
        inputs = int(min(inputs, max(budget // first, _MIN_INPUTS)))
        parts = counting.count(target, executable, marked, [str(inputs)], seconds=3600).parts
    counts = np.array(parts, np.int64).reshape(inputs, len(program.lines))
    return _spread(name, program, optimize, counts)


def _spread(name: str, program: Program, optimize: Optimize, counts: Array) -> Spread:
    runs = counts.sum(axis=1)
    ends = zip(program.lines, counts.min(axis=0).tolist(), counts.max(axis=0).tolist(), strict=True)
    varying = [(line, low, high) for line, low, high in ends if low < high]
    why = reasons(program, optimize) if varying else {}
    layers = tuple(
        Layer(line.origin, line.kernel.function, low, high, why[line.c]) for line, low, high in varying
    )
    return Spread(name, program.target.name, len(counts), int(runs.min()), int(runs.max()), layers)


def reasons(program: Program, optimize: Optimize) -> Mapping[str, str]:
    """By layer: what its code has that may take its time by the data. The compiler's functions that it calls
    say so; where there are none, it is its own comparisons."""
    marked = counting.entered(program, optimize)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as name:
        files, folder = generate(program, optimize), Path(name)
        write(files, folder)
        objects = compile_objects(program, files, folder, toolchain.find(program.target), optimize)
        links = elf.links([(folder / one).read_bytes() for one in objects])
    assert links is not None, "emulated boards have ELF files"
    called = (_called(links, links.functions[function]) for function in marked)
    return {line.c: _reason(names) for line, names in zip(program.lines, called, strict=True)}


def _called(links: elf.Links, start: elf.Place) -> set[str]:
    """The compiler's functions that a function calls, or those that it calls."""
    seen, queue, found = {start}, [start], set[str]()
    while queue:
        place = queue.pop()
        found |= {name for name, _ in links.outside.get(place, ())}
        for to, _ in links.between.get(place, ()):
            if to not in seen:
                seen.add(to)
                queue.append(to)
    return found


def _reason(called: set[str]) -> str:
    found = [why for why, names in _SOFTWARE.items() if any(re.fullmatch(names, name) for name in called)]
    return " and ".join(found) or _BRANCHES


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
                yield Spread(**{**known, "layers": tuple(Layer(**layer) for layer in known["layers"])})
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
        cells.setdefault(one.network, {})[one.target] = f"{one.inputs:,}: {_percent(share)}"
    rows = [[network, *(by.get(name, "") for name in names)] for network, by in cells.items()]
    worst: dict[str, tuple[Layer, Spread]] = {}
    for one in found:
        for layer in one.layers:
            if layer.kernel not in worst or worst[layer.kernel][0].share < layer.share:
                worst[layer.kernel] = layer, one
    named = [
        [f"`{layer.kernel}`", _percent(layer.share), one.target, one.network, layer.why]
        for layer, one in sorted(worst.values(), key=lambda pair: -pair[0].share)
    ]
    fewer = [one for one in found if one.inputs < INPUTS]
    fewest = min((one.inputs for one in fewer), default=0)
    zero = sum(one.most == one.least for one in found)
    words = f"; fewer, but at least {fewest}, where a run is long" if fewer else ""
    return f"""\
Instructions per run of code built for speed, counted by the emulator for each of up to {INPUTS:,} inputs:
zeros, extremes, constants, random numbers, small ones, mostly zeros{words}.
Each cell gives the number of inputs and the spread, (maximum - minimum) / minimum: 0 if all runs took the
same number of instructions, as {zero} of {len(found)} did. Instructions are not cycles: a division takes
2 to 12 cycles on Cortex-M3 and M4.

{table(["network", *names], rows)}

{_varying(named)}
"""


def _percent(share: float) -> str:
    return "0" if share == 0 else f"{share:.2%}" if share >= 5e-5 else "< 0.01%"


def _varying(named: Sequence[Sequence[str]]) -> str:
    if not named:
        return "No kernel varies."
    rows = table(["kernel", "spread", "processor", "network", "why"], named)
    return f"""\
The kernels whose instruction count varies, each where it varies most; all others took the same number in
every run. The reason is found from the relocations of their code: calls to the compiler's runtime functions
for floating point or division, where a processor has no such instructions; otherwise comparisons compiled
to branches, as for the maximum of a window or for saturation, where a processor has no conditional
instructions.

{rows}"""


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
