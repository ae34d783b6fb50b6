"""Random quantized networks: generated C on each target against the simulator, bit by bit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from support.each_target import drive_all
from support.random_models import Dice
from support.random_networks import onnx_layers, onnx_moves, onnx_rare
from support.random_networks.onnx_net import OnnxNet

from edgekit.api import quantize_model
from edgekit.codegen.execution.driver import BACKWARDS
from edgekit.codegen.program import compile_graph
from edgekit.converters.onnx.reader import convert
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import Target
from edgekit.core.types import Array

# Those that have kernels of their own, and what anything else has.
NAMES = (
    *("host", "cortex-m4", "cortex-m55", "aarch64", "aarch64-dotprod", "armv7-neon", "x86-64-avx2"),
    *("x86-64-avx512", "riscv64-rvv", "wasm32-simd"),
)
_STEPS = (
    onnx_layers.conv_block, onnx_layers.residual, onnx_layers.dense_block, onnx_layers.pool,
    onnx_layers.linear, onnx_layers.gemm, onnx_layers.global_pool, onnx_layers.up, onnx_moves.transpose,
    onnx_moves.concat, onnx_moves.pad, onnx_moves.slice_, onnx_rare.convolution, onnx_rare.convolution,
    onnx_rare.transposed, onnx_rare.pool, onnx_rare.shared,
)  # fmt: skip
_SETTINGS: tuple[dict[str, object], ...] = (
    {"dtype": "int8", "calibrate": "minmax"},
    {"dtype": "int8", "effort": "high"},
    {"dtype": "int8", "calibrate": "minmax", "io": "int8"},
    {"dtype": "int16", "calibrate": "minmax"},
    {"dtype": "int4", "calibrate": "minmax"},
)
_SAMPLES = 6


@dataclass(frozen=True)
class Sample:
    """A network, and what the simulator computes."""

    what: str
    graph: Graph
    inputs: dict[str, Array]
    expected: dict[str, Array]


@dataclass
class Found:
    """Comparisons of a network with the simulator, on a target, by one core or by two."""

    equal: int = 0
    different: list[str] = field(default_factory=list)


def samples(seeds: Sequence[int]) -> Iterator[Sample]:
    """Networks of these seeds that are integers from end to end: floats in between may round otherwise."""
    for seed in seeds:
        dice = Dice(seed)
        net = OnnxNet(dice, 17)
        shapes = ((1, dice.roll(1, 8), *dice.rolls(2, 4, 11)), (dice.roll(1, 3), dice.roll(2, 9), 9), (2, 17))
        net.input(dice.normal(*dice.pick(*shapes)))
        for step in range(dice.roll(2, 6)):
            net.dice = Dice(seed, step)
            net.attempt(net.dice.pick(*_STEPS))
        options = dice.pick(*_SETTINGS)
        with suppress(EdgeKitError):  # which says why
            graph = simplify(convert(net.model(net.loose_ends() or ["x0"])))
            data = {name: _like(graph, name, seed) for name in graph.inputs}
            made, _ = quantize_model(graph, data, progress=lambda step: None, **options)
            if made.nodes and _has_integers_alone(made):
                inputs = {name: x[0] for name, x in data.items()}
                if "io" in options:
                    inputs = simulate.random_inputs(made, seed)
                yield Sample(f"seed {seed}, {options}", made, inputs, simulate.run(made, inputs))


def _like(graph: Graph, name: str, seed: int) -> Array:
    shape = (_SAMPLES, *graph.type(name).shape)
    return np.asarray(np.random.default_rng(seed).standard_normal(shape), np.float32)


def _has_integers_alone(graph: Graph) -> bool:
    """Are floats read by Quantize alone, and results of Dequantize alone?"""
    for node in graph.nodes:
        reads = any(graph.type(name).dtype.is_float for name in node.inputs)
        writes = any(graph.type(name).dtype.is_float for name in node.outputs)
        if (reads and not isinstance(node.op, Quantize)) or (writes and not isinstance(node.op, Dequantize)):
            return False
    return True


def compared(some: Sequence[Sample], target: Target, folder: Path) -> Found:
    """All of them in one executable: as one core computes them, and as two do, the second part first."""
    found = Found()
    for cores in (1, 2):
        on = replace(target, cores=cores, part_macs=1)
        programs = [compile_graph(s.graph.with_name(f"net{i}_{cores}"), on) for i, s in enumerate(some)]
        (folder / str(cores)).mkdir()
        driver = drive_all(programs, folder / str(cores))
        driver = driver.with_threads(BACKWARDS) if cores > 1 else driver
        for sample, program in zip(some, programs, strict=True):
            results = driver.run(program, sample.inputs)
            same = all(results[name].tobytes() == y.tobytes() for name, y in sample.expected.items())
            if same:
                found.equal += 1
            else:
                found.different.append(f"{sample.what}, {target.name}, {cores} cores")
    return found
