"""Inputs and outputs of ONNX models keep their names and their meaning, whatever stands between them."""

import numpy as np
import pytest
from onnx import ModelProto
from support.onnx_models import model, node, tensor

from edgekit.converters.onnx.reader import convert
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.simulate import run

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 3
C = np.array([1.0, -2.0, 3.0], np.float32)


def results(proto: ModelProto) -> dict[str, np.ndarray]:
    """What the model computes from X, before and after all passes."""
    graph = convert(proto)
    verify(graph)
    found = run(graph, {"x": X})
    simple = simplify(graph)
    verify(simple)
    for name, data in run(simple, {"x": X}).items():
        assert np.array_equal(data, found[name])
    return found


def test_an_output_may_be_a_constant_of_the_model() -> None:
    found = results(model([node("Relu", "x", "y")], {"c": C}, outputs=["y", "c"]))
    assert list(found) == ["y", "c"]
    assert np.array_equal(found["c"], C)


def test_an_output_may_be_computed_from_constants() -> None:
    found = results(model([node("Relu", "c", "y")], {"c": C}))
    assert np.array_equal(found["y"], np.maximum(C, 0))


def test_an_output_that_is_an_input_gets_a_name_of_its_own() -> None:
    found = results(model([node("Relu", "x", "y")], outputs=["x", "y"]))
    assert list(found) == ["x_1", "y"]
    assert np.array_equal(found["x_1"], X)


def test_two_outputs_may_be_the_same_tensor() -> None:
    nodes = [node("Relu", "x", "y"), node("Identity", "y", "z"), node("Identity", "x", "same")]
    found = results(model(nodes, outputs=["y", "z", "same"]))
    assert list(found) == ["y", "z", "same"]
    assert np.array_equal(found["y"], found["z"])
    assert np.array_equal(found["same"], X)


def test_equal_constants_may_be_two_outputs() -> None:
    found = results(model([node("Relu", "x", "y")], {"a": C, "b": C}, outputs=["a", "b", "y"]))
    assert list(found) == ["a", "b", "y"]
    assert np.array_equal(found["a"], found["b"])


def test_an_input_with_a_default_value_is_a_constant() -> None:
    proto = model([node("Add", "x c", "y")], {"c": C}, inputs=[tensor("x", [2, 3]), tensor("c", [3])])
    assert convert(proto).inputs == ("x",)


@pytest.mark.parametrize("dims", [["n", 3], [-1, 3], [None, 3]], ids=str)
def test_a_batch_that_is_not_bound_is_one(dims: list[int | str | None]) -> None:
    graph = convert(model([node("Relu", "x", "y")], inputs=[tensor("x", dims)]))
    assert graph.type("x").shape == (1, 3)


@pytest.mark.parametrize("shape", [[2], [2, 3, 4], [2, 4], [-2, 3], [1 << 60, 3]], ids=str)
def test_a_shape_that_does_not_fit_is_a_mistake_of_the_user(shape: list[int]) -> None:
    proto = model([node("Relu", "x", "y")], inputs=[tensor("x", ["n", 3])])
    with pytest.raises(EdgeKitError, match=r"does not fit input x, which is \[n,3\]") as info:
        convert(proto, shapes={"x": shape})
    assert info.value.code == "E0103"
