"""What kernels promise of the order in which they read and write: results lie as near to inputs as they may.

Each input starts the distance behind its result that its kernel asks for, and everything else lies apart.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
from support import rivals
from support.blocks import with_zeros
from support.each_target import TARGETS, drive, load
from support.integer_bench import Bench, Family, Seeded
from support.layer_orders import as_drawn

from edgekit.codegen.execution.driver import Driver
from edgekit.codegen.kernels.kernel_files import all_variants
from edgekit.codegen.kernels.sources import variant_of
from edgekit.codegen.lowering import lower
from edgekit.codegen.memory import planner
from edgekit.codegen.memory.arena import ArenaBuffer, ArenaPlan, InplaceShift
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import fixed, simulate
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.groupwise import DenseGroupwise
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.target import Target
from edgekit.core.types import Array, DType, Quant, Type

MAX_CASES = 600
FLOATS = (DType.F32, DType.BF16, DType.F16)


def convolution(b: Bench) -> tuple[Conv2d, tuple[int, ...], tuple[int, ...]]:
    """An operator, the shapes of its image and weights; all channels are one group, each is, or some are."""
    kernel = b.pick(((1, 1), (1, 1), (3, 3), (3, 3), (b.size(4), b.size(3))))
    dilations = b.pick(((1, 1), (1, 1), (1, 1), (b.size(2), b.size(2))))
    pads = tuple(b.size(k) - 1 for k in (*kernel, *kernel))
    strides = b.pick(((1, 1), (1, 1), (2, 2), (b.size(3), b.size(2))))
    sizes = [(k - 1) * d + b.pick((1, 5, b.size(9))) for k, d in zip(kernel, dilations, strict=True)]
    depth = b.pick((1, 3, 4, 8, 12, 16, 20, 24))
    groups = b.pick((1, depth, *(n for n in (2, 4) if depth % n == 0 and b.is_rare(2))))
    outputs = depth * b.pick((1, 1, 1, 2)) if groups > 1 else b.pick((3, 4, 8, 11, 16, 20, 27, 40))
    op = Conv2d(strides, pads, dilations, groups)  # type: ignore[arg-type]  # four pads
    return op, (b.pick((1, 1, 2)), *sizes, depth), (outputs, *kernel, depth // groups)


def formats(b: Bench) -> tuple[DType, DType, DType]:
    """Of operand, weights and result."""
    if b.rounding != "E" or b.is_rare(3):
        return DType.S8, DType.S8, DType.S8
    of_x, of_w = b.pick(
        ((DType.S8, DType.S4), (DType.S8, DType.S4), (DType.S8, DType.S8), (DType.S16, DType.S8))
    )
    return of_x, of_w, b.pick((DType.S8, DType.S16))


def integer_layer(
    b: Bench, op: Conv2d | Dense, image: tuple[int, ...], weights: tuple[int, ...], zeros: float = 0
) -> None:
    """Results all over their range, of which nothing is cut off: what changes is seen."""
    numbers = b.choices.generator()
    of_x, of_w, of_y = formats(b)
    x = b.input(*image, dtype=of_x, quant=Quant((1.0,), (0,), None, b.rounding))
    b.inputs[x] = numbers.integers(*fixed.int_range(of_x), image).astype(of_x.numpy)
    w = numbers.integers(-fixed.int_range(of_w)[1], fixed.int_range(of_w)[1], weights)
    if zeros:
        w = with_zeros(w, (16, 4), zeros, numbers)
    spread = b.inputs[x].std() * w.std() * np.sqrt(w[0].size) + 1
    scales = (fixed.int_range(of_y)[1] / 3 / spread * numbers.uniform(0.5, 1, weights[0])).astype(np.float32)
    w_quant = Quant(tuple(scales.tolist()), (0,) * weights[0], 0, b.rounding)
    bias = numbers.integers(-99, 99, weights[0]).astype(np.int32)
    if of_w is DType.S8 and numbers.random() < 0.1:  # two products with it may leave 16 bits
        w.flat[0] = -128
    op = replace(op, dtype=None if of_y is of_x else of_y)
    y_quant = Quant((1.0,), (0,), None, b.rounding)
    b.result(op, x, b.constant(w.astype(of_w.numpy), w_quant), b.constant(bias), quant=y_quant)


def integer_convolutions(b: Bench) -> None:
    integer_layer(b, *convolution(b))


def integer_channels(b: Bench) -> None:
    """As most networks have them."""
    depth, stride, pads = b.pick((4, 8, 12, 20, 24)), b.size(2), b.pick(((1, 1, 1, 1), (0, 0, 1, 1)))
    op = Conv2d((stride, stride), pads, groups=depth)
    integer_layer(b, op, (1, 2 + b.size(9), 2 + b.size(9), depth), (depth, 3, 3, 1))


def integer_tiles(b: Bench) -> None:
    """Images whose tiles are worth transformed weights; with 16 channels their windows are whole blocks."""
    op, depth = Conv2d(pads=(1, 1, 1, 1)), b.pick((8, 16))
    integer_layer(b, op, (1, 8, 7 + b.size(3), depth), (b.pick((8, 11, 16)), 3, 3, depth))


def integer_bands(b: Bench) -> None:
    """Images that are too large to be computed channel by channel."""
    op, depth = Conv2d(pads=(1, 1, 1, 1), groups=4), 4
    integer_layer(b, op, (1, 21 + b.size(9), 29 + b.size(40), depth), (depth, 3, 3, 1))


def integer_rows(b: Bench) -> None:
    inputs, outputs = b.pick((5, 8, 16, 24, 33)), b.pick((3, 4, 8, 11, 16, 20, 27, 40))
    integer_layer(b, Dense(), (b.size(9), inputs), (outputs, inputs))


def integer_zeros(b: Bench) -> None:
    """Blocks of zeros, which pay where sums are long."""
    depth, outputs = b.pick((24, 64, 128)), b.pick((8, 16, 20, 40))
    if b.is_rare(2):
        integer_layer(b, Dense(), (b.size(9), depth), (outputs, depth), zeros=0.85)
    else:
        image = (1, 1 + b.size(5), 1 + b.size(5), depth)
        integer_layer(b, Conv2d(), image, (outputs, 1, 1, depth), zeros=0.85)


def real_input(b: Bench, *shape: int) -> str:
    name = f"x{len(b.inputs)}"
    b.inputs[name] = b.choices.generator().normal(size=shape).astype(np.float32)
    return b.builder.input(name, Type(DType.F32, shape))


def real_layer(b: Bench, op: Conv2d | Dense, image: tuple[int, ...], weights: tuple[int, ...]) -> None:
    w = b.choices.generator().normal(size=weights).astype(b.pick(FLOATS).numpy)
    b.result(op, real_input(b, *image), b.constant(w), b.constant(np.zeros(weights[0], np.float32)))


def scaled_layers(b: Bench) -> None:
    """Floats, and weights of int8 with a scale for each output."""
    inputs, outputs = b.pick((5, 16, 24)), b.pick((3, 4, 11, 16, 20, 27, 40))
    rows = Dense(), (b.size(9), inputs), (outputs, inputs)
    scaled_layer(b, *(convolution(b) if b.is_rare(2) else rows))


def many_scaled_outputs(b: Bench) -> None:
    depth, outputs = b.pick((16, 40, 80)), b.pick((33, 40, 70))
    scaled_layer(b, Conv2d(), (1, b.size(5), 2 + b.size(6), depth), (outputs, 1, 1, depth))


def scaled_layer(b: Bench, op: Conv2d | Dense, image: tuple[int, ...], weights: tuple[int, ...]) -> None:
    numbers = b.choices.generator()
    scales = Quant(tuple(numbers.uniform(0.01, 0.02, weights[0]).tolist()), (0,) * weights[0], 0)
    w = b.constant(numbers.integers(-127, 128, weights).astype(np.int8), scales)
    b.result(op, real_input(b, *image), w, b.constant(np.zeros(weights[0], np.float32)))


def real_convolutions(b: Bench) -> None:
    real_layer(b, *convolution(b))


def real_channels(b: Bench) -> None:
    depth = b.pick((4, 8, 12, 20, 24))
    real_layer(
        b, Conv2d(pads=(1, 1, 1, 1), groups=depth), (1, 2 + b.size(9), 2 + b.size(9), depth), (depth, 3, 3, 1)
    )


def real_rows(b: Bench) -> None:
    inputs, outputs = b.pick((5, 16, 24)), b.pick((3, 4, 11, 16, 20, 27, 40))
    real_layer(b, Dense(), (b.size(9), inputs), (outputs, inputs))


def groupwise_rows(b: Bench) -> None:
    """Weights with a scale, and perhaps a zero point, for each group."""
    inputs, outputs, group = 8 * b.size(), b.width() * b.size(), b.pick((4, 16))
    numbers, dtype = b.choices.generator(), b.pick((DType.S4, DType.S8))
    groups = (outputs, -(-inputs // group))
    scale = b.constant(numbers.uniform(0.01, 0.02, groups).astype(np.float32))
    zeros = [b.constant(b.integers(groups, dtype))] if b.is_rare(2) else []
    bias = b.constant(numbers.normal(size=outputs).astype(np.float32))
    w = b.constant(b.integers((outputs, inputs), dtype))
    b.result(DenseGroupwise(group), real_input(b, b.size(), inputs), w, scale, bias, *zeros)


def pooling(b: Bench, kind: Literal["max", "mean"]) -> tuple[Pool2d, tuple[int, ...]]:
    kernel = (b.size(3), b.size(3))
    pads = tuple(b.size(k) - 1 for k in (*kernel, *kernel))
    op = Pool2d(kind, kernel, (b.size(2), b.size(2)), pads)  # type: ignore[arg-type]  # four pads
    return op, (b.size(2), 3 + b.size(6), 3 + b.size(6), b.pick((1, 5, 8, 16, 20)))


def real_pools(b: Bench) -> None:
    op, image = pooling(b, b.pick(("max", "mean")))
    b.result(op, real_input(b, *image))


def integer_pools(b: Bench) -> None:
    op, image = pooling(b, "mean")
    counted = op.pads if b.is_rare(2) else (0, 0, 0, 0)
    quant = Quant((1.0,), (0,), None, b.rounding)
    x = b.input(*image, quant=quant)
    b.inputs[x] = b.choices.generator().integers(-128, 128, image).astype(np.int8)
    b.result(replace(op, counted=counted if b.rounding == "E" else op.counted), x, quant=quant)


INTEGERS = [
    *[integer_convolutions] * 4,
    integer_channels,
    integer_channels,
    integer_rows,
    integer_rows,
    integer_zeros,
    integer_pools,
]
REALS = [*[real_convolutions] * 4, real_channels, real_rows, real_pools, real_pools]


@dataclass(frozen=True)
class Apart:
    """A planner that gives everything a place of its own, but for results: those lie before their inputs by
    the distance that was asked for, up to whole grains, or by less."""

    grain: int
    less: int = 0

    def __call__(self, buffers: Sequence[ArenaBuffer], *, shifts: Sequence[InplaceShift] = ()) -> ArenaPlan:
        sizes = {buffer.name: buffer.size for buffer in buffers}
        offsets: dict[str, int] = {}
        end = 0
        for shift in shifts:
            if not offsets.keys() & {shift.output, shift.input}:
                distance = max(0, -(-shift.distance // self.grain) * self.grain - self.less)
                offsets |= {shift.output: end, shift.input: end + distance}
                end = max(offsets[name] + sizes[name] for name in (shift.output, shift.input))
                end += -end % 16
        for buffer in buffers:
            if buffer.name not in offsets:
                offsets[buffer.name] = end
                end += buffer.size + -buffer.size % 16
        return ArenaPlan(offsets, end, end)


def planned(graph: Graph, target: Target, monkeypatch: pytest.MonkeyPatch, less: int = 0) -> Program:
    # Kernels for microcontrollers read words, others the elements of tensors.
    monkeypatch.setattr(planner, "plan", Apart(4 if target.name.startswith("cortex") else 2, less))
    monkeypatch.setattr(planner, "with_moves", lambda calls, sharing, align: (calls, None))
    return compile_graph(graph, target, "arena")


@pytest.fixture(autouse=True)
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lower, "in_best_order", as_drawn)


def bench(families: Sequence[Family], target: Target, wanted: set[str], at_least: int) -> Bench:
    """So many cases that results of all the wanted kernels lie over inputs."""
    made = Bench(Seeded(at_least))
    found: set[str] = set()
    while len(made.outputs) < at_least or wanted - found:
        before = len(made.builder.nodes)
        assert before < MAX_CASES, wanted - found
        for family in families:
            made.case(family)
        graph = made.graph()
        new = graph.nodes[before:]
        outputs = tuple(name for node in new for name in node.outputs)
        found |= lying_over(replace(graph, nodes=new, outputs=outputs), target)
    return made


def wrong(program: Program, driver: Driver, inputs: dict[str, Array]) -> list[str]:
    """Outputs that are not those of the simulator."""
    found, expected = driver.run(program, inputs), simulate.run(program.graph, inputs)
    tolerance = {
        name: 1e-5 * np.abs(y).max(initial=0) if y.dtype.kind == "f" else 0 for name, y in expected.items()
    }
    return [
        name
        for name, y in expected.items()
        if np.abs(found[name].astype(np.float64) - y).max(initial=0) > tolerance[name]
    ]


def lying_over(graph: Graph, target: Target) -> set[str]:
    """The kernel files of the target's own instruction set whose results lie over their inputs."""
    found = set()
    for layer in lower.lower(graph, target, "arena"):
        for call in layer.steps:
            if isinstance(call, Call):
                variant = variant_of(call, target)
                reach = 0 if call.inplace else call.overlap
                if (
                    variant.isa == target.isa[0]
                    and variant.order
                    and reach is not None
                    and reach < call.args[-1].type.bytes
                ):
                    found.add(variant.stem)
    return found


