"""Processes and clusters evaluate points as this process does, and a killed one loses nothing."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from importlib import import_module, metadata
from pathlib import Path

import numpy as np
import pytest
from support.command_line import DIGITS, CommandLine
from support.tools import require, require_module

import edgekit
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.ir import Graph
from edgekit.samples import arrays
from edgekit.tuning.evaluate import evaluate
from edgekit.tuning.problem import Fault, Point, Result, TuningProblem
from edgekit.tuning.tune import problem
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
    expected = dict(InProcess().run(small, POINTS))
    workers = Processes(1)
    try:
        killer = kill_one(lambda: list(workers.pool._processes or ()) if workers.pool else ())
        found = dict(workers.run(small, POINTS))
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


def quiet(step: str) -> None:
    """Progress that is not looked at."""


def test_a_cluster_finds_the_same_and_one_worker_may_be_killed(
    small: TuningProblem, cluster: tuple[str, Callable[[], Sequence[int]]]
) -> None:
    require("gcc")
    address, processes = cluster
    expected = dict(InProcess().run(small, POINTS[:2]))
    with closing(Cluster(address, quiet)) as workers:
        killer = kill_one(processes)
        found = dict(workers.run(small, POINTS[:2]))
        killer.join()
    assert found == expected


def test_a_problem_is_sent_to_a_worker_once(
    digits: Graph, cluster: tuple[str, Callable[[], Sequence[int]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All bytes that leave this process count, in which the scheduler is, too."""
    require("gcc")
    with np.load(DIGITS / "test.npz") as file:
        samples = arrays.samples(digits, {"x": file["x"][:64]})
    large = problem(digits, samples, None, targets.load("host"))
    sent, write = 0, import_module("distributed.comm.tcp").TCP.write

    async def counted(*args: object, **kwargs: object) -> int:
        nonlocal sent
        size: int = await write(*args, **kwargs)
        sent += size
        return size

    monkeypatch.setattr(import_module("distributed.comm.tcp").TCP, "write", counted)
    with closing(Cluster(cluster[0], quiet)) as workers:
        assert all(isinstance(one, Result) for _, one in workers.run(large, [Point(base="f32")]))
        first, sent = sent, 0
        again = [Point(base="bf16"), *(Point(base=base, optimize="size") for base in ("f32", "bf16"))]
        assert len(list(workers.run(large, again))) == len(again)
    assert first > 100_000, "the model and its samples"
    assert sent <= 20_000 * len(again)


@pytest.mark.parametrize(("version", "words"), [("", "has no EdgeKit"), ("0.0.1", "has EdgeKit 0.0.1")])
def test_workers_without_this_edgekit_are_named(
    cluster: tuple[str, Callable[[], Sequence[int]]],
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    words: str,
) -> None:
    look = Cluster._look

    def with_others(self: Cluster) -> None:
        look(self)
        self.versions = dict.fromkeys(self.versions, version)

    monkeypatch.setattr(Cluster, "_look", with_others)
    with pytest.raises(EdgeKitError, match=rf"(?s)E0503 no worker of .*: tcp://\S+ {words}.*pip install"):
        Cluster(cluster[0], quiet, patience=0.1)


def test_what_a_worker_has_is_asked_of_it(cluster: tuple[str, Callable[[], Sequence[int]]]) -> None:
    with closing(Cluster(cluster[0], quiet)) as workers:
        assert list(workers.versions.values()) == [edgekit.__version__] * 2
        said = workers.client.run(metadata.version, "nothing-of-this-name", on_error="return")
        assert not any(isinstance(found, str) for found in said.values())


def test_a_scheduler_without_workers_is_not_waited_for_without_end() -> None:
    distributed = require_module("distributed")
    said: list[str] = []
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as found,
        pytest.raises(EdgeKitError, match=r"(?s)E0503 .* has no worker.*dask worker tcp://"),
    ):
        Cluster(found.scheduler_address, said.append, patience=0.2)
    assert said == [f"waiting for a worker of {found.scheduler_address}"] * len(said) != []


def test_a_scheduler_that_dies_is_named_and_the_command_goes_on(small: TuningProblem) -> None:
    require("gcc")
    require_module("distributed")
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as scheduler:
        assert scheduler.stderr
        address = next(found[0] for line in scheduler.stderr if (found := re.findall(r"tcp://\S+:\d+", line)))
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-nanny"], stderr=-3
        )
        try:
            with closing(Cluster(address, quiet, patience=2)) as workers:
                scheduler.kill()
                with pytest.raises(EdgeKitError, match=r"(?s)E0503 .* does not answer any more.*it goes on"):
                    list(workers.run(small, POINTS))
        finally:
            worker.kill()
            worker.wait()


def test_a_scheduler_that_is_not_there_is_missed_before_any_work(cli: CommandLine) -> None:
    require_module("distributed")
    words = ("tune", DIGITS / "digits.onnx", "--data", "x.npy", "-o", "out")
    answer = cli(*words, "--dask", "nonsense://127.0.0.1:9")
    assert answer.code == Exit.TOOLCHAIN
    assert "E0503 no Dask scheduler answers at nonsense" in answer.err
    assert "judging" not in answer.err
    assert not Path("out").exists()
    with pytest.raises(EdgeKitError, match="no Dask scheduler answers"):
        Cluster("tcp://127.0.0.1:9", quiet, patience=0.5)


def test_a_point_that_cannot_be_made_is_a_fault_not_a_crash(small: TuningProblem) -> None:
    found = evaluate(small, Point(left=0))
    assert isinstance(found, Fault)
    assert not found.fatal
