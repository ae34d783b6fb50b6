"""Calibrates the costs of kernels: counts random layers with every kernel that fits, and fits these together.

`python -m benchmarks.calibrate TARGET --keep FILE` draws layers of every family, few for the same kernels,
and says how many instructions a unit of each kind of work takes in them (codegen/cost/cost_features.py).
Which kinds these are says the tag @work of a kernel's file; without one, those that explain its counts best
go there. The numbers go to targets/costs, with the error on layers that had no part in the fit, where the
target has a file there or `--file` asks for one, and else into the tags. FILE keeps the counts by the code of
kernels: a second fit counts nothing, and one after a change counts the changed kernels alone.

A kernel whose code was used by fewer than ten of these layers keeps its numbers in targets/costs.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from benchmarks.calibration_fits import Fit, Sample, chosen_kinds, fitted
from benchmarks.calibration_plans import PLANS
from benchmarks.cortex_m import MODELS, NETWORKS
from benchmarks.kernel_layers import Counts, Kept, Layer, fitting, graph, on
from benchmarks.results import table, write_section
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.cost import cost_files, instructions
from edgekit.codegen.cost.calibrations import calibrated
from edgekit.codegen.kernels.kernel_files import Variant, all_variants
from edgekit.codegen.program import compile_graph
from edgekit.converters.tflite.reader import convert
from edgekit.core import target as targets
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Optimize, Target

_MIN_SAMPLES = 10  # for a row of a file
_COLUMNS = 107  # of a tag
_LARGE = 0.02  # of a network: layers below do not matter
_NOTE = """\
Estimates of `edgekit estimate` for the MLPerf Tiny networks, compared with the instructions that an
emulator counts; none of their layers was used in the fit. `stated` is the error given with the estimate;
`worst layer` is the largest error among layers that take 2 % of a run or more. Kernels that are not
calibrated are named."""


def layers(
    target: Target, least: int, only: Sequence[str], plans: Sequence[int], seeds: int, each: int, jobs: int
) -> list[Layer]:
    """Of seeded networks those layers that so many kernels fit, at most `each` for which the same ones do."""
    found: list[Layer] = []
    seen = Counter[frozenset[str]]()
    own = [n for n in plans if not only or any(family.__name__ in only for family in PLANS[n][2])]
    drawn = [(seed, plan) for seed in range(seeds) for plan in own]
    with Pool(jobs) as pool:
        for of_one in pool.imap(partial(_layers, target, least, only), drawn):
            for layer in of_one:
                same = frozenset(layer.functions.values())
                if seen[same] < each:
                    seen[same] += 1
                    found.append(layer)
    return found


def _layers(target: Target, least: int, only: Sequence[str], drawn: tuple[int, int]) -> list[Layer]:
    """Of one network."""
    seed, plan = drawn
    return fitting(graph(seed, plan, only), target, " ".join((f"{seed} {plan}", *sorted(only))), least=least)


def samples(found: Iterable[Layer], counts: Counts, by_function: bool) -> Iterator[Sample]:
    """Each layer by each kernel, whose instances are one where a tag serves all of them. Such a kernel, with
    types and vectors of its own, is like no other one of the same code."""
    sources = {v.file: v.path.as_posix() if by_function else v.file for v in all_variants()}
    for layer in found:
        for file, count in counts.get(layer.name, {}).items():
            if count:
                kernel = layer.functions[file] if by_function else file
                yield Sample(kernel, file, sources[file], layer.name, layer.kernels[file], count)


def calibrate(found: Sequence[Sample]) -> Mapping[str, tuple[str, Fit]]:
    """Of kernels by name the file and the fit. A file without kinds of work gets a proposal."""
    files = {sample.kernel: sample.file for sample in found}
    variants = {variant.file: variant for variant in all_variants()}
    kinds = {
        file: variants[file].kinds or propose_kinds(variants[file], [s for s in found if s.file == file])
        for file in sorted(set(files.values()))
    }
    fits = fitted(found, {kernel: kinds[file] for kernel, file in files.items()})
    return {kernel: (files[kernel], fit) for kernel, fit in sorted(fits.items())}


def scarce(found: Sequence[Sample]) -> Mapping[str, int]:
    """Kernels whose code few layers used, by all instances that do the same kinds of work."""
    kinds = {variant.file: frozenset(variant.kinds) for variant in all_variants()}
    uses = Counter((sample.source, kinds[sample.file]) for sample in found)
    few = {sample.kernel: uses[sample.source, kinds[sample.file]] for sample in found}
    return {kernel: count for kernel, count in few.items() if count < _MIN_SAMPLES}


def propose_kinds(variant: Variant, found: Sequence[Sample]) -> tuple[str, ...]:
    """The kinds of work that explain what a kernel takes; they are written into its file."""
    kinds = chosen_kinds(found)
    print(f"{variant.file}: {', '.join(kinds)}", flush=True)
    write(variant, kinds)
    return kinds


def write(variant: Variant, units: Sequence[str]) -> None:
    """The tag goes to the end of the kernel's row, in place of the one that is there."""
    content = variant.path.read_text(encoding="utf-8")
    named = rf"@as (?:(?! like )[^@\n])*?{variant.isa}/{re.escape(variant.stem)}(?![\w.])"
    end = r"(?= ?\*/|(?:\n \*)? @as )"  # of the comment, or where the next row begins
    start = r"\A\s*/\*" if variant.is_own else named
    found = re.search(f"{start}.*?{end}", content, re.DOTALL)
    assert found, variant.file
    lines = re.sub(r"(\n \*)? @work [^@\n]*(?= @|\n|\Z)", "", found[0]).split("\n")
    whole = f"{lines[-1]} @work {', '.join(units)}"
    if len(whole) <= _COLUMNS and re.match(r"( \* )?@", lines[-1]):  # a line of tags
        lines[-1] = whole
    else:
        for i, unit in enumerate(units):
            if i and len(f"{lines[-1]}, {unit}") <= _COLUMNS:
                lines[-1] += f", {unit}"
            else:
                lines.append(f" * @work {unit}")
    content = content[: found.start()] + "\n".join(lines) + content[found.end() :]
    variant.path.write_text(content, encoding="utf-8")


