"""Kernels between layers quantized in each run have the bits of the simulator: its order, nothing fused."""

from collections.abc import Callable

import numpy as np
import pytest
from support.gpu_calls import Device, compute
from support.op_cases import special
from support.opencl import opencl
from support.webgpu import webgpu

from edgekit.codegen.gpu.ast import F32, Expr
from edgekit.codegen.gpu.builder import KernelBuilder
from edgekit.codegen.gpu.elements import for_each
from edgekit.codegen.gpu.quotient import divided, root
from edgekit.codegen.gpu.use import GpuCall, groups_for
from edgekit.core.builder import Builder
from edgekit.core.ops import Op
from edgekit.core.ops.activations import GeluTanh, Sigmoid, Swish
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.layer_norm import RmsNorm
from edgekit.core.ops.trigonometry import Cos, Sin
from edgekit.core.types import Array, DType, Type

DEVICES: dict[str, Callable[[], Device]] = {"opencl": opencl, "wgsl": webgpu}


def floats(*shape: int) -> Array:
    """The same ones for a shape."""
    return np.random.default_rng([7, *shape]).normal(size=shape).astype(np.float32)


def attention(window: int, size: int, *at: int, cap: float = 0, distances: int = 0) -> tuple[Op, list[Array]]:
    shapes = (1, 4, len(at), size), (1, 2, 80, size), (1, 2, 80, 8)
    q, k, v = (3 * floats(*shape) for shape in shapes)
    biases = [floats(4, distances)] if distances else []
    operands = [q, k, v[:, :, ::-1].copy(), np.array(at, np.int32), *biases]
    return CachedAttention(0.3, window, cap), operands


CASES: dict[str, tuple[Op, list[Array]]] = {
    "cosine": (Cos(), [20 * floats(2000)]),
    "sine": (Sin(), [20 * floats(2000)]),
    "sum": (Add(), [floats(500), floats(2, 500)[1]]),
    "product": (Mul(), [floats(500), floats(2, 500)[1]]),
    "sigmoid": (Sigmoid(), [9 * floats(2000)]),
    "gate": (Swish(), [20 * floats(2000), np.ones((), np.float32)]),
    "steeper gate": (Swish(), [20 * floats(2000), np.array(1.702, np.float32)]),
    "sigmoid of a cube": (GeluTanh(), [2 * floats(2000)]),
    "norm": (RmsNorm(1e-6), [floats(20, 64), floats(64)]),
    "norm of 7": (RmsNorm(1e-6), [floats(3, 7), floats(7)]),
    "norm of 200": (RmsNorm(1e-6), [floats(2, 200), floats(200)]),
    "attention": attention(0, 8, 70),
    "attention of several": attention(0, 8, 70, 3, 64, 63, 9),
    "attention of heads of 7": attention(0, 7, 70),
    "attention with a window": attention(70, 8, 200, 20, 79, 130, 145),
    "attention with capped scores": attention(0, 7, 70, cap=2),
    "attention with ALiBi": attention(0, 8, 70, 3, 64, 63, 9, distances=2),
    "attention with caps, biases and a window": attention(70, 8, 200, 20, 79, 130, cap=4, distances=66),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", CASES)
def test_floats_have_the_bits_of_the_simulator(name: str, device: str) -> None:
    op, ins = CASES[name]
    builder = Builder()
    given = {f"x{i}": x for i, x in enumerate(ins)}
    names = [builder.input(key, Type(DType.of(x.dtype), x.shape)) for key, x in given.items()]
    if isinstance(op, RmsNorm):
        names[1] = builder.const(given.pop("x1"))
    y = builder.one(op, *names)
    graph = builder.graph("layer", [*given], [y])
    found = compute(DEVICES[device](), graph, given).result(y, graph.type(y))
    np.testing.assert_array_equal(found, op.in_c(*ins)[0])


def each(device: Device, function: Callable[..., Expr], *given: Array) -> Array:
    """A function of each element."""
    k = KernelBuilder(function.__name__, is_exact=True)
    buffers = [k.buffer(name, F32) for name in "ab"[: len(given)]]
    y, n = k.buffer("y", F32, writes=True), k.constant("n")
    for_each(k, y, DType.F32, n, lambda i: function(k, *(k.let("x", b[i]) for b in buffers)))
    result = np.zeros(given[0].nbytes, np.uint8)
    use = GpuCall(k.done(), (*range(len(given) + 1),), {"n": given[0].size}, groups_for(given[0].size))
    device.compute([use], [[*(x.view(np.uint8).copy() for x in given), result]])
    return result.view(np.float32)


@pytest.mark.parametrize("device", DEVICES)
def test_square_roots_are_those_of_numpy(device: str) -> None:
    """Of both parities of exponents, squares and their neighbours."""
    whole = np.arange(1, 4096, dtype=np.float32) ** 2
    bits = np.random.default_rng(7).integers(0x00800000, 0x7F800000, 20000).astype(np.uint32).view(np.float32)
    x = np.concatenate(
        [whole, np.nextafter(whole, np.float32(0)), np.nextafter(whole, np.float32(1e9)), bits]
    )
    np.testing.assert_array_equal(each(DEVICES[device](), root, x), np.sqrt(x))


@pytest.mark.parametrize("device", DEVICES)
def test_quotients_of_all_signs_are_those_of_numpy(device: str) -> None:
    sizes = np.random.default_rng(7).integers(-15, 15, (2, 20000)).astype(np.float32)
    a, b = floats(2, 20000) * 10.0**sizes
    a[:100] = 0
    np.testing.assert_array_equal(each(DEVICES[device](), divided, a, b), a / b)


def test_what_is_no_number_has_no_quotient_and_no_root() -> None:
    a, b = (
        x.astype(np.float32).reshape(-1).copy() for x in np.meshgrid(special(DType.F32), special(DType.F32))
    )
    with np.errstate(all="ignore"):
        expected, of_root = a / b, np.sqrt(b)
    found, root_found = each(opencl(), divided, a, b), each(opencl(), root, b)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isnan(root_found), np.isnan(of_root))
