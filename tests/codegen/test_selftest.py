"""The self-test of a library fails where one layer has other weights, for networks of many kinds."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ops.cases.while_loop import COUNTED
from support.encoders import encoder
from support.examples import EXAMPLES
from support.nets import Net
from support.random_graphs import random_network
from support.selftests import fails, mutants, shows
from support.tools import require, require_shared

from edgekit import api
from edgekit.codegen.compilation import build as library
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.build import write
from edgekit.codegen.compilation.library_objects import library_sources
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.printing.render import weight_blocks
from edgekit.codegen.verification import selftest
from edgekit.codegen.verification.selftest import SelfTest, measured, prepare
from edgekit.codegen.verification.selftest_source import Summary
from edgekit.codegen.verification.verify import _self_test
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Sqrt
from edgekit.core.types import Array, DType

HOST = target.load("host")
NETWORKS = ("digits", "keywords", "anomaly", "encoder", "random 1", "random 5", "random 8", "int8", "int16")
MLPERF = ("ad01_fp32", "ad01_int8", "kws_ref_model", "kws_ref_model_float32", "pretrainedResnet_quant")


def network(name: str) -> Graph:
    if name == "encoder":
        return encoder()
    if name.startswith("random"):
        return random_network(int(name.split()[1]), dtype=DType.F32)
    if name.startswith("int"):
        example = EXAMPLES / "digits" / "digits.onnx"
        return api.quantize_model(example, "random", calibrate="minmax", activations=name)[0]
    return api.convert(EXAMPLES / name / f"{name}.onnx")


def check(graph: Graph) -> None:
    """Every layer replaced is seen, and every single weight that shows."""
    test = prepare(graph)
    assert not fails(test, graph)
    found = list(mutants(graph, seed=9))
    missed = [mutant for mutant in found if not fails(test, mutant.graph)]
    assert not [mutant.layer for mutant in missed if shows(graph, mutant.graph)]
    assert not [mutant.layer for mutant in missed if mutant.whole]
    assert sum(not mutant.whole for mutant in missed) < sum(not mutant.whole for mutant in found)


@pytest.mark.parametrize("name", NETWORKS)
def test_each_changed_layer_is_seen(name: str) -> None:
    check(network(name))


@pytest.mark.parametrize("name", MLPERF)
def test_each_changed_layer_of_mlperf_tiny_is_seen(name: str) -> None:
    check(api.convert(require_shared("models") / "mlperf_tiny" / f"{name}.tflite"))


@pytest.mark.parametrize("name", ["digits", "encoder", "int8"])
def test_the_c_of_a_self_test_sees_what_python_says(name: str, tmp_path: Path) -> None:
    """The library of a network with one weight changed, and the self-test of what it should be."""
    require("gcc")
    graph = network(name)
    test = prepare(graph)
    run(graph, test, tmp_path / "right")
    mutant = next(m for m in list(mutants(graph, seed=9))[::-1] if not m.whole and fails(test, m.graph))
    with pytest.raises(EdgeKitError, match="E0601 the self-test"):
        run(mutant.graph, test, tmp_path / "wrong")


MAIN = """#include "encoder.h"
int encoder_selftest(void *arena);
int main(void) { static double arena[ENCODER_ARENA_SIZE / 8 + 1]; return encoder_selftest(arena); }
"""


def test_a_changed_bit_of_any_constant_is_seen(tmp_path: Path) -> None:
    """Also in rows of an embedding that no run reads."""
    gcc = require("gcc")
    program = fit(replace(encoder(), name="encoder"), HOST, "caller", optimize="size")
    files = library.generate(program, "size", "bin")
    write(files, tmp_path)
    (tmp_path / "main.c").write_text(MAIN)
    code = [name for name in (*library_sources(files), "encoder_selftest.c") if name[-2:] == ".c"]
    subprocess.run([gcc, "-I.", "-O1", "-r", "-o", "code.o", *code, "main.c"], cwd=tmp_path, check=True)

    def tested(weights: bytes) -> int:
        (tmp_path / "encoder_weights.bin").write_bytes(weights)
        made = [gcc, "-I.", "-o", "main", "code.o", "encoder_weights.S", "-lm"]
        subprocess.run(made, cwd=tmp_path, check=True)
        return subprocess.run([tmp_path / "main"]).returncode

    right = files["encoder_weights.bin"]
    assert tested(right) == 0
    rng, start = np.random.default_rng(1), 0
    for constant, block in weight_blocks(program):
        wrong = bytearray(right)
        wrong[start + int(rng.integers(constant.data.nbytes))] ^= 1 << int(rng.integers(8))
        assert tested(bytes(wrong)) == 2, constant.c
        start += len(block)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("bits", [0x7FC00000, 0x7FA00000], ids=["quiet", "signaling"])
def test_constants_that_are_nan_have_no_checksum(bits: int, tmp_path: Path) -> None:
    """Their bits are the compiler's."""
    require("gcc")
    net = Net()
    x = net.x(4)
    constant = np.array([1, 0, np.inf, -0.0], np.float32)
    constant.view(np.uint32)[1] = bits
    first = net(Add(), x, constant)
    graph = net.done(first, net(Add(), x, np.array([1, 2, 3, 4], np.float32)))
    run(graph, prepare(graph), tmp_path)
    text = (tmp_path / f"{graph.name}_selftest.c").read_text()
    assert text.count("crc = crc32(crc, ") == 1