def to_be_seen(isa: str) -> set[str]:
    """Kernels that promise an order, another than that of the file with their code, and are taken for speed.
    Sums are not among them: they lie over what is added."""
    files = [v for v in all_variants() if v.isa == isa and v.order and v.stem != "conv2d_add_int"]
    fast = [v for v in files if not v.stem.endswith("bytes")]
    orders = {v.path: v.order for v in fast if v.is_own}
    return {v.stem for v in fast if v.is_own or v.order != orders.get(v.path)}


@pytest.mark.parametrize("name", TARGETS)
def test_results_lie_over_inputs_as_near_as_they_may(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    target = load(name)
    wanted = to_be_seen(target.isa[0])
    cases = 40 if name.startswith(("x86", "wasm")) else 120  # compilers take long for kernels of many vectors
    families = INTEGERS + (REALS if "dense" in wanted else [])
    families += [scaled_layers] if "dense_scaled" in wanted else []
    families += [many_scaled_outputs] if "conv2d_scaled.oc64" in wanted else []
    families += [groupwise_rows] if "dense_groupwise" in wanted else []
    families += [integer_tiles] if wanted & {"conv2d_int.winograd", "conv2d_int.pair"} else []
    families += [integer_bands] if "depthwise2d_int.k3x3" in wanted else []
    # Elsewhere each kernel is the cheapest one of some case.
    with rivals.in_turns() if target.isa[0] == "rvv" else nullcontext():
        made = bench(families, target, wanted, at_least=cases)
        program = planned(made.graph(), target, monkeypatch)
    assert wrong(program, drive(program, tmp_path, ["-O2"]), made.inputs) == []


def test_results_that_lie_nearer_are_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So would be those of a kernel that promises too much; some lie nearer than before, but as they may."""
    target = load("host")
    made = bench(INTEGERS + REALS, target, set(), at_least=60)
    program = planned(made.graph(), target, monkeypatch, less=4)
    assert len(wrong(program, drive(program, tmp_path, ["-O2"]), made.inputs)) > 20
