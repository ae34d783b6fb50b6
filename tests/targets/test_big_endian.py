"""Big-endian processors: portable C computes the simulator's numbers on s390x, other C has an #error."""

import importlib
import pkgutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import integer_families, more_integer_families, random_cases
from support.each_target import TARGETS, drive_all
from support.integer_bench import Bench, Seeded
from support.op_cases import as_graph, assert_close, expected
from support.tools import ROOT, require

from edgekit import EdgeKitError, build, convert, quantize_model
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.printing.render import Weights, render
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.target import Target

COMPILER = "s390x-linux-gnu-gcc"
FLAGS = ("-static", "-fexcess-precision=fast")
FAMILIES = sorted(m.name for m in pkgutil.iter_modules([str(ROOT / "tests/ops/cases")]))
MORE = (
    more_integer_families.transposed_convolutions,
    more_integer_families.matrices,
    more_integer_families.norms,
    more_integer_families.recurrent_layers,
    more_integer_families.reductions,
    more_integer_families.slopes,
)


def load(cflags: Sequence[str] = FLAGS) -> Target:
    require(COMPILER)
    host = targets.load("host")
    return replace(host, compilers=(COMPILER,), cflags=tuple(cflags), runner=require("qemu-s390x"))


@cache
def digits(dtype: Any) -> Graph:
    graph = convert(ROOT / "examples/digits/digits.onnx")
    if dtype == "float32":
        return graph
    samples = {"x": np.load(ROOT / "examples/digits/calib.npz")["x"][:32]}
    return quantize_model(graph, samples, dtype=dtype, effort="quick")[0]


def test_cases_of_operators(tmp_path: Path) -> None:
    """Every sixth case of each operator for a commit, and all of them each night."""
    start, step = random_cases.sweep(6)
    cases = [case for name in FAMILIES for case in importlib.import_module(f"ops.cases.{name}").CASES]
    chosen = [case for case in cases[start::step] if any(y.size for y in case.op.infer(*case.types))]
    chunks = [chosen[i : i + 150] for i in range(0, len(chosen), 150)]
    graphs = [as_graph(chunk, f"cases{i}") for i, chunk in enumerate(chunks)]
    programs = [compile_graph(graph, load()) for graph, _, _ in graphs]
    driver = drive_all(programs, tmp_path)
    for chunk, program, (_, inputs, outputs) in zip(chunks, programs, graphs, strict=True):
        results = driver.run(program, inputs)
        for case, names in zip(chunk, outputs, strict=True):
            for name, wanted in zip(names, expected(case), strict=True):
                assert_close(results[name], wanted, case)


def test_integers_of_any_shape(tmp_path: Path) -> None:
    families = (*integer_families.FAMILIES, *MORE)
    benches = [Bench(Seeded(seed)) for seed in random_cases.same(3)]
    for bench in benches:
        for family in families:
            bench.case(family)
    programs = [compile_graph(b.graph().with_name(f"net{i}"), load()) for i, b in enumerate(benches)]
    driver = drive_all(programs, tmp_path)
    for bench, program in zip(benches, programs, strict=True):
        found = driver.run(program, bench.inputs)
        for name, value in simulate.run(program.graph, bench.inputs).items():
            np.testing.assert_array_equal(found[name], value)


@pytest.mark.parametrize("dtype", ["float32", "int8", "int16", "int4", "bf16"])
def test_a_build_is_verified(dtype: str, tmp_path: Path) -> None:
    """By a target file of a user's own, with a self-test."""
    file = tmp_path / "ibm-z.toml"
    file.write_text(
        f'base = "host"\ncompilers = ["{require(COMPILER)}"]\ncflags = {[*FLAGS]}\n'
        f'runner = "{require("qemu-s390x")}"\n'
    )
    graph = digits(dtype)
    report = build(graph, tmp_path / "out", target=str(file))
    assert report.verification is not None
    assert report.verification.exact or dtype in ("float32", "bf16")


def first_error(target: Target, folder: Path, weights: Weights, *, by_pointer: bool = False) -> str:
    """What a compiler for s390x says of the library."""
    program = compile_graph(digits("int8"), target, by_pointer=by_pointer)
    write(render(program, "speed", weights), folder)
    command = [require(COMPILER), "-E", "-I.", "-o", "out.i", f"{program.name}.c"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    found = [line for line in done.stderr.splitlines() if "error:" in line]
    return found[0] if found else ""


@pytest.mark.parametrize("name", sorted({*TARGETS, "opencl"} - {"host"}))
def test_other_targets_refuse_to_be_compiled(name: str, tmp_path: Path) -> None:
    words = first_error(targets.load(name), tmp_path, "c")
    assert words.endswith(
        f'#error "target {name} is little-endian: build for target host, which is portable C"'
    )


def test_binary_weights_refuse_to_be_compiled(tmp_path: Path) -> None:
    host = targets.load("host")
    for by_pointer in (False, True):
        words = first_error(host, tmp_path, "bin", by_pointer=by_pointer)
        assert words.endswith('_weights.bin is little-endian: run build with --weights c"')
    assert first_error(host, tmp_path, "c") == ""


def test_excess_precision_is_refused(tmp_path: Path) -> None:
    """gcc computes in double there, unless it is told not to: rounding by adding a large number fails."""
    case = importlib.import_module("ops.cases.rounding").CASES[0]
    graph, _, _ = as_graph([case])
    with pytest.raises(EdgeKitError, match="build with -fexcess-precision=fast") as caught:
        drive_all([compile_graph(graph, load(("-static",)))], tmp_path)
    assert caught.value.hint == ""
