"""Compares `edgekit estimate` with counted instructions of networks that had no part in its calibration.

What they say is kept beside the calibration, in targets/costs: the factor that the errors of kernels
take to hold for every one of these networks, and what a layer takes, roughly, whose kernel is not calibrated.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from benchmarks.reliability.networks import Network, networks
from benchmarks.results import RELIABILITY, table, write_section
from edgekit.codegen.cost import cost_files, instructions
from edgekit.codegen.cost.calibrations import Calibration, calibrated, calibrations
from edgekit.codegen.cost.cost_features import Work, work
from edgekit.codegen.cost.instructions import HeldOut
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.target import Optimize

_ROUGH = ("calls", "inputs", "outputs", "products")  # of layers of which nothing else is known
_SMALL = 0.01  # of a network: layers below say nothing of a kernel
_COVERED = 0.9  # of single layers, by the error of a rough guess


@dataclass(frozen=True)
class Layer:
    """A kernel call that was counted."""

    kernel: str
    work: Work
    counted: int


@dataclass(frozen=True)
class Held:
    """A network with its counted layers, those that take anything."""

    network: str
    target: str
    core: str  # whose calibration it is
    layers: tuple[Layer, ...]

    @property
    def counted(self) -> int:
        return sum(layer.counted for layer in self.layers)

    @property
    def calls(self) -> list[tuple[str, Work]]:
        return [(layer.kernel, layer.work) for layer in self.layers]


def counted(name: str, optimize: Optimize, kept: Path, chosen: Sequence[Network]) -> Iterator[Held]:
    """Each network on a target. Counts of the same kernels that a file has from before are taken from it."""
    target, core = targets.load(name), like(name)
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    before = {(d["network"], d["target"], d["optimize"]): d for d in map(json.loads, lines)}
    for network in chosen:
        program = compile_graph(network.graph(), target)
        done = list(work(program))
        kernels = [line.kernel.function for line, _ in done]
        found = before.get((network.name, name, optimize))
        if found is None or found["kernels"] != kernels:
            counts = [layer.instructions or 0 for layer in instructions.counted(program, optimize).layers]
            found = {"network": network.name, "target": name, "optimize": optimize}
            found |= {"kernels": kernels, "counts": counts}
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found) + "\n")
            print(f"{name}: {network.name}, {sum(counts):,}", flush=True)
        each = zip(kernels, done, found["counts"], strict=True)
        layers = tuple(Layer(kernel, did, n) for kernel, (_, did), n in each)
        yield Held(network.name, name, core, layers)


def like(name: str) -> str:
    """The processor whose calibration this one has."""
    return str(cost_files.own(name).get("like", name))


def rough(found: Sequence[Held]) -> Calibration:
    """What any layer takes, and how far that is off for nine of ten."""
    layers = [layer for held in found for layer in held.layers if layer.counted]
    x = np.array([[layer.work.get(name, 0) for name in _ROUGH] for layer in layers], np.float64)
    y = np.array([layer.counted for layer in layers], np.float64)
    factors, _ = nnls(x / y[:, None], np.ones(len(y)))
    factors /= np.median(x @ factors / y)
    off = np.abs(y / (x @ factors) - 1)
    terms = {name: float(f"{f:.4g}") for name, f in zip(_ROUGH, factors, strict=True) if f}
    return Calibration(terms, float(f"{np.quantile(off, _COVERED):.2g}"))


def kernel_errors(found: Sequence[Held], known: Mapping[str, Calibration]) -> dict[str, float]:
    """The roots of mean squares of what layers are off that take a part of a run, where these are larger than
    those of the fit."""
    off: dict[str, list[float]] = {}
    for held in found:
        for layer in held.layers:
            if layer.kernel in known and layer.counted > _SMALL * held.counted:
                estimate = known[layer.kernel].count(layer.work)
                off.setdefault(layer.kernel, []).append(layer.counted / max(estimate, 1) - 1)
    errors = {kernel: float(f"{np.sqrt(np.mean(np.square(each))):.2g}") for kernel, each in off.items()}
    return {kernel: error for kernel, error in sorted(errors.items()) if error > known[kernel].error}


def offs(
    found: Sequence[Held], known: Mapping[str, Calibration], errors: Mapping[str, float]
) -> Iterator[tuple[Held, float, float]]:
    """Of networks all of whose kernels are calibrated: how far the counts are off from the estimate, and what
    would be stated with a factor of 1, both as shares of the estimate."""
    plain = HeldOut(0, 1.0, {}, 0.0, errors)
    for held in found:
        if all(layer.kernel in known for layer in held.layers):
            estimate = instructions.summed(held.calls, known, plain)
            yield held, abs(held.counted / estimate.total - 1), estimate.error


def factor(found: Sequence[tuple[Held, float, float]]) -> float:
    """By which errors of kernels are multiplied, so that all of these networks are inside; at least 1."""
    most = max((off / raw for _, off, raw in found), default=1.0)
    return max(float(np.ceil(most * 100) / 100), 1.0)


def stated(found: Sequence[Held], optimize: Optimize) -> dict[str, HeldOut]:
    """By core."""
    made = {}
    for core in sorted({held.core for held in found}):
        own = [held for held in found if held.core == core]
        guess, known = rough(own), calibrations(core, optimize)
        errors = kernel_errors(own, known)
        count = len({held.network for held in own})
        made[core] = HeldOut(count, factor(list(offs(own, known, errors))), guess.terms, guess.error, errors)
    return made


def inside_without(found: Sequence[Held], core: str, optimize: Optimize) -> tuple[int, int]:
    """How many networks are inside of an error that the others state, and of how many."""
    own = [held for held in found if held.core == core]
    known = calibrations(core, optimize)
    names = sorted({held.network for held, _, _ in offs(own, known, {})})
    inside = 0
    for name in names:
        others = [held for held in own if held.network != name]
        errors = kernel_errors(others, known)
        limit = factor(list(offs(others, known, errors)))
        left_out = offs([held for held in own if held.network == name], known, errors)
        inside += all(off <= limit * raw for _, off, raw in left_out)
    return inside, len(names)


def section(found: Sequence[Held], made: Mapping[str, HeldOut], optimize: Optimize) -> str:
    """The tables: what is stated of each processor, and how far off each network is."""
    by_target: dict[str, dict[str, tuple[str, float, float]]] = {}
    rows = []
    for held in found:
        estimate = _estimate(held, made[held.core], optimize)
        off, error = estimate[0] / held.counted - 1, estimate[1]
        is_inside = abs(held.counted / estimate[0] - 1) <= error
        cell = f"{off:+.1%} of {error:.1%}" + ("" if is_inside else " (!)")
        by_target.setdefault(held.target, {})[held.network] = (cell, off, error)
    for name, cells in by_target.items():
        held_out = made[like(name)]
        outside = sum("(!)" in cell for cell, _, _ in cells.values())
        inside, of = inside_without(found, like(name), optimize)
        rows.append(
            [
                name,
                str(len(cells)),
                f"{held_out.factor:.2f}",
                f"{np.median([error for _, _, error in cells.values()]):.1%}",
                f"{np.median([abs(off) for _, off, _ in cells.values()]):.1%}",
                f"{max(abs(off) for _, off, _ in cells.values()):.1%}",
                str(outside),
                f"{inside} of {of}",
            ]
        )
    head = ["processor", "networks", "factor", "median stated", "median off", "most off", "outside"]
    names = list(by_target)
    all_networks = list(dict.fromkeys(held.network for held in found))
    each = [[n, *(by_target[name].get(n, ("", 0.0, 0.0))[0] for name in names)] for n in all_networks]
    return f"""\
