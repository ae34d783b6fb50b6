"""Models of one operator on floats, bools and whole numbers, with random shapes and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from support.tflite_writer import Operator, Tensor, constant
from tflite.integer_cases import sizes

Rng = np.random.Generator
Make = Callable[[Rng], Operator]


def floats(rng: Rng, shape: tuple[int, ...]) -> Tensor:
    return constant(rng.standard_normal(shape), "float32")


def _window(rng: Rng) -> dict[str, int]:
    return {
        "padding": int(rng.integers(2)),
        "strideW": int(rng.integers(1, 3)),
        "strideH": int(rng.integers(1, 3)),
        "fusedActivationFunction": int(rng.integers(4)),
    }


def image(rng: Rng) -> Tensor:
    return Tensor(
        (int(rng.integers(1, 3)), *(int(n) for n in rng.integers(5, 9, 2)), int(rng.integers(1, 5)))
    )


def result(dtype: str = "float32") -> Tensor:
    """A result whose shape LiteRT finds out; here the one it has is not looked at."""
    return Tensor((1,), dtype)


def conv_2d(rng: Rng) -> Operator:
    x = image(rng)
    w = floats(rng, (int(rng.integers(1, 5)), *sizes(rng, 2, 3), x.shape[3]))
    o = _window(rng) | {"dilationWFactor": int(rng.integers(1, 3)), "dilationHFactor": 1}
    return Operator("CONV_2D", [x, w, floats(rng, w.shape[:1])], [result()], "Conv2DOptions", o)


def depthwise_conv_2d(rng: Rng) -> Operator:
    x, multiplier = image(rng), int(rng.integers(1, 4))
    w = floats(rng, (1, *sizes(rng, 2, 3), x.shape[3] * multiplier))
    o = _window(rng) | {"dilationWFactor": 1, "dilationHFactor": 2, "depthMultiplier": multiplier}
    b = floats(rng, (w.shape[3],))
    return Operator("DEPTHWISE_CONV_2D", [x, w, b], [result()], "DepthwiseConv2DOptions", o)


def transpose_conv(rng: Rng) -> Operator:
    x = image(rng)
    w = floats(rng, (int(rng.integers(1, 5)), *sizes(rng, 2, 3), x.shape[3]))
    o = _window(rng) | {"fusedActivationFunction": 0}
    size = [
        n * s if o["padding"] == 0 else (n - 1) * s + k
        for n, s, k in zip(x.shape[1:3], (o["strideH"], o["strideW"]), w.shape[1:3], strict=True)
    ]
    to = constant((x.shape[0], *size, w.shape[0]))
    return Operator("TRANSPOSE_CONV", [to, w, x], [result()], "TransposeConvOptions", o)


def fully_connected(rng: Rng) -> Operator:
    x = Tensor(sizes(rng, 3, 6))
    w = floats(rng, (int(rng.integers(1, 9)), x.shape[-1]))
    b = floats(rng, w.shape[:1]) if rng.random() < 0.7 else None
    o = {"keepNumDims": bool(rng.integers(2)), "fusedActivationFunction": int(rng.integers(4))}
    return Operator("FULLY_CONNECTED", [x, w, b], [result()], "FullyConnectedOptions", o)


def batch_matmul(rng: Rng) -> Operator:
    batch, i, j, k = (int(n) for n in rng.integers(1, 6, 4))
    left, right = (bool(v) for v in rng.integers(0, 2, 2))
    a, b = Tensor((batch, k, i) if left else (batch, i, k)), Tensor((j, k) if right else (k, j))
    return Operator("BATCH_MATMUL", [a, b], [result()], "BatchMatMulOptions", {"adjX": left, "adjY": right})


def pool(kind: str) -> Make:
    def make(rng: Rng) -> Operator:
        o = _window(rng) | {"filterWidth": int(rng.integers(1, 4)), "filterHeight": int(rng.integers(1, 4))}
        return Operator(kind, [image(rng)], [result()], "Pool2DOptions", o)

    return make


def binary(kind: str, options: str = "", dtype: str = "float32", to: str = "", **values: Any) -> Make:
    def make(rng: Rng) -> Operator:
        shape = sizes(rng, int(rng.integers(1, 5)))
        other = tuple(1 if rng.random() < 0.2 else n for n in shape)[int(rng.integers(0, 2)) :] or (1,)
        a, b = Tensor(shape, dtype), Tensor(other, dtype)
        chosen = {"fusedActivationFunction": int(rng.integers(4))} if options.endswith("Options") else {}
        return Operator(kind, [a, b], [result(to or dtype)], options, chosen | values)

    return make


def unary(kind: str, options: str = "", dtype: str = "float32", **values: Any) -> Make:
    def make(rng: Rng) -> Operator:
        shape = sizes(rng, int(rng.integers(1, 5)))
        return Operator(kind, [Tensor(shape, dtype)], [Tensor(shape, dtype)], options, values)

    return make


def whole_quotient(rng: Rng) -> Operator:
    shape = sizes(rng, 3)
    divisor = constant(rng.choice([-4, -3, -1, 1, 2, 5], shape))
    return Operator("FLOOR_DIV", [Tensor(shape, "int32"), divisor], [Tensor(shape, "int32")])


def several_sums(rng: Rng) -> Operator:
    shape = sizes(rng, 3)
    return Operator("ADD_N", [Tensor(shape)] * int(rng.integers(2, 5)), [Tensor(shape)], "AddNOptions")


def prelu(rng: Rng) -> Operator:
    x = Tensor(sizes(rng, 4))
    return Operator("PRELU", [x, floats(rng, (1, 1, x.shape[3]))], [result()])


def reduction(kind: str, dtype: str = "float32") -> Make:
    def make(rng: Rng) -> Operator:
        rank = int(rng.integers(1, 5))
        axes = sorted(rng.choice(rank, int(rng.integers(1, rank + 1)), replace=False).tolist())
        x = Tensor(sizes(rng, rank), dtype)
        if axes and rng.random() < 0.3:
            axes[0] -= rank
        keeps = {"keepDims": bool(rng.integers(2))}
        return Operator(kind, [x, constant(axes)], [result(dtype)], "ReducerOptions", keeps)

    return make


def arg(kind: str, options: str, to: str) -> Make:
    def make(rng: Rng) -> Operator:
        rank = int(rng.integers(1, 4))
        x = Tensor(sizes(rng, rank))
        types = {"outputType": 2 if to == "int32" else 4}
        return Operator(kind, [x, constant(rng.integers(-rank, rank))], [result(to)], options, types)

    return make


def resize(kind: str, options: str) -> Make:
    def make(rng: Rng) -> Operator:
        corners, half = [(False, False), (True, False), (False, True)][int(rng.integers(3))]
        o = {"alignCorners": corners, "halfPixelCenters": half}
        return Operator(kind, [image(rng), constant(sizes(rng, 2, 12))], [result()], options, o)

    return make


def strided_slice(rng: Rng) -> Operator:
    rank = int(rng.integers(1, 5))
    x = Tensor(sizes(rng, rank))
    masks = {f"{name}Mask": int(rng.integers(1 << rank)) for name in ("begin", "end")}
    steps = rng.choice([1, 1, 2, -1], rank)
    shrink = int(rng.integers(1 << rank)) if rng.random() < 0.4 else 0
    steps = np.array([1 if shrink >> i & 1 else s for i, s in enumerate(steps)])
    masks["beginMask"] &= ~shrink
    begins = np.array([rng.integers(n) for n in x.shape])
    ends = np.array([n if s > 0 else -n - 1 for n, s in zip(x.shape, steps, strict=True)])
    ends = np.array(
        [b + 1 if shrink >> i & 1 else e for i, (b, e) in enumerate(zip(begins, ends, strict=True))]
    )
    inputs = [x, constant(begins), constant(ends), constant(steps)]
    values = masks | {"shrinkAxisMask": shrink, "ellipsisMask": 0, "newAxisMask": 0, "offset": False}
    return Operator("STRIDED_SLICE", inputs, [result()], "StridedSliceOptions", values)


def new_axis(rng: Rng) -> Operator:
    """x[:, newaxis, ..., 0]"""
    x = Tensor(sizes(rng, 4))
    inputs = [x, constant([0, 0, 0, 0]), constant([0, 0, 0, 1]), constant([1, 1, 1, 1])]
    values = {"beginMask": 1, "endMask": 1, "newAxisMask": 2, "ellipsisMask": 4, "shrinkAxisMask": 8}
    return Operator("STRIDED_SLICE", inputs, [result()], "StridedSliceOptions", values)


def slice_(rng: Rng) -> Operator:
    x = Tensor(sizes(rng, 3))
    begins = [int(rng.integers(n)) for n in x.shape]
    counts = [
        -1 if rng.random() < 0.3 else int(rng.integers(1, n - b + 1))
        for n, b in zip(x.shape, begins, strict=True)
    ]
    y = [n - b if c == -1 else c for n, b, c in zip(x.shape, begins, counts, strict=True)]
    return Operator("SLICE", [x, constant(begins), constant(counts)], [Tensor(tuple(y))], "SliceOptions")


def split(rng: Rng) -> Operator:
    count, axis = int(rng.integers(1, 4)), int(rng.integers(3))
    shape = [n * count if i == axis else n for i, n in enumerate(sizes(rng, 3, 3))]
    x = Tensor(tuple(shape))
    return Operator("SPLIT", [constant(axis), x], [result()] * count, "SplitOptions", {"numSplits": count})


def split_v(rng: Rng) -> Operator:
    parts = [int(n) for n in rng.integers(1, 4, int(rng.integers(1, 4)))]
    x = Tensor((2, sum(parts), 3))
    given = [*parts[:-1], -1] if rng.random() < 0.5 else parts
    inputs = [x, constant(given), constant(1)]
    return Operator("SPLIT_V", inputs, [result() for _ in parts], "SplitVOptions", {"numSplits": len(parts)})


def pack(rng: Rng) -> Operator:
    shape, count = sizes(rng, 3), int(rng.integers(1, 4))
    o = {"axis": int(rng.integers(-4, 4)), "valuesCount": count}
    return Operator("PACK", [Tensor(shape) for _ in range(count)], [result()], "PackOptions", o)


def unpack(rng: Rng) -> Operator:
    x, axis = Tensor(sizes(rng, 3)), int(rng.integers(3))
    outputs = [result() for _ in range(x.shape[axis])]
    return Operator("UNPACK", [x], outputs, "UnpackOptions", {"axis": axis, "num": len(outputs)})


def gather(rng: Rng) -> Operator:
    x = Tensor(sizes(rng, 3))
    axis = int(rng.integers(3))
    batch = int(rng.integers(0, axis + 1))
    at = constant(rng.integers(0, x.shape[axis], (*x.shape[:batch], *sizes(rng, 2, 3))))
    return Operator("GATHER", [x, at], [result()], "GatherOptions", {"axis": axis, "batchDims": batch})


def gather_nd(rng: Rng) -> Operator:
    x = Tensor(sizes(rng, 3))
    index = np.stack([rng.integers(0, n, 5) for n in x.shape[:2]], 1)
    return Operator("GATHER_ND", [x, constant(index)], [result()], "GatherNdOptions")


def transpose(rng: Rng) -> Operator:
    rank = int(rng.integers(1, 6))
    return Operator("TRANSPOSE", [Tensor(sizes(rng, rank, 4)), constant(rng.permutation(rank))], [result()])


def reshape(rng: Rng) -> Operator:
    x = Tensor((2, *sizes(rng, 2)))
    to = [-1, 2] if rng.random() < 0.5 else [x.shape[2], x.shape[1], 2]
    return Operator("RESHAPE", [x, constant(to)], [result()], "ReshapeOptions", {"newShape": to})


def squeeze(rng: Rng) -> Operator:
    n, m = sizes(rng, 2)
    o = {"squeezeDims": [1, -1] if rng.random() < 0.5 else []}
    return Operator("SQUEEZE", [Tensor((n + 1, 1, m + 1, 1))], [result()], "SqueezeOptions", o)


def expand_dims(rng: Rng) -> Operator:
    return Operator("EXPAND_DIMS", [Tensor(sizes(rng, 3)), constant(rng.integers(-4, 4))], [result()])


def concatenation(rng: Rng) -> Operator:
    shape, axis = sizes(rng, 3), int(rng.integers(-3, 3))
    parts = [
        Tensor(tuple(int(rng.integers(1, 4)) if i == axis % 3 else n for i, n in enumerate(shape)))
        for _ in range(int(rng.integers(1, 4)))
    ]
    return Operator("CONCATENATION", parts, [result()], "ConcatenationOptions", {"axis": axis})


def pad(kind: str) -> Make:
    def make(rng: Rng) -> Operator:
        x = Tensor(sizes(rng, int(rng.integers(1, 5))))
        cells = constant(rng.integers(0, 3, (len(x.shape), 2)))
        value = [constant([1.5], "float32")] if kind == "PADV2" else []
        return Operator(kind, [x, cells, *value], [result()])

    return make


def mirror_pad(rng: Rng) -> Operator:
    x = Tensor(tuple(n + 2 for n in sizes(rng, 3, 4)))
    o = {"mode": int(rng.integers(2))}
    return Operator(
        "MIRROR_PAD", [x, constant(rng.integers(0, 3, (3, 2)))], [result()], "MirrorPadOptions", o
    )


def tile(rng: Rng) -> Operator:
    x = Tensor(sizes(rng, 3, 4))
    return Operator("TILE", [x, constant(rng.integers(1, 4, 3))], [result()])


def blocks(kind: str) -> Make:
    def make(rng: Rng) -> Operator:
        block = int(rng.integers(1, 4))
        n, h, w, c = sizes(rng, 4, 3)
        deep = (n, h, w, c * block * block)
        x = Tensor(deep if kind == "DEPTH_TO_SPACE" else (n, h * block, w * block, c))
        options = f"{''.join(word.title() for word in kind.split('_'))}Options"
        return Operator(kind, [x], [result()], options, {"blockSize": block})

    return make


def space_to_batch(rng: Rng) -> Operator:
    b = rng.integers(1, 4, 2)
    n, h, w, c = sizes(rng, 4, 4)
    first = rng.integers(0, 3, 2)
    last = [
        (-(size + f)) % k + k * int(rng.integers(0, 2)) for size, f, k in zip((h, w), first, b, strict=True)
    ]
    pads = np.stack([first, last], 1)
    return Operator("SPACE_TO_BATCH_ND", [Tensor((n, h, w, c)), constant(b), constant(pads)], [result()])


def batch_to_space(rng: Rng) -> Operator:
    b = rng.integers(1, 4, 2)
    n, h, w, c = sizes(rng, 4, 4)
    crops = [[int(rng.integers(0, size * k)), 0] for size, k in zip((h, w), b, strict=True)]
    x = Tensor((n * int(b.prod()), h, w, c))
    return Operator("BATCH_TO_SPACE_ND", [x, constant(b), constant(crops)], [result()])


def cast(source: str, to: str) -> Make:
    def make(rng: Rng) -> Operator:
        kinds = {"float32": 0, "int32": 2, "int64": 4, "bool": 6, "int8": 9, "uint8": 3}
        o = {"inDataType": kinds[source], "outDataType": kinds[to]}
        return Operator("CAST", [Tensor(sizes(rng, 3), source)], [result(to)], "CastOptions", o)

    return make


def select(kind: str) -> Make:
    def make(rng: Rng) -> Operator:
        shape = sizes(rng, 3)
        test = Tensor(shape if kind == "SELECT" else (shape[0], 1, shape[2]), "bool")
        return Operator(kind, [test, Tensor(shape), Tensor(shape)], [result()])

    return make


def softmax(rng: Rng) -> Operator:
    o = {"beta": float(rng.choice([1.0, 0.5]))}
    return Operator("SOFTMAX", [Tensor(sizes(rng, 3))], [result()], "SoftmaxOptions", o)


def lrn(rng: Rng) -> Operator:
    x = Tensor((*sizes(rng, 3, 4), 7))
    o = {"radius": int(rng.integers(1, 4)), "bias": 1.0, "alpha": 0.5, "beta": 0.75}
    return Operator("LOCAL_RESPONSE_NORMALIZATION", [x], [result()], "LocalResponseNormalizationOptions", o)


def top_k(rng: Rng) -> Operator:
    x = Tensor((*sizes(rng, 2), 6))
    return Operator("TOPK_V2", [x, constant(int(rng.integers(1, 6)))], [result(), result("int32")])


def one_hot(rng: Rng) -> Operator:
    on, off = constant(2.0, "float32"), constant(-1.0, "float32")
    inputs = [Tensor(sizes(rng, 2), "int32"), constant(7), on, off]
    return Operator("ONE_HOT", inputs, [result()], "OneHotOptions", {"axis": -1})


def cumulative(rng: Rng) -> Operator:
    o = {"exclusive": bool(rng.integers(2)), "reverse": bool(rng.integers(2))}
    return Operator("CUMSUM", [Tensor(sizes(rng, 3)), constant(1)], [result()], "CumsumOptions", o)


def reverse(rng: Rng) -> Operator:
    return Operator("REVERSE_V2", [Tensor(sizes(rng, 3)), constant([1])], [result()])


def shape_of(rng: Rng) -> Operator:
    return Operator("SHAPE", [Tensor(sizes(rng, 3))], [result("int32")], "ShapeOptions", {"outType": 2})


def broadcast_to(rng: Rng) -> Operator:
    n, m = sizes(rng, 2)
    return Operator("BROADCAST_TO", [Tensor((1, m)), constant([n, 3, m])], [result()])


def lstm(rng: Rng) -> Operator:
    """With or without an input gate, peepholes, projection, normalization and bounds."""
    steps, batch, inputs, units, outputs = sizes(rng, 5)
    major, whole, peeps, projects, normal, clips = (bool(v) for v in rng.integers(0, 2, 6))
    outputs = outputs if projects else units
    x = Tensor((steps, batch, inputs) if major else (batch, steps, inputs))

    def gates(*shape: int) -> list[Tensor | None]:
        made: list[Tensor | None] = [floats(rng, shape) for _ in range(4)]
        return made if whole else [None, *made[1:]]

    def maybe(there: bool, *shape: int) -> Tensor | None:
        return floats(rng, shape) if there else None

    operands = [
        x,
        *gates(units, inputs),
        *gates(units, outputs),
        *(maybe(peeps and (i > 0 or whole), units) for i in range(3)),
        *gates(units),
        maybe(projects, outputs, units),
        maybe(projects and rng.random() < 0.5, outputs),
        Tensor((batch, outputs), variable=True),
        Tensor((batch, units), variable=True),
        *(gates(units) if normal else [None] * 4),
    ]
    values: dict[str, Any] = {"fusedActivationFunction": 4, "timeMajor": major}
    if clips:
        values |= {"cellClip": 0.7, "projClip": 0.4}
    y = Tensor((*x.shape[:2], outputs))
    return Operator(
        "UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [y], "UnidirectionalSequenceLSTMOptions", values
    )


def svdf(rng: Rng) -> Operator:
    batch, inputs, units, rank, steps = sizes(rng, 5, 4)
    count = units * rank
    state = Tensor((batch, steps * count), variable=True)
    operands = [Tensor((batch, inputs)), floats(rng, (count, inputs)), floats(rng, (count, steps))]
    values = {"rank": rank, "fusedActivationFunction": int(rng.integers(0, 2))}
    return Operator(
        "SVDF", [*operands, floats(rng, (units,)), state], [Tensor((batch, units))], "SVDFOptions", values
    )


CASES: Mapping[str, Make] = {
    "UNIDIRECTIONAL_SEQUENCE_LSTM": lstm,
    "SVDF": svdf,
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "TRANSPOSE_CONV": transpose_conv,
    "FULLY_CONNECTED": fully_connected,
    "BATCH_MATMUL": batch_matmul,
    "AVERAGE_POOL_2D": pool("AVERAGE_POOL_2D"),
    "MAX_POOL_2D": pool("MAX_POOL_2D"),
    "L2_POOL_2D": pool("L2_POOL_2D"),
    "ADD": binary("ADD", "AddOptions"),
    "ADD int32": binary("ADD", "AddOptions", "int32"),
    "SUB": binary("SUB", "SubOptions"),
    "MUL": binary("MUL", "MulOptions"),
    "DIV": binary("DIV", "DivOptions"),
    "SQUARED_DIFFERENCE": binary("SQUARED_DIFFERENCE"),
    "MAXIMUM": binary("MAXIMUM"),
    "MINIMUM int32": binary("MINIMUM", dtype="int32"),
    "FLOOR_MOD": binary("FLOOR_MOD"),
    "FLOOR_DIV": binary("FLOOR_DIV"),
    "FLOOR_DIV int32": whole_quotient,
    "ADD_N": several_sums,
    "EQUAL": binary("EQUAL", dtype="int32", to="bool"),
    "NOT_EQUAL": binary("NOT_EQUAL", dtype="int32", to="bool"),
    "LESS": binary("LESS", to="bool"),
    "LESS_EQUAL": binary("LESS_EQUAL", dtype="int32", to="bool"),
    "GREATER": binary("GREATER", to="bool"),
    "GREATER_EQUAL": binary("GREATER_EQUAL", to="bool"),
    "LOGICAL_AND": binary("LOGICAL_AND", dtype="bool"),
    "LOGICAL_OR": binary("LOGICAL_OR", dtype="bool"),
    "LOGICAL_NOT": unary("LOGICAL_NOT", dtype="bool"),
    "RELU": unary("RELU"),
    "RELU6": unary("RELU6"),
    "RELU_N1_TO_1": unary("RELU_N1_TO_1"),
    "RELU_0_TO_1": unary("RELU_0_TO_1"),
    "LEAKY_RELU": unary("LEAKY_RELU", "LeakyReluOptions", alpha=0.2),
    "PRELU": prelu,
    "HARD_SWISH": unary("HARD_SWISH"),
    "LOGISTIC": unary("LOGISTIC"),
    "TANH": unary("TANH"),
    "GELU": unary("GELU", "GeluOptions", approximate=False),
    "GELU by tanh": unary("GELU", "GeluOptions", approximate=True),
    "EXP": unary("EXP"),
    "SIN": unary("SIN"),
    "COS": unary("COS"),
    "ABS": unary("ABS"),
    "NEG": unary("NEG"),
    "FLOOR": unary("FLOOR"),
    "CEIL": unary("CEIL"),
    "ROUND": unary("ROUND"),
    "SQUARE": unary("SQUARE"),
    "ZEROS_LIKE": unary("ZEROS_LIKE"),
    "SHAPE": shape_of,
    "SOFTMAX": softmax,
    "LOG_SOFTMAX": unary("LOG_SOFTMAX"),
    "L2_NORMALIZATION": unary("L2_NORMALIZATION", "L2NormOptions"),
    "LOCAL_RESPONSE_NORMALIZATION": lrn,
    "MEAN": reduction("MEAN"),
    "SUM": reduction("SUM"),
    "REDUCE_MAX": reduction("REDUCE_MAX"),
    "REDUCE_MIN": reduction("REDUCE_MIN"),
    "REDUCE_PROD": reduction("REDUCE_PROD"),
    "REDUCE_ANY": reduction("REDUCE_ANY", "bool"),
    "ARG_MAX": arg("ARG_MAX", "ArgMaxOptions", "int32"),
    "ARG_MIN": arg("ARG_MIN", "ArgMinOptions", "int64"),
    "TOPK_V2": top_k,
    "CUMSUM": cumulative,
    "RESIZE_BILINEAR": resize("RESIZE_BILINEAR", "ResizeBilinearOptions"),
    "RESIZE_NEAREST_NEIGHBOR": resize("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"),
    "STRIDED_SLICE": strided_slice,
    "STRIDED_SLICE with a new axis": new_axis,
    "SLICE": slice_,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "PACK": pack,
    "UNPACK": unpack,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "ONE_HOT": one_hot,
    "REVERSE_V2": reverse,
    "TRANSPOSE": transpose,
    "RESHAPE": reshape,
    "SQUEEZE": squeeze,
    "EXPAND_DIMS": expand_dims,
    "CONCATENATION": concatenation,
    "PAD": pad("PAD"),
    "PADV2": pad("PADV2"),
    "MIRROR_PAD": mirror_pad,
    "TILE": tile,
    "BROADCAST_TO": broadcast_to,
    "SPACE_TO_DEPTH": blocks("SPACE_TO_DEPTH"),
    "DEPTH_TO_SPACE": blocks("DEPTH_TO_SPACE"),
    "SPACE_TO_BATCH_ND": space_to_batch,
    "BATCH_TO_SPACE_ND": batch_to_space,
    "CAST to int32": cast("float32", "int32"),
    "CAST to float32": cast("int32", "float32"),
    "CAST to bool": cast("int32", "bool"),
    "SELECT": select("SELECT"),
    "SELECT_V2": select("SELECT_V2"),
}

# The reference kernels lack these, or count one channel too few: compared with LiteRT's other kernels.
NOT_IN_REFERENCE = ("CEIL", "ROUND", "BROADCAST_TO", "LOCAL_RESPONSE_NORMALIZATION")
