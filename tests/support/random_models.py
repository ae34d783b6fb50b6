"""Random ONNX models of one operator: attributes, shapes and optional inputs in all combinations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import ModelProto, helper

from edgekit.core.types import Array

Inputs = dict[str, Array]


@dataclass(frozen=True)
class RandomModel:
    """`inputs` are in the order of the operator; ONNX Runtime computes what is right."""

    proto: ModelProto
    inputs: Inputs
    what: str


class Dice:
    """Random choices, the same for the same seed."""

    def __init__(self, *seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def roll(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def rolls(self, n: int, low: int, high: int) -> list[int]:
        return [self.roll(low, high) for _ in range(n)]

    def coin(self) -> bool:
        return bool(self.roll(0, 1))

    def pick(self, *options: Any) -> Any:
        return options[self.roll(0, len(options) - 1)]

    def normal(self, *shape: int) -> Array:
        return np.asarray(self.rng.standard_normal(shape), np.float32)


def of(
    op: str,
    inputs: Mapping[str, Array],
    attributes: Mapping[str, Any],
    outputs: int = 1,
    opset: int = 17,
    order: str = "",
) -> RandomModel:
    """A model of one node; `order` names all inputs where some in between are left out."""
    names = order.split() or list(inputs)
    while names[-1] not in inputs:
        names.pop()
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, [n if n in inputs else "" for n in names], results, **attributes)
    values = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for n, x in inputs.items()
    ]
    graph = helper.make_graph(
        [node], op.lower(), values, [helper.make_empty_tensor_value_info(r) for r in results]
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    shapes = {n: f"{x.dtype}{list(x.shape)}" for n, x in inputs.items()}
    return RandomModel(proto, dict(inputs), f"{op} {dict(attributes)} of {shapes}, opset {opset}")


def _padding(dice: Dice, kernel: list[int], most: list[int]) -> dict[str, Any]:
    """Pads, or the rule that makes them, which knows no dilations."""
    if dice.roll(0, 2):
        return {"pads": [dice.roll(0, m) for m in most * 2], "dilations": dice.rolls(len(kernel), 1, 2)}
    return {"auto_pad": dice.pick("SAME_UPPER", "SAME_LOWER", "VALID")}


def conv(dice: Dice) -> RandomModel:
    groups, kernel = dice.roll(1, 2), dice.rolls(dice.roll(1, 3), 1, 3)
    channels, outputs = groups * dice.roll(1, 3), groups * dice.roll(1, 20)
    x = dice.normal(dice.roll(1, 2), channels, *dice.rolls(len(kernel), 7, 9))
    inputs = {"x": x, "w": dice.normal(outputs, channels // groups, *kernel), "b": dice.normal(outputs)}
    if dice.coin():
        inputs.pop("b")
    strides = dice.rolls(len(kernel), 1, 3)
    return of(
        "Conv", inputs, {"group": groups, "strides": strides} | _padding(dice, kernel, [2] * len(kernel))
    )


def conv_transpose(dice: Dice) -> RandomModel:
    groups, kernel = dice.roll(1, 2), dice.rolls(dice.roll(1, 2), 1, 4)
    n, channels, outputs = len(kernel), groups * dice.roll(1, 3), dice.roll(1, 20)
    strides, dilations = dice.rolls(n, 1, 3), dice.rolls(n, 1, 2)
    x = dice.normal(dice.roll(1, 2), channels, *dice.rolls(n, 3, 6))
    inputs = {"x": x, "w": dice.normal(channels, outputs, *kernel), "b": dice.normal(groups * outputs)}
    if dice.coin():
        inputs.pop("b")
    attributes: dict[str, Any] = {"group": groups, "strides": strides, "dilations": dilations}
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    kind = dice.pick("pads", "rule", "shape")
    if kind == "pads":
        attributes["pads"] = dice.rolls(2 * n, 0, 1)
        attributes["output_padding"] = [
            dice.roll(0, max(s, d) - 1) for s, d in zip(strides, dilations, strict=True)
        ]
    elif kind == "shape":
        full = [s * (d - 1) + r for s, d, r in zip(strides, x.shape[2:], reach, strict=True)]
        attributes["output_shape"] = [max(f - dice.roll(0, 2), 1) for f in full]
        attributes["auto_pad"] = dice.pick("NOTSET", "SAME_UPPER", "SAME_LOWER")
    else:
        attributes["auto_pad"] = dice.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    return of("ConvTranspose", inputs, attributes)


def pool(dice: Dice) -> RandomModel:
    op = dice.pick("MaxPool", "AveragePool", "LpPool")
    strides = dice.rolls(dice.roll(1, 3), 1, 3)
    kernel = [dice.roll(s, 4) for s in strides]
    attributes = {"kernel_shape": kernel, "strides": strides} | _padding(
        dice, kernel, [k - 1 for k in kernel]
    )
    if "pads" in attributes:
        attributes["ceil_mode"] = dice.roll(0, 1)
    outputs = 1
    if op == "AveragePool":
        attributes["count_include_pad"] = dice.roll(0, 1)
    elif op == "LpPool":
        attributes["p"] = dice.roll(1, 3)
    elif dice.coin():
        outputs = 2
        attributes["storage_order"] = dice.roll(0, 1)
    size = dice.rolls(len(kernel), 7, 9)
    if not attributes.get("auto_pad", "").startswith("SAME") and not dice.roll(0, 2):
        # Up to a window that reaches so far beyond the end that no result is left.
        attributes["dilations"] = dilations = dice.rolls(len(kernel), 1, 4)
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
        size = [max(n, r - s) for n, r, s in zip(size, reach, strides, strict=True)]
    x = dice.normal(dice.roll(1, 2), dice.roll(1, 20), *size)
    return of(op, {"x": x}, attributes, outputs, opset=22 if op == "LpPool" else 19)


def roi_align(dice: Dice) -> RandomModel:
    n, boxes = dice.roll(1, 2), dice.roll(1, 4)
    corner = dice.rng.uniform(-2, 6, (boxes, 2))
    sides = np.concatenate([corner, corner + dice.rng.uniform(0, 9, (boxes, 2))], axis=1)
    x = dice.normal(n, dice.roll(1, 20), *dice.rolls(2, 3, 9))
    attributes = {
        "mode": dice.pick("avg", "max"),
        "output_height": dice.roll(1, 3),
        "output_width": dice.roll(1, 3),
        "sampling_ratio": dice.roll(0, 3),
        "spatial_scale": dice.pick(1.0, 0.5),
        "coordinate_transformation_mode": dice.pick("half_pixel", "output_half_pixel"),
    }
    inputs = {"x": x, "rois": sides.astype(np.float32), "images": dice.rng.integers(0, n, boxes)}
    return of("RoiAlign", inputs, attributes)


def max_roi_pool(dice: Dice) -> RandomModel:
    n, boxes = dice.roll(1, 2), dice.roll(1, 4)
    corner = dice.rng.uniform(-4, 9, (boxes, 2))
    sides = np.concatenate([corner, corner + dice.rng.uniform(-2, 12, (boxes, 2))], axis=1)
    sides = np.round(2 * sides) / 2 if dice.coin() else sides  # halves are rounded
    rois = np.concatenate([dice.rng.integers(0, n, (boxes, 1)), sides], axis=1)
    x = dice.normal(n, dice.roll(1, 20), *dice.rolls(2, 3, 9))
    attributes = {"pooled_shape": dice.rolls(2, 1, 7), "spatial_scale": dice.pick(1.0, 0.5, 0.0625)}
    return of("MaxRoiPool", {"x": x, "rois": rois.astype(np.float32)}, attributes)


def normalization(dice: Dice) -> RandomModel:
    op = dice.pick(
        "BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN", "LayerNormalization"
    )
    if op == "LayerNormalization":
        x = dice.normal(*dice.rolls(dice.roll(1, 4), 2, 19))
        axis = dice.roll(0, x.ndim - 1)
        shape = x.shape[axis:] if dice.coin() else x.shape[-1:]
        inputs = {"x": x, "scale": dice.normal(*shape), "bias": dice.normal(*shape)}
        if dice.coin():
            inputs.pop("bias")
        return of(op, inputs, {"axis": axis - x.ndim * dice.roll(0, 1)}, dice.roll(1, 3))
    groups = dice.roll(1, 3)
    channels = groups * dice.roll(1, 3)
    x = dice.normal(2, channels, *dice.rolls(2 if op == "LRN" else dice.roll(1, 3), 2, 4))
    if op == "LRN":
        size = 1 + 2 * dice.roll(0, 3)  # ONNX Runtime knows odd ones
        return of(op, {"x": x}, {"size": size, "alpha": 0.3, "beta": 0.6, "bias": 1.2})
    inputs = {"x": x, "scale": dice.normal(channels), "bias": dice.normal(channels)}
    if op == "BatchNormalization":
        inputs |= {"mean": dice.normal(channels), "var": np.abs(dice.normal(channels))}
    own = {"num_groups": groups} if op == "GroupNormalization" else {}
    return of(op, inputs, {"epsilon": 0.01} | own, opset=21 if own else 17)


def softmax(dice: Dice) -> RandomModel:
    x = 10 * dice.normal(*dice.rolls(dice.roll(1, 4), 1, 19))
    axis = dice.roll(-x.ndim, x.ndim - 1)
    return of(dice.pick("Softmax", "LogSoftmax"), {"x": x}, {"axis": axis}, opset=dice.pick(9, 11, 13))


def reduction(dice: Dice) -> RandomModel:
    kind = dice.pick("Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp")
    dtype = (
        np.float32 if kind in ("L2", "LogSum", "LogSumExp") else dice.pick(np.float32, np.float64, np.int32)
    )
    shape = dice.rolls(
        dice.roll(1, 6), 1, 3 if kind == "Prod" else 5
    )  # few factors: integers must not overflow
    x = dice.normal(*shape).clip(-2, 2)
    x = (np.abs(x) + 0.5 if kind == "LogSum" else x * 2).astype(dtype)
    axes = sorted(int(a) for a in dice.rng.choice(x.ndim, dice.roll(0, x.ndim), replace=False))
    axes = [a - x.ndim * dice.roll(0, 1) for a in axes]
    attributes: dict[str, Any] = {"keepdims": dice.roll(0, 1)}
    if kind == "Sum":
        attributes["noop_with_empty_axes"] = dice.roll(0, 1)
        return of("ReduceSum", {"x": x, "axes": np.array(axes, np.int64)}, attributes)
    return of(f"Reduce{kind}", {"x": x}, attributes | ({"axes": axes} if axes else {}))


def matmul(dice: Dice) -> RandomModel:
    """Vectors, matrices, and many of them, some of which broadcast."""
    batch, inner = dice.rolls(2, 1, 3), dice.roll(1, 20)
    dtype = dice.pick(np.float32, np.float64, np.int32)
    shapes = []
    for last in ([dice.roll(1, 5), inner], [inner, dice.roll(1, 35)]):
        rank = dice.roll(1, 4)
        front = [dice.pick(1, n) for n in batch[4 - rank :]]
        shapes.append([*front, *last] if rank > 1 else [inner])
    a, b = ((3 * dice.normal(*shape)).astype(dtype) for shape in shapes)
    return of("MatMul", {"a": a, "b": b}, {})


def gemm(dice: Dice) -> RandomModel:
    rows, inner, columns = dice.roll(1, 4), dice.roll(1, 20), dice.roll(1, 35)
    left, right = dice.roll(0, 1), dice.roll(0, 1)
    inputs = {
        "a": dice.normal(*((inner, rows) if left else (rows, inner))),
        "b": dice.normal(*((columns, inner) if right else (inner, columns))),
        "c": dice.normal(*dice.pick((columns,), (1, columns), (rows, 1), (rows, columns), (), (1,))),
    }
    if dice.coin():
        inputs.pop("c")
    attributes = {
        "alpha": dice.pick(1.0, 0.5),
        "beta": dice.pick(1.0, 0.3, 0.0),
        "transA": left,
        "transB": right,
    }
    return of("Gemm", inputs, attributes)


_EQUATIONS = (
    *("ij,jk->ik", "ij,kj", "bij,bjk->bik", "...ij,...jk->...ik", "bqhd,bkhd->bhqk", "bijc,bkjc->bick"),
    *("ii->i", "ii->", "iij->j", "ij->", "ijk->kij", "...a->..."),  # one operand
    *("i,j->ij", "i,i,i->i", "ab,ab->", "ab...,b...->a...", "a,b,c->cab", "bhwi,hkd->bhwik"),
    *("abc,cd,de->abe", "ij,jk,kl->il"),  # chains
)


def einsum(dice: Dice) -> RandomModel:
    equation = dice.pick(*_EQUATIONS)
    sizes: dict[str, int] = {}
    dots = dice.rolls(dice.roll(0, 2), 1, 3)
    inputs = {}
    for i, term in enumerate(equation.partition("->")[0].split(",")):
        shape: list[int] = []
        for label in term.replace("...", "."):
            shape += dots if label == "." else [sizes.setdefault(label, dice.roll(1, 5))]
        inputs[f"x{i}"] = dice.normal(*shape)
    return of("Einsum", inputs, {"equation": equation})


# Softplus is left out: a few steps of it leave the range of float.
_WITH_BETA = ("Affine", "ScaledTanh", "HardSigmoid")
_WITH_ALPHA = (*_WITH_BETA, "LeakyRelu", "ThresholdedRelu", "Elu")
_ACTIVATIONS = (*_WITH_ALPHA, "Relu", "Tanh", "Sigmoid", "Softsign")


def recurrent(dice: Dice) -> RandomModel:
    op = dice.pick("RNN", "GRU", "LSTM")
    gates, functions = {"RNN": (1, 1), "GRU": (3, 2), "LSTM": (4, 3)}[op]
    direction = dice.pick("forward", "reverse", "bidirectional")
    count = 1 + (direction == "bidirectional")
    steps, batch, width, size = dice.roll(1, 5), dice.roll(1, 3), dice.roll(1, 5), dice.pick(3, 16, 19)
    inputs = {
        "X": dice.normal(steps, batch, width),
        "W": dice.normal(count, gates * size, width) / 2,
        "R": dice.normal(count, gates * size, size) / 4,
    }
    optional = {
        "B": dice.normal(count, 2 * gates * size),
        "sequence_lens": dice.rng.integers(1, steps + 1, batch).astype(np.int32),
        "initial_h": dice.normal(count, batch, size),
    }
    if op == "LSTM":
        optional |= {"initial_c": dice.normal(count, batch, size), "P": dice.normal(count, 3 * size)}
    order = " ".join([*inputs, *optional])
    inputs |= {name: x for name, x in optional.items() if dice.coin()}
    attributes: dict[str, Any] = {"hidden_size": size, "direction": direction}
    if not dice.roll(0, 2):
        names = [dice.pick(*_ACTIVATIONS) for _ in range(functions * count)]
        alphas = [0.3 + 0.1 * i for i, name in enumerate(names) if name in _WITH_ALPHA]
        betas = [0.4 + 0.1 * i for i, name in enumerate(names) if name in _WITH_BETA]
        attributes["activations"] = names
        attributes |= {"activation_alpha": alphas} if alphas else {}
        attributes |= {"activation_beta": betas} if betas else {}
    if not dice.roll(0, 3):
        attributes["clip"] = 0.5
    if op == "GRU":
        attributes["linear_before_reset"] = dice.roll(0, 1)
    if op == "LSTM" and not dice.roll(0, 3):
        attributes["input_forget"] = 1
    return of(op, inputs, attributes, 3 if op == "LSTM" else 2, 14, order)


# Quotients that float32 rounds, among them those by which ties and lengths fall to either side.
_FACTORS = (0.3, 0.4, 0.5, 0.6, 2 / 3, 0.7, 0.75, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0, 2.3, 2.5, 3.0, 3.7)
_COORDINATES = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")


def resize(dice: Dice) -> RandomModel:
    """By scales or to sizes, of one or two dimensions."""
    mode = dice.pick("nearest", "linear", "cubic")
    x = dice.normal(1, 2, *dice.rolls(2, 3, 13))
    one = dice.coin()
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": dice.pick(*_COORDINATES)}
    if mode == "nearest":
        attributes["nearest_mode"] = dice.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    elif not dice.roll(0, 3):
        attributes["antialias"] = 1
    if mode == "cubic":
        attributes |= {"exclude_outside": dice.roll(0, 1), "cubic_coeff_a": dice.pick(-0.5, -0.75)}
    if dice.coin():
        factors = [1, 1, dice.pick(*_FACTORS), 1 if one else dice.pick(*_FACTORS)]
        given = {"scales": np.asarray(factors, np.float32)}
    else:
        to = [1, 2, dice.roll(1, 20), x.shape[3] if one else dice.roll(1, 20)]
        given = {"sizes": np.asarray(to, np.int64)}
        attributes["keep_aspect_ratio_policy"] = dice.pick("stretch", "stretch", "not_larger", "not_smaller")
        if attributes["keep_aspect_ratio_policy"] != "stretch":
            attributes["axes"], given["sizes"] = [2, 3], given["sizes"][2:]
    if not dice.roll(0, 7):
        attributes |= {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 7.0}
        first, last = (dice.rng.uniform(-0.5, 1.5, len(attributes.get("axes", x.shape))) for _ in range(2))
        if "axes" not in attributes:  # nor does that runtime crop these
            first[:2], last[:2] = 0, 1
        given["roi"] = np.asarray([*first, *last], np.float32)
    return of("Resize", {"x": x, **given}, attributes, opset=19, order="x roi scales sizes")


def old_resize(dice: Dice) -> RandomModel:
    """Upsample, and Resize as it was when positions had one rule only."""
    op, opset = dice.pick(("Upsample", 9), ("Resize", 10))
    x = dice.normal(1, 2, *dice.rolls(2, 3, 13))
    factors = [f for f in _FACTORS if f >= 1 or op == "Resize"]
    scales = np.asarray([1, 1, dice.pick(*factors), dice.pick(*factors)], np.float32)
    return of(op, {"x": x, "scales": scales}, {"mode": dice.pick("nearest", "linear")}, opset=opset)


def non_max_suppression(dice: Dice) -> RandomModel:
    """Boxes on a grid, few different scores: overlaps right at the limit, equal scores, nothing selected."""
    batch, classes, boxes = dice.roll(1, 2), dice.roll(1, 3), dice.roll(1, 40)
    opset, centered = dice.pick((10, 0), (11, 0), (11, 1))
    first, size = (dice.rng.integers(0, high, (batch, boxes, 2)) for high in (6, 5))
    sides = np.concatenate([first, size if centered else first + size], axis=2) / dice.pick(1, 7)
    if not centered and dice.coin():
        sides = sides[..., [2, 1, 0, 3]]
    scores = dice.rng.integers(0, 9, (batch, classes, boxes)) / 8
    inputs = {
        "boxes": sides.astype(np.float32),
        "scores": scores.astype(np.float32),
        "most": np.asarray([dice.pick(0, 1, 5, 2**62, -1)]),
        "limit": np.asarray([dice.pick(0, 0.25, 0.5, 1)], np.float32),
        "least": np.asarray([dice.pick(0, 0.5, 1, np.inf)], np.float32),
    }
    given = dict(list(inputs.items())[: dice.pick(3, 4, 5, 5)])
    return of("NonMaxSuppression", given, {"center_point_box": 1} if centered else {}, opset=opset)


FAMILIES: tuple[Callable[[Dice], RandomModel], ...] = (
    conv,
    conv_transpose,
    pool,
    roi_align,
    max_roi_pool,
    normalization,
    softmax,
    reduction,
    matmul,
    gemm,
    einsum,
    recurrent,
    resize,
    old_resize,
)
SELECTIONS = (
    non_max_suppression,
)  # results have as many rows as there are, which other layers know nothing of
