"""Kernels as CUDA C: compilers take all of them, and on a processor they compute what the simulator does."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.cuda import WORDS, HostCuda
from support.gpu_calls import assert_computes
from support.gpu_cases import INTEGERS, REALS, every_kernel, narrow_cases, usual_cases
from support.integer_bench import Bench, Seeded
from support.op_cases import as_graph
from support.tools import require

from edgekit.codegen.gpu.ast import U32, number
from edgekit.codegen.gpu.builder import Builder
from edgekit.codegen.gpu.cuda import Cuda, program
from edgekit.codegen.gpu.use import Use


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Path:
    kernels = every_kernel()
    path = tmp_path_factory.mktemp("cuda") / "kernels.cu"
    path.write_text(program(list(kernels.values())))
    return path


def test_clang_takes_all_kernels(everything: Path) -> None:
    """Without CUDA, whose words are declared beside."""
    nothing = ["--cuda-path=nowhere", "-nocudainc", "-nocudalib"]
    options = ["-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_70", *nothing, "-std=c++17", "-O1"]
    options += ["-Werror", "-include", str(WORDS), "-S", "-o", "kernels.ptx"]
    assert_compiles([require("clang"), *options, everything.name], everything.parent)
    ptx = (everything.parent / "kernels.ptx").read_text()
    assert ptx.count(".visible .entry ek_") == everything.read_text().count("__global__")
    assert "bar.sync" in ptx


def test_nvcc_takes_all_kernels(everything: Path) -> None:
    """Where CUDA is; no test installs it."""
    compiler = shutil.which("nvcc")
    if compiler is None:
        pytest.skip("nvcc is not installed; clang compiles the same text")
    options = ["-std=c++17", "-ptx", "-arch=sm_75", "-diag-suppress=177"]  # variables that no one reads
    assert_compiles([compiler, *options, everything.name], everything.parent)


def test_integers_are_those_of_the_simulator(tmp_path: Path) -> None:
    bench = Bench(Seeded(11))
    for family in INTEGERS:
        bench.case(family)
    assert_computes(HostCuda(tmp_path), bench.graph(), bench.inputs)


@pytest.mark.parametrize("module", REALS)
def test_reals_are_near_those_of_the_simulator(module: str, tmp_path: Path) -> None:
    cases = [*usual_cases(module), *narrow_cases(module)]
    graph, inputs, outputs = as_graph(cases)
    ulps = {name: c.ulps for c, names in zip(cases, outputs, strict=True) for name in names}
    assert_computes(HostCuda(tmp_path), graph, inputs, ulps)


def test_kernels_that_leave_their_buffers_are_seen(tmp_path: Path) -> None:
    k = Builder("beside")
    y = k.buffer("y", U32, writes=True)
    k.store(y, k.item + 1, number(1, U32))
    room = np.zeros(4 * 64, np.uint8)
    with pytest.raises(AssertionError, match="beside writes behind y"):
        HostCuda(tmp_path).compute([Use(k.done(), (0,), {}, 1)], [[room]])


def test_a_barrier_that_is_lacking_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cuda, "barrier", lambda self: "(void)0")
    graph, inputs, _ = as_graph(usual_cases("reduction"))
    with pytest.raises(AssertionError):
        assert_computes(HostCuda(tmp_path), graph, inputs)


def assert_compiles(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:4000]
    assert not done.stderr, done.stderr[:4000]
