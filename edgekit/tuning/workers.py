"""Who evaluates points: processes of this machine, or a Dask cluster; one that dies loses nothing."""

from __future__ import annotations

import concurrent.futures  # which imports processes when they are asked for: a web page has none
import multiprocessing
import signal
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from functools import partial
from importlib import import_module, metadata
from typing import Any, Protocol

import edgekit
from edgekit.core.distribution import NAME, install_command
from edgekit.core.errors import EdgeKitError
from edgekit.core.progress import Progress
from edgekit.tuning.evaluate import evaluate
from edgekit.tuning.problem import Outcome, Point, TuningProblem

_TRIES = 3  # of a point whose worker died
_MORE_PATIENCE = 3  # for workers
_LISTED = 4  # workers in a message
_GOES_ON = "run the same command again: it goes on from what was tried"


class Workers(Protocol):
    """Evaluates points, in any order."""

    def run(self, problem: TuningProblem, points: Sequence[Point]) -> Iterator[tuple[Point, Outcome]]:
        """Each point with what it came to, as soon as that is known."""

    def close(self) -> None: ...


class InProcess:
    """This process."""

    def run(self, problem: TuningProblem, points: Sequence[Point]) -> Iterator[tuple[Point, Outcome]]:
        for point in points:
            yield point, evaluate(problem, point)

    def close(self) -> None:
        """Nothing was started."""


