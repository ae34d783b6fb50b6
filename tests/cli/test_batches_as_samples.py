"""Verbs take samples as training loops have them: tensors, batches with labels, a DataLoader, lists."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.tools import require_module

import edgekit
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.dense import Dense
from edgekit.core.types import Array, DType, Type

X = np.random.default_rng(0).normal(size=(12, 1, 6)).astype(np.float32)
Y = np.arange(12) % 3


def network() -> Graph:
    b, random = Builder(), np.random.default_rng(1)
    x = b.input("x", Type(DType.F32, (1, 6)))
    weights = (b.const(random.normal(size=shape).astype(np.float32)) for shape in ((3, 6), (3,)))
    return b.graph("net", [x], [b.one(Dense(), x, *weights, name="y")])


def tensor(x: Array) -> Any:
    """One that learns, as outputs of other layers are."""
    return require_module("torch").from_numpy(x).requires_grad_()


def loader() -> Any:
    data = require_module("torch.utils.data")
    torch = require_module("torch")
    return data.DataLoader(data.TensorDataset(torch.from_numpy(X[:, 0]), torch.from_numpy(Y)), batch_size=5)


def generator() -> Iterator[Array]:
    yield X[:5, 0]
    yield X[5:, 0]


FORMS: dict[str, Callable[[], Any]] = {
    "tensor": lambda: tensor(X),
    "tensors by name": lambda: {"x": tensor(X)},
    "DataLoader": loader,
    "list of batches": lambda: [tensor(X[:5, 0]), tensor(X[5:, 0])],
    "list of samples": lambda: list(X),
    "batches with labels": lambda: [(X[:5, 0], Y[:5]), (X[5:, 0], Y[5:])],
    "dicts": lambda: [{"x": X[:5, 0]}, {"x": X[5:, 0]}],
    "generator": generator,
    "lists of numbers": X[:, 0].tolist,
}


@pytest.mark.parametrize("form", FORMS)
def test_samples_in_any_form_are_the_same_samples(form: str) -> None:
    graph = network()
    made, found = edgekit.quantize_model(graph, FORMS[form](), gate=edgekit.Gate(labels=Y))
    wanted, expected = edgekit.quantize_model(graph, X, gate=edgekit.Gate(labels=Y))
    assert found.sqnr_db == expected.sqnr_db
    assert found.verdict == expected.verdict
    x = np.random.default_rng(2).normal(size=(1, 6)).astype(np.float32)
    assert np.array_equal(edgekit.run(made, x)["y"], edgekit.run(wanted, x)["y"])
    assert edgekit.float_accuracy(graph, FORMS[form](), Y) == edgekit.float_accuracy(graph, X, Y)
    assert edgekit.diff(graph, made, FORMS[form]()) == edgekit.diff(graph, made, X)


@pytest.mark.parametrize("form", FORMS)
def test_a_model_runs_on_any_form(form: str) -> None:
    y = edgekit.run(network(), FORMS[form]())["y"]
    assert np.array_equal(y.reshape(12, 3), edgekit.run(network(), X)["y"].reshape(12, 3))


def test_two_inputs_are_a_tuple_in_order_or_a_dict() -> None:
    b = Builder()
    names = [b.input(name, Type(DType.F32, (1, 6))) for name in ("p", "q")]
    graph = b.graph("sum", names, [b.one(Add(), *names, name="y")])
    p, q = X[:4, 0], 2 * X[4:8, 0]
    for given in ([(p, q)], [{"p": p, "q": q}], [((p, q), Y[:4])], {"p": tensor(p), "q": tensor(q)}):
        assert np.array_equal(edgekit.run(graph, given)["y"], p + q)
    with pytest.raises(EdgeKitError, match="has 1 of 2 inputs"):
        edgekit.quantize_model(graph, [p])
    with pytest.raises(EdgeKitError, match=r"(?s)the argument holds one array, sum has 2 inputs.*keys p, q"):
        edgekit.quantize_model(graph, p)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([X[..., :2]], r"input x is \[12,1,2\]"),
        ([X[0], "x"], "input x is <U1"),
        ([[1.0, 2.0], [3.0]], "input x is a list that is no array"),
        ([], "no calibration sample"),
        ([None], "input x is a NoneType that is no array"),
        ({"x": [[1.0], [2.0, 3.0]]}, "input x is a list that is no array"),
    ],
)
def test_what_is_no_sample_is_refused(given: Any, words: str) -> None:
    with pytest.raises(EdgeKitError, match=words):
        edgekit.quantize_model(network(), given)


@pytest.mark.parametrize("is_list", [False, True])
def test_numbers_that_numpy_lacks_are_named(is_list: bool) -> None:
    x = tensor(X).bfloat16()
    with pytest.raises(EdgeKitError, match=r"(?s)input x is torch.bfloat16, .*x\.float\(\)"):
        edgekit.quantize_model(network(), [x] if is_list else x)
