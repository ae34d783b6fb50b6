"""Who evaluates points: processes of this machine, or a Dask cluster; one that dies loses nothing."""

from __future__ import annotations

import concurrent.futures  # which imports processes when they are asked for: a web page has none
import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, Protocol

from edgekit.core.distribution import install_command
from edgekit.core.errors import EdgeKitError
from edgekit.tuning.evaluate import evaluate
from edgekit.tuning.problem import Outcome, Point, TuningProblem

_TRIES = 3  # of a point whose worker died


class Workers(Protocol):
    """Evaluates points, in any order."""

    def run(self, points: Sequence[Point]) -> Iterator[tuple[Point, Outcome]]:
        """Each point with what it came to, as soon as that is known."""

    def close(self) -> None: ...


class InProcess:
    """This process."""

    def __init__(self, problem: TuningProblem) -> None:
        self.problem = problem

    def run(self, points: Sequence[Point]) -> Iterator[tuple[Point, Outcome]]:
        for point in points:
            yield point, evaluate(self.problem, point)

    def close(self) -> None:
        """Nothing was started."""


class Processes:
    """Several processes of this machine. Where one is killed, all are started again."""

    def __init__(self, problem: TuningProblem, jobs: int) -> None:
        self.problem, self.jobs = problem, jobs
        self.pool = self._started()

    def _started(self) -> concurrent.futures.ProcessPoolExecutor:
        # Threads of numpy do not survive a fork.
        context = multiprocessing.get_context("spawn")
        return concurrent.futures.ProcessPoolExecutor(self.jobs, context, _remember, (self.problem,))

    def run(self, points: Sequence[Point]) -> Iterator[tuple[Point, Outcome]]:
        left, tries = list(points), 0
        while left:
            futures = {self.pool.submit(_evaluate_known, point): point for point in left}
            try:
                for future in concurrent.futures.as_completed(futures):
                    outcome = future.result()
                    left.remove(futures[future])
                    yield futures[future], outcome
            except concurrent.futures.BrokenExecutor:
                tries += 1
                if tries == _TRIES:
                    raise _died(left) from None
                self.close()
                self.pool = self._started()

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)


class Cluster:
    """The workers of a Dask cluster, which have EdgeKit installed."""

    def __init__(self, problem: TuningProblem, address: str, patience: float = 10) -> None:
        try:
            distributed: Any = import_module("distributed")
        except ModuleNotFoundError:
            hint = install_command("dask")
            raise EdgeKitError("E0503", "Dask is not installed", hint=hint) from None
        self.problem, self.dask = problem, distributed
        try:
            self.client = distributed.Client(address, timeout=patience)
        except (OSError, ValueError) as error:
            hint = "an address is like tcp://127.0.0.1:8786; dask scheduler prints its own"
            message = f"no Dask scheduler answers at {address} within {patience:g} s"
            raise EdgeKitError("E0503", message, hint=hint) from error

    def run(self, points: Sequence[Point]) -> Iterator[tuple[Point, Outcome]]:
        # The problem goes with each point: what lies on one worker dies with it.
        futures = {
            self.client.submit(evaluate, self.problem, point, pure=False, retries=_TRIES): point
            for point in points
        }
        for future in self.dask.as_completed(futures):
            try:
                outcome = future.result()
            except self.dask.KilledWorker:
                raise _died([futures[future]]) from None
            yield futures[future], outcome

    def close(self) -> None:
        self.client.close()


def _died(points: Sequence[Point]) -> EdgeKitError:
    hint = "is there enough memory? with fewer --jobs each has more; what was found so far is kept"
    return EdgeKitError("E0603", f"a worker died {_TRIES} times on {points[0]}", hint=hint)


_problem: list[TuningProblem] = []  # of a worker process: sent once, when it starts


def _remember(problem: TuningProblem) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches all processes: this one ends without a word
    _problem[:] = [problem]


def _evaluate_known(point: Point) -> Outcome:
    return evaluate(_problem[0], point)
