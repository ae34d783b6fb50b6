"""Runs a compiled library here and compares it with the simulator, value by value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from edgekit.codegen.compilation import toolchain, wasm
from edgekit.codegen.execution import runner
from edgekit.codegen.execution.driver import (
    BACKWARDS,
    FLAGS,
    Driver,
    blob_declaration,
    blob_sources,
    blob_symbol,
)
from edgekit.codegen.program import Port, Program
from edgekit.codegen.verification.difference import are_nan, difference
from edgekit.codegen.verification.output_coverage import (
    RandomRun,
    VaryingElements,
    drawn,
    is_count,
    provoked,
    untaken,
)
from edgekit.codegen.verification.rounding_error import RoundingError, has_floats, local_largest, ulp
from edgekit.codegen.verification.selftest import MOST_RUNS, SelfTest, measured
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError, raise_all
from edgekit.core.ir import Graph
from edgekit.core.progress import Progress
from edgekit.core.target import Optimize
from edgekit.core.types import Array, DType, Type

# What a process may take: to start, and for its operations at the slowest rate, here or emulated, by far.
_START_SECONDS = 60
_LEAST_RATE = {True: 1e7, False: 1e6}
_RANDOM = 2  # samples beside those that provoke errors
# Of the values of each output: at least one of eleven wrong ones is compared with a probability of 95 %.
MIN_COMPARED = 0.25
# Operations of all samples, natively and in emulators, of more only the first two run again.
_AGAIN = {True: 1e9, False: 2e7}
# Errors that need no explanation: units in the last place of the largest value around, by bytes of the type.
_TIGHT_ULPS = {8: 32, 4: 8, 2: 1, 1: 0}
_NARROW = 0.25  # of its tolerance that a self-test may need here; elsewhere it may need more
_UNCERTAIN = 0.1  # of the range of an output: what rounding may change by more is no evidence
_WHOSE_FAULT = "a fault of EdgeKit or of the compiler: please report it"
LEVEL = {"size": "-Os", "speed": "-O3"}


@dataclass(frozen=True)
class Agreement:
    """How close compiled code and simulator are in one output, over all samples."""

    name: str
    type: Type
    max_error: float  # absolute
    relative_error: float  # of the largest value that the simulator gives
    exact: bool
    compared: float  # the share of values that are finite, and that vary with the inputs
    values: int  # of all samples
    nans: int  # of these, by the simulator
    explained: float | None = (
        None  # the largest error that rounding explains; None: not measured, none needed
    )

    @property
    def nans_in_words(self) -> str:
        return f"{self.nans:,} of {self.values:,} values of output {self.name} are NaN" if self.nans else ""


@dataclass(frozen=True)
class Verification:
    """What was compared; that it exists says that every output was within its tolerance."""

    samples: int
    compiler: str
    outputs: tuple[Agreement, ...]
    shortfall: str = ""  # why that says too little to call the library verified
    untaken: tuple[str, ...] = ()  # sides of branches that no sample takes

    @property
    def max_error(self) -> float:
        return max((o.max_error for o in self.outputs), default=0.0)

    @property
    def relative_error(self) -> float:
        return max((o.relative_error for o in self.outputs), default=0.0)

    @property
    def exact(self) -> bool:
        return all(o.exact for o in self.outputs)

    @property
    def compared(self) -> float:
        """The share of values of all outputs that are finite, and that vary with the inputs."""
        total = sum(o.type.size for o in self.outputs)
        return sum(o.compared * o.type.size for o in self.outputs) / total if total else 1.0

    @property
    def nans(self) -> str:
        """Which outputs have values that are no numbers, and how many; empty where none has."""
        return ", ".join(filter(None, (o.nans_in_words for o in self.outputs)))

    @property
    def explained(self) -> float | None:
        return max((o.explained for o in self.outputs if o.explained is not None), default=None)


def drive(
    program: Program, sources: Sequence[str], folder: Path, compiler: toolchain.Compiler, optimize: Optimize
) -> Driver:
    """Make a program that runs the library, from its sources or object files in `folder`."""
    if reason := runner.why_not_verified(program.target):
        raise EdgeKitError("E0503", reason)
    programs, flags = [program, *program.entries], [LEVEL[optimize], *program.target.cflags]
    each = max(map(sample_seconds, programs))
    return Driver(programs, sources, folder, compiler, flags, seconds=_START_SECONDS, each=each)


def sample_seconds(program: Program) -> float:
    """What one run may take beside the start of its process."""
    return program.graph.work / _LEAST_RATE[runner.is_native(program.target)]


def random_samples(program: Program) -> RandomRun:
    """Seeded inputs that the model may meet, and such that provoke errors: the same in every verification."""
    return provoked(drawn(program.graph, _RANDOM))


def verify(
    program: Program,
    driver: Driver,
    compiler: toolchain.Compiler,
    sources: Sequence[str],
    samples: Sequence[Mapping[str, Array]] | RandomRun,
    progress: Progress = lambda step: None,
) -> Verification:
    """Run the compiled library on the samples and compare, then its self-test with these sources or objects;
    E0601 names every output that is further off than rounding explains. Where there are states, the samples
    are the steps of one stream."""
    graph = program.graph
    simulated: Iterator[Mapping[str, Array]]
    if isinstance(samples, RandomRun):
        simulated, left, samples = iter(samples.outputs), samples.untaken, samples.samples
    else:
        simulated, left = simulate.run_each(graph, samples), untaken(graph, samples)
    errors = RoundingError(graph, samples)
    meters = {port.name: _OutputErrorMeter(port, errors) for port in program.outputs}
    compiled = driver.run_each(program, samples)
    plain = []  # the outputs of each sample
    for i in range(len(samples)):
        progress(f"verifying, sample {i + 1} of {len(samples)}")
        expected, found = next(simulated), next(compiled)
        plain.append(found)
        where = f"sample {i}, compiler {compiler.name}"
        faults = [meter.add(i, found[name], expected[name], where) for name, meter in meters.items()]
        raise_all([fault for fault in faults if fault])
    _compare_bits(program, driver, compiler, samples, plain, progress)
    progress("running the self-test")
    _self_test(program, sources, driver.executable.parent, compiler)
    outputs = tuple(meter.agreement for meter in meters.values())
    verified = Verification(len(samples), compiler.name, outputs, _shortfall(graph, outputs), left)
    for entry in program.entries:
        other = verify(entry, driver, compiler, sources, random_samples(entry), progress)
        verified = _together(verified, other, entry.name.removeprefix(f"{program.name}_"))
    return verified


def _together(main: Verification, other: Verification, name: str) -> Verification:
    """What was compared of two entries, of which the second one has a name."""
    return replace(
        main,
        outputs=(*main.outputs, *(replace(o, name=f"{name}.{o.name}") for o in other.outputs)),
        shortfall=main.shortfall or (other.shortfall and f"entry {name}: {other.shortfall}"),
        untaken=(*main.untaken, *other.untaken),
    )


def _compare_bits(
    program: Program,
    driver: Driver,
    compiler: toolchain.Compiler,
    samples: Sequence[Mapping[str, Array]],
    expected: Sequence[Mapping[str, Array]],
    progress: Progress,
) -> None:
    """Run the samples again: with other numbers in and around memory without a value; the parts of layers by
    each number of threads, and the last ones first. E0601 if a bit differs."""
    few = len(samples) * program.graph.work > _AGAIN[runner.is_native(program.target)]
    ways = [
        ("other numbers where nothing was written", driver.among_extremes(), samples[: 2 if few else None])
    ]
    if program.target.cores > 1:
        ways.append(("the last parts first", driver.with_threads(BACKWARDS), samples))
        counts = range(1, program.target.cores + 1) if runner.runs_threads(program.target) else ()
        ways += [(f"{count} threads", driver.with_threads(count), samples) for count in counts]
    for way, other, again in ways:
        progress(f"verifying {way}")
        for i, found in enumerate(other.run_each(program, again)):
            for name, output in found.items():
                if output.tobytes() != expected[i][name].tobytes():
                    message, where = f"output {name} has other bits with {way}", f"compiler {compiler.name}"
                    raise EdgeKitError("E0601", message, f"sample {i}, {where}", _WHOSE_FAULT)


def insist(found: Verification, graph: Graph) -> Verification:
    """What was found, or E0607 where that is too little."""
    if found.shortfall:
        raise EdgeKitError("E0607", found.shortfall, f"compiler {found.compiler}", more_samples(graph))
    return found


def more_samples(graph: Graph) -> str:
    """How to compare more than random inputs do."""
    types = ", ".join(f"{name} {graph.type(name)}" for name in graph.inputs)
    return f"--data takes typical inputs, an .npz, an .npy or a folder of them ({types})"


def settled(program: Program, driver: Driver, test: SelfTest) -> SelfTest:
    """The self-test with tolerances that follow the network's conditioning, where the usual ones are narrow:
    the compiled library is far from the simulator already here. So for each entry."""
    pairs = zip(program.entries, test.entries, strict=True)
    return replace(_settled(program, driver, test), entries=tuple(_settled(p, driver, t) for p, t in pairs))


def _settled(program: Program, driver: Driver, test: SelfTest) -> SelfTest:
    if test.limits or not has_floats(program.graph):
        return test
    compiled = driver.run_each(program, test.samples)
    for run, (found, expected) in enumerate(zip(compiled, test.expected, strict=True)):
        for port in program.outputs:
            error, limit = compare(found[port.name], expected[port.name])[0], test.limit(port.name, run)
            if error > _NARROW * limit > 0:
                return measured(test)
    return test


class _OutputErrorMeter:
    """Compares one output, sample by sample."""

    def __init__(self, port: Port, errors: RoundingError) -> None:
        self.port = port
        self.errors = errors
        self.varying = VaryingElements()
        self.error = self.relative = 0.0
        self.exact = True
        self.values = self.nans = 0
        self.explained: float | None = None

    def add(self, i: int, found: Array, expected: Array, where: str) -> EdgeKitError | None:
        """The next sample, and the error that it is, if so."""
        error, scale, same = compare(found, expected)
        self.error = max(self.error, error)
        self.relative = max(self.relative, error / scale if scale else error)
        self.exact &= same
        self.values += expected.size
        self.nans += int(are_nan(expected).sum())
        told: Array | bool = True
        if _are_off(found, expected, tight(self.port.type.dtype, expected)).any():
            for thorough in (False, True):
                limit, told, wrong = self._explained(i, found, expected, thorough=thorough)
                if not wrong.any():
                    break
            else:
                return _off(self.port.name, found, expected, limit, wrong, where)
            if self.port.type.dtype.is_float:
                largest = float(limit[np.isfinite(limit)].max(initial=0.0))
                self.explained = max(self.explained or 0.0, largest)
        self.varying.add(expected, told)
        return None

    def _explained(
        self, i: int, found: Array, expected: Array, *, thorough: bool
    ) -> tuple[Array, Array, Array]:
        """The limit of each element by measured rounding errors; which are so certain that a comparison says
        something, and which are wrong: off from the exact result and from the simulator's."""
        if not has_floats(self.errors.graph):
            limit = np.zeros(expected.shape)
            return limit, np.ones(expected.shape, bool), _are_off(found, expected, limit)
        known = self.errors.explain(i, self.port.name, thorough=thorough)
        wrong = _are_off(found, known.exact, known.limit) & _are_off(found, expected, known.limit)
        finite = known.exact[np.isfinite(known.exact)].astype(np.float64)
        spread = np.ptp(finite) if finite.size > 1 else np.abs(finite).max(initial=0.0)
        return known.limit, known.limit <= _UNCERTAIN * spread, wrong

    @property
    def agreement(self) -> Agreement:
        return Agreement(
            self.port.name,
            self.port.type,
            self.error,
            self.relative,
            self.exact,
            self.varying.share,
            self.values,
            self.nans,
            self.explained,
        )


