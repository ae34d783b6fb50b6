"""Movements, reductions and indices of random ONNX networks, in the forms of each operator set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto
from support.random_networks.onnx_net import OnnxNet
from support.random_networks.trial import UnfitError

Recipe = Callable[[OnnxNet], Any]


def with_axes(net: OnnxNet, op: str, x: str, axes: Sequence[int], since: int = 13, **attributes: Any) -> str:
    """Axes were an attribute before they became an operand."""
    if net.opset < since:
        return net.add(op, x, axes=list(axes), **attributes)
    return net.add(op, x, net.ints(axes), **attributes)


def signed(net: OnnxNet, axis: int, rank: int) -> int:
    return axis - rank * net.dice.roll(0, 1)


def transpose(net: OnnxNet) -> None:
    x = net.rank(2, 3, 4, 4, 5)
    rank = len(net.shape(x))
    perm = net.dice.pick([0, 2, 3, 1], [0, 3, 1, 2]) if rank == 4 and net.dice.coin() else None
    net.add("Transpose", x, perm=perm or [int(i) for i in net.dice.rng.permutation(rank)])


def reshape(net: OnnxNet) -> None:
    x = net.rank(1, 2, 3, 4, 5)
    rest = net.value(x).size
    dims = []
    for _ in range(net.dice.roll(0, 3)):
        divisors = [d for d in range(1, min(rest, 12) + 1) if rest % d == 0]
        dims.append(net.dice.pick(*divisors))
        rest //= dims[-1]
    dims.append(rest)
    if net.dice.coin():
        dims[net.dice.roll(0, len(dims) - 1)] = -1
    net.add("Reshape", x, net.ints(dims))


def reshape_by_its_shape(net: OnnxNet) -> None:
    """As old exporters of torch spell x.view(x.size(0), -1)."""
    x = net.rank(2, 3, 4)
    shape = net.add("Shape", x)
    first = net.add("Gather", shape, net.ints(0), axis=0)
    first = with_axes(net, "Unsqueeze", first, [0])
    target = net.add("Concat", first, net.ints([-1]), axis=0)
    net.add("Reshape", x, target)


def flatten(net: OnnxNet) -> None:
    x = net.rank(2, 3, 4)
    net.add("Flatten", x, axis=net.dice.roll(0, len(net.shape(x)) - 1))


def squeeze(net: OnnxNet) -> None:
    x = net.rank(1, 2, 3, 4)
    rank = len(net.shape(x))
    axis = net.dice.roll(0, rank)
    y = with_axes(net, "Unsqueeze", x, [axis])
    if net.dice.coin():
        y = net.add(net.dice.pick("Relu", "Neg", "Sigmoid"), y)
        ones = [i for i, n in enumerate(net.shape(y)) if n == 1]
        with_axes(net, "Squeeze", y, [signed(net, net.dice.pick(*ones), rank + 1)])


def slice_(net: OnnxNet) -> None:
    x = net.rank(1, 2, 3, 4)
    shape = net.shape(x)
    axes = [i for i in range(len(shape)) if net.dice.coin()] or [0]
    starts, ends, steps = [], [], []
    for axis in axes:
        n = shape[axis]
        step = net.dice.pick(1, 1, 2, -1, -2, 3)
        a = net.dice.roll(0, n - 1)
        b = net.dice.roll(a + 1, n) if step > 0 else net.dice.roll(0, a) - 1
        starts.append(a - n * net.dice.roll(0, 1))
        ends.append(-n - 9 if b == -1 else net.dice.pick(b, 2**31 - 1) if b == n else b)
        steps.append(step)
    given = [
        net.ints(starts),
        net.ints(ends),
        net.ints([signed(net, a, len(shape)) for a in axes]),
        net.ints(steps),
    ]
    net.add("Slice", x, *(given[:3] if all(s == 1 for s in steps) else given))


def split(net: OnnxNet) -> None:
    x = net.rank(2, 3, 4)
    shape = net.shape(x)
    axis = net.dice.roll(0, len(shape) - 1)
    n = shape[axis]
    if n < 2:
        raise UnfitError
    first = net.dice.roll(1, n - 1)
    sizes = [first, n - first]
    how: dict[str, Any] = {"axis": signed(net, axis, len(shape)), "outputs": 2}
    if net.opset >= 18 and net.dice.coin():
        parts = net.add_all("Split", x, num_outputs=2, **how)
    elif net.opset >= 13:
        parts = net.add_all("Split", x, net.ints(sizes), **how)
    else:
        parts = net.add_all("Split", x, split=sizes, **how)
    if net.dice.coin():
        net.add("Concat", *parts[::-1], axis=axis)
    elif net.shape(parts[0]) == net.shape(parts[1]):  # a gated linear unit
        net.add("Mul", parts[0], net.add("Sigmoid", parts[1]))


def concat(net: OnnxNet) -> None:
    x = net.rank(1, 2, 3, 4)
    shape = net.shape(x)
    axis = net.dice.roll(0, len(shape) - 1)

    def fits(v: Any) -> bool:
        return v.ndim == len(shape) and all(
            a == b for i, (a, b) in enumerate(zip(v.shape, shape, strict=True)) if i != axis
        )

    parts = [x, *(net.pick(fits) for _ in range(net.dice.roll(1, 2)))]
    if net.dice.roll(0, 3) == 0:
        parts.append(net.normal(*(2 if i == axis else n for i, n in enumerate(shape))))
    net.dice.rng.shuffle(parts)
    net.add("Concat", *(str(p) for p in parts), axis=signed(net, axis, len(shape)))


def pad(net: OnnxNet) -> None:
    x = net.rank(2, 3, 4)
    shape = net.shape(x)
    mode = net.dice.pick("constant", "constant", "reflect", "edge", *(["wrap"] if net.opset >= 19 else []))
    low = -1 if mode == "constant" and min(shape) > 2 else 0
    most = [min(n - 1, 2) for n in shape]
    pads = [net.dice.roll(low, m) for m in most * 2]
    value = (net.const(np.float32(net.dice.pick(0.0, 1.5))),) * (mode == "constant")
    y = net.add("Pad", x, net.ints(pads), *value, mode=mode)
    if len(shape) == 4 and net.dice.coin():  # as exporters put it before a convolution
        net.add("Conv", y, net.normal(3, shape[1], *(min(2, n) for n in net.shape(y)[2:])))


def tile(net: OnnxNet) -> None:
    x = net.rank(1, 2, 3, 4)
    net.add("Tile", x, net.ints([net.dice.pick(1, 1, 2, 3) for _ in net.shape(x)]))


def expand(net: OnnxNet) -> None:
    x = net.rank(1, 2, 3)
    shape = [net.dice.roll(1, 3) if n == 1 else n for n in net.shape(x)]
    front = [net.dice.roll(1, 3)] * net.dice.roll(0, 1)
    net.add("Expand", x, net.ints([*front, *shape]))


def gather(net: OnnxNet) -> None:
    x = net.rank(1, 2, 3, 4)
    shape = net.shape(x)
    axis = net.dice.roll(0, len(shape) - 1)
    n = shape[axis]
    indices = net.dice.rng.integers(-n, n, net.dice.pick((), (2,), (1,), (2, 2), (n,)))
    net.add("Gather", x, net.ints(indices), axis=signed(net, axis, len(shape)))


def gather_elements(net: OnnxNet) -> None:
    x = net.rank(2, 3)
    shape = net.shape(x)
    axis = net.dice.roll(0, len(shape) - 1)
    counts = [net.dice.roll(1, n) for n in shape]
    indices = net.dice.rng.integers(-shape[axis], shape[axis], counts)
    net.add("GatherElements", x, net.ints(indices), axis=signed(net, axis, len(shape)))


def gather_nd(net: OnnxNet) -> None:
    x = net.rank(2, 3, 4)
    shape = net.shape(x)
    depth = net.dice.roll(1, len(shape))
    points = np.stack([net.dice.rng.integers(-n, n, 3) for n in shape[:depth]], -1)
    net.add("GatherND", x, net.ints(points))


def scatter(net: OnnxNet) -> None:
    x = net.rank(2, 3)
    shape = net.shape(x)
    axis = net.dice.roll(0, len(shape) - 1)
    counts = [net.dice.roll(1, n) for n in shape]
    if net.dice.coin():
        counts[axis] = 1
        indices = net.dice.rng.integers(0, shape[axis], counts)
        how = {"reduction": net.dice.pick("none", "add", "mul")} if net.opset >= 16 else {}
        net.add("ScatterElements", x, net.ints(indices), net.normal(*counts), axis=axis, **how)
        return
    rows = net.dice.rng.permutation(shape[0])[: net.dice.roll(1, shape[0])]
    net.add("ScatterND", x, net.ints(rows[:, None]), net.normal(len(rows), *shape[1:]))


def depth_and_space(net: OnnxNet) -> None:
    x = net.rank(4)
    n = net.dice.roll(2, 3)
    if net.dice.coin():
        net.add("DepthToSpace", x, blocksize=n, mode=net.dice.pick("DCR", "CRD"))
    else:
        net.add("SpaceToDepth", x, blocksize=n)


def shuffle(net: OnnxNet) -> None:
    """Channels of groups change places."""
    x = net.rank(4)
    n, c, h, w = net.shape(x)
    g = net.dice.pick(*(g for g in range(1, c + 1) if c % g == 0))
    y = net.add("Transpose", net.add("Reshape", x, net.ints([n, g, c // g, h, w])), perm=[0, 2, 1, 3, 4])
    net.add("Reshape", y, net.ints([n, c, h, w]))


def reduce(net: OnnxNet) -> None:
    kind = net.dice.pick("Sum", "Mean", "Max", "Min", "L1", "L2", "SumSquare", "LogSumExp", "Prod")
    x = net.rank(1, 2, 3, 4)
    if kind == "Prod":
        x = net.add("Add", net.add("Tanh", x), net.const(np.float32(1.5)))
    rank = len(net.shape(x))
    axes = sorted(int(a) for a in net.dice.rng.choice(rank, net.dice.roll(1, rank), replace=False))
    axes = [signed(net, a, rank) for a in axes]
    since = 13 if kind == "Sum" else 18
    with_axes(net, f"Reduce{kind}", x, axes, since, keepdims=net.dice.roll(0, 1))


def places(net: OnnxNet) -> None:
    x = net.pick(lambda v: v.ndim in (2, 3), exact=True)
    axis = net.dice.roll(-1, len(net.shape(x)) - 1)
    if net.dice.coin():
        op = net.dice.pick("ArgMax", "ArgMin")
        y = net.add(op, x, axis=axis, keepdims=net.dice.roll(0, 1), select_last_index=net.dice.roll(0, 1))
    else:
        k = net.ints([net.dice.roll(1, net.shape(x)[axis])])
        y = net.add_all("TopK", x, k, outputs=2, axis=axis, largest=net.dice.roll(0, 1))[1]
    net.add("Cast", y, to=TensorProto.FLOAT)


def one_hot(net: OnnxNet) -> None:
    depth = net.dice.roll(2, 5)
    indices = net.add("ArgMax", net.pick(lambda v: v.ndim == 2, exact=True), axis=-1, keepdims=0)
    values = net.const([net.dice.pick(0.0, -0.5), 1.5], np.float32)
    net.add("OneHot", indices, net.ints(depth), values, axis=net.dice.pick(-1, 0))


def embedding(net: OnnxNet) -> None:
    """Words of a table, chosen by what the network computed."""
    x = net.pick(lambda v: v.ndim == 2, exact=True)
    words = net.add("ArgMax", x, axis=net.dice.pick(0, 1), keepdims=0)
    rows = int(net.value(words).max()) + net.dice.roll(1, 3)
    net.add("Gather", net.normal(rows, net.dice.roll(1, 5)), words)


def cumulative(net: OnnxNet) -> None:
    x = net.rank(1, 2, 3)
    axis = net.const(net.dice.roll(-1, len(net.shape(x)) - 1), np.int64)
    net.add("CumSum", x, axis, exclusive=net.dice.roll(0, 1), reverse=net.dice.roll(0, 1))


def triangle(net: OnnxNet) -> None:
    if net.opset < 14:
        raise UnfitError
    net.add("Trilu", net.rank(2, 3, 4), net.ints(net.dice.roll(-1, 1)), upper=net.dice.roll(0, 1))


def reverse(net: OnnxNet) -> None:
    x = net.rank(2, 3)
    batch, time = (0, 1) if net.dice.coin() else (1, 0)
    counts = net.dice.rng.integers(1, net.shape(x)[time] + 1, net.shape(x)[batch])
    net.add("ReverseSequence", x, net.ints(counts), batch_axis=batch, time_axis=time)


def compress(net: OnnxNet) -> None:
    x = net.rank(2, 3)
    axis = net.dice.roll(0, len(net.shape(x)) - 1)
    condition = net.dice.rng.integers(0, 2, net.shape(x)[axis]).astype(bool)
    condition[0] = True
    net.add("Compress", x, net.const(condition), axis=axis)


def center(net: OnnxNet) -> None:
    if net.opset < 18:
        raise UnfitError
    x = net.rank(3, 4)
    to = [max(1, n + net.dice.roll(-2, 2)) for n in net.shape(x)[-2:]]
    net.add("CenterCropPad", x, net.ints(to), axes=[-2, -1])


def columns(net: OnnxNet) -> None:
    if net.opset < 18:
        raise UnfitError
    x = net.rank(3)
    c = net.shape(x)[1]
    block = net.dice.pick(*(b for b in ([1, 1], [1, 2], [2, 1], [2, 2]) if c % (b[0] * b[1]) == 0))
    image = [block[0] + net.dice.roll(0, 3), block[1] + net.dice.roll(0, 2)]
    count = (image[0] - block[0] + 1) * (image[1] - block[1] + 1)
    y = net.add(
        "Slice", net.add("Tile", x, net.ints([1, 1, count])), net.ints([0]), net.ints([count]), net.ints([2])
    )
    net.add("Col2Im", y, net.ints(image), net.ints(block))


def resize(net: OnnxNet) -> None:
    dice = net.dice
    x = net.rank(3, 4, 4)
    mode = dice.pick("nearest", "nearest", "linear", "cubic")
    place = dice.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": place}
    if mode == "nearest":
        attributes["nearest_mode"] = dice.pick("floor", "ceil", "round_prefer_floor", "round_prefer_ceil")
    if mode == "cubic":
        attributes["cubic_coeff_a"] = dice.pick(-0.75, -0.5)
        attributes["exclude_outside"] = dice.roll(0, 1)
    shape = net.shape(x)
    if mode == "cubic" and len(shape) == 3:
        raise UnfitError
    factors = [dice.pick(1.0, 2.0, 3.0, 0.5, 1.5, 0.7, 1.3) for _ in shape[2:]]
    scales = [1.0, 1.0, *factors]
    # An empty operand stands for the region that only tf_crop_and_resize has.
    if dice.coin():
        net.add("Resize", x, "", net.const(scales, np.float32), **attributes)
    else:
        sizes = [*shape[:2], *(max(1, int(n * f)) for n, f in zip(shape[2:], factors, strict=True))]
        net.add("Resize", x, "", "", net.ints(sizes), **attributes)


def grid(net: OnnxNet) -> None:
    if net.opset < 16:
        raise UnfitError
    x = net.rank(4)
    where = net.const(net.dice.rng.uniform(-1.2, 1.2, (net.shape(x)[0], 3, 4, 2)), np.float32)
    mode = net.dice.pick("bilinear", "bicubic") if net.opset < 20 else net.dice.pick("linear", "cubic")
    padding = net.dice.pick("zeros", "border", "reflection")
    net.add("GridSample", x, where, mode=mode, padding_mode=padding, align_corners=net.dice.roll(0, 1))


def filled(net: OnnxNet) -> None:
    """Constants that are computed from shapes."""
    x = net.rank(2, 3)
    shape = net.add("Shape", x)
    net.add("Add", x, net.add("Cast", net.add("ConstantOfShape", shape), to=TensorProto.FLOAT))


def matrix(net: OnnxNet) -> None:
    x = net.rank(2)
    net.add("Add", x, net.add("EyeLike", x, k=net.dice.roll(-1, 1)))


def determinant(net: OnnxNet) -> None:
    net.add("Det", net.pick(lambda v: v.ndim >= 2 and v.shape[-1] == v.shape[-2] <= 5))


RECIPES: tuple[tuple[int, Recipe], ...] = (
    (6, transpose), (3, reshape), (2, reshape_by_its_shape), (1, flatten), (2, squeeze), (4, slice_), (3,
    split), (4, concat), (3, pad), (1, tile), (1, expand), (2, gather), (1, gather_elements), (1,
    gather_nd), (1, scatter), (2, depth_and_space), (1, shuffle), (4, reduce), (2, places), (1, one_hot),
    (1, embedding), (1, cumulative), (1, triangle), (1, reverse), (1, compress), (1, center), (1,
    columns), (4, resize), (1, grid), (1, filled), (1, matrix), (1, determinant),
)  # fmt: skip
