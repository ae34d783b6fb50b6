"""Mixtures of experts: what they compute, and that a run takes those experts alone that its tokens choose."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.generated import STRICT, compiled
from support.language_models import folder
from support.nets import Net
from support.tools import require

from edgekit import build, convert, quantize_model, run
from edgekit.codegen.program import compile_graph
from edgekit.converters.semantics import compose
from edgekit.converters.semantics.mixture import (
    Shares,
    in_shares,
    margin_shares,
    sigmoid_shares,
    softmax_shares,
)
from edgekit.converters.tensor import Tensor
from edgekit.core.ir import Graph
from edgekit.core.passes.simplify import simplify
from edgekit.core.target import load
from edgekit.core.types import Array

WIDTH, EXPERTS = 40, 6


def mixed(tokens: int, chosen: int, normalizes: bool = True) -> tuple[Graph, Array, Array]:
    """Experts that are a matrix each; the weights of the router, and of the experts."""
    net = Net()
    x = Tensor(net, net.x(tokens, WIDTH))
    router, experts = net.random(EXPERTS, WIDTH), net.random(EXPERTS, WIDTH, WIDTH)

    def expert(i: int) -> Tensor:
        net.origin = f"expert.{i}"
        return compose.dense(x, x.new(experts[i]))

    routed = softmax_shares(compose.dense(x, x.new(router)), chosen, normalizes)
    y = in_shares(*routed, len(router), expert)
    return simplify(net.done(y.name)), router, experts


def shares(x: Array, router: Array, chosen: int, normalizes: bool = True) -> Array:
    """Of each expert in each token's result."""
    scores = x @ router.T
    p = np.exp(scores - scores.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    p[p < np.sort(p, axis=-1)[..., -chosen, None]] = 0
    found: Array = p / p.sum(axis=-1, keepdims=True) if normalizes else p
    return found


@pytest.mark.parametrize("normalizes", [False, True])
@pytest.mark.parametrize(("tokens", "chosen"), [(1, 1), (1, 2), (3, 2), (1, EXPERTS), (5, EXPERTS - 1)])
def test_results_are_the_sums_of_those_of_the_chosen(tokens: int, chosen: int, normalizes: bool) -> None:
    require("cc")
    graph, router, experts = mixed(tokens, chosen, normalizes)
    x = np.random.default_rng(chosen).normal(size=(4, tokens, WIDTH)).astype(np.float32)
    each = np.einsum("ntw,eow->nteo", x, experts)
    expected = np.einsum("nte,nteo->nto", shares(x, router, chosen, normalizes), each)
    for target in ({}, {"target": "host"}):
        (y,) = run(graph, {"x": x}, **target).values()
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


def routed(route: Callable[[Tensor], Shares], scores: Array) -> tuple[Array, Array]:
    """Which experts each token takes, and their shares, in the simulator and in C alike."""
    net = Net()
    at, shares = route(Tensor(net, net.x(*scores.shape[1:])))
    graph = simplify(net.done(at.name, shares.name))
    found = [list(run(graph, {"x": scores}, **target).values()) for target in ({}, {"target": "host"})]
    np.testing.assert_array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)
    return found[0][0].reshape(-1, at.shape[1]), found[0][1].reshape(-1, at.shape[1])


@pytest.mark.parametrize("normalizes", [False, True])
@pytest.mark.parametrize("chosen", [1, 3, EXPERTS])
def test_sigmoids_are_shares_of_experts_that_a_correction_chooses(chosen: int, normalizes: bool) -> None:
    """The correction decides which, and is no part of their shares (DeepSeek, GLM-4)."""
    require("cc")
    rng = np.random.default_rng(chosen)
    scores, correction = rng.normal(size=(5, 4, EXPERTS)), rng.normal(size=EXPERTS)
    scores, correction = scores.astype(np.float32), correction.astype(np.float32)
    at, shares = routed(lambda x: sigmoid_shares(x, x.new(correction), chosen, normalizes, 2.5), scores)
    p = 1 / (1 + np.exp(-scores.reshape(-1, EXPERTS).astype(float)))
    expected = np.argsort(-(p + correction), axis=1)[:, :chosen]
    np.testing.assert_array_equal(np.sort(at, 1), np.sort(expected, 1))
    own = np.take_along_axis(p, at.astype(int), 1)
    np.testing.assert_allclose(
        shares, 2.5 * own / (own.sum(1, keepdims=True) if normalizes else 1), rtol=1e-5
    )