Instructions that `edgekit estimate` states for code built for {optimize}, against those that an emulator
counts, for networks held out of the calibration. The stated error is that of the kernels, in the fit or in
these networks, whichever is larger, weighted by the instructions of each layer and multiplied by the factor
that makes it hold for every one of these networks. The last column is leave-one-out: the number of networks
within the error that the other networks imply.

{table([*head, "inside, by the others"], rows)}

A layer whose kernel is not calibrated is estimated roughly, from its products, inputs and outputs; nine of
ten layers are within the error of such an estimate, which is added to the stated error. A layer whose mix
of work lies outside the calibration counts its error twice.

The error of each estimate, and the error stated with it:

{table(["network", *names], each)}
"""


def _estimate(held: Held, by: HeldOut, optimize: Optimize) -> tuple[float, float]:
    """What is estimated and what is stated, by the rules of edgekit.codegen.cost.instructions."""
    known = calibrations(held.core, optimize)
    found = instructions.summed(held.calls, known, by)
    return found.total, found.error


def main() -> None:
    """Count, state, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", default=calibrated())
    parser.add_argument("--optimize", choices=("speed", "size"), default="speed")
    parser.add_argument("--networks", nargs="+", metavar="NAME", help="count some of them, and write nothing")
    parser.add_argument("--keep", type=Path, required=True, help="a file of counts, to go on with")
    arguments = parser.parse_args()
    chosen = [x for x in networks() if not arguments.networks or x.name in arguments.networks]
    found = [
        held
        for name in arguments.targets
        for held in counted(name, arguments.optimize, arguments.keep, chosen)
    ]
    if arguments.networks:
        return
    made = stated(found, arguments.optimize)
    for core, one in made.items():
        content = cost_files.own(core)
        part = content["instructions"][arguments.optimize]
        part["networks"] = {
            "networks": one.networks,
            "factor": one.factor,
            "terms": dict(one.terms),
            "error": one.error,
        }
        for name, fit in part["kernels"].items():
            fit.pop(cost_files.IN_NETWORKS, None)
            if name in one.kernels:
                fit[cost_files.IN_NETWORKS] = one.kernels[name]
        cost_files.write(core, content)
    text = section(found, made, arguments.optimize)
    print(text)
    write_section(
        "reliability.estimates", "Estimates of networks held out of the calibration", text, on=RELIABILITY
    )


if __name__ == "__main__":
    main()
