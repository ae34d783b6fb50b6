"""Mixtures of experts: what they compute, and that a run takes those experts alone that its tokens choose."""

import re
import subprocess
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
from edgekit.converters.semantics.mixture import mixture
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

    y = mixture(compose.dense(x, x.new(router)), chosen, expert, normalizes)
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
