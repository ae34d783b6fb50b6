"""How many cycles an instruction takes on Cortex-M, by the timings that Arm publishes for its processors.

Instructions of a run are counted one by one in an emulator, and each has its published time, with memory that
never waits. Where that is a range, as for the pipeline to fill again behind a branch, both ends are counted.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.cortex_m import M4, MODELS, MOST_GROWTH, NETWORKS
from benchmarks.results import table, write_section
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.elf import symbols
from edgekit.codegen.cost.bench import compiled
from edgekit.codegen.cost.counting import MARKERS
from edgekit.codegen.execution import runner
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.converters.tflite.reader import convert
from edgekit.core import target as targets
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Target

_PLUGIN = Path(__file__).parent / "executed.c"
_CONDITIONS = "eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"
_BRANCH = re.compile(rf"(b|bl|bx|blx)({_CONDITIONS})?|cbn?z|tb[bh]")
_LINE = re.compile(r"^\s*([0-9a-f]+):\t[0-9a-f ]+\t(\S+)(?:\t(.*))?$")
_NOTE = """\
Cycles per instruction, from the minimum to the maximum that Arm's reference manuals of the processors
allow, without memory wait states: `targets/*.toml` hold the middle. Flash that is slower than the processor
adds the wait states that caches do not hide. None of this was measured on a board: if you have one, put its
measured figure into the .toml."""
# Inferences in a second at 120 MHz: the medians in closed/STMicroelectronics/results/NUCLEO_L4R5ZI-P of
# github.com/mlcommons/tiny_results_v1.3, with X-CUBE-AI 10.2, by benchmark.
_CLOSED_CLOCK = 120e6
_CLOSED = {
    "image classification": 6.036,
    "keyword spotting": 23.032,
    "visual wake words": 11.181,
    "anomaly detection": 208.608,
}
_CLOSED_NOTE = """\
Millions of cycles per run on Cortex-M4, compared with the closed-source X-CUBE-AI 10.2 as its vendor,
STMicroelectronics, measured it for MLPerf Tiny v1.3 on a NUCLEO-L4R5ZI-P at 120 MHz (inferences per second:
the medians of its [submission](https://github.com/mlcommons/tiny_results_v1.3)). Our figures come from a
model without memory wait states, theirs from a board with flash and caches: they show that the two are
close, not which one leads by a few per cent. With `--weight-growth 4` there are fewer instructions, but more
bytes to load. Cycles are the upper end of the model."""


@dataclass(frozen=True)
class Executed:
    """An instruction, how often it ran, and how often it went elsewhere."""

    name: str  # without its width
    operands: str
    count: int
    jumps: int
    behind_access: bool  # stands directly behind another access to memory

    @property
    def registers(self) -> int:
        """How many a list of registers names."""
        found = re.search(r"\{(.*)\}", self.operands)
        total = 0
        for part in found[1].split(",") if found else ():
            first, _, end = part.strip().partition("-")
            total += int(end[1:]) - int(first[1:]) + 1 if end else 1
        return total


Times = Callable[[Executed], tuple[float, float]]  # cycles of all its runs, at least and at most


def cortex_m4(at: Executed) -> tuple[float, float]:
    """Arm 100166, tables 3-1 and 7-1: loads and stores in a row overlap, and a refill takes 1 to 3 cycles."""
    refill = (at.jumps, 3 * at.jumps)
    name = at.name
    if _BRANCH.fullmatch(name):
        return at.count + refill[0], at.count + refill[1]
    if name.startswith("it"):
        return 0, at.count  # it may be folded into what is before it
    if name.startswith(("ldm", "stm", "push", "pop", "vldm", "vstm", "vpush", "vpop")):
        moved = at.count * (1 + at.registers)
        return moved + refill[0], moved + refill[1]
    if name.startswith(("ldrd", "strd")):
        return 3 * at.count, 3 * at.count
    if name.startswith(("ldr", "str", "vldr", "vstr")):
        least = 1 if at.behind_access or name.startswith("str") else 2
        return least * at.count + refill[0], (1 if at.behind_access else 2) * at.count + refill[1]
    if name.startswith(("sdiv", "udiv")):
        return 2 * at.count, 12 * at.count
    if name.startswith(("vdiv", "vsqrt")):
        return 14 * at.count, 14 * at.count
    if name.startswith(("vmla", "vmls", "vnml", "vfma", "vfms", "vfnm")):
        return 3 * at.count, 3 * at.count
    return at.count + refill[0], at.count + refill[1]


def cortex_m3(at: Executed) -> tuple[float, float]:
    """Arm DDI 0337: as Cortex-M4, but that long products take 3 to 5 cycles, or 4 to 7 with a sum."""
    if at.name.startswith(("smlal", "umlal")):
        return 4 * at.count, 7 * at.count
    if at.name.startswith(("smull", "umull")):
        return 3 * at.count, 5 * at.count
    if at.name.startswith(("mla", "mls")):
        return 2 * at.count, 2 * at.count
    return cortex_m4(at)


def cortex_m0plus(at: Executed) -> tuple[float, float]:
    """Arm DDI 0484, table 3-1, with the multiplier of one cycle."""
    name = at.name
    if name in ("bl", "blx"):
        cycles = 3 * at.count if name == "bl" else 2 * at.count
    elif _BRANCH.fullmatch(name):
        cycles = at.count + at.jumps
    elif name.startswith(("ldm", "stm", "push", "pop")):
        cycles = at.count * (1 + at.registers) + 2 * at.jumps
    elif name.startswith(("ldr", "str")):
        cycles = 2 * at.count
    else:
        cycles = at.count + at.jumps
    return cycles, cycles


PROCESSORS: Mapping[str, Times] = {
    "cortex-m4": cortex_m4,
    "cortex-m3": cortex_m3,
    "cortex-m0plus": cortex_m0plus,
}


def executed(target: Target, program: Path, folder: Path) -> Iterator[Executed]:
    """What ran between the markers."""
    at = symbols(program.read_bytes())
    plugin, to = folder / "executed.so", folder / "executed"
    host = toolchain.find(targets.load("host"))
    host.run(["-O2", "-shared", "-fPIC", "-fvisibility=hidden", str(_PLUGIN), "-o", plugin.name], folder)
    start, stop = (at[name] for name in MARKERS)
    words = f"{plugin},start={start:#x},stop={stop:#x},to={to}"
    runner.run(targets.with_runner(target, f"{target.runner} -plugin {words}"), program, [])
    ran = {int(address, 16): (int(count), int(jumps)) for address, count, jumps in map(str.split, lines(to))}
    was_access = False
    for line in subprocess.run(
        ["arm-none-eabi-objdump", "-d", program], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        if not (found := _LINE.match(line)):
            continue
        name = found[2].removesuffix(".w").removesuffix(".n")
        count, jumps = ran.pop(int(found[1], 16), (0, 0))
        if count:
            yield Executed(name, found[3] or "", count, jumps, was_access)
        was_access = name.startswith(("ldr", "str", "vldr", "vstr")) and name not in ("ldrd", "strd")
    assert not ran, "everything that ran is in the listing"


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def measured(target: Target, file: str) -> tuple[int, float, float]:
    """Instructions of a run, and its cycles at least and at most."""
    graph = simplify(convert(MODELS / f"{file}.tflite"))
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        folder = Path(scratch)
        program = compiled(fit(graph, target, optimize="speed"), folder, toolchain.find(target), "speed")
        ran = list(executed(target, program, folder))
    times = [PROCESSORS[target.name](at) for at in ran]
    return sum(at.count for at in ran), sum(a for a, _ in times), sum(b for _, b in times)


def _beside_closed(title: str, most: float, grown: float) -> list[str]:
    rate = _CLOSED[title]
    return [title, *(f"{cycles / 1e6:.3g}" for cycles in (most, grown, _CLOSED_CLOCK / rate)), f"{rate}"]


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    rows, beside = [], []
    for name in PROCESSORS:
        target, cells, ratios = targets.load(name), [], []
        for network in NETWORKS:
            count, least, most = measured(target, network.file)
            if name == M4:
                grown = measured(replace(target, weight_growth=MOST_GROWTH), network.file)
                beside.append(_beside_closed(network.title, most, grown[2]))
            cells.append(f"{least / count:.2f} to {most / count:.2f}")
            ratios.append((least + most) / 2 / count)
        rows.append([name, *cells, f"{sum(ratios) / len(ratios):.2f}"])
        print(*rows[-1], sep="  ", flush=True)
    titles = [network.title for network in NETWORKS]
    head = ["int8 network", "cycles, M", "with --weight-growth 4", "X-CUBE-AI", "X-CUBE-AI, inferences/s"]
    tables = table(["processor", *titles, "middle"], rows), table(head, beside)
    text = "\n\n".join((_NOTE, tables[0], _CLOSED_NOTE, tables[1]))
    write_section("cycles", "Cycles of an instruction on Cortex-M", text)


if __name__ == "__main__":
    main()