class Processes:
    """Several processes of this machine. Where one is killed, all are started again."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.pool: concurrent.futures.ProcessPoolExecutor | None = None

    def _started(self, problem: TuningProblem) -> concurrent.futures.ProcessPoolExecutor:
        # Threads of numpy do not survive a fork.
        context = multiprocessing.get_context("spawn")
        return concurrent.futures.ProcessPoolExecutor(self.jobs, context, _remember, (problem,))

    def run(self, problem: TuningProblem, points: Sequence[Point]) -> Iterator[tuple[Point, Outcome]]:
        left, tries = list(points), 0
        while left:
            self.pool = self.pool or self._started(problem)
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

    def close(self) -> None:
        if self.pool:
            self.pool.shutdown(cancel_futures=True)
        self.pool = None


class Cluster:
    """The workers of a Dask scheduler that have the EdgeKit of this machine. Each is sent the problem once,
    and then points. `patience` is for how many seconds a scheduler is waited for, a worker three times that:
    it may have to be started."""

    def __init__(self, address: str, progress: Progress, patience: float = 10) -> None:
        try:
            distributed: Any = import_module("distributed")
        except ModuleNotFoundError:
            hint = install_command("dask")
            raise EdgeKitError("E0503", "Dask is not installed", hint=hint) from None
        self.address, self.progress, self.patience, self.dask = address, progress, patience, distributed
        try:
            self.client = distributed.Client(address, timeout=patience)
        except (OSError, ValueError) as error:
            hint = "an address is like tcp://127.0.0.1:8786; dask scheduler prints its own"
            message = f"no Dask scheduler answers at {address} within {patience:g} s"
            raise EdgeKitError("E0503", message, hint=hint) from error
        self.versions: dict[str, str] = {}  # of EdgeKit on each worker; empty where there is none
        self.problem: Any = None  # in the memory of workers
        try:
            self._able()
        except EdgeKitError:
            self.close()
            raise

    def run(self, problem: TuningProblem, points: Sequence[Point]) -> Iterator[tuple[Point, Outcome]]:
        left, tries = list(points), 0
        while left:
            if tries == 2 * _TRIES:
                raise _died(left)
            if tries:
                time.sleep(min(self.patience / 20, 1))  # until the scheduler knows who is gone
            tries += 1
            with suppress(OSError, CancelledError):  # of a worker: `_able` looks for the scheduler
                able = self._sent(problem)
                evaluated = partial(self.client.submit, evaluate, self.problem, pure=False, retries=_TRIES)
                futures = {evaluated(point, workers=able): point for point in left}
                for future in self._finished(futures, able):
                    outcome = self._outcome(future, futures[future])
                    left.remove(futures[future])
                    yield futures[future], outcome

    def close(self) -> None:
        with suppress(OSError, CancelledError):
            self.client.close(timeout=1)

    def _finished(self, futures: Collection[Any], able: list[str] | None) -> Iterator[Any]:
        """Futures, as they come in. The end is early where other workers than before have to be named."""
        waiting = set(futures)
        while waiting:
            try:
                done = self.dask.wait(list(waiting), self.patience / 4, "FIRST_COMPLETED").done
            except TimeoutError:
                done = set()
            if not done and self._able() != able:
                self.client.cancel(list(waiting))
                return
            waiting -= done
            yield from done

    def _outcome(self, future: Any, point: Point) -> Outcome:
        try:
            outcome: Outcome = future.result()
        except self.dask.KilledWorker:
            raise _died([point]) from None
        except ImportError:
            message = f"a worker of {self.address} lacks a module that EdgeKit needs"
            raise EdgeKitError("E0503", message, hint=self._hint()) from None
        return outcome

    def _sent(self, problem: TuningProblem) -> list[str] | None:
        """The workers that can evaluate, which have the problem; None: all of them."""
        able = self._able()
        if self.problem is None or self.problem.status != "finished":
            self.progress(f"sending the model and its samples to {len(able or self.versions)} workers")
            try:
                self.problem = self.client.scatter(problem, workers=able, broadcast=True, hash=False)
            except (KeyError, ValueError):  # of the scheduler, which counts on a worker that has just died
                raise ConnectionError from None
        return able

    def _able(self) -> list[str] | None:
        """The workers with this EdgeKit, None where all have it. At least one is waited for."""
        wish = None
        until = time.monotonic() + _MORE_PATIENCE * self.patience
        while True:
            self._look()
            able = [name for name, found in self.versions.items() if found == edgekit.__version__]
            if able:
                return None if len(able) == len(self.versions) else able
            if time.monotonic() > until:
                raise EdgeKitError("E0503", self._missing(), hint=self._hint())
            wish = wish or self.client.submit(metadata.version, NAME, pure=False)  # clusters may grow by need
            self.progress(f"waiting for a worker of {self.address}")
            time.sleep(min(self.patience / 20, 1))

    def _look(self) -> None:
        """Which workers are there, and which EdgeKit they have: new ones are asked."""
        try:
            there = list(self.client.ncores())
        except (OSError, ValueError, CancelledError) as error:
            message = f"the Dask scheduler at {self.address} does not answer any more"
            raise EdgeKitError("E0503", message, hint=_GOES_ON) from error
        new = [name for name in there if name not in self.versions]
        ask = partial(self.client.run, metadata.version, NAME, workers=new, on_error="return")
        said = ask() if new else {}
        has_none = {name: "" for name, x in said.items() if isinstance(x, metadata.PackageNotFoundError)}
        known = self.versions | has_none | {name: x for name, x in said.items() if isinstance(x, str)}
        self.versions = {name: known[name] for name in there if name in known}

    def _missing(self) -> str:
        """Why none of the workers can evaluate a point."""
        if not self.versions:
            return (
                f"the Dask scheduler at {self.address} has no worker, and got none within {self.patience:g} s"
            )
        some = list(self.versions.items())[:_LISTED]
        said = [f"{name} has {f'EdgeKit {found}' if found else 'no EdgeKit'}" for name, found in some]
        said += [f"{len(self.versions) - len(some)} others neither"] * (len(self.versions) > len(some))
        return f"no worker of {self.address} has EdgeKit {edgekit.__version__}: {', '.join(said)}"

    def _hint(self) -> str:
        if not self.versions:
            return f"dask worker {self.address} starts one; then {_GOES_ON}"
        return f"on each of them: {install_command('dask')}; then {_GOES_ON}"


def _died(points: Sequence[Point]) -> EdgeKitError:
    hint = "is there enough memory? with fewer --jobs each has more; what was found so far is kept"
    return EdgeKitError("E0603", f"a worker died {_TRIES} times on {points[0]}", hint=hint)


_problem: list[TuningProblem] = []  # of a worker process: sent once, when it starts


def _remember(problem: TuningProblem) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches all processes: this one ends without a word
    _problem[:] = [problem]


def _evaluate_known(point: Point) -> Outcome:
    return evaluate(_problem[0], point)
