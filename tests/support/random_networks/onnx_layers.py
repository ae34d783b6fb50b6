"""Layers of random ONNX networks, as exporters write them: convolutions, attention, gates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from onnx import helper
from support.random_models import FAMILIES, Dice
from support.random_networks.onnx_net import OnnxNet

Recipe = Callable[[OnnxNet], Any]
Recipes = tuple[tuple[int, Recipe], ...]


def activation(net: OnnxNet, x: str) -> str:
    op = net.dice.pick(
        "", "", "Relu", "Relu", "LeakyRelu", "Sigmoid", "Tanh", "Elu", "HardSigmoid", "Clip", "Swish"
    )
    if op == "Clip":
        return net.add("Clip", x, net.const(np.float32(0)), net.const(np.float32(net.dice.pick(1.0, 6.0))))
    if op == "Swish":
        return net.add("Mul", x, net.add("Sigmoid", x))
    return net.add(op, x) if op else x


def windows(dice: Dice, sizes: tuple[int, ...], most: int = 4) -> tuple[list[int], dict[str, Any]]:
    """A kernel and the attributes of where it goes."""
    kernel = [dice.roll(1, min(most, n)) for n in sizes]
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": [dice.pick(1, 1, 2, 3) for _ in sizes]}
    if dice.roll(0, 3) == 0:
        # Where steps are longer than windows, ONNX Runtime pads by less than nothing, or refuses to.
        attributes["strides"] = [min(s, k) for s, k in zip(attributes["strides"], kernel, strict=True)]
        return kernel, attributes | {"auto_pad": dice.pick("SAME_UPPER", "SAME_LOWER", "VALID")}
    attributes["pads"] = [dice.roll(0, k - 1) for k in kernel * 2]
    return kernel, attributes


def conv_of(net: OnnxNet, x: str, outputs: int = 0, same: bool = False) -> str:
    dice = net.dice
    channels, sizes = net.shape(x)[1], net.shape(x)[2:]
    groups = dice.pick(1, 1, 1, channels, *(g for g in (2, 3) if channels % g == 0))
    outputs = outputs or groups * dice.roll(1, max(1, 12 // groups))
    if outputs % groups:
        groups = 1
    kernel, attributes = windows(dice, sizes)
    if same:
        kernel = [k | 1 for k in kernel]
        attributes = {"kernel_shape": kernel, "pads": [k // 2 for k in kernel] * 2}
    elif "pads" in attributes:
        attributes["dilations"] = [dice.pick(1, 1, 2, 3) for _ in kernel]
    fan = channels // groups * int(np.prod(kernel))
    w = net.normal(outputs, channels // groups, *kernel, scale=fan**-0.5)
    bias = (net.normal(outputs, scale=0.3),) * dice.coin()
    return net.add("Conv", x, w, *bias, group=groups, **attributes)


def batch_norm(net: OnnxNet, x: str) -> str:
    c = net.shape(x)[1]
    var = net.const(np.abs(net.dice.normal(c)) + np.float32(0.3))
    return net.add("BatchNormalization", x, net.normal(c), net.normal(c), net.normal(c, scale=0.3), var)


def conv_block(net: OnnxNet) -> None:
    y = conv_of(net, net.rank(3, 4, 4, 4, 5))
    if net.dice.coin():
        y = batch_norm(net, y)
    activation(net, y)


def norm_then_conv(net: OnnxNet) -> None:
    x = net.rank(3, 4)
    conv_of(net, activation(net, batch_norm(net, x)))


def residual(net: OnnxNet) -> None:
    x = net.rank(3, 4)
    y = activation(net, conv_of(net, x, same=True))
    y = conv_of(net, y, net.shape(x)[1], same=True)
    if net.dice.coin():
        y = batch_norm(net, y)
    operands = (x, y) if net.dice.coin() else (y, x)
    activation(net, net.add(net.dice.pick("Add", "Add", "Sub", "Mul", "Max", "Sum", "Mean"), *operands))


def gate(net: OnnxNet) -> None:
    """Squeeze and excitation."""
    x = net.rank(4)
    c = net.shape(x)[1]
    y = net.add("GlobalAveragePool", x)
    y = net.add("Relu", conv_of(net, y, net.dice.roll(1, 6)))
    y = net.add(net.dice.pick("Sigmoid", "HardSigmoid"), conv_of(net, y, c))
    net.add("Mul", x, y)


def dense_block(net: OnnxNet) -> None:
    x = net.rank(4, 4, 3)
    ys = [x]
    for _ in range(net.dice.roll(1, 2)):
        ys.append(activation(net, conv_of(net, ys[-1], net.dice.roll(1, 5), same=True)))
    joined = net.add("Concat", *ys, axis=net.dice.pick(1, 1 - len(net.shape(x))))
    if net.dice.coin():
        conv_of(net, activation(net, batch_norm(net, joined)))


def up(net: OnnxNet) -> None:
    x = net.rank(3, 4)
    dice, (_, channels, *sizes) = net.dice, net.shape(x)
    groups = dice.pick(1, 1, channels)
    strides, kernel = dice.rolls(len(sizes), 1, 3), dice.rolls(len(sizes), 1, 4)
    w = net.normal(channels, dice.roll(1, 4), *kernel, scale=channels**-0.5)
    padding: dict[str, Any] = {"pads": [dice.roll(0, (k - 1) // 2) for k in kernel * 2]}
    padding["output_padding"] = [dice.roll(0, s - 1) for s in strides]
    bias = (net.normal(groups * net.shape(w)[1]),) * dice.coin()
    y = net.add("ConvTranspose", x, w, *bias, group=groups, strides=strides, kernel_shape=kernel, **padding)
    activation(net, batch_norm(net, y) if dice.coin() else y)


def pool(net: OnnxNet) -> None:
    x = net.rank(3, 4, 4, 5)
    dice = net.dice
    kernel, attributes = windows(dice, net.shape(x)[2:])
    op = dice.pick("MaxPool", "MaxPool", "AveragePool", "LpPool")
    if op != "LpPool" and "pads" in attributes and net.opset >= 10:
        attributes["ceil_mode"] = dice.roll(0, 1)
    if op == "MaxPool" and dice.coin() and "pads" in attributes:
        fits = [2 * k - 1 <= n for k, n in zip(kernel, net.shape(x)[2:], strict=True)]
        attributes["dilations"] = [dice.roll(1, 1 + fit) for fit in fits]
    if op == "AveragePool":
        attributes["count_include_pad"] = dice.roll(0, 1)
    net.add(op, x, **attributes)


def global_pool(net: OnnxNet) -> None:
    net.add(net.dice.pick("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), net.rank(3, 4, 5))


def norm(net: OnnxNet) -> None:
    dice = net.dice
    op = dice.pick(
        "BatchNormalization", "InstanceNormalization", "LRN", "LpNormalization", "MeanVarianceNormalization"
    )
    x = net.rank(4) if op in ("LRN", "MeanVarianceNormalization") else net.rank(3, 4)
    c = net.shape(x)[1]
    if op == "BatchNormalization":
        batch_norm(net, x)
    elif op == "InstanceNormalization":
        net.add(op, x, net.normal(c), net.normal(c), epsilon=0.05)
    elif op == "LRN":
        net.add(op, x, size=dice.pick(1, 3, 5), alpha=0.2, beta=0.7, bias=1.5)
    elif op == "LpNormalization":
        net.add(op, x, axis=dice.pick(-1, 1), p=dice.roll(1, 2))
    else:
        net.add(op, x, **({"axes": [0, 2, 3]} if dice.coin() else {"axes": [1]}))


def late_norm(net: OnnxNet) -> None:
    """Norms of newer operator sets, or spelled out as exporters did before."""
    dice = net.dice
    if net.opset >= 21 and dice.coin():
        x = net.rank(3, 4)
        c = net.shape(x)[1]
        groups = dice.pick(*(g for g in (1, 2, 3, c) if c % g == 0))
        net.add("GroupNormalization", x, net.normal(c), net.normal(c), num_groups=groups, epsilon=0.05)
        return
    x = net.rank(2, 3, 4)
    n = net.shape(x)[-1]
    if net.opset >= 17 and dice.coin():
        net.add("LayerNormalization", x, net.normal(n), *(net.normal(n),) * dice.coin(), epsilon=0.05)
        return
    reduce = {"axes": [-1], "keepdims": 1} if net.opset < 18 else {"keepdims": 1}
    axes = () if net.opset < 18 else (net.ints([-1]),)
    centered = net.add("Sub", x, net.add("ReduceMean", x, *axes, **reduce))
    squared = (
        net.add("Pow", centered, net.const(np.float32(2)))
        if dice.coin()
        else net.add("Mul", centered, centered)
    )
    var = net.add("ReduceMean", squared, *axes, **reduce)
    deviation = net.add("Sqrt", net.add("Add", var, net.const(np.float32(0.05))))
    y = net.add("Mul", net.add("Div", centered, deviation), net.normal(n))
    net.add("Add", y, net.normal(n))


def linear(net: OnnxNet) -> None:
    x = net.rank(2, 3, 4)
    n, m = net.shape(x)[-1], net.dice.roll(1, 20)
    y = net.add("MatMul", x, net.normal(n, m, scale=n**-0.5))
    if net.dice.coin():
        y = net.add("Add", *net.dice.pick((y, net.normal(m)), (net.normal(m), y)))
    activation(net, y)


def gemm(net: OnnxNet) -> None:
    dice = net.dice
    x = net.rank(2)
    left, right = dice.roll(0, 1) if dice.coin() else 0, dice.roll(0, 1)
    rows, n = net.shape(x)[::-1] if left else net.shape(x)
    m = dice.roll(1, 20)
    w = net.normal(*((m, n) if right else (n, m)), scale=n**-0.5)
    c = (net.normal(*dice.pick((m,), (1, m), (rows, 1), ())),) * dice.coin()
    scales = {"alpha": dice.pick(1.0, 0.5), "beta": dice.pick(1.0, 0.7)}
    activation(net, net.add("Gemm", x, w, *c, transA=left, transB=right, **scales))


def classifier(net: OnnxNet) -> None:
    x = net.rank(3, 4)
    y = net.add("Flatten", x, axis=net.dice.pick(1, 1, 2, -1))
    n, m = net.shape(y)[1], net.dice.roll(2, 9)
    y = net.add("Gemm", y, net.normal(m, n, scale=n**-0.5), net.normal(m), transB=1)
    if net.dice.coin():
        net.add(
            net.dice.pick("Softmax", "LogSoftmax", "Hardmax" if y in net.exact else "Softmax"), y, axis=-1
        )


def attention(net: OnnxNet) -> None:
    """Heads as exporters spell them: products, reshapes, transposes, a scale, a softmax."""
    x = net.rank(3)
    n, t, c = net.shape(x)
    heads, size = net.dice.roll(1, 3), net.dice.roll(1, 4)

    def projected(perm: list[int]) -> str:
        y = net.add("MatMul", x, net.normal(c, heads * size, scale=c**-0.5))
        y = net.add("Add", y, net.normal(heads * size, scale=0.2))
        return net.add("Transpose", net.add("Reshape", y, net.ints([n, t, heads, size])), perm=perm)

    scores = net.add("MatMul", projected([0, 2, 1, 3]), projected([0, 2, 3, 1]))
    scores = net.add("Div" if net.dice.coin() else "Mul", scores, net.const(np.float32(size**0.5)))
    if net.dice.coin():
        mask = np.triu(np.full((t, t), -1e4, np.float32), 1)
        scores = net.add("Where", net.const(mask == 0), scores, net.const(np.float32(-100)))
    y = net.add("MatMul", net.add("Softmax", scores, axis=-1), projected([0, 2, 1, 3]))
    y = net.add("Transpose", y, perm=[0, 2, 1, 3])
    y = net.add("Reshape", y, net.ints([0, 0, heads * size] if net.dice.coin() else [n, -1, heads * size]))
    y = net.add("MatMul", y, net.normal(heads * size, c, scale=(heads * size) ** -0.5))
    net.add("Add", x, y)


def recurrent(net: OnnxNet) -> None:
    """A cell over the first dimension, as torch exports it."""
    dice = net.dice
    x = net.rank(3)
    if dice.coin():
        x = net.add("Transpose", x, perm=[1, 0, 2])
    op = dice.pick("RNN", "GRU", "LSTM")
    gates, outputs = {"RNN": (1, 2), "GRU": (3, 2), "LSTM": (4, 3)}[op]
    direction = dice.pick("forward", "reverse", "bidirectional")
    count, size, width = 1 + (direction == "bidirectional"), dice.roll(1, 6), net.shape(x)[2]
    w = net.normal(count, gates * size, width, scale=width**-0.5)
    r = net.normal(count, gates * size, size, scale=0.5 * size**-0.5)
    b = (net.normal(count, 2 * gates * size, scale=0.3),) * dice.coin()
    more: dict[str, Any] = {"linear_before_reset": dice.roll(0, 1)} if op == "GRU" else {}
    y = net.add_all(op, x, w, r, *b, outputs=outputs, hidden_size=size, direction=direction, **more)[0]
    t, n = net.shape(x)[:2]
    if count == 1 and dice.coin():
        net.add(
            "Squeeze",
            y,
            *((net.ints([1]),) if net.opset >= 13 else ()),
            **({} if net.opset >= 13 else {"axes": [1]}),
        )
    else:
        net.add("Reshape", net.add("Transpose", y, perm=[0, 2, 1, 3]), net.ints([t, n, count * size]))


def to_sequence(net: OnnxNet) -> None:
    """Pixels as a sequence of words, as in vision transformers, or back."""
    dice = net.dice
    if dice.coin():
        x = net.rank(4)
        n, c = net.shape(x)[:2]
        net.add("Transpose", net.add("Reshape", x, net.ints([n, c, -1])), perm=[0, 2, 1])
        return
    x = net.rank(3)
    n, t, c = net.shape(x)
    side = dice.pick(*(k for k in range(1, t + 1) if t % k == 0))
    net.add("Reshape", net.add("Transpose", x, perm=[0, 2, 1]), net.ints([n, c, side, t // side]))


def adapted(net: OnnxNet, x: str, shape: tuple[int, ...]) -> str:
    """The elements of x, repeated or cut, in another shape."""
    wanted = int(np.prod(shape, dtype=int))
    if net.value(x).size != wanted:
        x = net.add("Reshape", x, net.ints([-1]))
        times = -(-wanted // net.value(x).size)
        if times > 1:
            x = net.add("Tile", x, net.ints([times]))
        if net.value(x).size != wanted:
            start = net.dice.roll(0, net.value(x).size - wanted)
            x = net.add("Slice", x, net.ints([start]), net.ints([start + wanted]))
    return net.add("Reshape", x, net.ints(shape)) if net.shape(x) != tuple(shape) else x


def single_operator(net: OnnxNet) -> None:
    """An operator with any attributes, on what a former layer made."""
    model = net.dice.pick(*FAMILIES)(net.dice)
    (node,) = model.proto.graph.node
    operands: dict[str, str] = {"": ""}
    for i, (name, data) in enumerate(model.inputs.items()):
        if i == 0 and data.dtype == np.float32 and "Log" not in node.op_type:
            operands[name] = adapted(net, net.pick(), data.shape)
        else:
            operands[name] = net.const(data)
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    net.add_all(node.op_type, *(operands[n] for n in node.input), outputs=len(node.output), **attributes)


def einsum(net: OnnxNet) -> None:
    x = net.rank(3)
    _, t, c = net.shape(x)
    equation, shape = net.dice.pick(
        ("btc,cd->btd", (c, 3)),
        ("btc,btd->bcd", (net.shape(x)[0], t, 2)),
        ("btc,hcd->bhtd", (2, c, 3)),
        ("btc->bct", ()),
    )
    net.add("Einsum", x, *((net.normal(*shape, scale=c**-0.5),) if shape else ()), equation=equation)


def softmax(net: OnnxNet) -> None:
    x = net.rank(2, 3, 4)
    net.add(net.dice.pick("Softmax", "LogSoftmax"), x, axis=net.dice.roll(-1, len(net.shape(x)) - 1))


RECIPES: tuple[tuple[int, Recipe], ...] = (
    (6, conv_block), (2, norm_then_conv), (4, residual), (2, gate), (2, dense_block), (2, up), (4, pool),
    (1, global_pool), (2, norm), (2, late_norm), (4, linear), (2, gemm), (2, classifier), (2, attention),
    (2, recurrent), (2, to_sequence), (5, single_operator), (1, einsum), (1, softmax),
)  # fmt: skip
