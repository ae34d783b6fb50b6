"""Attention to a cache is one operator, however its mask and its heads are spelled."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.near_misses import near_misses
from support.nets import Net, kinds

from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.activations import Tanh
from edgekit.core.ops.arithmetic import Add, Div, Mul
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.logic import And, Equal, Less, LessOrEqual, Not, Or, Where
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.scatter import Scatter
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes import verify
from edgekit.core.passes.attention import attention
from edgekit.core.types import Array, DType, Type

HEADS, SHARED, QUERIES, KEYS, SIZE = 6, 2, 3, 8, 5
TIMES = HEADS // SHARED


def network(
    mask: str = "where",
    flat: bool = False,
    low: float = -3e38,
    order: Any = tuple(range(KEYS)),
    tiled: bool = False,
    cached: bool = True,
    merged: bool = False,
    seen: Callable[[Net, str, str], str] = lambda net, keys, at: net.one(LessOrEqual(), keys, at),
    scaled: bool = False,
    cap: float = 0,
    bias: Array | None = None,
) -> Graph:
    """Attention of grouped heads; `flat` products have no batch, `tiled` heads are not side by side. Products
    transpose keys where they are `merged`, as other passes leave them. Queries and keys may be `scaled`,
    scores capped and biased."""
    net = Net()
    q = net.x(1, HEADS, QUERIES, SIZE, name="q")
    at = net.input("at", Type(DType.S64, (QUERIES,)))
    net.inputs.append(at)
    k, v = (net.x(1, SHARED, KEYS, SIZE, name=name) for name in "kv")
    if cached:
        row = net.const(np.array([[[[2]]]]))
        k, v = (net(Scatter(2), x, row, net.random(1, SHARED, 1, SIZE)) for x in (k, v))
    if scaled:
        q, k = net(Mul(), q, 2.0), net(Mul(), k, 0.75)
    k, v = (_repeated(net, x, tiled) for x in (k, v))
    k = k if merged else net(Transpose((0, 1, 3, 2)), k)
    if flat:
        q, k, v = (net(Reshape(net.type(x).shape[1:]), x) for x in (q, k, v))
    product = MatMul(perm_b=((0, 2, 1) if flat else (0, 1, 3, 2)) if merged else ())
    scores = net(Reshape((1, HEADS, QUERIES, KEYS)), net(product, q, k))
    scores = net(Div(), scores, 2.0) if flat else net(Mul(), scores, 0.5)
    if cap:
        scores = net(Mul(), net(Tanh(), net(Mul(), scores, 1 / cap)), cap)
    if bias is not None:
        scores = net.one(Add(), scores, net.const(bias.astype(np.float32)))
    places = net.const(np.asarray(order, np.int64))
    visible = seen(net, places, net(Reshape((QUERIES, 1)), at))
    if mask.startswith("where"):
        scores = net(Where(), net(Reshape((1, 1, QUERIES, KEYS)), visible), scores, low)
    else:
        off = net(Reshape((1, 1, QUERIES, KEYS)), net(Where(), visible, 0.0, low))
        scores = net(Add(), scores, off)
    weights = net(Softmax(), scores)
    if mask == "guarded":
        largest = net(Reduce("max", (3,), keepdims=True), off)
        weights = net(Where(), net.one(Equal(), largest, net.const(np.float32(low))), 0.0, weights)
    elif mask == "where guarded":
        any_seen = net(Reduce("max", (1,), keepdims=True), visible)
        weights = net(Where(), net(Not(), any_seen), 0.0, weights)
    weights = net(Reshape((HEADS, QUERIES, KEYS)), weights) if flat else weights
    return net.done(net(MatMul(), weights, v, name="y"))


def _repeated(net: Net, x: str, tiled: bool) -> str:
    """Heads 0, 0, 0, 1, 1, 1 of heads 0 and 1, or 0, 1, 0, 1, 0, 1."""
    one, all = (1, SHARED, 1, KEYS, SIZE), (1, SHARED, TIMES, KEYS, SIZE)
    if tiled:
        one, all = (1, 1, SHARED, KEYS, SIZE), (1, TIMES, SHARED, KEYS, SIZE)
    return net(Reshape((1, HEADS, KEYS, SIZE)), net(Expand(all), net(Reshape(one), x)))


@pytest.mark.parametrize("flat", [False, True], ids=["batch", "flat"])
@pytest.mark.parametrize("mask", ["where", "add"])
@pytest.mark.parametrize("merged", [False, True], ids=["moved", "merged"])
def test_products_a_mask_and_a_softmax_are_one_operator(merged: bool, mask: str, flat: bool) -> None:
    graph = network(mask, flat, merged=merged)
    after = attention(graph)
    verify(after)
    assert set(kinds(after)) == {"CachedAttention", "Reshape", "Scatter"}
    _assert_same(graph, after)


def _from(net: Net, keys: str, at: str, first: int) -> str:
    """Keys from the position on that is so many before the query's."""
    return net.one(Less(), net.one(Add(), at, net.const(np.int64(-first - 1))), keys)


def _below(net: Net, keys: str, at: str) -> str:
    return net.one(Less(), keys, net.one(Add(), at, net.const(np.int64(1))))


MASKS: dict[str, tuple[Callable[[Net, str, str], str], int]] = {
    "below the next": (_below, 0),
    "not above": (lambda net, keys, at: net.one(Not(), net.one(Less(), at, keys)), 0),
    "both": (
        lambda net, keys, at: net.one(And(), _below(net, keys, at), net.one(LessOrEqual(), keys, at)),
        0,
    ),
    "window": (lambda net, keys, at: net.one(And(), _below(net, keys, at), _from(net, keys, at, 2)), 3),
    "window of all": (
        lambda net, keys, at: net.one(And(), _from(net, keys, at, KEYS), _below(net, keys, at)),
        0,
    ),
    "outside of a window": (
        lambda net, keys, at: net.one(
            Not(),
            net.one(
                Or(),
                net.one(Less(), at, keys),
                net.one(LessOrEqual(), keys, net.one(Add(), at, net.const(np.int64(-4)))),
            ),
        ),
        4,
    ),
    "always true": (
        lambda net, keys, at: net.one(And(), net.const(np.ones((1, KEYS), np.bool_)), _below(net, keys, at)),
        0,
    ),
}


