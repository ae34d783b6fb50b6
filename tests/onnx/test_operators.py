"""What the node suite leaves open: operators of old opsets, unusual operands, combinations of attributes."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import model, node, tensor
from support.onnx_nodes import NodeCase, node_case, node_model, reference

from edgekit.converters.onnx.reader import convert
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes import verify
from edgekit.core.simulate import run

_RNG = np.random.default_rng(7)
X = _RNG.standard_normal((3, 4)).astype(np.float32)
CUBE = _RNG.standard_normal((2, 3, 4)).astype(np.float32)
IMAGE = _RNG.standard_normal((1, 2, 5, 6)).astype(np.float32)
ROWS = np.arange(12, dtype=np.int32).reshape(3, 4)
SHORT = np.array([[1, -2], [0, 1]])

F32 = np.float32


def _f(*values: float) -> np.ndarray:
    return np.array(values, F32)


ELEMENTWISE = (
    *(
        node_case(op, X)
        for op in ("Neg", "Abs", "Sign", "Ceil", "Floor", "Round", "Reciprocal", "Exp", "Tanh")
    ),
    *(node_case(op, ROWS) for op in ("Neg", "Abs", "Sign", "Relu")),
    node_case("Sign", np.arange(4, dtype=np.uint8)),
    node_case("Sum", X, X, X),
    node_case("Sum", X),
    node_case("Mean", X, X + 1, X[0]),
    node_case("Max", X, X[::-1], F32(0.5)),
    node_case("Min", ROWS, ROWS[::-1].copy()),
    *(node_case("Pow", np.abs(X), F32(p)) for p in (1, 2, 3, 0.5, -1, 2.5)),
    node_case("Pow", X, np.array([2], np.int64)),
    node_case("Pow", ROWS, np.array([3], np.int64)),
    node_case("Pow", np.abs(ROWS), _f(1.5)),
    node_case("Pow", X, np.array([[[2.0]]], F32)),
    *(node_case("Mod", ROWS - 6, np.array(m, np.int32), fmod=f) for m in (4, -4) for f in (0, 1)),
    node_case("Mod", X * 5, F32(-1.5), fmod=1),
    node_case("Clip", X, F32(-0.5), F32(0.5)),
    node_case("Clip", X, None, F32(0.5)),
    node_case("Clip", X, F32(-0.5)),
    node_case("Clip", X),
    node_case("Clip", X, F32(1), F32(-1)),
    node_case("Clip", X, F32(0.5), F32(-0.5), variable=(0, 1, 2)),
    node_case("Clip", ROWS, np.array(3, np.int32), np.array(7, np.int32)),
    node_case("Clip", X, opset=6 + 1, min=-0.25, max=0.5),
    node_case("Clip", X, opset=7, max=0.5),
    node_case("LeakyRelu", X, alpha=0.3),
    node_case("PRelu", CUBE, _f(0.1, 0.2, 0.3).reshape(3, 1)),
    node_case("ThresholdedRelu", X, alpha=0.4),
    node_case("HardSigmoid", X, alpha=0.4, beta=0.3),
    node_case("Selu", X, alpha=1.2, gamma=0.9),
    node_case("Celu", X * 3, alpha=2.0),
    node_case("Shrink", X, lambd=0.5, bias=0.25),
    node_case("Hardmax", CUBE, axis=-2),
    node_case("Where", X > 0, X, F32(2), variable=(0, 1)),
    node_case("IsInf", _f(1, np.inf, -np.inf, np.nan), detect_negative=0),
    node_case("BitShift", np.array([1, 2, 250], np.uint8), np.array([7, 1, 3], np.uint8), direction="LEFT"),
    node_case("Cast", X * 100, to=3),
    node_case("Cast", ROWS - 6, to=9),
    node_case("CastLike", X, ROWS),
)
MOVEMENT = (
    node_case("Reshape", CUBE, [0, -1]),
    node_case("Reshape", CUBE, [-1, 0, 2]),
    node_case("Reshape", np.zeros((0, 3), F32), [3, 0], allowzero=1),
    node_case("Flatten", CUBE, axis=0),
    node_case("Flatten", CUBE, axis=-1),
    node_case("Squeeze", CUBE[:1, :, :1], opset=11),
    node_case("Squeeze", CUBE[:1, :, :1], opset=11, axes=[-1]),
    node_case("Squeeze", CUBE[:1, :, :1], [0]),
    node_case("Unsqueeze", X, opset=11, axes=[0, -1]),
    node_case("Unsqueeze", X, [-1, 1]),
    node_case("Transpose", CUBE),
    node_case("Concat", CUBE, CUBE, CUBE, axis=-2),
    node_case("Split", CUBE, [1, 3], axis=-1, outputs=2),
    node_case("Split", CUBE, axis=2, num_outputs=3, outputs=3),
    node_case("Split", CUBE, opset=11, axis=2, outputs=2),
    node_case("Split", CUBE, opset=11, axis=2, split=[3, 1], outputs=2),
    node_case("Slice", CUBE, opset=9, starts=[1, -3], ends=[9, -1], axes=[1, 2]),
    node_case("Slice", CUBE, [0, 3], [2, -5], [1, 2], [1, -1]),
    node_case("Slice", CUBE, [-1, 2**62], [-(2**62), 0], [1, -1], [-1, -2]),
    node_case("Slice", CUBE, [3], [1], [2]),
    node_case("Pad", X, opset=10, pads=[1, 0, 0, 2], value=1.5),
    node_case("Pad", X, opset=10, pads=[1, 0, 0, 2], mode="edge"),
    node_case("Pad", X, [1, 0, 0, 2], F32(3)),
    node_case("Pad", X, [2, 1], F32(3), [-1]),
    *(node_case("Pad", X, [2, 3, 1, 2], mode=mode) for mode in ("edge", "reflect", "wrap")),
    node_case("Pad", X, [5, 0, 7, 0], mode="wrap"),
    node_case("Pad", ROWS, [0, 1, 1, 0], np.array(9, np.int32)),
    node_case("Expand", X[:, :1], [2, 1, 5]),
    node_case("Expand", X, [1, 1]),
    node_case("Tile", X, [2, 3]),
    node_case("Tile", X, [1, 1]),
    node_case("DepthToSpace", _RNG.standard_normal((1, 8, 2, 3)).astype(F32), blocksize=2, mode="CRD"),
    node_case("SpaceToDepth", _RNG.standard_normal((1, 2, 4, 6)).astype(F32), blocksize=2, opset=13),
    *(node_case("Trilu", CUBE, np.array(k), upper=u) for k in (-1, 0, 2) for u in (0, 1)),
    node_case("ReverseSequence", CUBE, np.array([2, 1, 2]), batch_axis=1, time_axis=0, variable=(0, 1)),
    node_case("ReverseSequence", CUBE, np.array([3, 2]), batch_axis=0, time_axis=1),
    node_case("EyeLike", X, k=1, dtype=7),
)
INDEXING = (
    *(
        node_case("Gather", CUBE, index, axis=a, variable=v)
        for index in ([0, -1], [[1, 0], [0, 1]], np.array(-1, np.int32))
        for a in (0, -2)
        for v in ((0,), (0, 1))
    ),
    *(
        node_case("Gather", X, index, axis=1)
        for index in ([0, 1, 2], [3, 2, 1], [1, 3], [0, 0, 1, 1, 2, 2, 3, 3])
    ),
    *(
        node_case("GatherElements", X[:2, :2], SHORT % 2, axis=a, variable=v)
        for a in (0, 1)
        for v in ((0,), (0, 1))
    ),
    *(
        node_case("GatherND", CUBE, index, variable=v)
        for index in ([[0, 1], [-1, 2]], [[1]], [[[0, 1, -2]]])
        for v in ((0,), (0, 1))
    ),
    node_case("GatherND", CUBE, [[[1], [0]], [[2], [2]]], batch_dims=1, variable=(0, 1)),
    *(
        node_case(
            "ScatterElements", X, SHORT, _f(1, 2, 3, 4).reshape(2, 2), axis=a, reduction=r, variable=(0, 1, 2)
        )
        for a in (0, 1)
        for r in ("none", "add", "mul", "max", "min")
    ),
    *(
        node_case("ScatterND", X, [[1], [1]], np.ones((2, 4), F32), reduction=r, variable=(0, 1, 2))
        for r in ("none", "add", "mul", "max", "min")
    ),
    node_case("OneHot", [1, -1, 5], np.array(4), _f(-1, 2), axis=0),
    node_case("OneHot", _f(1, 2), np.array(3), np.array([0, 1])),
    *(
        node_case(op, CUBE.round(), axis=a, keepdims=k, select_last_index=s)
        for op in ("ArgMax", "ArgMin")
        for a in (0, -1)
        for k in (0, 1)
        for s in (0, 1)
    ),
    *(node_case("TopK", CUBE.round(), [2], axis=a, largest=g, outputs=2) for a in (1, -1) for g in (0, 1)),
    node_case("TopK", CUBE, [1], opset=10, axis=1, outputs=2),
    *(
        node_case("CumSum", CUBE, np.array(a), exclusive=e, reverse=r)
        for a in (1, -1)
        for e in (0, 1)
        for r in (0, 1)
    ),
    node_case("Compress", CUBE, np.array([True, False, True]), axis=1),
    node_case("Compress", X, np.array([False, True, True])),
    node_case("NonZero", X > 0, variable=()),
)
# Of dimensions that are empty, or as short as transforms can be.
SHORT_ONES = (
    *(node_case("MatMul", np.zeros(a, F32), np.zeros(b, F32), variable=v)
      for a, b in (((0, 2), (2, 3)), ((3, 0), (0, 4)), ((2, 3, 0), (0, 4)), ((3, 2), (2, 0)))
      for v in ((0,), (0, 1))),
    *(node_case("Gemm", np.zeros(a, F32), np.zeros(b, F32), _f(1, 2, 3), variable=v)
      for a, b in (((0, 2), (2, 3)), ((2, 0), (0, 3)))
      for v in ((0,), (0, 1, 2))),
    *(node_case("DFT", np.stack([X[:2, :n]] * parts, -1), None, np.array(1), inverse=inverse)
      for n in (1, 2, 3) for parts in (1, 2) for inverse in (0, 1)),
    *(node_case("DFT", X[:2, :n, None], None, np.array(1), onesided=1) for n in (1, 2, 3)),
)  # fmt: skip
RESIZING = tuple(
    node_case(
        "Resize", IMAGE, None, _f(1, 1, s, t), mode=mode, coordinate_transformation_mode=how, antialias=aa
    )
    for mode in ("nearest", "linear", "cubic")
    for how in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")
    for s, t in ((2, 1.5), (0.6, 0.5))
    for aa in ((0, 1) if mode != "nearest" else (0,))
)


@pytest.mark.parametrize("case", [*ELEMENTWISE, *MOVEMENT, *INDEXING, *SHORT_ONES, *RESIZING], ids=str)
def test_import_computes_what_the_specification_says(case: NodeCase) -> None:
    model, inputs = node_model(case)
    graph = convert(model, reference=True)
    verify(graph)
    found = run(graph, inputs)
    for name, wanted in zip(graph.outputs, reference(model, inputs), strict=True):
        assert found[name].dtype == wanted.dtype
        assert found[name].shape == wanted.shape
        np.testing.assert_allclose(found[name], wanted, rtol=1e-4, atol=1e-5)


# What the evaluator does not know.
def result(case: NodeCase) -> np.ndarray:
    model, inputs = node_model(case)
    return run(convert(model), inputs)["y0"]


def test_hardmax_was_once_over_all_dimensions_from_the_axis_on() -> None:
    y = result(node_case("Hardmax", CUBE, opset=11, axis=1)).reshape(2, 12)
    assert np.array_equal(y.argmax(1), CUBE.reshape(2, 12).argmax(1))
    assert np.array_equal(y.sum(1), [1, 1])


def test_negative_pads_cut_off() -> None:
    y = result(node_case("Pad", X, [-1, 1, 0, -2], F32(3)))
    assert np.array_equal(y, np.pad(X[1:, :2], ((0, 0), (1, 0)), constant_values=3))


def test_an_index_of_gather_elements_may_be_smaller_than_the_data() -> None:
    y = result(node_case("GatherElements", X, SHORT, axis=1, variable=(0, 1)))
    assert np.array_equal(y, np.take_along_axis(X[:2], SHORT, 1))


def test_an_index_to_scatter_by_has_the_shape_of_the_updates() -> None:
    """torch's exporter of TorchScript writes files in which it has not: ONNX Runtime refuses them, too."""
    with pytest.raises(EdgeKitError, match=r"index s64\[1,2\] and updates f32\[2,2\] differ in shape"):
        result(node_case("ScatterElements", X, SHORT[:1], _f(1, 2, 3, 4).reshape(2, 2), axis=1))