def run(graph: Graph, test: SelfTest, folder: Path) -> None:
    """Compile the library of a graph and run a self-test on it; E0601 where it fails."""
    program = fit(graph, HOST, "caller", optimize="size")
    files = library.generate(program, "size", test=test)
    write(files, folder)
    _self_test(program, library_sources(files), folder, toolchain.find(HOST))


def test_large_outputs_are_summed_so_that_no_element_is_left_out() -> None:
    graph = api.convert(EXAMPLES / "anomaly" / "anomaly.onnx")
    test = prepare(graph)
    (name,) = graph.outputs
    summary = Summary.of(test, name)
    assert summary.stride == summary.terms > 1
    assert summary.count * summary.stride > graph.type(name).size - summary.stride
    assert summary.count * len(test.draws) <= 256


def test_outputs_whose_sums_overflow_are_not_summed() -> None:
    test = prepare(api.convert(EXAMPLES / "anomaly" / "anomaly.onnx"))
    (name,) = test.graph.outputs
    large = [{name: np.full_like(one[name], 1e37)} for one in test.expected]
    summary = Summary.of(replace(test, expected=large), name)
    assert summary.terms == 1
    assert np.isfinite(summary.values(large[0][name])).all()


def test_tolerances_follow_the_conditioning() -> None:
    """Where it is measured: a hundredth of what they were for this network, and more for none."""
    test = prepare(network("digits"))
    (name,) = test.graph.outputs
    assert all(test.limit(name, run) < 1e-5 for run in range(len(test.draws)))
    assert measured(test).limits == test.limits


def test_runs_take_inputs_from_different_ranges() -> None:
    test = prepare(network("digits"))
    assert len({draw.choice for draw in test.draws}) > 3
    assert len({sample["x"].tobytes() for sample in test.samples}) == len(test.draws)


def test_search_for_inputs_holds_few_outputs_that_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no run has finite outputs, many are tried; a file may say that each has millions of numbers."""
    net = Net()
    net.x(8)
    graph = net.done(net.one(Sqrt(), net.const(np.full((1, 8), -1, np.float32), hint="c")))
    runs: list[None] = []
    run_all = simulate.run_all

    def counted(*args: Any) -> dict[str, Array]:
        runs.append(None)
        return run_all(*args)

    monkeypatch.setattr(simulate, "run_all", counted)
    prepare(graph)
    many = len(runs)
    monkeypatch.setattr(selftest, "_HELD_BYTES", 3 * 32)
    prepare(graph)
    assert (many > 8, len(runs) - many) == (True, 4)


def test_loops_that_take_long_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bytes of a model file may ask for a hundred million iterations: each run of a test does them."""
    net, counted = Net(), replace(COUNTED, limit=10_000)
    words = [net.const(np.array(number, np.int32)) for number in (0, 1, 20_000)]
    first, one, end = words
    go, y = net.const(np.array(True)), net.const(np.zeros(3, np.float32))
    *_, sums = net.add(counted, go, first, y, one, end, net.x(3))
    graph = net.done(sums)
    assert prepare(graph)
    monkeypatch.setattr(selftest, "_RUN_WORK", 1 << 20)
    with pytest.raises(EdgeKitError, match="E0402 with these data, it takes more than") as caught:
        prepare(graph)
    assert "--raise-limits" in caught.value.hint