@pytest.mark.parametrize("mask", ["where", "add"])
@pytest.mark.parametrize("name", MASKS)
def test_positions_are_compared_in_many_ways(name: str, mask: str) -> None:
    form, window = MASKS[name]
    graph = network(mask, seen=form)
    after = attention(graph)
    verify(after)
    (op,) = (node.op for node in after.nodes if isinstance(node.op, CachedAttention))
    assert op == CachedAttention(0.5, window)
    _assert_same(graph, after)


@pytest.mark.parametrize(
    "form",
    [
        lambda net, keys, at: _from(net, keys, at, 2),  # without an end
        lambda net, keys, at: net.one(
            And(), _below(net, keys, at), _from(net, keys, at, -1)
        ),  # nothing is left
        lambda net, keys, at: net.one(Or(), _below(net, keys, at), _from(net, keys, at, 2)),
        lambda net, keys, at: net.one(  # windows of several sizes
            And(),
            _below(net, keys, at),
            net.one(Less(), net.one(Add(), at, net.const(np.array([[-3], [-4], [-3]]))), keys),
        ),
        lambda net, keys, at: net.one(  # each query is a position further, and the window is not
            And(),
            net.one(LessOrEqual(), keys, net.one(Add(), at, net.const(np.array([[0], [1], [2]])))),
            _from(net, keys, at, 2),
        ),
    ],
    ids=["no end", "nothing", "or", "several sizes", "fixed begin"],
)
def test_other_comparisons_stay(form: Callable[[Net, str, str], str]) -> None:
    graph = network(seen=form)
    assert attention(graph) is graph


SLOPES = np.array([0.5, 0.25, -1, 2, 0, 3])[None, :, None, None]


@pytest.mark.parametrize("mask", ["where", "add"])
@pytest.mark.parametrize("flat", [False, True], ids=["batch", "flat"])
def test_caps_and_slopes_are_part_of_it(flat: bool, mask: str) -> None:
    """Soft-capping, and ALiBi: what is added to all keys of a head besides changes nothing."""
    graph = network(
        mask, flat, cap=1.5, bias=SLOPES * np.arange(KEYS) + np.arange(HEADS)[None, :, None, None]
    )
    after = attention(graph)
    verify(after)
    assert set(kinds(after)) == {"CachedAttention", "Reshape", "Scatter"}
    (op,) = (node.op for node in after.nodes if isinstance(node.op, CachedAttention))
    assert (op.scale, op.cap) == pytest.approx((0.5, 1.5))
    _assert_same(graph, after)
    for what, other in near_misses(graph):
        _assert_same(other, attention(other), what)


@pytest.mark.parametrize(
    "bias",
    [
        SLOPES * np.arange(KEYS) ** 2,
        SLOPES * np.arange(QUERIES)[:, None] * np.arange(KEYS),
        np.broadcast_to(SLOPES * np.arange(KEYS)[::-1].clip(2), (1, HEADS, QUERIES, KEYS)),
    ],
    ids=["curve", "of each query", "bend"],
)
def test_other_biases_stay(bias: Array) -> None:
    graph = network(bias=bias)
    assert attention(graph) is graph


@pytest.mark.parametrize("mask", ["guarded", "where guarded"])
def test_a_guard_of_masks_and_factors_are_part_of_it(mask: str) -> None:
    """As ONNX and PyTorch define it: weights are 0 where a mask leaves nothing, which positions never do."""
    graph = network(mask, low=-np.inf, scaled=True)
    after = attention(graph)
    verify(after)
    assert set(kinds(after)) == {"CachedAttention", "Reshape", "Scatter"}
    assert CachedAttention(0.75) in [node.op for node in after.nodes]
    _assert_same(graph, after)
    for what, other in near_misses(graph):
        _assert_same(other, attention(other), what)


def _assert_same(graph: Graph, after: Graph, what: str = "") -> None:
    inputs = simulate.random_inputs(graph, seed=1)
    inputs |= {name: np.array([0, 7, 3]) for name in {"at"} & set(graph.inputs)}
    right, found = (simulate.run(each, inputs) for each in (graph, after))
    for name in graph.outputs:
        np.testing.assert_allclose(found[name], right[name], rtol=1e-5, atol=1e-6, err_msg=what)


@pytest.mark.parametrize(
    "other",
    [
        {"low": -5.0},  # that leaves some weight
        {"order": np.arange(KEYS)[::-1]},
        {"order": np.arange(KEYS) + 1},
        {"tiled": True},
        {"cached": False},
        {"tiled": True, "merged": True},
    ],
    ids=["soft mask", "backwards", "from one on", "heads in another order", "no cache", "both"],
)
def test_other_forms_stay(other: dict[str, Any]) -> None:
    graph = network(**other)
    assert attention(graph) is graph


@pytest.mark.parametrize("flat", [False, True], ids=["batch", "flat"])
@pytest.mark.parametrize("mask", ["where", "add"])
@pytest.mark.parametrize("merged", [False, True], ids=["moved", "merged"])
def test_one_difference_is_no_other_attention(merged: bool, mask: str, flat: bool) -> None:
    for what, graph in near_misses(network(mask, flat, merged=merged)):
        after = attention(graph)
        verify(after)
        _assert_same(graph, after, what)
