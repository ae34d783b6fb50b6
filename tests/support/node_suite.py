"""The ONNX backend node suite through compiled C: converts, compiles in batches, runs and judges each case.

Every case ends in one of four: right; refused by an EdgeKitError that names what it refuses; wrong numbers,
types or shapes; or a crash, which is everything else: a raw exception, code that does not compile, a signal,
a write outside of memory, and also a refusal that calls a good model malformed or does not say where.
"""

from __future__ import annotations

import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from enum import Enum
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from edgekit import target as targets
from edgekit.codegen.driver import Driver
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.render import Optimize
from edgekit.errors import EdgeKitError
from edgekit.ir import Array
from edgekit.onnx_backend import compile_programs, convert_case, input_names

# Cases that are right, of the onnx release that this was written for. It never goes down.
FLOOR = 1690
# Small enough that the processes end together, large enough that the driver around programs does not count.
_BATCH = 24
_SECONDS = 30.0  # for the conversion of one case; the slowest takes one
_PROCESSES = 2
_FLAGS = ("-O1", "-w")
# Flags that make an executable end at the first access outside of memory, and at the first undefined step.
SANITIZE = (
    *_FLAGS,
    "-g1",
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

    case: TestCase
    program: Program
    inputs: Mapping[str, Array]
    bound: tuple[str, ...]


@cache
def cases() -> tuple[TestCase, ...]:
    """Every case of the installed onnx."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its generators divide by zero on purpose
        found = tuple(load_model_tests(kind="node"))
    assert all(case.data_sets is not None and len(case.data_sets) == 1 for case in found), (
        "one data set a case"
    )
    return found


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
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        assert case.model is not None
        assert case.data_sets is not None
        data = [_array(x) for x in case.data_sets[0][0]]
        inputs = {
            n: x for n, x in zip(input_names(case.model), data, strict=False) if isinstance(x, np.ndarray)
        }
        graph = convert_case(case.model, inputs, f"case_{index}_{case.name.removeprefix('test_')}")
        program = compile_graph(graph, targets.load("host"))
        return _Job(case, program, inputs, tuple(n for n in inputs if n not in graph.inputs))
    except EdgeKitError as error:
        if error.code[:3] in ("E02", "E03") and error.where:
            return failed(Verdict.REFUSED, str(error), error.code)
        return failed(Verdict.CRASH, f"no proper refusal: {error}")
    except Exception:
        return failed(Verdict.CRASH, traceback.format_exc())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _alarm(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"conversion took more than {_SECONDS:g} s")


def _array(item: Any) -> Any:
    """Data of the suite as arrays; lists are sequences, None is an absent optional."""
    if isinstance(item, TensorProto):
        return numpy_helper.to_array(item)
    return item if item is None or isinstance(item, list) else np.asarray(item)


def _compile_and_run(jobs: Mapping[int, _Job], sanitize: bool) -> dict[int, Outcome]:
    optimize: Optimize = "size" if sanitize else "speed"
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        programs = [job.program for job in jobs.values()]
        driver, errors = compile_programs(programs, Path(folder), optimize, SANITIZE if sanitize else _FLAGS)
        return {i: _judge(job, driver, errors.get(job.program.name)) for i, job in jobs.items()}


def _similar(case: TestCase, expected: list[Any], found: list[Array]) -> bool:
    try:
        Runner.assert_similar_outputs(expected, found, case.rtol, case.atol)
    except AssertionError:
        return False
    return True


def _inverse_dft(inputs: Mapping[str, Array]) -> list[Array]:
    """Of cases that transform complex numbers over the second dimension; computed in double precision."""
    x = inputs["x"].astype(np.float64)
    y = np.fft.ifft(x[..., 0] + 1j * x[..., 1], axis=1)
    return [np.stack([y.real, y.imag], -1).astype(np.float32)]


# Cases whose expected numbers miss the exact result by more than the suite's tolerance, as numpy's transform
# in single precision does: 1.9e-7 instead of 0. They are judged by the exact result.
EXACT: Mapping[str, Callable[[Mapping[str, Array]], list[Array]]] = {
    "test_dft_inverse": _inverse_dft,
    "test_dft_inverse_opset19": _inverse_dft,
}


def _judge(job: _Job, driver: Driver, error: EdgeKitError | None) -> Outcome:
    """Run a case and compare as onnx's own runner does."""
    case = job.case
    if error:
        return Outcome(case.name, Verdict.CRASH, str(error), bound=job.bound)
    assert case.model is not None
    assert case.data_sets is not None
    expected = [_array(x) for x in case.data_sets[0][1]]
    try:
        results = driver.run(job.program, job.inputs)
        found = [results[o.name] for o in case.model.graph.output]
        if case.name in EXACT and not _similar(case, expected, EXACT[case.name](job.inputs)):
            expected = EXACT[case.name](job.inputs)
        Runner.assert_similar_outputs(expected, found, case.rtol, case.atol)
    except AssertionError as difference:
        return Outcome(case.name, Verdict.WRONG, str(difference).strip(), bound=job.bound)
    except Exception:
        return Outcome(case.name, Verdict.CRASH, traceback.format_exc(), bound=job.bound)
    return Outcome(case.name, Verdict.RIGHT, bound=job.bound)
