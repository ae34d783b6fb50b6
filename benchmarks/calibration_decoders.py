"""Random layers that are counted, of decoders: norms, gates, rotary embeddings, caches, rows of integers."""

from __future__ import annotations

import numpy as np

from benchmarks.calibration_graph import MAX_PRODUCTS, Layers
from edgekit.core.ir import State
from edgekit.core.ops.activations import Swish
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.dynamic_quantize import DynamicQuantizeDense
from edgekit.core.ops.dynamic_rows import DynamicDense, QuantizeRows
from edgekit.core.ops.groupwise import GatherGroupwise
from edgekit.core.ops.layer_norm import RmsNorm
from edgekit.core.ops.quantized_attention import QuantizedCachedAttention
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.scatter import Scatter
from edgekit.core.ops.slice import Slice
from edgekit.core.types import DType, Type, Value


def root_mean_square(net: Layers) -> None:
    n = net.channels(256)
    scale = net.builder.const(np.linspace(0.5, 1, n, dtype=np.float32))
    net.add(RmsNorm(1e-5), net.x(net.pick(1, 1, 4, 16), n), scale)


def gates(net: Layers) -> None:
    """SwiGLU."""
    shape = (net.pick(1, 1, 4, 16), net.channels(512))
    gate = net.builder.one(Swish(), net.x(*shape), net.builder.const(np.float32(1)))
    net.add(Mul(), gate, net.x(*shape))


def turned_heads(net: Layers) -> None:
    """Rotary embeddings: heads of a token, or tokens whose heads lie side by side."""
    half, heads, tokens = net.pick(4, 8, 16, 32), net.count(1, 8), net.pick(1, 1, 4, 8)
    shape = (1, tokens, heads, 2 * half) if tokens > 1 else (1, heads, 1, 2 * half)
    x, builder = net.x(*shape), net.builder
    a, b = (builder.one(Slice((0, 0, 0, at), (1,) * 4, (*shape[:3], half)), x) for at in (0, half))
    cos, sin = (net.x(1, tokens, 1, half) for _ in range(2))
    first = builder.one(Sub(), builder.one(Mul(), a, cos), builder.one(Mul(), b, sin))
    second = builder.one(Add(), builder.one(Mul(), b, cos), builder.one(Mul(), a, sin))
    net.add(Concat(3), first, second)


def written_rows(net: Layers) -> None:
    """A cache, which is a state."""
    heads, keys, size, rows = (
        net.pick(1, 2, 4, 8),
        net.count(4, 64),
        net.pick(4, 8, 16, 32),
        net.pick(1, 1, 4),
    )
    kind = Type(DType.F32, (1, heads, keys, size))
    cache = net.builder.input(f"cache{len(net.states)}", kind)
    at = net.constant(np.arange(rows, dtype=np.int32).reshape(1, 1, -1, 1))
    y = net.builder.one(Scatter(2), cache, at, net.x(1, heads, rows, size))
    net.states.append(State(cache, y, Value(kind, np.zeros(kind.shape, np.float32))))


def attended_rows(net: Layers) -> None:
    """To all rows of a cache."""
    shared, repeat, queries = net.pick(1, 2, 4), net.pick(1, 2, 2, 3), net.pick(1, 1, 4)
    keys, size = net.count(4, 128), net.pick(8, 8, 8, 16, 24, 32, 64)
    q = net.x(1, shared * repeat, queries, size)
    k, v = (net.x(1, shared, keys, size) for _ in range(2))
    at = net.constant(np.full(queries, keys - 1, np.int32))
    net.add(CachedAttention(size**-0.5), q, k, v, at)


def attended_integers(net: Layers) -> None:
    """To all rows of a cache of int8."""
    shared, repeat, queries = net.pick(1, 2, 4), net.pick(1, 2, 2, 3), net.pick(1, 1, 4)
    keys, size = net.count(4, 128), net.pick(8, 8, 8, 16, 24, 32, 64)
    shapes = [(1, shared * repeat, queries, size), *((1, shared, keys, size),) * 2]
    q, k, v = (net.builder.add(QuantizeRows(), net.x(*shape)) for shape in shapes)
    caches = ((x, net.builder.one(Reshape((1, shared, keys, 1)), scale)) for x, scale in (k, v))
    at = net.constant(np.full(queries, keys - 1, np.int32))
    net.add(QuantizedCachedAttention(size**-0.5), *q, *(name for pair in caches for name in pair), at)


def rows_of_integers(net: Layers) -> None:
    """Rows that are quantized in each run, with one scale for a row of weights."""
    inputs = net.channels(256)
    _rows(net, DType.S8, inputs, inputs, net.pick(DType.F32, DType.F32, DType.F16))


def rows_and_groups(net: Layers) -> None:
    """... with scales for groups of weights."""
    inputs = net.channels(256)
    _rows(net, DType.S4, inputs, net.pick(32, 32, 64), DType.F16)
    if net.rng.random() < 0.3:
        _rows(net, DType.S8, inputs, 32, DType.F16)


def rows_with_other_scales(net: Layers) -> None:
    inputs = net.channels(256)
    for kind, scales in ((DType.S8, DType.BF16), (DType.S4, DType.F32), (DType.S4, DType.BF16)):
        _rows(net, kind, inputs, 32, scales)


def _rows(net: Layers, kind: DType, inputs: int, group: int, scales: DType) -> None:
    outputs = net.channels(256)
    rows = min(net.pick(1, 1, 2, 5, 8), max(MAX_PRODUCTS // (inputs * outputs), 1))
    least, most = (-8, 7) if kind is DType.S4 else (-127, 127)
    w = net.constant(net.rng.integers(least, most + 1, (outputs, inputs)).astype(kind.numpy))
    shape = (outputs, -(-inputs // group))
    scale = net.constant(net.rng.uniform(0.01, 0.02, shape).astype(scales.numpy))
    bias = net.constant(np.zeros(outputs, np.float32))
    numbers = net.builder.add(QuantizeRows(), net.x(rows, inputs))
    net.add(DynamicDense(min(group, inputs)), *numbers, w, scale, bias)
    if kind is DType.S8 and net.rng.random() < 0.4:  # a table of embeddings, too
        index = net.input(Type(DType.S32, (net.pick(1, 4),)))
        net.add(GatherGroupwise(min(group, inputs)), w, index, scale)


def numbers_of_a_run(net: Layers) -> None:
    """A layer of what is quantized in each run, as a whole: of networks that are no decoders, too."""
    inputs, outputs = net.channels(256), net.channels(256)
    rows = min(net.pick(1, 1, 2, 5, 8, 16), max(MAX_PRODUCTS // (inputs * outputs), 1))
    w = net.constant(net.rng.integers(-127, 128, (outputs, inputs)).astype(np.int8))
    scale, bias = (net.constant(net.rng.uniform(0.01, 0.02, outputs).astype(np.float32)) for _ in range(2))
    x = (net.input(Type(*kind)) for kind in ((DType.S8, (rows, inputs)), (DType.F32, ()), (DType.S8, ())))
    net.add(DynamicQuantizeDense(), *x, w, scale, bias)


DECODERS = (root_mean_square, gates, turned_heads, written_rows, attended_rows, attended_integers)
ROWS = (rows_of_integers, rows_and_groups)
RUNS = (numbers_of_a_run,)
OTHER_SCALES = (rows_with_other_scales,)
