"""Calibrates estimates of instructions: counts random layers in an emulator, and fits a model of each kernel.

The result lies in targets/instructions. What a kernel takes is a sum of few terms, each so many for a unit
of work (codegen/cost/cost_features.py); the error is that on layers which had no part in the fit.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from benchmarks.calibration_graph import Layers
from benchmarks.calibration_plans import PLANS
from benchmarks.cortex_m import MODELS, NETWORKS
from benchmarks.kernel_choice import turned
from benchmarks.results import table, write_section
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.cost import counting, instructions
from edgekit.codegen.cost.bench import compiled
from edgekit.codegen.cost.calibrations import FOLDER
from edgekit.codegen.cost.cost_features import Work, work
from edgekit.codegen.printing.render import Optimize
from edgekit.codegen.program import Program, compile_graph
from edgekit.converters.tflite.reader import convert
from edgekit.core import target as targets
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Target
from edgekit.core.types import Array

_COPIES = 4  # of each family in one program
_MIN_SAMPLES = 10  # for a model
_MAX_TERMS = 8
_FOLDS = 6
_LOSS = 1.02  # by so much the error may grow for a term less
_LARGE = 0.02  # of a network: layers below do not matter
_NOTE = """\
Estimates of `edgekit estimate` for the MLPerf Tiny networks, compared with the instructions that an
emulator counts; none of their layers was used in the fit. `stated` is the error given with the estimate;
`worst layer` is the largest error among layers that take 2 % of a run or more. Kernels that are not
calibrated are named."""


@dataclass(frozen=True)
class Sample:
    """One kernel call: what it does, and what it took."""

    kernel: str
    work: Work
    instructions: int


@dataclass(frozen=True)
class Fit:
    """Instructions for a unit of each kind of work, and the error on samples that were held out."""

    terms: Mapping[str, float]
    error: float
    samples: int
    shares: Mapping[str, tuple[float, float]]  # of an estimate that each term had, at least and at most


def samples(target: Target, optimize: Optimize, only: Sequence[str], job: tuple[int, int]) -> list[Sample]:
    """What one program of random layers shows: those of a plan, for a seed."""
    number, seed = job
    kinds, rounding, families = PLANS[number]
    net = Layers(1000 * number + seed, kinds, rounding)
    for family in families * _COPIES:
        if not only or family.__name__ in only:
            family(net)
    if not net.outputs:
        return []
    graph = net.graph()
    small = {name for i, name in enumerate(net.outputs) if i // 2 % 2 and seed % 2}
    with turned(by=seed // 2 % 2):  # also kernels that others seem to be better than
        program = compile_graph(graph, target, compact=small)
    return list(counted(program, optimize))


def counted(program: Program, optimize: Optimize) -> Iterator[Sample]:
    """Each call of a program, counted in one run."""
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        executable = compiled(program, Path(folder), toolchain.find(program.target), optimize)
        marks = counting.entered(program, optimize)
        parts = counting.count(program.target, executable, marks).parts
    for (line, done), part in zip(work(program), parts, strict=True):
        yield Sample(line.kernel.function, done, part)


def fitted(found: Sequence[Sample]) -> Fit:
    """The terms that explain the samples best: those that least squares without negative numbers use, without
    those that do others no good."""
    names = sorted({name for sample in found for name in sample.work})
    x = np.array([[sample.work.get(name, 0) for name in names] for sample in found], np.float64)
    y = np.array([sample.instructions for sample in found], np.float64)
    x /= y[:, None]  # relative errors count
    chosen = np.flatnonzero(nnls(x, np.ones(len(y)))[0]).tolist()
    error = _error(x[:, chosen])
    while len(chosen) > 1:
        tried = [(_error(x[:, [k for k in chosen if k != i]]), i) for i in chosen]
        best, i = min(tried)
        if best > error * _LOSS and len(chosen) <= _MAX_TERMS:
            break
        chosen, error = [k for k in chosen if k != i], best
    factors, _ = nnls(x[:, chosen], np.ones(len(y)))
    parts = x[:, chosen] * factors
    parts = parts[parts.sum(axis=1) > 0]
    parts /= parts.sum(axis=1, keepdims=True)
    terms, shares = {}, {}
    for i, factor, part in zip(chosen, factors, parts.T, strict=True):
        if factor:
            terms[names[i]] = float(f"{factor:.4g}")
            shares[names[i]] = (float(f"{part.min():.2g}"), float(f"{part.max():.2g}"))
    return Fit(terms, float(f"{error:.2g}"), len(found), shares)


def _error(x: Array) -> float:
    """The root of the mean square of relative errors, each on a fold that the fit has not seen."""
    off = []
    for fold in range(_FOLDS):
        held = np.arange(len(x)) % _FOLDS == fold
        factors, _ = nnls(x[~held], np.ones((~held).sum()))
        off.append(x[held] @ factors - 1)
    return float(np.sqrt(np.mean(np.square(np.concatenate(off)))))


def calibrated(
    target: Target, optimize: Optimize, only: Sequence[str], plans: Sequence[int], rounds: int, jobs: int
) -> dict[str, Fit]:
    """The models of all kernels that random layers use, those of some plans and families or of all."""
    numbers = [(number, seed) for seed in range(rounds) for number in plans]
    by_kernel: dict[str, list[Sample]] = {}
    with Pool(jobs) as pool:
        for n, found in enumerate(pool.imap(partial(samples, target, optimize, only), numbers), 1):
            print(f"{target.name} {optimize} {n} of {len(numbers)}", flush=True)
            for sample in found:
                by_kernel.setdefault(sample.kernel, []).append(sample)
    enough = {name: found for name, found in by_kernel.items() if len(found) >= _MIN_SAMPLES}
    for name in sorted(by_kernel.keys() - enough.keys()):
        print(f"not calibrated, as only {len(by_kernel[name])} layers used it: {name}", flush=True)
    return {name: fitted(found) for name, found in sorted(enough.items())}


def compared(target: Target, network: str) -> list[str]:
    """A network of MLPerf Tiny: what is estimated, what is counted, and how far off that is."""
    program = compile_graph(simplify(convert(MODELS / f"{network}.tflite")), target)
    found, truth = instructions.estimated(program, "speed"), instructions.counted(program, "speed")
    assert found is not None, f"{target.name} is not calibrated"
    each = [
        abs((a.instructions or 0) - b.instructions) / b.instructions
        for a, b in zip(found.layers, truth.layers, strict=True)
        if b.instructions and b.instructions > _LARGE * truth.total
    ]
    return [
        f"{network}, {target.name}",
        f"{found.total:,}",
        f"{truth.total:,}",
        f"{found.total / truth.total - 1:+.1%}",
        f"{found.error:.1%}",
        f"{max(each):.0%}",
        ", ".join(found.unknown) or "none",
    ]


def check() -> None:
    """Compare all calibrations with the networks, and write docs/performance.md."""
    names = sorted(path.stem for path in FOLDER.glob("*.json"))
    rows = [compared(targets.load(name), network.file) for name in names for network in NETWORKS]
    head = ["int8 network", "estimated", "counted", "error", "stated", "worst layer", "not calibrated"]
    text = f"{table(head, rows)}\n\n{_NOTE}"
    write_section("calibrate", "Estimated instructions", text)
    print(text)


def write_calibration(path: Path, content: Mapping[str, Any]) -> None:
    """A line for each kernel: what changes can be read."""
    parts = []
    for name, value in content.items():
        if isinstance(value, dict):
            rows = ",\n".join(f"  {json.dumps(key)}: {json.dumps(row)}" for key, row in value.items())
            parts.append(f" {json.dumps(name)}: {{\n{rows}\n }}")
        else:
            parts.append(f" {json.dumps(name)}: {json.dumps(value)}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def main() -> None:
    """Count, fit, write."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--optimize", nargs="+", choices=("speed", "size"), default=("speed", "size"))
    every = range(len(PLANS))
    parser.add_argument("--plans", nargs="+", type=int, default=every, metavar="N", help="some of PLANS")
    parser.add_argument(
        "--only",
        nargs="+",
        default=(),
        choices=sorted({family.__name__ for *_, families in PLANS for family in families}),
        metavar="FAMILY",
        help="of layers; kernels that others use too should be calibrated by all of them: %(choices)s",
    )
    parser.add_argument("--kernels", default="", metavar="PATTERN", help="keep the numbers of all others")
    parser.add_argument("--check", action="store_true", help="compare with networks instead")
    arguments = parser.parse_args()
    if arguments.check:
        check()
        return
    for name in arguments.targets:
        target = targets.load(name)
        path = FOLDER / f"{name}.json"
        content = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        content.pop("like", None)
        content["compiler"] = toolchain.find(target).name
        for optimize in arguments.optimize:
            chosen = arguments.only, arguments.plans
            fits = calibrated(target, optimize, *chosen, arguments.rounds, arguments.jobs)
            before = {} if (*chosen, arguments.kernels) == ((), every, "") else content.get(optimize, {})
            found = {
                kernel: {
                    "error": fit.error,
                    "samples": fit.samples,
                    "terms": fit.terms,
                    "shares": fit.shares,
                }
                for kernel, fit in fits.items()
                if re.search(arguments.kernels, kernel)
            }
            content[optimize] = dict(sorted({**before, **found}.items()))
            write_calibration(path, content)


if __name__ == "__main__":
    main()
