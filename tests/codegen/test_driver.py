"""The driver around compiled code sees what that code does wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.nets import Net
from support.node_suite import SANITIZE
from support.tools import require

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.execution import driver as drivers
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.printing.render import render, sources
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target as targets
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Neg
from edgekit.core.types import Array

X = np.arange(6, dtype=np.float32)


def run_with(statement: str, folder: Path, *flags: str) -> Array:
    """What this gives for X."""
    driver, program = driver_with(statement, folder, *flags)
    return driver.run(program, {"x": X})["y"]


def driver_with(statement: str, folder: Path, *flags: str) -> tuple[Driver, Program]:
    """y = -x in C, with a statement behind it. `before` is what y[3] was at the start."""
    require("cc")
    net = Net()
    program = compile_graph(net.done(net(Neg(), net.x(6), name="y")), targets.load("host"))
    files = render(program, "speed")
    head, run, body = files["net.c"].decode().rpartition("\n{\n")
    body = body.removesuffix("}\n")
    files["net.c"] = f"{head}{run}    const float before = y[3];\n{body}    {statement}\n}}\n".encode()
    write(files, folder)
    compiler = toolchain.find(targets.load("host"))
    driver = Driver([program], sources(files), folder, compiler, ["-w", *flags], seconds=5)
    return driver, program


def test_good_code_gives_its_outputs(tmp_path: Path) -> None:
    assert np.array_equal(run_with(";", tmp_path), -X)
    assert np.array_equal(run_with(";", tmp_path, *SANITIZE), -X)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("y[6] = 0;", "wrote outside"),
        ("y[-1] = 0;", "wrote outside"),
        ("((char *)arena)[NET_ARENA_SIZE] = 0;", "wrote outside"),
        ("((char *)arena)[-1] = 0;", "wrote outside"),
        ("((float *)x)[2] = 7;", "changed its inputs"),
        ("__builtin_trap();", "crashed"),
        ("for (volatile int i = 0; i < 1;) ;", "did not end in 5 s"),
    ],
)
def test_bad_code_is_named(statement: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match=f"net {words}") as caught:
        run_with(statement, tmp_path)
    assert caught.value.code == "E0602"


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("y[0] = x[6];", "AddressSanitizer"),
        ("y[0] = x[-2];", "AddressSanitizer"),
        ("volatile int i = 2147483647; i = i + 1;", "signed integer overflow"),
        ("volatile float f = 1e20f; y[0] = (float)(int)f;", "outside the range"),
        ("volatile int n = 40; y[0] = (float)(1 << n);", "shift exponent"),
    ],
)
def test_sanitizers_see_what_stays_inside(statement: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match=words):
        run_with(statement, tmp_path, *SANITIZE)


def test_memory_without_a_value_is_not_a_number(tmp_path: Path) -> None:
    assert np.isnan(run_with("y[3] = before;", tmp_path)[3])


def test_extremes_lie_where_nothing_was_written_and_around(tmp_path: Path) -> None:
    """Larger and smaller than other numbers by turns."""
    driver, program = driver_with("y[0] = before; y[1] = x[6]; y[2] = x[-1];", tmp_path)
    samples = [{"x": X}] * 7  # more than the first process runs
    found = np.array([outputs["y"][:3] for outputs in driver.among_extremes().run_each(program, samples)])
    assert (found[::2] > 1e36).all()
    assert (found[1::2] < -1e36).all()


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "f2", "f4", "f8"])
def test_extremes_are_extreme_in_every_type(dtype: str) -> None:
    largest = float(np.iinfo(dtype).max if dtype[0] == "i" else np.finfo(dtype).max)
    large, small = (np.full(2, word, "<u4").view(dtype) for word in (drivers._LARGE, drivers._SMALL))
    assert large.max() > np.sqrt(largest)
    assert small.min() < -np.sqrt(largest)


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many samples each process ran."""
    counts: list[int] = []
    plain = Driver._steps

    def counted(self: Driver, program: Program, samples: Sequence[Mapping[str, Array]], first: int) -> Any:
        counts.append(len(samples))
        return plain(self, program, samples, first)

    monkeypatch.setattr(Driver, "_steps", counted)
    return counts


def test_samples_share_processes(tmp_path: Path, processes: list[int]) -> None:
    driver, program = driver_with(";", tmp_path)
    samples = [{"x": X + i} for i in range(100)]
    for sample, found in zip(samples, driver.run_each(program, samples), strict=True):
        assert np.array_equal(found["y"], -sample["x"])
    assert sum(processes) == len(samples)
    assert len(processes) < 20


def test_slow_or_large_samples_have_processes_of_their_own(
    tmp_path: Path, processes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, program = driver_with(";", tmp_path)
    samples = [{"x": X}] * 10
    monkeypatch.setattr(drivers, "_BLOCK_SECONDS", 0.0)
    assert len([*driver.run_each(program, samples)]) == 10
    assert processes == [4, 1, 1, 1, 1, 1, 1]
    processes.clear()
    monkeypatch.setattr(drivers, "_BLOCK_SECONDS", 60.0)
    monkeypatch.setattr(drivers, "_BLOCK_BYTES", 3 * 2 * X.nbytes)
    assert len([*driver.run_each(program, samples)]) == 10
    assert processes == [3, 3, 3, 1]


def test_a_run_sees_nothing_of_the_one_before_it(tmp_path: Path) -> None:
    driver, program = driver_with("y[3] = before;", tmp_path)
    for found in driver.run_each(program, [{"x": X}] * 3):
        assert np.isnan(found["y"][3])


def test_a_sample_that_crashes_is_seen_wherever_it_stands(tmp_path: Path) -> None:
    driver, program = driver_with("if (x[0] == 2) __builtin_trap();", tmp_path)
    with pytest.raises(EdgeKitError, match="net crashed"):
        list(driver.run_each(program, [{"x": X + i} for i in range(4)]))
