"""Blocks of weights that pruning makes zero: which, what the others make up for, and that they stay zero."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from support.nets import Net

from edgekit import api
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.tiles import occupied, zero_blocks
from edgekit.core.types import Array
from edgekit.quantize.pruning.blocks import _costs
from edgekit.quantize.pruning.groups import Network
from edgekit.quantize.pruning.plan import Pruning, quality_of
from edgekit.quantize.pruning.prune import prune

INPUTS, OUTPUTS = 48, 32


def low_rank(net: Net, samples: int) -> list[Mapping[str, Any]]:
    """Inputs that depend on each other: what one weight did, others can do."""
    rng = np.random.default_rng(5)
    mix = rng.normal(size=(12, INPUTS))
    x = rng.normal(size=(samples, 12)) @ mix + 0.05 * rng.normal(size=(samples, INPUTS))
    return [{"x": row[None].astype(np.float32)} for row in x]


def layer() -> tuple[Graph, list[Mapping[str, Any]]]:
    net = Net()
    w, b = net.random(OUTPUTS, INPUTS), net.random(OUTPUTS)
    return net.done(net(Dense(), net.x(1, INPUTS), w, b)), low_rank(net, 160)


def weights_of(graph: Graph) -> Array:
    (found,) = Network.of(graph).mixers.values()
    return found.w


@pytest.mark.parametrize("tile", [(1, 4), (16, 4), (4, 2)])
def test_so_many_blocks_are_zero(tile: tuple[int, int]) -> None:
    graph, samples = layer()
    for data in ((), samples):
        made, found = prune(graph, data, Pruning(blocks=0.75, tile=tile))
        assert zero_blocks(weights_of(made), *tile) == 75
        (of_layer,) = found.blocks
        assert of_layer.share == pytest.approx(0.75)
        assert found.macs == found.macs_before, "shapes are the same"
        assert not found.groups


def test_the_others_make_up_for_it() -> None:
    graph, samples = layer()
    wanted = {"blocks": 0.6, "tile": (1, 4)}
    sorts = {
        "magnitude": prune(graph, [], Pruning(**wanted)),  # type: ignore[arg-type]  # a share and a tile
        "chosen": prune(graph, samples, Pruning(**wanted, fit=False)),  # type: ignore[arg-type]
        "fitted": prune(graph, samples, Pruning(**wanted)),  # type: ignore[arg-type]
    }
    quality = {name: quality_of(graph, made, samples) for name, (made, _) in sorts.items()}
    assert quality["fitted"] > quality["chosen"] + 10, quality
    assert quality["fitted"] > quality["magnitude"] + 10, quality
    chosen, fitted = (occupied(weights_of(sorts[name][0]), 1, 4) for name in ("chosen", "fitted"))
    assert np.array_equal(chosen, fitted)


def test_blocks_that_do_nothing_go_first() -> None:
    net = Net()
    w = net.random(16, 1, 1, 32)
    useless = np.random.default_rng(3).random((16, 8)) < 0.4
    w *= np.where(np.repeat(useless, 4, axis=1), 1e-4, 1).astype(np.float32)[:, None, None]
    graph = net.done(net(Conv2d(), net.x(1, 4, 4, 32), w, net.random(16)))
    share = float(useless.mean())
    made, _ = prune(graph, [{"x": net.random(1, 4, 4, 32)} for _ in range(8)], Pruning(blocks=share))
    assert np.array_equal(occupied(weights_of(made), 1, 4), ~useless)


def test_layers_without_such_kernels_are_left_alone() -> None:
    net = Net()
    x = net(Conv2d(pads=(1, 1, 1, 1)), net.x(1, 6, 6, 8), net.random(16, 3, 3, 8), net.random(16))
    graph = net.done(net(Conv2d(), x, net.random(24, 1, 1, 16), net.random(24)))
    with pytest.raises(EdgeKitError, match="no layer"):
        prune(graph, [], Pruning(blocks=0.5, tile=(16, 4)))


def test_only_convolutions_of_one_pixel_and_one_group_have_blocks() -> None:
    net = Net()
    x = net(Conv2d(pads=(1, 1, 1, 1)), net.x(1, 6, 6, 64), net.random(64, 3, 3, 64), net.random(64))
    x = net(Conv2d(groups=2), x, net.random(64, 1, 1, 32), net.random(64))
    graph = net.done(net(Conv2d(), x, net.random(64, 1, 1, 64), net.random(64)))
    made, _ = prune(graph, [], Pruning(blocks=0.5, tile=(16, 4)))
    zero = [int((made.data(node.inputs[1]) == 0).sum()) for node in made.nodes]
    assert zero == [0, 0, 64 * 64 // 2]


def test_channels_go_first() -> None:
    net = Net()
    x = net(Conv2d(lo=0.0), net.x(1, 4, 4, 32), net.random(64, 1, 1, 32), net.random(64))
    graph = net.done(net(Conv2d(), x, net.random(32, 1, 1, 64), net.random(32)))
    samples = [{"x": net.random(1, 4, 4, 32)} for _ in range(12)]
    made, found = prune(graph, samples, Pruning(ratio=0.5, blocks=0.5))
    assert [group.after for group in found.groups] == [32]
    assert [zero_blocks(one.w, 1, 4) for one in Network.of(made).mixers.values()] == [50, 50]


@pytest.mark.parametrize("bits", ["int8", "int4"])
def test_zeros_stay_zeros_when_weights_are_rounded(bits: str) -> None:
    graph, samples = layer()
    made, _ = prune(graph, samples, Pruning(blocks=0.6))
    data = np.concatenate([sample["x"] for sample in samples])
    quantized, _ = api.quantize_model(made, data, weights=bits)
    (node,) = [node for node in quantized.nodes if isinstance(node.op, Dense)]
    integers = quantized.data(node.inputs[1])
    assert integers is not None
    empty = ~np.repeat(occupied(weights_of(made), 1, 4), 4, axis=1)
    assert not integers[empty].astype(np.int8).any()
    assert integers[~empty].astype(np.int8).any()


def test_costs_are_what_outputs_lose_when_the_others_make_up_for_a_block() -> None:
    """Least squares over the inputs that are left, by the book: with all blocks, and with one gone."""
    rng = np.random.default_rng(4)
    x, w = rng.normal(size=(60, 12)) @ rng.normal(size=(12, 12)), rng.normal(size=(12, 3))
    squares = x.T @ x
    for kept in (np.ones(6, np.bool_), np.array([1, 1, 0, 1, 1, 1], np.bool_)):
        found = _costs(w, squares, np.linalg.inv(squares), kept, 2)
        base = _loss(x, w, np.repeat(kept, 2))
        for block in np.flatnonzero(kept):
            left = kept.copy()
            left[block] = False
            assert found[block] == pytest.approx(_loss(x, w, np.repeat(left, 2)) - base, rel=1e-6)


def _loss(x: Array, w: Array, left: Array) -> float:
    """Squares of what the outputs x w differ from the nearest that these inputs can do."""
    best = np.linalg.lstsq(x[:, left], x @ w, rcond=None)[0]
    return float(((x[:, left] @ best - x @ w) ** 2).sum())
