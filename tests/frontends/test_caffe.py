"""Caffe's layers compute what their definitions say: each against a few lines of numpy."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest
from support.caffe_files import part, text, write
from support.exports import SAMPLES

from edgekit.converters.caffe.reader import convert
from edgekit.converters.file_formats.text_proto import parse
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

Weights = Mapping[str, Sequence[Array]]


def rand(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def run(folder: Path, inputs: Mapping[str, Array], layers: Sequence[str], weights: Weights) -> list[Array]:
    net = text({name: x.shape for name, x in inputs.items()}, *layers)
    graph = simplify(convert(write(folder, net, weights)))
    verify(graph)
    return list(simulate.run(graph, dict(inputs)).values())


def one(folder: Path, x: Array, kind: str, settings: str, *blobs: Array) -> Array:
    """The result of a net of one layer."""
    layer = f'name: "l" type: "{kind}" bottom: "x" top: "y" {settings}'
    (y,) = run(folder, {"x": x}, [layer], {"l": blobs})
    return y


def pooled(x: Array, k: int, s: int, p: int, is_max: bool) -> Array:
    """As Caffe's documentation of the pooling layer has it: sizes are rounded up, windows are clipped."""
    size = x.shape[2]
    out = -(-(size + 2 * p - k) // s) + 1
    if p and (out - 1) * s >= size + p:
        out -= 1
    y = np.zeros((*x.shape[:2], out, out), np.float32)
    for i in range(out):
        for j in range(out):
            top, left = i * s - p, j * s - p
            bottom, right = min(top + k, size + p), min(left + k, size + p)
            cells = x[:, :, max(top, 0) : min(bottom, size), max(left, 0) : min(right, size)]
            area = (bottom - top) * (right - left)
            y[:, :, i, j] = cells.max((2, 3)) if is_max else cells.sum((2, 3)) / area
    return y


@pytest.mark.parametrize("pool", ["MAX", "AVE"])
@pytest.mark.parametrize(
    ("size", "k", "s", "p"), [(6, 3, 2, 0), (7, 3, 2, 1), (5, 2, 2, 1), (8, 3, 3, 1), (7, 2, 2, 0)]
)
def test_last_window_of_pooling_is_clipped(
    pool: str, size: int, k: int, s: int, p: int, tmp_path: Path
) -> None:
    x = rand(1, 2, size, size)
    settings = f"pooling_param {{ pool: {pool} kernel_size: {k} stride: {s} pad: {p} }}"
    expected = pooled(x, k, s, p, pool == "MAX")
    found = one(tmp_path, x, "Pooling", settings)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_numbers_of_the_text_format() -> None:
    found = parse(
        "a: inf a: -inf a: 1.5f a: -.5e1 a: 2F a: 16. b: 0x10 b: -7 c: true c: MAX d: nan", "net"
    ).fields
    assert found["a"] == [np.inf, -np.inf, 1.5, -5.0, 2.0, 16.0]
    assert found["b"] == [16, -7]
    assert found["c"] == [True, "MAX"]
    assert str(found["d"]) == "[nan]"


def test_global_pooling_is_a_mean_of_all_cells(tmp_path: Path) -> None:
    x = rand(1, 3, 4, 5)
    y = one(tmp_path, x, "Pooling", "pooling_param { pool: AVE global_pooling: true }")
    np.testing.assert_allclose(y, x.mean((2, 3), keepdims=True), rtol=1e-5, atol=1e-6)


def test_batch_norm_divides_by_its_factor_and_scales_in_place(tmp_path: Path) -> None:
    x, mean, variance = rand(1, 3, 4, 4), rand(3), np.abs(rand(3)) + 1
    gamma, beta, factor = rand(3), rand(3) + 1, 2.5
    layers = [
        'name: "n" type: "BatchNorm" bottom: "x" top: "y" batch_norm_param { eps: 1e-3 }',
        'name: "s" type: "Scale" bottom: "y" top: "y" scale_param { bias_term: true }',
    ]
    blobs = {"n": [mean * factor, variance * factor, np.array([factor])], "s": [gamma, beta]}
    (y,) = run(tmp_path, {"x": x}, layers, blobs)
    across = [a.reshape(3, 1, 1) for a in (mean, variance, gamma, beta)]
    expected = (x - across[0]) / np.sqrt(across[1] + 1e-3) * across[2] + across[3]
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("coeff: 2 coeff: -0.5", lambda a, b: 2 * a - 0.5 * b),
        ("operation: PROD", lambda a, b: a * b),
        ("operation: MAX", np.maximum),
    ],
)
def test_eltwise(settings: str, expected, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    a, b = rand(1, 2, 3), rand(1, 2, 3)[:, ::-1].copy()
    layer = f'name: "l" type: "Eltwise" bottom: "a" bottom: "b" top: "y" eltwise_param {{ {settings} }}'
    (y,) = run(tmp_path, {"a": a, "b": b}, [layer], {})
    np.testing.assert_allclose(y, expected(a, b), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [1, 2, -1])
@pytest.mark.parametrize("transpose", [False, True])
def test_inner_product_flattens_from_its_axis_on(axis: int, transpose: bool, tmp_path: Path) -> None:
    x = rand(1, 3, 4)
    rows = x.reshape(*x.shape[:axis], -1)
    w, b = rand(5, rows.shape[-1]), rand(5)
    flag = str(transpose).lower()
    settings = f"inner_product_param {{ num_output: 5 axis: {axis} transpose: {flag} }}"
    y = one(tmp_path, x, "InnerProduct", settings, w.T if transpose else w, b)
    np.testing.assert_allclose(y, rows @ w.T + b, rtol=1e-4, atol=1e-5)


def test_deconvolution_in_groups(tmp_path: Path) -> None:
    x, w = rand(1, 4, 3, 3), rand(4, 3, 3, 2)
    settings = (
        "convolution_param { num_output: 6 group: 2 kernel_h: 3 kernel_w: 2 stride: 2 bias_term: false }"
    )
    expected = np.zeros((1, 6, 7, 6), np.float32)
    for c in range(4):
        for i in range(3):
            for j in range(3):
                first = c // 2 * 3
                expected[0, first : first + 3, 2 * i : 2 * i + 3, 2 * j : 2 * j + 2] += x[0, c, i, j] * w[c]
    y = one(tmp_path, x, "Deconvolution", settings, w)
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "settings", "expected"),
    [
        ("ReLU", "relu_param { negative_slope: 0.1 }", lambda x: np.where(x > 0, x, 0.1 * x)),
        ("ELU", "", lambda x: np.where(x > 0, x, np.expm1(x))),
        ("AbsVal", "", np.abs),
        ("TanH", "", np.tanh),
        ("Sigmoid", "", lambda x: 1 / (1 + np.exp(-x))),
        ("Power", "power_param { power: 3 scale: 2 shift: 1 }", lambda x: (1 + 2 * x) ** 3),
        ("Exp", "exp_param { base: 2 scale: 0.5 shift: 1 }", lambda x: 2 ** (1 + 0.5 * x)),
        ("Permute", "permute_param { order: 0 order: 2 }", lambda x: x.transpose(0, 2, 1, 3)),
        ("Reshape", "reshape_param { shape { dim: 0 dim: -1 dim: 2 } }", lambda x: x.reshape(1, -1, 2)),
        ("Reshape", "reshape_param { shape { dim: -1 } axis: 2 }", lambda x: x.reshape(1, 2, -1)),
        ("Flatten", "flatten_param { axis: 2 }", lambda x: x.reshape(1, 2, -1)),
        ("Dropout", "dropout_param { dropout_ratio: 0.5 }", lambda x: x),
    ],
)
def test_cells_and_moves(kind: str, settings: str, expected, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    x = rand(1, 2, 3, 4)
    y = one(tmp_path, x, kind, settings)
    np.testing.assert_allclose(y, expected(x), rtol=1e-4, atol=1e-5)


def test_layers_with_blobs_and_over_channels(tmp_path: Path) -> None:
    x, slope = rand(1, 5, 2, 3), rand(5)
    y = one(tmp_path, x, "PReLU", "", slope)
    np.testing.assert_allclose(y, np.where(x > 0, x, x * slope.reshape(5, 1, 1)), rtol=1e-5, atol=1e-6)
    y = one(tmp_path, x, "Bias", "bias_param { axis: 2 num_axes: 2 }", rand(2, 3))
    np.testing.assert_allclose(y, x + rand(2, 3), rtol=1e-5, atol=1e-6)
    y = one(tmp_path, x, "Softmax", "")
    np.testing.assert_allclose(y, np.exp(x) / np.exp(x).sum(1, keepdims=True), rtol=1e-5, atol=1e-6)
    y = one(tmp_path, x, "LRN", "lrn_param { local_size: 3 alpha: 0.6 beta: 0.5 k: 2 }")
    square = np.pad(x * x, [(0, 0), (1, 1), (0, 0), (0, 0)])
    total = square[:, :-2] + square[:, 1:-1] + square[:, 2:]
    np.testing.assert_allclose(y, x / np.sqrt(2 + 0.6 / 3 * total), rtol=1e-5, atol=1e-6)


def test_convolution_in_groups_with_holes(tmp_path: Path) -> None:
    x, w, b = rand(1, 4, 6, 6), rand(2, 2, 2, 1), rand(2)
    settings = (
        "num_output: 2 group: 2 kernel_h: 2 kernel_w: 1 pad_h: 1 pad_w: 0 stride: 1 dilation: 2 dilation: 1"
    )
    y = one(tmp_path, x, "Convolution", f"convolution_param {{ {settings} }}", w, b)
    wide = np.pad(x, [(0, 0), (0, 0), (1, 1), (0, 0)])
    terms = [
        w[o, c, i, 0] * wide[0, 2 * o + c, 2 * i : 2 * i + 6]
        for o in range(2)
        for c in range(2)
        for i in range(2)
    ]
    expected = np.reshape(terms, (2, 4, 6, 6)).sum(1) + b.reshape(2, 1, 1)
    np.testing.assert_allclose(y[0], expected, rtol=1e-4, atol=1e-5)


def test_weights_of_older_files(tmp_path: Path) -> None:
    """The list of layers before 2014, blobs of four dimensions in four fields."""
    x, w = rand(1, 3), rand(2, 3)
    settings = "inner_product_param { num_output: 2 bias_term: false }"
    layer = f'name: "l" type: "InnerProduct" bottom: "x" top: "y" {settings}'
    path = write(tmp_path, text({"x": (1, 3)}, layer), {})
    blob = bytes([8, 1, 16, 1, 24, 2, 32, 3]) + part(5, w.tobytes())
    (tmp_path / "net.caffemodel").write_bytes(part(2, part(4, b"l") + part(6, blob)))
    graph = convert(path)
    (y,) = simulate.run(graph, {"x": x}).values()
    np.testing.assert_allclose(y, x @ w.T, rtol=1e-5, atol=1e-6)


def test_layers_of_the_older_form(tmp_path: Path) -> None:
    """Types are words, and the word before the braces is another."""
    x, w, b = rand(1, 3), rand(2, 3), rand(2)
    net = 'input: "x" input_dim: 1 input_dim: 3\n' + "\n".join(
        f"layers {{ {layer} }}"
        for layer in (
            'name: "l" type: INNER_PRODUCT bottom: "x" top: "h" inner_product_param { num_output: 2 }',
            'name: "r" type: TANH bottom: "h" top: "h"',
            'name: "t" type: SOFTMAX_LOSS bottom: "h" top: "loss" include { phase: TRAIN }',
            'name: "s" type: SOFTMAX bottom: "h" top: "y"',
        )
    )
    (y,) = simulate.run(convert(write(tmp_path, net, {"l": [w, b]})), {"x": x}).values()
    e = np.exp(np.tanh(x @ w.T + b))
    np.testing.assert_allclose(y, e / e.sum(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("offset: 1", lambda x: x[:, :, 1:3, 1:4]),
        ("offset: 2 offset: 0", lambda x: x[:, :, 2:4, :3]),
        ("axis: 1 offset: 1 offset: 2 offset: 0", lambda x: x[:, 1:3, 2:4, :3]),
    ],
)
def test_crop(settings: str, expected, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    channels = 2 if "axis" in settings else 4
    inputs = {"x": rand(1, 4, 5, 6), "like": rand(1, channels, 2, 3)}
    layer = f'name: "l" type: "Crop" bottom: "x" bottom: "like" top: "y" crop_param {{ {settings} }}'
    (y,) = run(tmp_path, inputs, [layer], {})
    np.testing.assert_array_equal(y, expected(inputs["x"]))


def test_parts_of_a_slice_are_put_together(tmp_path: Path) -> None:
    x = rand(1, 6, 2)
    layers = [
        'name: "s" type: "Slice" bottom: "x" top: "a" top: "b" slice_param { slice_point: 2 }',
        'name: "r" type: "ReLU" bottom: "a" top: "a"',
        'name: "t" type: "Dropout" bottom: "b" top: "z" include { phase: TRAIN }',
        'name: "c" type: "Concat" bottom: "b" bottom: "a" top: "y"',
    ]
    (y,) = run(tmp_path, {"x": x}, layers, {})
    np.testing.assert_array_equal(y, np.concatenate([x[:, 2:], np.maximum(x[:, :2], 0)], 1))


def test_either_file_of_a_pair_is_converted() -> None:
    folder = SAMPLES / "caffe"
    graphs = [convert(folder / name) for name in ("net.prototxt", "net.caffemodel")]
    assert graphs[0].nodes == graphs[1].nodes


def test_shape_replaces_that_of_the_text() -> None:
    graph = convert(SAMPLES / "caffe" / "net.prototxt", shapes={"data": (2, 3, 16, 16)})
    assert graph.values[graph.outputs[0]].type.shape == (2, 10)


def test_all_unsupported_layers_are_named_at_once(tmp_path: Path) -> None:
    layers = [f'name: "{kind}" type: "{kind}" bottom: "x" top: "x"' for kind in ("Accuracy", "Python")]
    with pytest.raises(EdgeKitError) as caught:
        convert(write(tmp_path, text({"x": (1, 2)}, *layers), {}))
    assert [error.where for error in (caught.value, *caught.value.also)] == ["node Accuracy", "node Python"]