def write_tags(fits: Mapping[str, tuple[str, Fit]]) -> None:
    """What a unit takes, in each kernel's file."""
    for variant in all_variants():
        if variant.file in fits:
            terms = fits[variant.file][1].terms
            tag = [f"{kind} {terms[kind]:g}" for kind in sorted(terms)]
            print(f"{variant.file}: {', '.join(tag)}", flush=True)
            write(variant, tag)


def write_file(target: Target, optimize: Optimize, fits: Mapping[str, tuple[str, Fit]]) -> None:
    """Rows of targets/costs; those of other kernels stay as they are."""
    digests = {variant.file: variant.digest for variant in all_variants()}
    content: dict[str, Any] = {"compiler": "", "instructions": {}} | cost_files.own(target.name)
    content.pop("like", None)
    content["compiler"] = toolchain.find(target).name
    rows = content["instructions"].setdefault(optimize, {}).setdefault("kernels", {})
    for kernel, (file, fit) in fits.items():
        rows[kernel] = asdict(fit) | {"file": file, "digest": digests[file]}
    cost_files.write(target.name, content)


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
    names = calibrated()
    rows = [compared(targets.load(name), network.file) for name in names for network in NETWORKS]
    head = ["int8 network", "estimated", "counted", "error", "stated", "worst layer", "not calibrated"]
    text = f"{table(head, rows)}\n\n{_NOTE}"
    write_section("calibrate", "Estimated instructions", text)
    print(text)


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--keep", type=Path, help="a file of counts")
    parser.add_argument("--seeds", type=int, default=12, help="of networks")
    parser.add_argument("--each", type=int, default=20, help="layers that the same kernels fit")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--optimize", nargs="+", choices=("speed", "size"), default=("speed",))
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
    parser.add_argument(
        "--kernels", default="", metavar="PATTERN", help="leave the numbers of others; by file or function"
    )
    parser.add_argument("--file", action="store_true", help="begin a file of targets/costs")
    parser.add_argument("--check", action="store_true", help="compare with networks instead")
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Count, fit, write."""
    parser = options()
    given = parser.parse_args(arguments)
    if given.check:
        check()
        return
    if not given.keep:
        parser.error("--keep says where counts go")
    for name in given.targets:
        target, is_file = on(name), given.file or name in calibrated()
        least = 1 if is_file else 2  # a kernel without rivals needs no tag
        found = layers(target, least, given.only, given.plans, given.seeds, given.each, given.jobs)
        chosen: Sequence[Optimize] = given.optimize if is_file else ("speed",)
        for optimize in chosen:
            counts = Kept(given.keep).of(target, found, given.jobs, optimize)
            own = [*samples(found, counts, is_file)]
            few = scarce(own) if is_file else {}
            for kernel, count in few.items():
                print(f"kept, as only {count} layers used it: {kernel}", flush=True)
            fits = {
                kernel: (file, fit)
                for kernel, (file, fit) in calibrate(own).items()
                if kernel not in few and (re.search(given.kernels, file) or re.search(given.kernels, kernel))
            }
            if is_file:
                write_file(targets.load(name), optimize, fits)
            else:
                write_tags(fits)


if __name__ == "__main__":
    main()