def _depends(graph: Graph, name: str) -> bool:
    """Does any input or state have an effect on this value?"""
    reached = {*graph.entries}
    for node in graph.nodes:
        if not reached.isdisjoint(node.inputs):
            reached.update(node.outputs)
    return name in reached


def tight(dtype: DType, expected: Array) -> Array:
    """What C may differ from the simulator by without a question: a few units in the last place."""
    if not dtype.is_float:
        return np.zeros(expected.shape)
    sizes = np.abs(expected.astype(np.float64))
    return _TIGHT_ULPS[dtype.bytes] * ulp(local_largest(np.where(np.isfinite(sizes), sizes, 0.0)), dtype)


def _are_off(found: Array, right: Array, limit: Array) -> Array:
    """Elements that differ by more than the limit. NaN equals NaN, inf equals inf."""
    result: Array = (difference(found, right) > limit) | (are_nan(found) != are_nan(right))
    return result


def _self_test(program: Program, sources: Sequence[str], folder: Path, compiler: toolchain.Compiler) -> None:
    """Run the self-test that comes with the library, as a firmware would."""
    name = program.name
    given = f"{blob_symbol(program)}, " if program.by_pointer else ""
    main = f"""#include "{name}.h"
{blob_declaration(program)}int {name}_selftest({"const void *weights, " if given else ""}void *arena);
static unsigned char arena[{name.upper()}_ARENA_SIZE + 1] __attribute__((aligned({program.target.align})));
int main(void)
{{
    return {name}_selftest({given}arena);
}}
"""
    (folder / "selftest_main.c").write_text(main)
    target = runner.here(program.target)
    files = [
        *sources,
        f"{name}_selftest.c",
        "selftest_main.c",
        *blob_sources([program]),
        "-o",
        runner.executable("selftest"),
    ]
    # Without optimization zig adds checks, and a megabyte to explain them.
    flags = [*FLAGS, "-O1", *target.cflags, *runner.compile_flags(target)]
    flags += wasm.start_flags([program])
    runner.link(target, compiler, [*flags, *files], folder)
    made = folder / runner.executable("selftest")
    each = sum(map(sample_seconds, (program, *program.entries)))
    seconds = _START_SECONDS + MOST_RUNS * each
    code = runner.run(target, made, [], seconds=seconds, name=f"the self-test of {name}").code
    if code:
        raise EdgeKitError(
            "E0601", f"the self-test of {name} fails ({code})", f"compiler {compiler.name}", _WHOSE_FAULT
        )


