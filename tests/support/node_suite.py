"""The suites of onnx through compiled C: converts, compiles in batches, runs and judges each case.

Every case ends in one of four: right; refused by an EdgeKitError that names what it refuses; wrong numbers,
types or shapes; or a crash, which is everything else: a raw exception, code that does not compile, a signal,
a write outside of memory, and also a refusal that calls a good model malformed or does not say where.
"""

from __future__ import annotations

import re
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from enum import Enum
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np
from onnx.backend.test.runner import Runner
from support.onnx_cases import Case, cases

from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.memory import schedule
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Optimize
from edgekit.core.types import Array
from edgekit.onnx_backend import compile_programs, convert_case, counted

# Cases that are right, by kind, of the onnx release that docs/ops.md names. These numbers never go down.
FLOOR = {"node": 1801, "simple": 15, "pytorch-operator": 24, "pytorch-converted": 59}
# Cases that are compiled at once: most of the time goes into kernels, of which neighbours share many.
_BATCH = 128
SECONDS = 30.0  # for the conversion of one case; the slowest takes one
_PROCESSES = 2
_ORDERS = 20_000  # task runs that the search for an order may try: results are the same in each
_FLAGS = ("-O0", "-w")  # each program runs once
# Flags that make an executable end at the first access outside of memory, and at the first undefined step.
SANITIZE = (
    *("-Og", "-w", "-g1"),
    "-DEK_GUARD=0",
    "-fsanitize=address,undefined,float-cast-overflow",
    "-fno-sanitize-recover=all",
)


class Verdict(Enum):
    RIGHT = "right"
    REFUSED = "refused"
    WRONG = "wrong"
    CRASH = "crash"


@dataclass(frozen=True)
class Outcome:
    """What became of one case."""

    name: str
    verdict: Verdict
    detail: str = ""  # the error
    code: str = ""  # of a refusal
    bound: tuple[str, ...] = ()  # inputs that had to be constants


@dataclass(frozen=True)
class _Job:
    """A case that was converted and can run."""

    case: Case
    program: Program
    bound: tuple[str, ...]


def run(
    names: Sequence[str], sanitize: bool = False, report: Callable[[Outcome], None] | None = None
) -> list[Outcome]:
    """The outcomes of these cases, in order."""
    wanted = set(names)
    indices = [i for i, case in enumerate(cases()) if case.name in wanted]
    found: dict[int, Outcome] = {}
    for batch, outcomes in _in_processes(
        [tuple(indices[i : i + _BATCH]) for i in range(0, len(indices), _BATCH)], sanitize
    ):
        for i, outcome in zip(batch, outcomes, strict=True):
            found[i] = outcome
            if report:
                report(outcome)
    return [found[i] for i in indices]


def _in_processes(
    batches: Sequence[tuple[int, ...]], sanitize: bool
) -> Iterator[tuple[tuple[int, ...], list[Outcome]]]:
    """Each batch with its outcomes, as they come. Where a process dies, cases run again, each in its own."""
    open_batches = set(batches)
    try:
        with ProcessPoolExecutor(_PROCESSES, get_context("fork")) as pool:
            futures = {pool.submit(_run_batch, batch, sanitize): batch for batch in batches}
            for future in as_completed(futures):
                yield futures[future], future.result()
                open_batches.discard(futures[future])
    except BrokenProcessPool:
        for batch in batches:
            if batch in open_batches:
                yield batch, [_run_alone(i, sanitize) for i in batch]


def _run_alone(index: int, sanitize: bool) -> Outcome:
    with ProcessPoolExecutor(1, get_context("fork")) as pool:
        try:
            (outcome,) = pool.submit(_run_batch, (index,), sanitize).result()
        except BrokenProcessPool:
            return Outcome(cases()[index].name, Verdict.CRASH, "the converting process died")
        return outcome


def _run_batch(indices: Sequence[int], sanitize: bool) -> list[Outcome]:
    """Convert, compile and run some cases."""
    warnings.simplefilter("ignore")
    prepared = {i: _prepare(i) for i in indices}
    jobs = {i: job for i, job in prepared.items() if isinstance(job, _Job)}
    outcomes = {i: outcome for i, outcome in prepared.items() if isinstance(outcome, Outcome)}
    if jobs:
        outcomes |= _compile_and_run(jobs, sanitize)
    return [outcomes[i] for i in indices]


