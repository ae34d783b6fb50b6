"""Measures the code of kernels for estimates without a compiler, and says how far off these are.

The tables in targets/costs come from libraries of some random layers and from networks. Each network is
also estimated from everything but the networks of its architecture: that is the error."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import chain
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.calibration_graph import Layers
from benchmarks.calibration_plans import PLANS
from benchmarks.reliability.networks import networks
from benchmarks.results import RELIABILITY, table, write_section
from edgekit.codegen.compilation import library_objects, toolchain
from edgekit.codegen.compilation.objects import named_sections
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.cost import code_size, cost_files
from edgekit.codegen.cost.code_size import Uses
from edgekit.codegen.cost.cost_files import OFTEN, ONCE
from edgekit.codegen.layer_functions import layer_functions
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target as targets
from edgekit.core.target import Optimize

_FAMILIES = 5  # of layers in a library
_REPEATED = 0.4  # of libraries that have each family twice
_SAME = 0.1  # sizes that are as near as this are one
_HELD_SHARE = 0.9  # of the networks, which the stated error holds for
_FORMATS = ("int8", "int16", "int4", "bf16", "f32")  # at the ends of the names of networks
_NOTE = """\
Code and parameters of layers as the playground states them, which has no compiler for boards, against
compiled libraries at `--optimize {}`. Every network is estimated from random layers and from the networks
of other architectures. Weights are exact, so that flash is off by less."""


@dataclass(frozen=True)
class Measured:
    """A compiled library: what it is made of, and what its parts take."""

    target: str
    network: str  # empty for random layers
    uses: Uses
    layers: Sequence[Sequence[int]]  # code and parameters of each
    functions: Mapping[str, Sequence[int]]
    run: int  # code of the library itself
    code: int
    parameters: int
    weights: int

    @property
    def bytes(self) -> int:
        return self.code + self.parameters

    @property
    def architecture(self) -> str:
        return " ".join(word for word in self.network.split() if word not in _FORMATS)


def measured(network: str, program: Program, optimize: Optimize) -> Measured:
    """Compile a library, and look at its sections."""
    files = render(program, optimize)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as made:
        folder, compiler = Path(made), toolchain.find(program.target)
        write(files, folder)
        objects = library_objects.compile_objects(program, files, folder, compiler, optimize)
        sizes = library_objects.measure(program, objects, folder, compiler)
        sections = named_sections(folder / path for path in objects)
    assert sizes
    layers, own = [], {constant.c for constant in program.constants}
    functions_of = layer_functions(program)
    for line in program.lines:
        if functions_of[line.c].c != line.c:
            continue  # its code and parameters are those of an earlier layer
        names = [f"{program.name}_{line.c}", f"{program.name}_{line.c}_part", f"{line.c}_params"]
        own.update(names)
        code = sum(sections.get(("text", each), 0) for each in names[:2])
        layers.append((code, sections.get(("rodata", names[2]), 0)))
    uses = code_size.uses(program, files, optimize)
    functions: dict[str, tuple[int, int]] = {}
    run = 0
    for (section, part), size in sections.items():
        if part.startswith("ek_"):
            name = uses.parts.get(code_size.plain(part), code_size.plain(part))
            code, constants = functions.get(name, (0, 0))
            functions[name] = (code + size, constants) if section == "text" else (code, constants + size)
        elif part not in own and section == "text":
            run += size
    parameters = sizes.constants - program.weight_bytes
    weights = program.weight_bytes
    return Measured(
        program.target.name, network, uses, layers, functions, run, sizes.code, parameters, weights
    )


def of_layers(target: str, optimize: Optimize, job: tuple[int, int]) -> Measured:
    """A library of some random layers of a plan."""
    number, seed = job
    kinds, rounding, families = PLANS[number]
    net = Layers(7000 * number + seed, kinds, rounding)
    chosen = [
        families[i] for i in net.rng.choice(len(families), min(_FAMILIES, len(families)), replace=False)
    ]
    processor = targets.load(target)
    if optimize == "size" and number % 2 == seed % 2:  # no kernel is specialised, as for many layers
        processor = replace(processor, copies=0)
    for family in chosen * (2 if net.rng.random() < _REPEATED or not processor.copies else 1):
        family(net)
    small = {name: 0 for i, name in enumerate(net.outputs) if i % 2 and seed % 2}
    program = compile_graph(net.graph(), processor, weight_limits=small)
    return measured("", program, optimize)


def of_network(chosen: Sequence[str], optimize: Optimize, number: int) -> list[Measured]:
    """A network, for each of some targets."""
    network = list(networks())[number]
    graph = network.graph()
    programs = [fit(graph, targets.load(name), optimize=optimize) for name in chosen]
    return [measured(network.name, program, optimize) for program in programs]


def tabled(found: Sequence[Measured]) -> dict[str, Any]:
    """Means of what layers and functions took; zeros count, of functions that compilers left out."""
    layers: dict[str, dict[str, list[Sequence[int]]]] = {}
    functions: dict[str, dict[str, list[Sequence[int]]]] = {}
    for one in found:
        for kernel, took in zip(one.uses.layers, one.layers, strict=True):
            layers.setdefault(kernel, {}).setdefault(one.uses.kind(kernel), []).append(took)
        for name, kind in one.uses.shared.items():
            functions.setdefault(name, {}).setdefault(kind, []).append(one.functions.get(name, (0, 0)))
    rows = np.array([[1, len(one.uses.layers)] for one in found])
    base, step = np.linalg.lstsq(rows, np.array([one.run for one in found]), rcond=None)[0]
    known = {name: _means(kinds) for name, kinds in sorted(functions.items())}
    return {
        "run": [round(float(base), 1), round(float(step), 2)],
        "layers": {name: _means(kinds) for name, kinds in sorted(layers.items())},
        "functions": {name: kinds for name, kinds in known.items() if any(map(any, kinds.values()))},
    }


def _means(kinds: Mapping[str, Sequence[Sequence[int]]]) -> dict[str, list[float]]:
    means = {
        kind: [round(statistics.mean(part), 1) for part in zip(*sizes, strict=True)]
        for kind, sizes in sorted(kinds.items())
    }
    return merged(means)


def merged(kinds: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """Without what is about the same as what stands in for it: sizes for any kernel, or of the same kernel.
    Where all are alike, these are for any kernel."""
    plain = kinds.get(OFTEN) or next(iter(kinds.values()))
    if all(map(partial(_alike, plain), kinds.values())):
        return {OFTEN: plain}
    found = dict(kinds)
    for kind, sizes in kinds.items():
        kernel, _, count = kind.rpartition(" ")
        often = found.get(f"{kernel} {OFTEN}".lstrip())
        if (count == ONCE and often and _alike(often, sizes)) or (
            kernel and OFTEN in found and f"{kernel} {ONCE}" not in found and _alike(found[OFTEN], sizes)
        ):
            del found[kind]
    return found


def _alike(sizes: Sequence[float], others: Sequence[float]) -> bool:
    return all(abs(a - b) <= _SAME * max(a, b) for a, b in zip(sizes, others, strict=True))


@dataclass(frozen=True)
class Off:
    """A network whose architecture had no part in its estimate."""

    network: str
    code: float  # the error, as a share of code and parameters
    flash: float


def held_out(found: Sequence[Measured], name: str, like: str) -> Iterator[Off]:
    """The networks of a target, estimated from libraries of this or another one."""
    own = [one for one in found if one.target == name and one.network]
    base = [one for one in found if one.target == like]
    for architecture in sorted({one.architecture for one in own}):
        known = tabled([one for one in base if one.architecture != architecture])
        for one in own:
            if one.architecture == architecture:
                more = code_size.sum_of(one.uses, known).bytes - one.bytes
                yield Off(one.network, more / one.bytes, more / (one.bytes + one.weights))


def _within(shares: Sequence[float]) -> float:
    """What most of them are within."""
    return sorted(map(abs, shares))[int(_HELD_SHARE * len(shares))]


def row(target: str, like: str, off: Sequence[Off]) -> list[str]:
    code, flash = [one.code for one in off], [one.flash for one in off]
    worst = max(off, key=lambda one: abs(one.code))
    return [
        target + (f", by the table of {like}" if like != target else ""),
        str(len(off)),
        *(f"{share:.0%}" for share in (statistics.mean(map(abs, code)), _within(code))),
        f"{worst.code:+.0%} ({worst.network})",
        *(
            f"{share:.1%}"
            for share in (statistics.mean(map(abs, flash)), _within(flash), max(map(abs, flash)))
        ),
    ]


def main() -> None:
    """Measure, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="+", help="NAME, or NAME=OTHER for one with the table of another")
    parser.add_argument("--rounds", type=int, default=4, help="so often is a family drawn, in the mean")
    parser.add_argument("--keep", type=Path, required=True, help="a file of measurements, to go on with")
    parser.add_argument("--optimize", choices=("speed", "size"), default="speed")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    likes = {name: like or name for name, _, like in (word.partition("=") for word in arguments.targets)}
    optimize: Optimize = arguments.optimize
    found = kept(arguments.keep)
    missing = [name for name in likes if not any(one.target == name for one in found)]
    jobs = [
        (number, seed)
        for number, (_, _, families) in enumerate(PLANS)
        for seed in range(-(-arguments.rounds * len(families) // _FAMILIES))
    ]
    with Pool(arguments.jobs) as pool, arguments.keep.open("a", encoding="utf-8") as file:
        own = [name for name in missing if likes[name] == name]
        parts = [pool.imap(partial(of_layers, name, optimize), jobs) for name in own]
        some = partial(of_network, missing, optimize)
        of_networks = pool.imap(some, range(len(list(networks())) if missing else 0))
        for one in chain(*parts, chain.from_iterable(of_networks)):
            file.write(json.dumps(asdict(one)) + "\n")
            found.append(one)
    rows = []
    for name, like in likes.items():
        off = list(held_out(found, name, like))
        rows.append(row(name, like, off))
        content: dict[str, Any] = {"like": like}
        if name == like:
            error = round(_within([one.code for one in off]), 3)
            mine = [one for one in found if one.target == name]
            content = cost_files.own(name) | {"compiler": toolchain.find(targets.load(name)).name}
            content.setdefault("code", {})[optimize] = {"error": error, **tabled(mine)}
        cost_files.write(name, content)
    head = ["processor", "networks", "mean", "nine of ten", "most", "of flash: mean", "nine of ten", "most"]
    text = f"{_NOTE.format(optimize)}\n\n{table(head, rows)}"
    print(text)
    title, options = "Code sizes without a compiler", ""
    if optimize == "size":
        title, options = f"{title}, for size", "--optimize size"
    write_section("code_sizes", title, text, on=RELIABILITY, options=options)


def kept(path: Path) -> list[Measured]:
    """What an earlier run measured."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    for row in rows:
        uses = row["uses"]
        row["uses"] = Uses(tuple(uses["layers"]), tuple(uses["often"]), uses["shared"], uses["parts"])
    return [Measured(**row) for row in rows]


if __name__ == "__main__":
    main()