@pytest.mark.parametrize("level", [-20.0, 0.0, 5.0, 1e4])
def test_shares_of_two_experts_are_among_scores_within_a_margin(level: float) -> None:
    """SparseMixer, as PhiMoE has it; by its definition, in steps of one token."""
    require("cc")
    scores = np.random.default_rng(1).normal(level, 1, size=(6, 3, EXPERTS)).astype(np.float32)
    at, shares = routed(lambda x: margin_shares(x, 0.2), scores)
    for row, experts, found in zip(scores.reshape(-1, EXPERTS).astype(float), at, shares, strict=True):
        left = row.copy()
        for expert, share in zip(experts.astype(int), found, strict=True):
            assert expert == left.argmax()
            most = left[expert]
            counts = (left > -np.inf) & ((most - row) / np.maximum(np.abs(row), most) <= 0.2)
            np.testing.assert_allclose(share, 1 / np.exp(left[counts] - most).sum(), rtol=1e-3)
            left[expert] = -np.inf


def test_sigmoids_that_are_all_zero_are_shares_of_zero() -> None:
    scores = np.full((1, 1, EXPERTS), -200, np.float32)
    _, shares = routed(lambda x: sigmoid_shares(x, x.like(np.zeros(EXPERTS)), 2, True, 1.0), scores)
    assert shares.tolist() == [[0, 0]]


def test_scores_of_zero_are_within_a_margin_of_each_other() -> None:
    at, shares = routed(lambda x: margin_shares(x, 0.2), np.zeros((1, 1, EXPERTS), np.float32))
    assert at.tolist() == [[0, 1]]
    np.testing.assert_allclose(shares, [[1 / EXPERTS, 1 / (EXPERTS - 1)]], rtol=1e-5)


@pytest.mark.parametrize(("tokens", "chosen"), [(1, 1), (1, 2), (3, 2)])
def test_a_run_takes_the_experts_alone_that_its_tokens_choose(
    tokens: int, chosen: int, tmp_path: Path
) -> None:
    """A hook behind each layer tells which matrices were multiplied by."""
    require("cc")
    graph, router, _ = mixed(tokens, chosen)
    build(graph, tmp_path / "net", layer_hook=True)
    x = np.random.default_rng(tokens).normal(size=(8, tokens, WIDTH)).astype(np.float32)
    x.tofile(tmp_path / "x")
    main = f"""
    #include "net.h"
    #include <stdio.h>
    static const char *const names[] = {{NET_LAYER_NAMES}};
    void net_layer_done(int32_t layer) {{ puts(names[layer]); }}
    int main(void)
    {{
        static float x[{x[0].size}], y[{x[0].size}];
        static uint8_t arena[NET_ARENA_SIZE + 64];
        while (fread(x, sizeof x, 1, stdin) == 1) {{
            puts("run");
            net_run(x, y, (void *)(((uintptr_t)arena + 63) / 64 * 64));
        }}
        return 0;
    }}
    """
    (tmp_path / "main.c").write_text(main)
    sources = [str(path) for path in (tmp_path / "net").glob("*.c") if "selftest" not in path.name]
    compiled(tmp_path, "cc", *STRICT, "-Inet", "main.c", *sources, "-lm", "-o", "main")
    given = (tmp_path / "x").read_bytes()
    text = subprocess.run([tmp_path / "main"], input=given, capture_output=True, check=True).stdout.decode()
    _, *steps = text.split("run\n")
    taken = [{int(i) for i in re.findall(r"^expert_(\d)_dense$", step, re.MULTILINE)} for step in steps]
    expected = shares(x, router, chosen).max(axis=1) > 0
    assert taken == [set(np.flatnonzero(row)) for row in expected]


@pytest.mark.parametrize(("tokens", "chosen"), [(1, 2), (2, 2), (4, 3)])
def test_products_are_those_of_as_many_experts_as_a_run_may_choose(tokens: int, chosen: int) -> None:
    graph, _, _ = mixed(tokens, chosen)
    most = min(tokens * chosen, EXPERTS)
    assert compile_graph(graph, load("host")).macs == tokens * WIDTH * (EXPERTS + most * WIDTH)


@pytest.mark.parametrize("dtype", ["int8", "int4"])
def test_weights_of_experts_may_be_integers(dtype: str, tmp_path: Path) -> None:
    require("cc")
    graph = convert(folder("mixtral")(tmp_path), dims={"positions": 16, "chunk": 1})
    made, _ = quantize_model(graph, None, dtype=dtype, activations="float32")
    assert f"{dtype[0]}{dtype[-1]}".replace("i", "s") in {
        value.type.dtype.value for name, value in made.values.items() if ".experts." in name
    }
    tokens = np.arange(12, dtype=np.int32).reshape(-1, 1)
    given = {"token": tokens, "position": tokens}
    (expected,), (y,) = (run(made, given, **target).values() for target in ({}, {"target": "host"}))
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)
