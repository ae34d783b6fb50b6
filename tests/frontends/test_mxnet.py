"""MXNet's operators compute what its documentation says: each against a few lines of numpy."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.exports import SAMPLES
from support.mxnet_files import V1, V2, V3, Step, symbol, write
from support.recorded import names, unpacked

from edgekit.converters.mxnet.file import value
from edgekit.converters.mxnet.reader import convert
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

RECORDED = SAMPLES.parent / "recorded" / "mxnet.zip"
Numpy = Callable[[Array], Array]


def rand(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def run(
    folder: Path,
    steps: Mapping[str, Step],
    inputs: Mapping[str, Array],
    weights: Mapping[str, Array] | None = None,
    heads: Sequence[str] = (),
) -> list[Array]:
    weights = weights or {}
    path = write(folder, symbol(steps, [*inputs, *weights], heads), weights)
    graph = simplify(convert(path, shapes={name: x.shape for name, x in inputs.items()}))
    verify(graph)
    return list(simulate.run(graph, dict(inputs)).values())


def one(folder: Path, kind: str, x: Array, *blobs: Array, **settings: Any) -> Array:
    """The result of a net of one operator."""
    weights = {f"w{i}": blob for i, blob in enumerate(blobs)}
    return run(folder, {"y": (kind, ["x", *weights], settings)}, {"x": x}, weights)[0]


def close(found: Array, expected: Array) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def pooled(x: Array, k: int, s: int, p: int, kind: str, is_full: bool, counts: bool) -> Array:
    """The pooling of the documentation: `full` rounds the size up, means divide by what is inside."""
    size = x.shape[2]
    steps = (size + 2 * p - k) / s
    out = int(np.ceil(steps) if is_full else np.floor(steps)) + 1
    y = np.zeros((*x.shape[:2], out, out), np.float32)
    for i in range(out):
        for j in range(out):
            top, left = i * s - p, j * s - p
            bottom, right = min(top + k, size + p), min(left + k, size + p)
            cells = x[:, :, max(top, 0) : min(bottom, size), max(left, 0) : min(right, size)]
            area = (bottom - top) * (right - left) if counts else cells.shape[2] * cells.shape[3]
            y[:, :, i, j] = cells.max((2, 3)) if kind == "max" else cells.sum((2, 3)) / area
    return y


@pytest.mark.parametrize("name", names(RECORDED))
def test_model_computes_what_mxnet_did(name: str, tmp_path: Path) -> None:
    unpacked(RECORDED, name, tmp_path).compare()


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize(
    ("size", "k", "s", "p", "convention"),
    [(7, 3, 2, 1, "valid"), (8, 3, 2, 0, "full"), (6, 3, 2, 1, "full"), (6, 2, 2, 0, "valid")],
)
def test_pooling(
    kind: str, counts: bool, size: int, k: int, s: int, p: int, convention: str, tmp_path: Path
) -> None:
    x = rand(1, 2, size, size)
    settings = {"kernel": (k, k), "stride": (s, s), "pad": (p, p), "pool_type": kind}
    settings |= {"pooling_convention": convention, "count_include_pad": counts}
    close(one(tmp_path, "Pooling", x, **settings), pooled(x, k, s, p, kind, convention == "full", counts))


@pytest.mark.parametrize(("kind", "expected"), [("max", np.max), ("avg", np.mean), ("sum", np.sum)])
def test_global_pooling(kind: str, expected: Callable[..., Array], tmp_path: Path) -> None:
    x = rand(1, 3, 4, 5)
    y = one(tmp_path, "Pooling", x, kernel="(1, 1)", global_pool=True, pool_type=kind)
    close(y, expected(x, axis=(2, 3), keepdims=True))


@pytest.mark.parametrize("fix_gamma", [False, True])
@pytest.mark.parametrize("axis", [1, 3, -1])
def test_batch_norm(fix_gamma: bool, axis: int, tmp_path: Path) -> None:
    """Where gamma is fixed, the file may hold any."""
    x = rand(1, 2, 3, 4)
    n = x.shape[axis]
    gamma, beta, mean, variance = rand(n), rand(n + 1)[:n], rand(n + 2)[:n], np.abs(rand(n)) + 1
    y = one(tmp_path, "BatchNorm", x, gamma, beta, mean, variance, fix_gamma=fix_gamma, axis=axis, eps=1e-3)
    across = [a.reshape([n if i == axis % 4 else 1 for i in range(4)]) for a in (gamma, beta, mean, variance)]
    scale = 1 if fix_gamma else across[0]
    close(y, (x - across[2]) / np.sqrt(across[3] + 1e-3) * scale + across[1])


@pytest.mark.parametrize(
    ("kind", "settings", "expected"),
    [
        ("LeakyReLU", {}, lambda x: np.where(x > 0, x, 0.25 * x)),
        ("LeakyReLU", {"act_type": "elu", "slope": 0.5}, lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
        ("LeakyReLU", {"act_type": "rrelu"}, lambda x: np.where(x > 0, x, (0.125 + 0.334) / 2 * x)),
        ("Activation", {"act_type": "softrelu"}, lambda x: np.log1p(np.exp(x))),
        ("Activation", {"act_type": "softsign"}, lambda x: x / (1 + np.abs(x))),
        ("clip", {"a_min": -0.5, "a_max": 0.25}, lambda x: np.clip(x, -0.5, 0.25)),
        ("_rminus_scalar", {"scalar": 3}, lambda x: 3 - x),
        ("_rdiv_scalar", {"scalar": 3.5}, lambda x: 3.5 / x),
        ("_power_scalar", {"scalar": "2.0"}, lambda x: x**2),
        ("_rpower_scalar", {"scalar": 2}, lambda x: 2**x),
        ("_greater_equal_scalar", {"scalar": 0}, lambda x: (x >= 0).astype(np.float32)),
        ("_not_equal_scalar", {"scalar": 0}, lambda x: (x != 0).astype(np.float32)),
        ("Cast", {"dtype": "float16"}, lambda x: x.astype(np.float16)),
        ("mean", {"axis": "(1, -1)", "keepdims": True}, lambda x: x.mean((1, 3), keepdims=True)),
        ("max", {"axis": 1, "exclude": True}, lambda x: x.max((0, 2, 3))),
        ("sum", {}, lambda x: x.sum()),
        ("norm", {"axis": 1}, lambda x: np.sqrt((x * x).sum(1))),
        ("argmax", {"axis": 2}, lambda x: x.argmax(2).astype(np.float32)),
        ("transpose", {}, lambda x: x.transpose()),
        ("SwapAxis", {"dim1": 1, "dim2": 3}, lambda x: x.swapaxes(1, 3)),
        ("Reshape", {"shape": "(0, -3, -2)"}, lambda x: x.reshape(1, 12, 6)),
        ("Reshape", {"shape": "(0, -4, -1, 2, -2)"}, lambda x: x.reshape(1, 2, 2, 3, 6)),
        ("Reshape", {"shape": "(-1, 0)", "reverse": True}, lambda x: x.reshape(12, 6)),
        ("Reshape", {"shape": "-1"}, lambda x: x.reshape(-1)),
        ("slice", {"begin": "(None, 1)", "end": "(None, 3)"}, lambda x: x[:, 1:3]),
        ("slice", {"begin": "(0, 3)", "end": "(1, 0)", "step": "(1, -2)"}, lambda x: x[:, 3:0:-2]),
        ("slice_axis", {"axis": -1, "begin": -4, "end": None}, lambda x: x[..., -4:]),
        ("Pad", {"mode": "edge", "pad_width": "(0,0,0,0,1,2,0,3)"}, lambda x: np.pad(x, _PADS, "edge")),
        ("tile", {"reps": "(2, 1, 3)"}, lambda x: np.tile(x, (2, 1, 3))),
        ("repeat", {"repeats": 2, "axis": 1}, lambda x: x.repeat(2, 1)),
        ("reverse", {"axis": "(1,)"}, lambda x: x[:, ::-1]),
        ("UpSampling", {"scale": 2, "sample_type": "nearest"}, lambda x: x.repeat(2, 2).repeat(2, 3)),
        ("Crop", {"h_w": "(2, 3)", "center_crop": True, "num_args": 1}, lambda x: x[:, :, :2, 1:4]),
        ("Crop", {"h_w": "(2, 3)", "offset": "(1, 2)", "num_args": 1}, lambda x: x[:, :, 1:3, 2:5]),
        ("SoftmaxActivation", {"mode": "channel"}, lambda x: softmax(x, 1)),
        ("softmax", {"axis": 2, "temperature": 2.0}, lambda x: softmax(x / 2, 2)),
        ("L2Normalization", {}, lambda x: x / np.sqrt((x * x).sum((1, 2, 3), keepdims=True))),
        ("SequenceLast", {}, lambda x: x[-1]),
        ("Dropout", {"p": 0.3}, lambda x: x),
    ],
)
def test_operator(kind: str, settings: dict[str, Any], expected: Numpy, tmp_path: Path) -> None:
    x = rand(1, 4, 3, 6)
    close(one(tmp_path, kind, x, **settings), expected(x))


_PADS = [(0, 0), (0, 0), (1, 2), (0, 3)]


@pytest.mark.parametrize(
    ("like", "axes", "expected"),
    [
        ((1, 2, 2, 5), {}, np.s_[:, :2, :2, :5]),
        ((1, 2), {}, np.s_[:, :2]),
        ((1, 3, 2, 5), {"axes": "(1, -1)"}, np.s_[:, :3, :, :5]),
    ],
)
def test_slice_like(like: tuple[int, ...], axes: dict[str, str], expected: Any, tmp_path: Path) -> None:
    """All axes that both have, where none is given."""
    x = rand(1, 4, 3, 6)
    steps = {"z": ("slice_like", ["x", "like"], axes)}
    (y,) = run(tmp_path, steps, {"x": x, "like": rand(*like)})
    close(y, x[expected])


def test_deconvolution_to_a_given_size(tmp_path: Path) -> None:
    """Padding is what is too much on both sides; where that is odd, the end keeps one more."""
    x, w = rand(1, 2, 3, 3), rand(2, 1, 3, 3)
    y = one(
        tmp_path, "Deconvolution", x, w, kernel="(3, 3)", stride="(2, 2)", num_filter=1, target_shape="(6, 6)"
    )
    full = np.zeros((8, 8), np.float32)
    for c in range(2):
        for i in range(3):
            for j in range(3):
                full[2 * i : 2 * i + 3, 2 * j : 2 * j + 3] += x[0, c, i, j] * w[c, 0]
    close(y[0, 0], full[1:7, 1:7])


def test_labels_of_losses_are_no_inputs(tmp_path: Path) -> None:
    x = rand(1, 5)
    steps = {"y": ("SoftmaxOutput", ["x", "label"], {"grad_scale": 1.0})}
    path = write(tmp_path, symbol(steps, ["x", "label"]), {})
    graph = convert(path, shapes={"x": x.shape})
    assert graph.inputs == ("x",)
    close(simulate.run(graph, {"x": x})["y"], softmax(x, 1))


def gates(x: Array, w: Array, r: Array, b: Array, c: Array, h: Array) -> tuple[Array, Array]:
    """One step of an LSTM: i f g o."""
    i, f, g, o = np.split(x @ w.T + h @ r.T + b, 4, 1)
    c = c / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
    return np.tanh(c) / (1 + np.exp(-o)), c


def test_lstm_of_two_layers_in_one_row_of_weights(tmp_path: Path) -> None:
    """All weights, layer by layer, then all biases; states of an unknown batch are zeros."""
    steps, inputs, size = 3, 4, 2
    x = rand(steps, 1, inputs)
    shapes = [(8, inputs), (8, size), (8, size), (8, size), (8,), (8,), (8,), (8,)]
    parts = [rand(*shape, i + 1).reshape(-1, i + 1)[:, 0].reshape(shape) for i, shape in enumerate(shapes)]
    row = np.concatenate([p.reshape(-1) for p in parts])
    empty = {"shape": "(2, 0, 2)", "dtype": "float32"}
    settings = {"mode": "lstm", "num_layers": 2, "state_size": size, "state_outputs": True}
    net: dict[str, Step] = {
        "h": ("_zeros", [], empty),
        "c": ("_zeros", [], empty),
        "y": ("RNN", ["x", "row", "h", "c"], settings),
    }
    y, last, _ = run(tmp_path, net, {"x": x}, {"row": row}, ["y", "y:1", "y:2"])
    below = list(x)
    for layer in range(2):
        h = c = np.zeros((1, size), np.float32)
        above = []
        for step in below:
            bias = parts[4 + 2 * layer] + parts[5 + 2 * layer]
            h, c = gates(step, parts[2 * layer], parts[2 * layer + 1], bias, c, h)
            above.append(h)
        below = above
        close(last[layer], h)
    close(y, np.array(below))


@pytest.mark.parametrize("version", [0, V1, V2, V3])
def test_arrays_of_all_versions(version: int, tmp_path: Path) -> None:
    x, w = rand(1, 3), rand(2, 3)
    steps = {"y": ("FullyConnected", ["x", "w"], {"num_hidden": 2, "no_bias": True})}
    graph = convert(write(tmp_path, symbol(steps, ["x", "w"]), {"w": w}, version), shapes={"x": (1, 3)})
    close(simulate.run(graph, {"x": x})["y"], x @ w.T)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(1, 2)", (1, 2)),
        ("[1L, 2L]", (1, 2)),
        ("(3,)", (3,)),
        ("()", ()),
        ("(None, 1)", (None, 1)),
        ("1e-05", 1e-5),
        ("None", None),
        ("True", True),
        ("False", False),
        ("true", True),
        ("false", False),
        ("-inf", float("-inf")),
        ("NCHW", "NCHW"),
        ("", ""),
    ],
)
def test_settings_are_values_of_python(text: str, expected: object) -> None:
    assert value(text) == expected


def test_either_file_of_a_pair_is_converted() -> None:
    shapes = {"data": (1, 3, 16, 16)}
    names = ("net-symbol.json", "net-0000.params")
    graphs = [convert(SAMPLES / "mxnet" / name, shapes=shapes) for name in names]
    assert graphs[0].nodes == graphs[1].nodes
    assert graphs[0].name == graphs[1].name == "net"


def test_epoch_is_chosen_by_its_file(tmp_path: Path) -> None:
    steps = {"y": ("broadcast_add", ["x", "w"], {})}
    path = write(tmp_path, symbol(steps, ["x", "w"]), {"w": np.ones(2, np.float32)})
    (tmp_path / "net-0007.params").write_bytes((tmp_path / "net-0000.params").read_bytes())
    with pytest.raises(EdgeKitError, match="several epochs") as caught:
        convert(path, shapes={"x": (2,)})
    assert "net-0007.params" in caught.value.hint
    assert convert(tmp_path / "net-0007.params", shapes={"x": (2,)}).outputs == ("y",)


def test_settings_of_older_files(tmp_path: Path) -> None:
    graph = symbol({"y": ("_plus_scalar", ["x"], {"scalar": 2})}, ["x"])
    for node in graph["nodes"]:
        node["param"] = node.pop("attrs", {})
        node["inputs"] = [edge[:2] for edge in node["inputs"]]
    path = write(tmp_path, graph, {})
    path.write_text(json.dumps(graph))
    close(simulate.run(convert(path, shapes={"x": (2,)}), {"x": rand(2)})["y"], rand(2) + 2)


def test_all_unsupported_operators_are_named_at_once(tmp_path: Path) -> None:
    steps: dict[str, Step] = {"a": ("Custom", ["x"], {}), "b": ("_foreach", ["a"], {})}
    with pytest.raises(EdgeKitError) as caught:
        convert(write(tmp_path, symbol(steps, ["x"]), {}))
    assert [error.where for error in (caught.value, *caught.value.also)] == ["node a", "node b"]
