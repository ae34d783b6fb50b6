"""Recurrent layers on instruction sets that have kernels for them: those of int8 to the bit as simulated."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import boards, each_target, x86
from support.generated import written
from support.integer_bench import Bench, Seeded
from support.more_integer_families import recurrent_layer
from support.tools import require, require_module

from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.recurrent import Gru, Lstm, Recurrent, Rnn
from edgekit.core.target import Optimize, Target
from edgekit.core.types import DType, Type

LAYERS: tuple[Recurrent, ...] = (
    *(Lstm(reverse) for reverse in (False, True)),
    *(Gru(reverse, after) for reverse in (False, True) for after in (False, True)),
    *(Rnn(reverse, f) for reverse, f in ((False, "tanh"), (True, "relu"))),
)
GATES = {Lstm: 4, Gru: 3, Rnn: 1}
# Less than a vector, several with a rest, as many as kernels take at a time, and more.
SIZES = (77, 3, 64, 21, 40, 8)
SETS = {  # and what compiles for them, or runs them
    "x86-64-avx2": "gcc",
    "x86-64-avxvnni": "gcc",
    "x86-64-avx512": "gcc",
    "aarch64": "aarch64-linux-gnu-gcc",
    "aarch64-dotprod": "aarch64-linux-gnu-gcc",
    "aarch64-i8mm": "aarch64-linux-gnu-gcc",
    "cortex-m55": "arm-none-eabi-gcc",
    "wasm32-simd": "wasmtime",
}
# These have kernels for floats alone.
COMPILERS = {
    **SETS,
    "armv7-neon": "arm-linux-gnueabihf-gcc",
    "cortex-m4": "zig",
    "cortex-m7": "arm-none-eabi-gcc",
    "riscv64": "ziglang",
    "riscv64-rvv": "ziglang",
}
FLOATS = (
    "x86-64-avx2",
    "x86-64-avx512",
    "aarch64",
    "armv7-neon",
    "cortex-m4",
    "cortex-m7",
    "riscv64",
    "riscv64-rvv",
)


def load(name: str) -> Target:
    if name.startswith("x86-64"):
        return x86.load(name)
    if name.startswith("cortex"):
        return boards.load(name, COMPILERS[name])
    if name.startswith("wasm"):
        require_module("ziglang")
        require_module("wasmtime")
        return targets.with_runner(targets.load(name), SETS[name])
    if name.startswith("riscv"):
        return each_target.load(name)
    compiler = COMPILERS[name]
    target = targets.load(name)
    require(compiler)
    require(target.runner.split()[0])
    return replace(target, compilers=tuple(c for c in target.compilers if c.split()[0] == compiler))


def drive(program: Program, folder: Path, optimize: Optimize) -> Driver:
    level = "-Os" if optimize == "size" else "-O2"
    if program.target.name.startswith("x86-64"):
        return x86.drive(program, folder, optimize, (level,))
    if program.target.name.startswith("cortex"):
        return boards.drive(program, folder, optimize, level)
    flags = [*x86.STRICT, level, *program.target.cflags]
    return Driver(
        [program], written([program], folder, optimize), folder, toolchain.find(program.target), flags
    )


def sums(bench: Bench) -> None:
    """What brings inputs to gates: a dense layer with results of 16 bits."""
    bench.rounding = "E"
    x = bench.input(bench.size(20), bench.size(99))
    w, bias = bench.weights(DType.S8, bench.size(150), bench.builder.type(x).shape[1])
    bench.result(Dense(dtype=DType.S16), x, w, bias, quant=bench.quant(dtype=DType.S16))


def check(bench: Bench, target: Target, folder: Path, optimize: Optimize) -> set[str]:
    """The kernels that a program of these layers calls, if it computes what the simulator does."""
    program = compile_graph(bench.graph(), target)
    driver = drive(program, folder, optimize)
    found, expected = driver.run(program, bench.inputs), simulate.run(program.graph, bench.inputs)
    for port in program.outputs:
        assert (found[port.name] == expected[port.name]).all(), port.name
    return {line.kernel.function.removeprefix("ek_") for line in program.lines}


@pytest.mark.parametrize("name", SETS)
def test_layers_of_any_size(name: str, tmp_path: Path) -> None:
    bench = Bench(Seeded(len(name)))
    for i, op in enumerate(LAYERS):
        for size in SIZES[i % 3 :: 3]:
            bench.outputs += recurrent_layer(bench, op, size)
    for _ in range(6):
        sums(bench)
    names = check(bench, load(name), tmp_path, "size")
    own = {name for name in names if not name.endswith("__ref")}
    assert not any(name.startswith(("lstm", "gru", "rnn")) for name in names - own), names
    for kernel in ("lstm_int", "gru_int", "rnn_int", "dense_s8_s8_s16"):
        assert any(name.startswith(kernel) for name in own), kernel


@pytest.mark.parametrize("name", ["x86-64-avxvnni", "aarch64-dotprod", "cortex-m55"])
def test_a_layer_of_known_size(name: str, tmp_path: Path) -> None:
    """Compilers specialise it; and a program has what this one layer needs."""
    bench = Bench(Seeded(len(name)))
    bench.outputs += recurrent_layer(bench, Rnn(), 36)
    check(bench, load(name), tmp_path, "speed")


@pytest.mark.parametrize("name", FLOATS)
def test_layers_of_floats(name: str, tmp_path: Path) -> None:
    target, builder, rng = load(name), Builder(), np.random.default_rng(5)
    inputs, outputs = [], []
    for op, size in zip(LAYERS, (3, 8, 16, 21, 64, 77, 28, 100), strict=True):
        gates, states = GATES[type(op)], [(2, size)] * (1 + isinstance(op, Lstm))
        names = [
            builder.input(f"x{len(inputs) + i}", Type(DType.F32, shape))
            for i, shape in enumerate([(3, 2, gates * size), *states])
        ]
        inputs += names
        weights = rng.normal(0, size**-0.5, (gates * size, size)).astype(np.float32)
        more = [builder.const(rng.normal(size=size).astype(np.float32))] if isinstance(op, Gru) else []
        outputs += builder.add(op, names[0], builder.const(weights), *names[1:], *more)
    program = compile_graph(builder.graph("floats", inputs, outputs), target)
    assert not any(line.kernel.function.endswith("__ref") for line in program.lines)
    sample = {x: rng.normal(size=builder.type(x).shape).astype(np.float32) for x in inputs}
    x86.check(program, drive(program, tmp_path, "size"), [sample])


@pytest.mark.parametrize("name", FLOATS)
def test_a_program_with_sums_of_both_kinds(name: str, tmp_path: Path) -> None:
    """Layers of doubles have portable sums; on some sets, those whose weights are an input do, too."""
    target, builder, rng = load(name), Builder(), np.random.default_rng(6)
    inputs, outputs, size = [], [], 21
    for i, (dtype, given) in enumerate(((DType.F32, False), (DType.F64, False), (DType.F32, True))):
        x, h = (
            builder.input(f"{part}{i}", Type(dtype, shape))
            for part, shape in (("x", (3, 2, size)), ("h", (2, size)))
        )
        weights = rng.normal(0, size**-0.5, (size, size)).astype(dtype.numpy)
        r = builder.input(f"r{i}", Type(dtype, (size, size))) if given else builder.const(weights)
        inputs += [x, h, *[r] * given]
        outputs += builder.add(Rnn(activation="relu"), x, r, h)
    program = compile_graph(builder.graph("both", inputs, outputs), target)
    kernels = {line.kernel.function for line in program.lines if "rnn" in line.kernel.name}
    assert {kernel.endswith("__ref") for kernel in kernels} == {False, True}
    sample = {x: rng.normal(size=(t := builder.type(x)).shape).astype(t.dtype.numpy) for x in inputs}
    x86.check(program, drive(program, tmp_path, "size"), [sample])
