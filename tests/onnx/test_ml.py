"""Operators of ai.onnx.ml that tensors can express, beside ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.onnx_models import model, node, tensor
from support.tools import require_module

from edgekit import convert, load, run, save
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import ClassNames
from edgekit.inspection import class_names

FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
DOMAIN = "ai.onnx.ml"


def stored(
    folder: Path, x: np.ndarray, *nodes: onnx.NodeProto, outputs: dict[str, int], constants: Any = ()
) -> Path:
    """A file of these nodes, which read x."""
    kind = helper.np_dtype_to_tensor_dtype(x.dtype)
    made = model(nodes, inputs=[tensor("x", x.shape, kind)])
    made.graph.initializer.extend(constants)
    del made.graph.output[:]
    made.graph.output.extend(helper.make_tensor_value_info(n, kind, None) for n, kind in outputs.items())
    made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    path = folder / "net.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def expected(path: Path, x: np.ndarray) -> list[np.ndarray]:
    return list(require_module("onnxruntime").InferenceSession(path).run(None, {"x": x}))


def scaled(folder: Path, x: np.ndarray, **attributes: Any) -> Path:
    return stored(folder, x, node("Scaler", "x", "y", domain=DOMAIN, **attributes), outputs={"y": FLOAT})


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("offset", [[0.5], [1.0, -2.0, 3.5]])
@pytest.mark.parametrize("scale", [[3.0], [0.25, -1.0, 7.0]])
def test_scaler(offset: list[float], scale: list[float], dtype: str, tmp_path: Path) -> None:
    x = (np.random.default_rng(1).normal(size=(4, 3)) * 9).astype(dtype)
    if len(offset) != len(scale):
        offset, scale = np.broadcast_arrays(offset, scale)  # of one length, as ONNX Runtime asks for
    path = scaled(tmp_path, x, offset=list(offset), scale=list(scale))
    (wanted,) = expected(path, x)
    given = x if dtype == "float32" else x.astype(np.int32)
    graph = convert(path)
    (y,) = run(graph, {"x": given.astype(graph.type("x").dtype.numpy)}).values()
    np.testing.assert_allclose(y, wanted, rtol=1e-6)


@pytest.mark.parametrize("name", ["offset", "scale"])
def test_scaler_of_other_features_is_refused(name: str, tmp_path: Path) -> None:
    path = scaled(tmp_path, np.zeros((4, 3), np.float32), **{name: [1.0, 2.0]})
    with pytest.raises(EdgeKitError, match=f"2 numbers of {name} are not for"):
        convert(path)


TRANSFORMS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"]


def classifier(x: np.ndarray, rows: int, labels: Any, seed: int = 0, **attributes: Any) -> onnx.NodeProto:
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(rows, x.shape[-1]))
    weights[-1] = 0  # a score of 0
    intercepts = rng.normal(size=rows) * (np.arange(rows) < max(rows - 1, 1))
    kind = "strings" if isinstance(labels[0], str) else "ints"
    attributes |= {f"classlabels_{kind}": labels, "coefficients": weights.ravel(), "intercepts": intercepts}
    return node("LinearClassifier", "x", "label y", domain=DOMAIN, **attributes)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("labels", [[4, 9], [0, 1], [0, 1, 2, 3], [7, 5, -3]])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_linear_classifier(labels: list[int], transform: str, dtype: str, tmp_path: Path) -> None:
    x = (np.random.default_rng(len(labels)).normal(size=(60, 5)) * 3).astype(dtype)
    for rows in {len(labels), 1} if len(labels) == 2 else {len(labels)}:
        made = classifier(x, rows, labels, post_transform=transform, multi_class=rows % 2)
        path = stored(tmp_path, x, made, outputs={"label": INT64, "y": FLOAT})
        label, y = expected(path, x)
        graph = convert(path)
        found = run(graph, {"x": x.astype(graph.type("x").dtype.numpy)})
        np.testing.assert_array_equal(found["label"], label)
        np.testing.assert_allclose(found["y"], y, rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("targets", [1, 3])
@pytest.mark.parametrize("shape", [(7, 4), (4,)])
def test_linear_regressor(shape: tuple[int, ...], targets: int, transform: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(targets)
    x = rng.normal(size=shape).astype(np.float32)
    made = node(
        "LinearRegressor",
        "x",
        "y",
        domain=DOMAIN,
        coefficients=rng.normal(size=targets * 4),
        intercepts=rng.normal(size=targets),
        targets=targets,
        post_transform=transform,
    )
    path = stored(tmp_path, x, made, outputs={"y": FLOAT})
    (y,) = run(convert(path), {"x": x}).values()
    np.testing.assert_allclose(y, expected(path, x)[0], rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(norm: str, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32)
    x[7], x[8], x[9] = 0, -1, (-1, 0, -2)
    path = stored(tmp_path, x, node("Normalizer", "x", "y", domain=DOMAIN, norm=norm), outputs={"y": FLOAT})
    (y,) = run(convert(path), {"x": x}).values()
    np.testing.assert_allclose(y, expected(path, x)[0], rtol=1e-6)


@pytest.mark.parametrize("replaced", [float("nan"), -1.0])
@pytest.mark.parametrize("values", [[0.5], [1.0, -2.0, 3.5]])
def test_imputer(values: list[float], replaced: float, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    x[::2, 1], x[1::3, 0] = -1, np.nan
    made = node(
        "Imputer", "x", "y", domain=DOMAIN, imputed_value_floats=values, replaced_value_float=replaced
    )
    path = stored(tmp_path, x, made, outputs={"y": FLOAT})
    (y,) = run(convert(path), {"x": x}).values()
    np.testing.assert_array_equal(y, expected(path, x)[0])


def test_text_of_a_classifier_is_the_number_of_a_class(tmp_path: Path) -> None:
    names = ("no", "yes", "maybe")
    x = np.random.default_rng(3).normal(size=(40, 5)).astype(np.float32)
    made = classifier(x, 3, names), node("Identity", "label", "said")
    path = stored(tmp_path, x, *made, outputs={"said": STRING, "y": FLOAT})
    graph = convert(path)
    assert graph.source.class_names == (ClassNames("said", names),)
    assert class_names(graph) == "text became the number of a class in said (0 no, 1 yes, 2 maybe)"
    save(graph, tmp_path / "net.ek")
    found = run(loaded := load(tmp_path / "net.ek"), {"x": x})
    assert loaded.source == graph.source
    np.testing.assert_array_equal(np.array(names)[found["said"]], expected(path, x)[0])


def picked(folder: Path, x: np.ndarray, *others: onnx.NodeProto, said: str = "said") -> Path:
    """As a network of scikit-learn names its class: names, picked by the place of the largest score."""
    names = helper.make_tensor("names", STRING, [1, 3], [b"a", b"b", b"\xff"])
    nodes = (
        node("ArgMax", "x", "index", axis=1),
        node("ArrayFeatureExtractor", "names index", "name", domain=DOMAIN),
        node("Reshape", "name flat", "said"),
    )
    constants = [names, helper.make_tensor("flat", INT64, [1], [-1])]
    return stored(folder, x, *nodes, *others, outputs={said: STRING}, constants=constants)


def test_text_that_is_picked_is_the_number_of_a_class(tmp_path: Path) -> None:
    x = np.random.default_rng(3).normal(size=(6, 3)).astype(np.float32)
    graph = convert(picked(tmp_path, x))
    assert graph.source.class_names == (ClassNames("said", ("a", "b", "\ufffd")),)
    np.testing.assert_array_equal(run(graph, {"x": x})["said"], x.argmax(1))


@pytest.mark.parametrize(
    "other", [node("Equal", "name name", "same"), node("Concat", "names names", "more", axis=0)]
)
def test_text_that_is_read_otherwise_is_refused(other: onnx.NodeProto, tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match="tensors of string are not supported"):
        convert(picked(tmp_path, np.zeros((2, 3), np.float32), other))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (node("LinearRegressor", "x", "y", domain=DOMAIN, coefficients=[1.0] * 3), "3 coefficients, 1 rows"),
        (node("LinearRegressor", "x", "y", domain=DOMAIN), "attribute coefficients is missing"),
        (
            node("LinearRegressor", "x", "y", domain=DOMAIN, coefficients=[1.0, 1.0], intercepts=[1.0] * 2),
            "2 intercepts are not for 1 rows",
        ),
        (node("Normalizer", "x", "y", domain=DOMAIN, norm="L3"), "norm L3 is not supported"),
        (node("ZipMap", "x", "y", domain=DOMAIN, classlabels_int64s=[1]), "1 classes are not for"),
        (
            classifier(np.zeros((1, 2)), 2, [1, 2], post_transform="PROBIT"),
            "post_transform PROBIT is not supported",
        ),
        (classifier(np.zeros((1, 2)), 2, [1]), "1 labels are not for 2 rows"),
        (classifier(np.zeros((1, 2)), 1, [1]), "1 labels are not for 1 rows"),
    ],
)
def test_what_does_not_fit_is_refused(made: onnx.NodeProto, said: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match=said):
        convert(stored(tmp_path, np.zeros((4, 2), np.float32), made, outputs={"y": FLOAT}))
