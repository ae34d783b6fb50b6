"""Processes and clusters evaluate points as this process does, and a killed one loses nothing."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest
from support.tools import require, require_module

from edgekit.core.errors import EdgeKitError
from edgekit.tuning.evaluate import evaluate
from edgekit.tuning.problem import Fault, Point, TuningProblem
from edgekit.tuning.workers import Cluster, InProcess, Processes

POINTS = (Point(base="f32"), Point(base="bf16"), Point(base="f32", optimize="size"))


def kill_one(processes: Callable[[], Sequence[int]]) -> threading.Thread:
    """Kills the first of these processes as soon as there is one."""

    def wait_and_kill() -> None:
        for _ in range(600):
            if found := processes():
                os.kill(found[0], signal.SIGKILL)
                return
            time.sleep(0.05)

    thread = threading.Thread(target=wait_and_kill)
    thread.start()
    return thread


def test_processes_find_what_this_process_finds_and_one_may_be_killed(small: TuningProblem) -> None:
    require("gcc")
    expected = dict(InProcess(small).run(POINTS))
    workers = Processes(small, 1)
    try:
        killer = kill_one(lambda: list(workers.pool._processes or ()))
        found = dict(workers.run(POINTS))
        killer.join()
    finally:
        workers.close()
    assert found == expected


@pytest.fixture
def cluster() -> Iterator[tuple[str, Callable[[], Sequence[int]]]]:
    """A scheduler with two workers, and what tells their processes."""
    distributed = require_module("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as found:
        yield found.scheduler_address, lambda: [nanny.pid for nanny in found.workers.values() if nanny.pid]


def test_a_cluster_finds_the_same_and_one_worker_may_be_killed(
    small: TuningProblem, cluster: tuple[str, Callable[[], Sequence[int]]]
) -> None:
    require("gcc")
    address, processes = cluster
    expected = dict(InProcess(small).run(POINTS[:2]))
    workers = Cluster(small, address)
    try:
        killer = kill_one(processes)
        found = dict(workers.run(POINTS[:2]))
        killer.join()
    finally:
        workers.close()
    assert found == expected


def test_a_scheduler_that_is_not_there(small: TuningProblem) -> None:
    require_module("distributed")
    with pytest.raises(EdgeKitError, match="no Dask scheduler answers"):
        Cluster(small, "tcp://127.0.0.1:9", patience=0.5)


def test_a_point_that_cannot_be_made_is_a_fault_not_a_crash(small: TuningProblem) -> None:
    found = evaluate(small, Point(left=0))
    assert isinstance(found, Fault)
    assert not found.fatal