def _off(output: str, found: Array, expected: Array, limit: Array, wrong: Array, where: str) -> EdgeKitError:
    """The error of an output, with the element that is off by most of what is explained."""
    with np.errstate(invalid="ignore"):
        error = difference(found, expected)
        share = np.where(wrong, error / np.maximum(limit, 1e-300), -1.0)
    at = np.unravel_index(int(share.argmax()), share.shape)
    message = f"the compiled code differs from the simulator by {error[at]:.3g} in output {output}"
    if expected.dtype.kind not in "biu":
        message += f", where rounding explains {limit[at]:.3g}"
    return EdgeKitError("E0601", message, where, _WHOSE_FAULT)


def _shortfall(graph: Graph, outputs: Sequence[Agreement]) -> str:
    """The output of which least was compared, if that is too little: the worst one counts."""
    varied = [o for o in outputs if _depends(graph, o.name) and not is_count(graph, o.name)]
    worst = min(varied, key=lambda o: o.compared, default=None)
    if worst is None or worst.compared >= MIN_COMPARED:
        return ""
    if not worst.compared and not worst.nans:
        return f"output {worst.name} is constant: it does not change with the inputs that were tried"
    found = f"{worst.compared:.1%} of the values of output {worst.name} are finite and vary with the inputs"
    found += f" ({worst.nans_in_words})" if worst.nans else ""
    return f"too little was compared: {found}, at least {MIN_COMPARED:.0%} are needed"


def compare(found: Array, expected: Array) -> tuple[float, float, bool]:
    """(largest difference, largest expected value, bitwise equal). NaN equals NaN, inf equals inf."""
    sizes = np.abs(expected.astype(np.float64))
    scale = sizes[np.isfinite(sizes)].max(initial=0.0)
    error = difference(found, expected).max(initial=0.0)
    return float(error), float(scale), bool(found.tobytes() == expected.tobytes())