def test_scatter_is_the_old_name_of_scatter_elements() -> None:
    update = _f(1, 2, 3, 4).reshape(2, 2)
    old = result(node_case("Scatter", X, SHORT, update, opset=10, axis=1, variable=(0, 1, 2)))
    assert np.array_equal(old, result(node_case("ScatterElements", X, SHORT, update, axis=1)))


@pytest.mark.parametrize(("scale", "rows"), [(2.0, [0, 0, 1, 1, 2, 2]), (0.6, [0, 2])])
def test_upsample_takes_the_cell_before_or_when_it_shrinks_the_one_after(
    scale: float, rows: list[int]
) -> None:
    x = X[:, :2]
    for case in (
        node_case("Upsample", x, _f(scale, 1), opset=9),
        node_case("Upsample", x, opset=7, scales=[scale, 1.0]),
        node_case("Resize", x, _f(scale, 1), opset=10),
    ):
        assert np.array_equal(result(case), x[rows][: int(3 * scale)])


def test_a_recurrent_layer_with_another_function() -> None:
    """There is no kernel for it, so that its steps are unrolled."""
    x, w, r = (_RNG.standard_normal(shape).astype(F32) for shape in ((4, 2, 3), (1, 5, 3), (1, 5, 5)))
    made = node("RNN", "x w r", "y last", hidden_size=5, activations=["Sigmoid"])
    inputs = [tensor("x", [4, 2, 3])]
    graph = convert(model([made], {"w": w, "r": r}, inputs=inputs, outputs=["y", "last"]))
    found = run(graph, {"x": x})
    h, steps = np.zeros((2, 5)), []
    for cells in x:
        h = 1 / (1 + np.exp(-(cells @ w[0].T + h @ r[0].T)))
        steps.append(h)
    np.testing.assert_allclose(found["y"], np.stack(steps)[:, None], rtol=1e-5)
    np.testing.assert_allclose(found["last"], h[None], rtol=1e-5)