def _prepare(index: int) -> _Job | Outcome:
    """Convert and lower one case, within a time limit."""
    case = cases()[index]
    failed = partial(Outcome, case.name)
    signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        graph = convert_case(case.model, case.tensors, f"case_{index}_{case.name.removeprefix('test_')}")
        with mock.patch.object(schedule, "_BUDGET", _ORDERS):
            program = compile_graph(graph, targets.load("host"))
        return _Job(case, program, tuple(name for name in case.tensors if name not in graph.inputs))
    except EdgeKitError as error:
        if error.code[:3] in ("E02", "E03") and error.where:
            return failed(Verdict.REFUSED, str(error), error.code)
        return failed(Verdict.CRASH, f"no proper refusal: {error}")
    except Exception:
        return failed(Verdict.CRASH, traceback.format_exc())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _alarm(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"conversion took more than {SECONDS:g} s")


def _compile_and_run(jobs: Mapping[int, _Job], sanitize: bool) -> dict[int, Outcome]:
    optimize: Optimize = "speed" if sanitize else "size"  # the latter shares kernels, and compiles fast
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        programs = [job.program for job in jobs.values()]
        driver, errors = compile_programs(programs, Path(folder), optimize, SANITIZE if sanitize else _FLAGS)
        return {i: _judge(job, driver, errors.get(job.program.name)) for i, job in jobs.items()}


def _judge(job: _Job, driver: Driver, error: EdgeKitError | None) -> Outcome:
    """Run a case and compare as onnx's own runner does."""
    case = job.case
    if error:
        return Outcome(case.name, Verdict.CRASH, str(error), bound=job.bound)
    try:
        results = driver.run(job.program, case.tensors)
        found = [counted(job.program.graph, results, o.name) for o in case.model.graph.output]
        expected: Sequence[Any] = case.expected
        if case.name in EXACT:
            exact = EXACT[case.name](case.tensors)
            expected = exact if _difference(case, expected, exact) else expected
        if (nowhere := _out_of_range(case)) is not None:
            found = [np.where(nowhere, expected[0], found[0])]
        if difference := _difference(case, expected, found):
            return Outcome(case.name, Verdict.WRONG, difference, bound=job.bound)
    except Exception:
        return Outcome(case.name, Verdict.CRASH, traceback.format_exc(), bound=job.bound)
    return Outcome(case.name, Verdict.RIGHT, bound=job.bound)


def _difference(case: Case, expected: Sequence[Any], found: Sequence[Any]) -> str:
    """What onnx's own runner says of these outputs; "" where it is content."""
    try:
        Runner.assert_similar_outputs(expected, found, case.rtol, case.atol)
    except AssertionError as difference:
        return str(difference).strip() or "outputs differ"
    return ""


def _out_of_range(case: Case) -> Array | None:
    """Where a cast meets numbers that the integers of its result have no room for. ONNX leaves open what they
    become, and what the suite expects depends on the release of ml_dtypes: 0.6 wraps around, 0.7 gives 0."""
    if not {node.op_type for node in case.model.graph.node} <= {"Cast", "CastLike"}:
        return None
    x, y = next(iter(case.tensors.values())), case.expected[0]
    if not (integer := re.fullmatch(r"(u?)int(\d+)", y.dtype.name)):
        return None
    bits = int(integer[2]) - (not integer[1])
    low, high = 0 if integer[1] else -(2**bits), 2**bits
    whole = np.trunc(x.astype(np.float64))
    return np.asarray(~((whole >= low) & (whole < high)))


def _inverse_dft(inputs: Mapping[str, Array]) -> list[Array]:
    """Of complex numbers, over the second dimension; computed in double precision."""
    x = inputs["x"].astype(np.float64)
    y = np.fft.ifft(x[..., 0] + 1j * x[..., 1], axis=1)
    return [np.stack([y.real, y.imag], -1).astype(np.float32)]


# Cases whose expected numbers miss the exact result by more than the suite's tolerance, as numpy's transform
# in single precision does: 1.9e-7 instead of 0. They are judged by the exact result.
EXACT: Mapping[str, Callable[[Mapping[str, Array]], list[Array]]] = {
    "test_dft_inverse": _inverse_dft,
    "test_dft_inverse_opset19": _inverse_dft,
}
