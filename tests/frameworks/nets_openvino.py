"""Nets of few layers by OpenVINO's own operators; `x(2, 3)` is an input."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import openvino as ov
from numpy.typing import ArrayLike
from openvino import opset1, opset2, opset10
from openvino import opset15 as op

Node = Any  # OpenVINO's nodes have no types
Make = Callable[[], Node | Sequence[Node]]
_RANDOM = np.random.default_rng(7)


def x(*shape: int, kind: Any = np.float32) -> Node:
    return op.parameter(list(shape), kind)


def w(*shape: int) -> Node:
    return op.constant((_RANDOM.standard_normal(shape) / 2).astype(np.float32))


def c(values: ArrayLike, kind: Any = np.float32) -> Node:
    return op.constant(np.array(values, kind))


def ints(*values: int) -> Node:
    return c(values, np.int64)


def one(kind: str, *operands: Callable[[], Node], **settings: Any) -> Make:
    """An operator of the last set on such operands."""
    return lambda: getattr(op, kind)(*(operand() for operand in operands), **settings)


def image() -> Node:
    return x(1, 4, 7, 9)


def rows() -> Node:
    return x(2, 3, 4)


def more() -> Node:
    return x(2, 3, 4)


def last() -> Node:
    return x(4)


def positive() -> Node:
    return op.add(op.abs(x(2, 3, 4)), c(0.1))


def integers() -> Node:
    return op.add(x(2, 3, kind=np.int32), c(-1, np.int32))


def divisors() -> Node:
    return c([[2, -2, 3], [1, 5, -3]], np.int32)


def flags() -> Node:
    return op.greater(x(2, 3, 4), c(0.0))


def unary(kind: str, given: Callable[[], Node] = rows) -> tuple[str, Make]:
    return kind, one(kind, given)


def binary(kind: str, a: Callable[[], Node] = rows, b: Callable[[], Node] = last) -> tuple[str, Make]:
    return kind, one(kind, a, b)


def inside() -> Node:
    return op.tanh(x(2, 3, 4))


def sequence(kind: str, gates: int, states: int, biases: int, directions: int, **settings: Any) -> Make:
    """A recurrent layer over 5 steps of 3 inputs, whose second sequence has 3 steps."""

    def make() -> Sequence[Node]:
        size, direction = 4, "bidirectional" if directions == 2 else settings.pop("direction", "forward")
        first = [x(2, directions, size) for _ in range(states)]
        weights = (
            w(directions, gates * size, 3),
            w(directions, gates * size, size),
            w(directions, biases * size),
        )
        made = getattr(op, kind)(
            x(2, 5, 3), *first, c([5, 3], np.int32), *weights, size, direction, **settings
        )
        return list(made.outputs())

    return make


def cell(kind: str, gates: int, states: int, biases: int, **settings: Any) -> Make:
    def make() -> Sequence[Node]:
        first = [x(2, 4) for _ in range(states)]
        made = getattr(op, kind)(
            x(2, 3), *first, w(gates * 4, 3), w(gates * 4, 4), w(biases * 4), 4, **settings
        )
        return list(made.outputs())

    return make


def convolution(*kernel: int, strides: Sequence[int], auto_pad: str = "explicit") -> Make:
    n = len(kernel)
    size = (1, 4, 9, 7, 6)[: n + 2]
    return lambda: op.convolution(
        x(*size), w(3, 4, *kernel), strides, [1] * n, [0] * n, [1] + [2] * (n - 1), auto_pad=auto_pad
    )


def transposed(size: Sequence[int] | None = None, **settings: Any) -> Make:
    shape = None if size is None else ints(*size)
    return lambda: op.convolution_backprop_data(x(1, 4, 5, 6), w(4, 3, 3, 2), [2, 2], shape, **settings)


def grouped_transposed() -> Node:
    weights = w(2, 2, 3, 3, 3)
    return op.group_convolution_backprop_data(
        x(1, 4, 5, 6), weights, [2, 2], None, [1, 0], [0, 1], [1, 1], "explicit", [1, 0]
    )


def pooled(kind: str, **settings: Any) -> Make:
    def make() -> Sequence[Node]:
        made = getattr(op, kind)(image(), kernel_shape=[3, 2], **settings)
        return list(made.outputs())

    return make


def resized(mode: str, size: Sequence[int], coordinates: str = "half_pixel", **settings: Any) -> Make:
    return lambda: op.interpolate(
        image(),
        ints(*size),
        mode,
        "sizes",
        axes=ints(2, 3),
        coordinate_transformation_mode=coordinates,
        **settings,
    )


def resized_by_scales() -> Node:
    return op.interpolate(image(), c([1.5, 2.25]), "linear_onnx", "scales", axes=ints(2, 3))


def resized_in_set_4() -> Node:
    """With sizes and scales, as until operator set 11."""
    return opset10.interpolate(
        image(),
        ints(10, 5),
        c([1.0, 1.0]),
        "linear_onnx",
        "sizes",
        None,
        None,
        "align_corners",
        axes=ints(2, 3),
    )


def resized_in_set_1(mode: str, corners: bool) -> Make:
    settings = {"axes": [2, 3], "mode": mode, "align_corners": corners, "antialias": False}
    return lambda: opset1.interpolate(image(), ints(14, 18), settings | {"pads_begin": [0], "pads_end": [0]})


def fake_quantized(
    levels: int, low: ArrayLike, high: ArrayLike, to: tuple[float, float] | None = None
) -> Make:
    ends = [c(low), c(high), *(c(e) for e in (to or (low, high)))]
    return lambda: op.fake_quantize(op.multiply(image(), c(2.0)), *ends, levels)


def branch() -> Node:
    condition, given = x(kind=np.bool_), x(2, 3)
    made = op.if_op(condition)
    a, b = x(2, 3), x(2, 3)
    yes, no = ov.Model([op.relu(a)], [a], "yes"), ov.Model([op.multiply(b, w(3))], [b], "no")
    made.set_then_body(yes)
    made.set_else_body(no)
    made.set_input(given.output(0), a, b)
    return made.set_output(yes.results[0], no.results[0])


def iterations(back: bool) -> Make:
    """A cell at each step, all of whose states are kept: forward or back."""

    def make() -> Sequence[Node]:
        given, state = x(2, 5, 3), x(2, 3)
        step, before = x(2, 1, 3), x(2, 3)
        after = op.gru_cell(op.squeeze(step, ints(1)), before, w(9, 3), w(9, 3), w(9), 3)
        row = op.unsqueeze(after, ints(1))
        made = op.tensor_iterator()
        made.set_body(ov.Model([after, row], [step, before], "body"))
        ends = (-1, -1, 1, 0) if back else (0, 1, 1, -1)
        made.set_sliced_input(step, given.output(0), *ends, 1)
        made.set_merged_input(before, state.output(0), after.output(0))
        return [
            made.get_iter_value(after.output(0), -1),
            made.get_concatenated_slices(row.output(0), *ends, 1),
        ]

    return make


def loop() -> Sequence[Node]:
    """Ends by its own counter before its count."""
    given = x(2, 3)
    i, before = op.parameter([], np.int64), x(2, 3)
    after = op.multiply(before, op.convert(op.add(i, c(2, np.int64)), "f32"))
    row = op.unsqueeze(after, ints(1))
    made = op.loop(c(9, np.int64), c(True, np.bool_))
    made.set_function(ov.Model([op.less(i, c(3, np.int64)), after, row], [i, before], "body"))
    made.set_special_body_ports([0, 0])
    made.set_merged_input(before, given.output(0), after.output(0))
    return [
        made.get_iter_value(after.output(0), -1),
        made.get_concatenated_slices(row.output(0), 0, 1, 1, -1, 1),
    ]


def nibbles() -> Node:
    """Weights of 4 bits in groups, as compression of language models makes them."""
    packed = _RANDOM.integers(0, 16, (6, 2, 4))
    weights = op.constant(packed, ov.Type.u4)
    zero = op.constant(_RANDOM.integers(6, 10, (6, 2, 1)), ov.Type.u4)
    scale = op.constant((0.5 ** _RANDOM.integers(1, 6, (6, 2, 1))).astype(np.float16))
    real = op.multiply(op.subtract(op.convert(weights, "f16"), op.convert(zero, "f16")), scale)
    return op.matmul(x(3, 8), op.convert(op.reshape(real, ints(6, 8), False), "f32"), False, True)


def signed_nibbles() -> Node:
    return op.add(x(3, 5), op.convert(op.constant(_RANDOM.integers(-8, 8, (3, 5)), ov.Type.i4), "f32"))


def network() -> Node:
    """Down, up and beside, with what exporters write: shapes that are computed, and batch norms."""
    given = image()
    y = op.relu(op.convolution(given, w(8, 4, 3, 3), [2, 2], [1, 1], [1, 1], [1, 1]))
    y = op.batch_norm_inference(y, c(np.ones(8)), w(8), w(8), c(np.full(8, 2.0)), 1e-3)
    y = op.swish(op.group_convolution(y, w(8, 1, 1, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1]), c(1.0))
    sizes = op.gather(op.shape_of(given), ints(2, 3), c(0, np.int64))
    y = op.interpolate(
        y,
        sizes,
        "nearest",
        "sizes",
        axes=ints(2, 3),
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )
    y = op.concat([op.reduce_mean(y, ints(1), True), given], 1)
    flat = op.reshape(y, ints(0, -1), True)
    return op.softmax(op.add(op.matmul(flat, w(10, 315), False, True), w(1, 10)), 1)


NETS: Mapping[str, Make] = {
    "network": network,
    **dict(
        unary(kind)
        for kind in (
            *("relu", "sigmoid", "tanh", "hswish", "mish", "softplus", "softsign", "hsigmoid"),
            *(
                "negative",
                "abs",
                "sign",
                "floor",
                "ceiling",
                "exp",
                "erf",
                "sin",
                "cos",
                "tan",
                "sinh",
                "cosh",
            ),
            *("atan", "asinh", "is_inf", "is_nan", "is_finite"),
        )
    ),
    **dict(unary(kind, positive) for kind in ("sqrt", "log")),
    **dict(unary(kind, inside) for kind in ("asin", "acos", "atanh")),
    "acosh": lambda: op.acosh(op.add(positive(), c(1.0))),
    **dict(
        binary(kind)
        for kind in (
            *("add", "subtract", "multiply", "divide", "maximum", "minimum", "squared_difference"),
            *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "mod", "floor_mod"),
        )
    ),
    "divide_integers": lambda: op.divide(op.abs(integers()), c([[2, 2, 3], [1, 5, 3]], np.int32)),
    "mod_integers": one("mod", integers, divisors),
    "floor_mod_integers": one("floor_mod", integers, divisors),
    "power": one("power", positive, last),
    "power_3": lambda: op.power(rows(), c(3.0)),
    "logic": lambda: op.logical_xor(
        op.logical_or(flags(), flags()), op.logical_and(flags(), op.logical_not(flags()))
    ),
    "select": one("select", flags, rows, more),
    "round_even": lambda: op.round(op.multiply(integers_of_halves(), c(0.5)), "half_to_even"),
    "round_away": lambda: op.round(op.multiply(integers_of_halves(), c(0.5)), "half_away_from_zero"),
    "convert_like": lambda: op.convert_like(op.multiply(rows(), c(3.0)), c(1, np.int32)),
    "clamp": lambda: op.clamp(rows(), -0.5, 0.25),
    "prelu": lambda: op.prelu(image(), w(4)),
    "elu": lambda: op.elu(rows(), 0.7),
    "selu": lambda: op.selu(rows(), c([1.6]), c([1.1])),
    "gelu": lambda: op.gelu(rows(), "erf"),
    "gelu_tanh": lambda: op.gelu(rows(), "tanh"),
    "hard_sigmoid": lambda: op.hard_sigmoid(rows(), c(0.3), c(0.4)),
    "swish": lambda: op.swish(rows(), c(1.5)),
    "swish_computed": lambda: op.swish(rows(), op.reduce_mean(more(), ints(0, 1, 2), False)),
    "softmax": lambda: op.softmax(rows(), -2),
    "softmax_in_set_1": lambda: opset1.softmax(rows(), 1),
    "log_softmax": lambda: op.log_softmax(rows(), -1),
    "convolution": convolution(3, 2, strides=[2, 1]),
    "convolution_same_upper": convolution(3, 2, strides=[2, 2], auto_pad="same_upper"),
    "convolution_same_lower": convolution(2, 2, strides=[1, 2], auto_pad="same_lower"),
    "convolution_valid": convolution(3, 3, strides=[1, 1], auto_pad="valid"),
    "convolution_1d": convolution(3, strides=[2]),
    "convolution_3d": convolution(2, 3, 2, strides=[1, 2, 1]),
    "group_convolution": lambda: op.group_convolution(
        image(), w(2, 3, 2, 3, 3), [1, 2], [1, 0], [0, 1], [1, 2]
    ),
    "transposed": transposed(pads_begin=[1, 0], pads_end=[0, 1], dilations=[1, 2], output_padding=[1, 0]),
    "transposed_same_upper": transposed([9, 12], auto_pad="same_upper"),
    "transposed_same_lower": transposed([10, 11], auto_pad="same_lower"),
    "transposed_to_size": transposed([12, 12], pads_begin=[0, 0], pads_end=[0, 0], dilations=[1, 1]),
    "group_transposed": grouped_transposed,
    "matmul": lambda: op.matmul(x(2, 4, 3), x(2, 4, 5), True, False),
    "matmul_transposed_weights": lambda: op.matmul(x(3, 4), w(5, 4), False, True),
    "matmul_vector": lambda: op.matmul(x(4), x(3, 4), False, True),
    "einsum": lambda: op.einsum([x(2, 3, 4), x(2, 4, 5)], "bij,bjk->bki"),
    "attention": lambda: op.scaled_dot_product_attention(x(2, 3, 4, 8), x(2, 3, 6, 8), x(2, 3, 6, 5)),
    "attention_causal": lambda: op.scaled_dot_product_attention(
        x(1, 2, 4, 8), x(1, 2, 4, 8), x(1, 2, 4, 8), causal=True
    ),
    "attention_mask": lambda: op.scaled_dot_product_attention(
        x(2, 3, 4, 8), x(2, 3, 6, 8), x(2, 3, 6, 8), attention_mask=x(4, 6), scale=c(0.3)
    ),
    "attention_flags": lambda: op.scaled_dot_product_attention(
        x(2, 3, 4, 8),
        x(2, 3, 6, 8),
        x(2, 3, 6, 8),
        attention_mask=op.logical_or(op.greater(x(2, 1, 4, 6), c(0.0)), c(np.eye(4, 6), np.bool_)),
    ),
    "batch_norm": lambda: op.batch_norm_inference(image(), w(4), w(4), w(4), c([0.5, 1, 2, 3]), 1e-3),
    "batch_norm_in_set_1": lambda: opset1.batch_norm_inference(
        image(), w(4), w(4), w(4), c([0.5, 1, 2, 3]), 1e-3
    ),
    "group_norm": lambda: op.group_normalization(image(), w(4), w(4), 2, 1e-3),
    "mvn": lambda: op.mvn(image(), ints(2, 3), True, 1e-3, "inside_sqrt"),
    "mvn_outside": lambda: op.mvn(image(), ints(1, 2, 3), True, 1e-1, "outside_sqrt"),
    "mvn_mean": lambda: op.mvn(image(), ints(3), False, 1e-3, "inside_sqrt"),
    "mvn_in_set_1": lambda: opset2.mvn(image(), False, True, 1e-3),
    "mvn_across_channels": lambda: opset2.mvn(image(), True, False, 1e-3),
    "normalize_l2": lambda: op.normalize_l2(image(), ints(1), 1e-2, "add"),
    "normalize_l2_max": lambda: op.normalize_l2(image(), ints(1, 2), 4.0, "max"),
    "lrn": lambda: op.lrn(image(), ints(1), 0.2, 0.7, 1.0, 3),
    "grn": lambda: op.grn(image(), 0.3),
    "max_pool": pooled("max_pool", strides=[2, 1], dilations=[1, 2], pads_begin=[1, 0], pads_end=[0, 1]),
    "max_pool_ceil": pooled(
        "max_pool",
        strides=[2, 2],
        dilations=[1, 1],
        pads_begin=[0, 0],
        pads_end=[0, 0],
        rounding_type="ceil",
        axis=2,
    ),
    "max_pool_same": pooled(
        "max_pool",
        strides=[2, 2],
        dilations=[1, 1],
        pads_begin=[0, 0],
        pads_end=[0, 0],
        auto_pad="same_upper",
    ),
    "max_pool_in_set_1": lambda: opset1.max_pool(image(), [2, 1], [1, 0], [0, 1], [3, 2]),
    "avg_pool": pooled("avg_pool", strides=[2, 1], pads_begin=[1, 0], pads_end=[1, 1], exclude_pad=True),
    "avg_pool_counts": pooled(
        "avg_pool", strides=[2, 1], pads_begin=[1, 0], pads_end=[1, 1], exclude_pad=False
    ),
    "avg_pool_ceil": pooled(
        "avg_pool",
        strides=[2, 2],
        pads_begin=[0, 0],
        pads_end=[0, 0],
        exclude_pad=False,
        rounding_type="ceil",
    ),
    "adaptive_avg_pool": lambda: op.adaptive_avg_pool(image(), ints(3, 4)),
    "nearest": resized("nearest", (14, 5), "asymmetric", nearest_mode="floor"),
    "nearest_ceil": resized("nearest", (10, 13), "half_pixel", nearest_mode="ceil"),
    "nearest_simple": resized("nearest", (3, 13), "asymmetric", nearest_mode="simple"),
    "linear": resized("linear_onnx", (14, 5)),
    "linear_corners": resized("linear_onnx", (10, 4), "align_corners"),
    "linear_pytorch": resized("linear_onnx", (1, 12), "pytorch_half_pixel"),
    "linear_pillow": resized("bilinear_pillow", (3, 14)),
    "cubic_pillow": resized("bicubic_pillow", (4, 5)),
    "cubic": resized("cubic", (10, 12), cube_coeff=-0.6),
    "resized_by_scales": resized_by_scales,
    "resized_in_set_4": resized_in_set_4,
    "resized_in_set_1": resized_in_set_1("linear", True),
    "nearest_in_set_1": resized_in_set_1("nearest", False),
    "grid_sample": lambda: op.grid_sample(
        image(),
        op.multiply(x(1, 4, 5, 2), c(0.7)),
        {"align_corners": True, "mode": "bilinear", "padding_mode": "border"},
    ),
    "reshape": lambda: op.reshape(rows(), ints(0, 2, -1), True),
    "squeeze": lambda: op.squeeze(x(1, 3, 1, 4), ints(-2)),
    "squeeze_what_is_one": lambda: op.squeeze(x(1, 3, 1, 4), ints(1, 2), True),
    "unsqueeze": lambda: op.unsqueeze(rows(), ints(0, -1)),
    "shape_of": lambda: op.multiply(rows(), op.convert(op.reduce_prod(op.shape_of(more()), ints(0)), "f32")),
    "transpose": lambda: op.transpose(rows(), ints(2, 0, 1)),
    "transpose_reversed": lambda: op.transpose(rows(), c([], np.int64)),
    "split": lambda: list(op.split(x(2, 6), c(1, np.int64), 3).outputs()),
    "variadic_split": lambda: list(op.variadic_split(x(2, 7), c(-1, np.int64), ints(2, -1, 1)).outputs()),
    "strided_slice": lambda: op.strided_slice(
        x(4, 5, 6), ints(1, 0, 5), ints(0, -1, 0), ints(2, 1, -2), [0, 1, 0], [1, 0, 0]
    ),
    "strided_slice_new_axis": lambda: op.strided_slice(
        *(x(4, 5, 6), ints(0, 1, 2), ints(0, 2, 9), ints(1, 1, 1)), *([0, 0, 0], [0, 0, 0], [1, 0, 0])
    ),
    "strided_slice_shrunk": lambda: op.strided_slice(
        *(x(4, 5, 6), ints(1, 2), ints(0, 3), ints(1, 1)), *([0, 0], [0, 0], [0, 0], [1, 0], [0, 0])
    ),
    "slice": lambda: op.slice(x(4, 5, 6), ints(1, -1), ints(4, 0), ints(2, -2), ints(0, 2)),
    "pad_constant": lambda: op.pad(rows(), ints(0, 1, -1), ints(1, -1, 2), "constant", c(0.5)),
    "pad_edge": lambda: op.pad(rows(), ints(0, 1, 2), ints(1, 0, 1), "edge"),
    "pad_reflect": lambda: op.pad(rows(), ints(0, 1, 2), ints(1, 0, 1), "reflect"),
    "pad_symmetric": lambda: op.pad(rows(), ints(0, 1, 2), ints(1, 0, 1), "symmetric"),
    "tile": lambda: op.tile(x(2, 3), ints(2, 1, 3)),
    "broadcast": lambda: op.broadcast(x(3, 1), ints(2, 3, 4)),
    "broadcast_both": lambda: op.broadcast(x(3, 1), ints(2, 1, 4), None, "BIDIRECTIONAL"),
    "broadcast_explicit": lambda: op.broadcast(x(3), ints(2, 3, 4), ints(1), "EXPLICIT"),
    "depth_to_space_blocks": lambda: op.depth_to_space(x(1, 8, 3, 2), "blocks_first", 2),
    "depth_to_space_depth": lambda: op.depth_to_space(x(1, 8, 3, 2), "depth_first", 2),
    "space_to_depth_blocks": lambda: op.space_to_depth(x(1, 2, 4, 6), "blocks_first", 2),
    "space_to_depth_depth": lambda: op.space_to_depth(x(1, 2, 4, 6), "depth_first", 2),
    "shuffle_channels": lambda: op.shuffle_channels(x(1, 6, 2, 2), 1, 3),
    "reverse_sequence": lambda: op.reverse_sequence(x(2, 5, 3), ints(3, 5), 0, 1),
    "roll": lambda: op.roll(x(4, 5), ints(1, -2), ints(0, 1)),
    "gather": lambda: op.gather(rows(), ints(2, 0, -1), c(1, np.int64)),
    "gather_batches": lambda: op.gather(x(2, 5), c([[1, 3], [0, 4]], np.int32), c(1, np.int64), 1),
    "gather_elements": lambda: op.gather_elements(x(2, 3), c([[1, 0, 1], [0, 0, 1]], np.int32), 0),
    "gather_nd": lambda: op.gather_nd(rows(), c([[1, 2], [0, 1]], np.int32)),
    "scatter_update": lambda: op.scatter_update(x(3, 5), c([4, 1], np.int32), x(3, 2), c(1, np.int64)),
    "scatter_elements": lambda: op.scatter_elements_update(
        x(3, 4), c([[1, 2], [0, 0]], np.int32), x(2, 2), c(0, np.int64), "sum"
    ),
    "scatter_nd": lambda: op.scatter_nd_update(x(4, 3), c([[2], [0]], np.int32), x(2, 3)),
    "one_hot": lambda: op.one_hot(x(2, 3, kind=np.int32), c(4, np.int64), c(2.0), c(-1.0), 1),
    "top_k": lambda: list(op.topk(x(2, 7), c(3, np.int64), 1, "max", "value").outputs()),
    "top_k_smallest": lambda: list(op.topk(x(2, 7), c(2, np.int64), 1, "min", "value").outputs()),
    "cum_sum": lambda: op.cumsum(rows(), c(1, np.int64), True, True),
    "range": lambda: op.add(x(5), op.range(c(1, np.int64), c(10, np.int64), c(2, np.int64), "f32")),
    **{
        kind: one(kind, rows, lambda: ints(0, -1), keep_dims=True)
        for kind in (
            "reduce_sum",
            "reduce_mean",
            "reduce_max",
            "reduce_min",
            "reduce_prod",
            "reduce_l1",
            "reduce_l2",
        )
    },
    "reduce_logical_and": lambda: op.reduce_logical_and(flags(), ints(2), False),
    "reduce_logical_or": lambda: op.reduce_logical_or(flags(), ints(1), True),
    "lstm": sequence("lstm_sequence", 4, 2, 4, 1),
    "lstm_reverse": sequence("lstm_sequence", 4, 2, 4, 1, direction="reverse"),
    "lstm_bidirectional": sequence("lstm_sequence", 4, 2, 4, 2),
    "gru": sequence("gru_sequence", 3, 1, 3, 1),
    "gru_bidirectional": sequence("gru_sequence", 3, 1, 4, 2, linear_before_reset=True),
    "rnn": sequence("rnn_sequence", 1, 1, 1, 1),
    "rnn_relu": sequence("rnn_sequence", 1, 1, 1, 1, activations=["relu"]),
    "gru_of_all_steps": lambda: list(
        op.gru_sequence(
            *(x(2, 5, 3), x(2, 1, 4), c([5, 5], np.int32)),
            *(w(1, 12, 3), w(1, 12, 4), w(1, 12), 4, "forward"),
        ).outputs()
    ),
    "lstm_cell": cell("lstm_cell", 4, 2, 4),
    "gru_cell": cell("gru_cell", 3, 1, 4, linear_before_reset=True),
    "gru_cell_before": cell("gru_cell", 3, 1, 3),
    "rnn_cell": lambda: op.rnn_cell(x(2, 3), x(2, 4), w(4, 3), w(4, 4), w(4), 4, ["tanh"], [], [], 0.5),
    "fake_quantize": fake_quantized(256, -2.56, 2.54),
    "fake_quantize_16": fake_quantized(16, -1.0, 2.0, (-2.0, 4.0)),
    "fake_quantize_channels": fake_quantized(
        255, np.full((1, 4, 1, 1), -1.0), [[[[1.0]], [[2.0]], [[3.0]], [[0.5]]]]
    ),
    "branch": branch,
    "iterations": iterations(False),
    "iterations_back": iterations(True),
    "loop": loop,
    "nibbles": nibbles,
    "signed_nibbles": signed_nibbles,
}


def integers_of_halves() -> Node:
    return op.convert(op.add(x(2, 7, kind=np.int32), c(np.arange(-3, 4), np.int32)), "f32")
