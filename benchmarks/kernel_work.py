"""Measures the tags @work of kernels that compete: counts random layers with each kernel that fits.

`python -m benchmarks.kernel_work x86-64-avx2` writes the tags of all kernels that compete on a target, with
`--kernels PATTERN` of those alone whose set/name it matches: the median of what a product takes, counted in
whole blocks of packed weights, or what an output takes where there are no products. Processors that are
calibrated as a whole, by benchmarks/calibrate.py, need this for kernels that too few of its layers use.
"""

from __future__ import annotations

import argparse
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from multiprocessing import Pool

from benchmarks.calibration_plans import PLANS
from benchmarks.kernel_choice import graph, turned
from edgekit.codegen.cost import counting
from edgekit.codegen.cost.cost_features import work
from edgekit.codegen.cost.layer_costs import countable, layer_counts
from edgekit.codegen.kernels.kernel_files import Variant, all_variants
from edgekit.codegen.kernels.variants import competing
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.passes import drop_dead
from edgekit.core.target import Target

_FIRST = (
    300  # seeds below are those of benchmarks/calibrate.py, from 500 on those of benchmarks/kernel_choice.py
)
_LAYERS = 5  # for which the same kernels fit
_TOGETHER = 6  # layers of a program
_UNITS = ("padded products", "products", "outputs")  # the first that a call has any of

Sample = tuple[str, bool, str, float]  # set/name of the kernel, do others fit, the unit, instructions for one


def contested(target: Target, rounds: int) -> list[Graph]:
    """Layers of kernels that compete, each in a graph of its own; few for the same kernels."""
    wanted = {variant.file for variant in competing()}
    found: list[Graph] = []
    seen = Counter[tuple[str, ...]]()
    for seed in range(_FIRST, _FIRST + rounds):
        for plan in range(len(PLANS)):
            network = graph(seed, plan)
            with turned(by=0) as selections:
                program = compile_graph(network, target)
            for line in program.lines:
                result = line.call.args[-1].name
                files = tuple(variant.file for variant in selections.fitting[result])
                output = next((name for name in network.outputs if name == result), None)
                if output and seen[files] < _LAYERS and not wanted.isdisjoint(files):
                    seen[files] += 1
                    found.append(drop_dead(replace(network, outputs=(output,))))
    for files, number in sorted(seen.items()):
        print(f"{target.name}: {number} layers for {', '.join(files)}", flush=True)
    return found


def samples(target: Target, networks: Sequence[Graph]) -> list[Sample]:
    """What a unit of work takes by each kernel that fits the layers."""
    return [found for network in networks for found in _compared(network, target)]


def _compared(network: Graph, target: Target) -> Iterator[Sample]:
    by, most = 0, 1
    while by < most:
        with turned(by) as selections:
            program = compile_graph(network, target)
        for (line, done), count in zip(work(program), layer_counts(program, "speed"), strict=True):
            result = line.call.args[-1].name
            if len(selections.fitting[result]) > by:
                unit = next(unit for unit in _UNITS if done[unit])
                is_contested = len(selections.fitting[result]) > 1
                yield selections.taken[result].file, is_contested, unit, count / done[unit]
        by, most = by + 1, max(map(len, selections.fitting.values()))


def write(variant: Variant, text: str) -> None:
    """The tag goes to the end of the kernel's comment, in place of the one that is there."""
    content = variant.path.read_text(encoding="utf-8")
    named = rf"@as [^\n]*?{variant.isa}/{re.escape(variant.stem)}(?![\w.])"
    inside = r"(?:(?!\*/).)*?"  # of one comment
    start = rf"\A\s*/\*{inside}" if variant.is_own else rf"/\*{inside}{named}{inside}"
    found = re.search(rf"{start} ?\*/", content, re.DOTALL)
    assert found, variant.file
    comment = re.sub(r"\n \* @work [^\n]*", "", found[0].removesuffix("*/").rstrip())
    content = content[: found.start()] + f"{comment}\n * {text} */" + content[found.end() :]
    variant.path.write_text(content, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="+")
    parser.add_argument("--rounds", type=int, default=3, help="programs of each plan that layers come from")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kernels", default="", metavar="PATTERN")
    given = parser.parse_args()
    for name in given.targets:
        target = countable(counting.as_counted(targets.load(name)))
        networks = contested(target, given.rounds)
        parts = [networks[i :: -(-len(networks) // _TOGETHER)] for i in range(-(-len(networks) // _TOGETHER))]
        with Pool(given.jobs) as pool:
            found = [sample for part in pool.imap(partial(samples, target), parts) for sample in part]
        for variant in all_variants():
            own = [(contest, unit, cost) for file, contest, unit, cost in found if file == variant.file]
            if own and re.search(given.kernels, variant.file):
                compared = [one for one in own if one[0]] or own  # on the same layers as its rivals
                unit, cost = compared[0][1], statistics.median(one[2] for one in compared)
                print(f"{variant.file}: {len(own)} layers, {unit} {cost:.3g}", flush=True)
                write(variant, f"@work {unit} {cost:.3g}")


if __name__ == "__main__":
    main()
