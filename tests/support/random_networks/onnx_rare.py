"""Rare forms in random ONNX networks: odd windows, control flow, scalars, values without elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import GraphProto, TensorProto, helper, numpy_helper
from support.random_models import Dice
from support.random_networks.onnx_layers import Recipes
from support.random_networks.onnx_net import OnnxNet
from support.random_networks.trial import UnfitError


def image(net: OnnxNet) -> str:
    """A line, an image or a volume."""
    return net.rank(*net.dice.pick((3,), (4,), (5,), (3, 4, 5)))


def some_groups(dice: Dice, channels: int) -> int:
    return int(dice.pick(*(g for g in range(1, channels + 1) if channels % g == 0)))


def padded_windows(dice: Dice, sizes: Sequence[int]) -> dict[str, Any]:
    """Windows that fit into the padded image, with gaps, and more padding on one side than on the other."""
    kernel = dice.rolls(len(sizes), 1, 4)
    dilations = [dice.pick(1, 1, 2, 3, 5) for _ in sizes]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    before = [dice.roll(0, r - 1) for r in reach]
    after = [max(dice.roll(0, r - 1), r - b - n) for r, b, n in zip(reach, before, sizes, strict=True)]
    strides = [dice.pick(1, 1, 2, 3, 4) for _ in sizes]
    return {"kernel_shape": kernel, "dilations": dilations, "pads": [*before, *after], "strides": strides}


def convolution(net: OnnxNet) -> None:
    x = image(net)
    channels, *sizes = net.shape(x)[1:]
    groups = some_groups(net.dice, channels)
    where = padded_windows(net.dice, sizes)
    outputs = groups * net.dice.roll(1, max(1, 8 // groups))
    fan = channels // groups * int(np.prod(where["kernel_shape"]))
    w = net.normal(outputs, channels // groups, *where["kernel_shape"], scale=fan**-0.5)
    bias = (net.normal(outputs, scale=0.3),) * net.dice.coin()
    net.add("Conv", x, w, *bias, group=groups, **where)


def transposed(net: OnnxNet) -> None:
    x, dice = image(net), net.dice
    channels, *sizes = net.shape(x)[1:]
    groups = some_groups(dice, channels)
    kernel, strides, dilations = (dice.rolls(len(sizes), 1, most) for most in (4, 3, 3))
    w = net.normal(channels, dice.roll(1, 3), *kernel, scale=channels**-0.5)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    how: dict[str, Any] = {"strides": strides, "dilations": dilations, "kernel_shape": kernel}
    how["output_padding"] = [dice.roll(0, max(s, d) - 1) for s, d in zip(strides, dilations, strict=True)]
    how["pads"] = [dice.roll(0, r - 1) for r in reach * 2]
    bias = (net.normal(groups * net.shape(w)[1]),) * dice.coin()
    net.add("ConvTranspose", x, w, *bias, group=groups, **how)


def pool(net: OnnxNet) -> None:
    x, dice = image(net), net.dice
    where = padded_windows(dice, net.shape(x)[2:])
    op = dice.pick("MaxPool", "MaxPool", "AveragePool", "LpPool")
    if op != "MaxPool" and net.opset < 19:
        del where["dilations"]
        where["pads"] = [min(p, k - 1) for p, k in zip(where["pads"], where["kernel_shape"] * 2, strict=True)]
    if op == "AveragePool":
        where["count_include_pad"] = dice.roll(0, 1)
    if op == "MaxPool" and dice.roll(0, 3) == 0 and x in net.exact:
        _, places = net.add_all(op, x, outputs=2, **where)
        net.add("Cast", places, to=TensorProto.FLOAT)
        return
    net.add(op, x, **where, **({"ceil_mode": dice.roll(0, 1)} if op != "LpPool" else {}))


def resize(net: OnnxNet) -> None:
    """By axes, with antialiasing and policies, and from a region alone."""
    if net.opset < 18:
        raise UnfitError
    dice, x = net.dice, net.rank(3, 4)
    rank = len(net.shape(x))
    axes = sorted(int(a) for a in dice.rng.choice(np.arange(1, rank), dice.roll(1, 2), replace=False))
    mode = dice.pick("nearest", "linear", "cubic")
    how: dict[str, Any] = {"mode": mode, "axes": axes}
    how["coordinate_transformation_mode"] = dice.pick(
        "half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners", "tf_crop_and_resize"
    )
    region = ""
    if how["coordinate_transformation_mode"] == "tf_crop_and_resize":
        ends = np.sort(dice.rng.uniform(-0.2, 1.2, (2, len(axes))), axis=0)
        region = net.const(ends.reshape(-1), np.float32)
        how["extrapolation_value"] = dice.pick(0.0, 1.5)
    elif mode != "nearest":
        how["antialias"] = dice.roll(0, 1)
    if dice.coin():
        how["keep_aspect_ratio_policy"] = dice.pick("stretch", "not_larger", "not_smaller")
        sizes = [max(1, net.shape(x)[a] + dice.roll(-3, 5)) for a in axes]
        net.add("Resize", x, region, "", net.ints(sizes), **how)
    else:
        net.add(
            "Resize", x, region, net.const([dice.pick(0.4, 0.75, 1.6, 2.0) for _ in axes], np.float32), **how
        )


def einsum(net: OnnxNet) -> None:
    """Any letters: kept, summed, in both operands or in one."""
    dice, x = net.dice, net.rank(2, 3, 4)
    letters = "abcdef"[: len(net.shape(x))]
    sizes = dict(zip(letters, net.shape(x), strict=True)) | {"x": 2, "y": 3}
    other = [c for c in letters if dice.coin()] + [c for c in "xy" if dice.coin()]
    other = [other[i] for i in dice.rng.permutation(len(other))]
    kept = [c for c in dict.fromkeys([*letters, *other]) if dice.roll(0, 2)]
    kept = [kept[i] for i in dice.rng.permutation(len(kept))]
    if not other:
        net.add("Einsum", x, equation=f"{letters}->{''.join(kept)}")
        return
    y = net.normal(*(sizes[c] for c in other), scale=0.4)
    net.add("Einsum", *dice.pick((x, y)), equation=f"{letters},{''.join(other)}->{''.join(kept)}")


def scatter(net: OnnxNet) -> None:
    """Rows, or parts of rows, some of them more than once."""
    dice, x = net.dice, net.rank(2, 3)
    shape = net.shape(x)
    depth, count = dice.roll(1, len(shape)), dice.roll(1, 4)
    indices = np.stack([dice.rng.integers(-n, n, count) for n in shape[:depth]], axis=1)
    reduction = dice.pick("none", "add", "mul", *(("max", "min") if net.opset >= 18 else ()))
    if net.opset < 16 or reduction == "none":
        _, first = np.unique(indices % np.array(shape[:depth]), axis=0, return_index=True)
        indices = indices[np.sort(first)]
    how = {"reduction": reduction} if net.opset >= 16 else {}
    net.add("ScatterND", x, net.ints(indices), net.normal(len(indices), *shape[depth:]), **how)


def selected(net: OnnxNet) -> None:
    """Elements where a mask that is known is not zero."""
    x = net.rank(2, 3)
    mask = net.dice.rng.integers(0, 2, net.shape(x)).astype(np.float32)
    mask.flat[0] = 1
    places = net.add("NonZero", net.const(mask))
    net.add("GatherND", x, net.add("Transpose", places, perm=[1, 0]))


def scalars(net: OnnxNet) -> None:
    """Of rank 0, by sums and by indices."""
    dice, x = net.dice, net.rank(1, 2, 3)
    if dice.coin():
        number = net.add(dice.pick("ReduceMax", "ReduceMean", "ReduceMin"), x, keepdims=0)
    else:
        row = net.add("Reshape", x, net.ints([-1]))
        number = net.add("Gather", row, net.const(dice.roll(0, net.value(row).size - 1), np.int64))
    number = net.add(dice.pick("Tanh", "Neg", "Abs", "Sigmoid"), number)
    net.add(dice.pick("Add", "Mul", "Max"), *dice.pick((x, number), (number, x)))
    if dice.coin():
        net.add("Unsqueeze", number, *((net.ints([0, 1]),) if net.opset >= 13 else ()),
                **({} if net.opset >= 13 else {"axes": [0, 1]}))  # fmt: skip


def empty(net: OnnxNet) -> None:
    """A value without elements, which is joined, summed or multiplied away."""
    dice, x = net.dice, net.rank(2, 3)
    shape = net.shape(x)
    axis = len(shape) - 1
    at = dice.roll(0, shape[axis])
    net.may_be_empty = True
    try:
        nothing = net.add("Slice", x, net.ints([at]), net.ints([at]), net.ints([axis]))
        nothing = net.add(dice.pick("Relu", "Tanh", "Identity"), nothing)
        kind = dice.pick("Concat", "MatMul", "ReduceSum")
        if kind == "Concat":
            net.add("Concat", *dice.pick((x, nothing), (nothing, x)), axis=axis)
        elif kind == "MatMul":
            net.add("MatMul", nothing, net.const(np.zeros((0, dice.roll(1, 4))), np.float32))
        elif net.opset >= 13:
            net.add("Add", x, net.add("ReduceSum", nothing, net.ints([axis]), keepdims=1))
        else:
            raise UnfitError
    finally:
        net.may_be_empty = False


def shared(net: OnnxNet) -> None:
    """The same value in both operands."""
    x = net.rank(2, 3, 4)
    kind = net.dice.pick("Add", "Mul", "Sub", "Max", "Concat", "MatMul")
    if kind == "Concat":
        net.add(kind, x, x, axis=net.dice.roll(0, len(net.shape(x)) - 1))
    elif kind == "MatMul":
        *rest, last, other = range(len(net.shape(x)))
        net.add(kind, x, net.add("Transpose", x, perm=[*rest, other, last]))
    else:
        net.add(kind, x, x)


def dead(net: OnnxNet) -> None:
    """An unused input, or one whose only consumer has an unused output."""
    x = net.input(net.dice.normal(*net.dice.rolls(2, 1, 4)))
    if net.dice.coin():
        net.add("Relu", x)


def _body(
    nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[str], held: dict[str, Any]
) -> GraphProto:
    ends = [helper.make_empty_tensor_value_info(name) for name in outputs]
    return helper.make_graph(
        nodes, "body", inputs, ends, [numpy_helper.from_array(v, n) for n, v in held.items()]
    )


def branch(net: OnnxNet) -> None:
    """If: by a condition that is known, or by one that is computed."""
    dice, x = net.dice, net.rank(2, 3, 4)
    if dice.coin():
        condition = net.const(dice.coin(), np.bool_)
    else:
        number = net.add("ReduceMax", net.pick(exact=True), keepdims=0)
        condition = net.add("Greater", number, net.const(np.float32(dice.pick(-9, 1, 9))))
    sides = [
        _body([helper.make_node(op, [x], ["y"])], [], ["y"], {}) for op in (dice.pick("Relu", "Neg"), "Tanh")
    ]
    net.add_all("If", condition, reads=(x,), then_branch=sides[0], else_branch=sides[1])


def loop(net: OnnxNet) -> None:
    """A few turns over a value that is carried, and each of them kept."""
    dice, x = net.dice, net.rank(2, 3)
    count, to = dice.roll(1, 4), net.shape(x)
    float_, int64, bool_ = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
    given = [
        helper.make_tensor_value_info("turn", int64, []),
        helper.make_tensor_value_info("before", bool_, []),
        helper.make_tensor_value_info("state", float_, to),
    ]
    nodes = [
        helper.make_node("Identity", ["before"], ["after"]),
        helper.make_node("Mul", ["state", "half"], ["less"]),
        helper.make_node(dice.pick("Add", "Sub", "Max"), ["less", x], ["next"]),
        helper.make_node("Tanh", ["next"], ["kept"]),
    ]
    body = _body(nodes, given, ["after", "next", "kept"], {"half": np.float32(0.5)})
    start = net.normal(*to)
    net.add_all("Loop", net.ints(count), net.const(True, np.bool_), start, outputs=2, reads=(x,), body=body)


def scan(net: OnnxNet) -> None:
    """A recurrence over the first dimension."""
    dice, x = net.dice, net.rank(2, 3)
    _, *row = net.shape(x)
    given = [helper.make_tensor_value_info(name, TensorProto.FLOAT, row) for name in ("state", "element")]
    nodes = [
        helper.make_node("Mul", ["state", "half"], ["less"]),
        helper.make_node(dice.pick("Add", "Max", "Min"), ["less", "element"], ["next"]),
        helper.make_node("Identity", ["next"], ["kept"]),
    ]
    body = _body(nodes, given, ["next", "kept"], {"half": np.float32(0.5)})
    how: dict[str, Any] = {
        "scan_input_directions": [dice.roll(0, 1)],
        "scan_output_directions": [dice.roll(0, 1)],
    }
    net.add_all("Scan", net.normal(*row), x, outputs=2, num_scan_inputs=1, body=body, **how)


def recurrent(net: OnnxNet) -> None:
    """Cells with all that they may have: initial states, lengths, peepholes, other functions and limits."""
    dice, x = net.dice, net.rank(3)
    op = dice.pick("RNN", "GRU", "LSTM")
    gates, functions, outputs = {"RNN": (1, 1, 2), "GRU": (3, 2, 2), "LSTM": (4, 3, 3)}[op]
    direction = dice.pick("forward", "reverse", "bidirectional")
    count, size = 1 + (direction == "bidirectional"), dice.roll(1, 5)
    steps, batch, width = net.shape(x)
    operands = [
        net.normal(count, gates * size, width, scale=width**-0.5),
        net.normal(count, gates * size, size, scale=0.5 * size**-0.5),
        net.normal(count, 2 * gates * size, scale=0.3) if dice.coin() else "",
        net.const(dice.rng.integers(1, steps + 1, batch), np.int32) if dice.roll(0, 2) == 0 else "",
        net.normal(count, batch, size, scale=0.5) if dice.coin() else "",
    ]
    how: dict[str, Any] = {"hidden_size": size, "direction": direction}
    if op == "LSTM":
        operands.append(net.normal(count, batch, size, scale=0.5) if dice.coin() else "")
        operands.append(net.normal(count, 3 * size, scale=0.3) if dice.coin() else "")
    if op == "GRU":
        how["linear_before_reset"] = dice.roll(0, 1)
    if dice.coin():
        names = dice.pick(
            ["Sigmoid", "Tanh", "Relu"], ["Sigmoid", "Softsign", "Tanh"], ["HardSigmoid", "Tanh", "Tanh"]
        )
        how["activations"] = (names if op != "RNN" else [dice.pick("Relu", "Sigmoid", "Tanh")])[
            :functions
        ] * count
    while not operands[-1]:
        operands.pop()
    net.add_all(op, x, *operands, outputs=outputs, **how)


RECIPES: Recipes = (
    (6, convolution), (5, transposed), (5, pool), (4, resize), (4, einsum), (3, scatter), (2, selected),
    (3, scalars), (3, empty), (3, shared), (1, dead), (2, branch), (2, loop), (2, scan), (4, recurrent),
)  # fmt: skip
