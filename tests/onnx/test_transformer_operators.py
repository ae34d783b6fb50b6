"""Fused operators of transformers, as ONNX Runtime computes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator
from support.onnx_models import model, node, tensor
from support.quantized_models import reference
from support.tools import require

from edgekit import api
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

_TYPES = {"float32": TensorProto.FLOAT, "int32": TensorProto.INT32, "int64": TensorProto.INT64}
Inputs = dict[str, Array]


def numbers(*shape: int) -> Array:
    return np.random.default_rng([len(shape), *shape]).standard_normal(shape).astype(np.float32)


def net(
    op: str,
    inputs: Inputs,
    constants: dict[str, Any],
    order: str,
    outputs: str = "y",
    domain: str = "com.microsoft",
    **attributes: Any,
) -> ModelProto:
    """One operator, whose operands are inputs and constants by name."""
    made = node(op, order, outputs, domain=domain, **attributes)
    ports = [tensor(name, x.shape, _TYPES[x.dtype.name]) for name, x in inputs.items()]
    wanted = tuple(name for name in outputs.split() if name != "-")
    found = model([made], constants, inputs=ports, outputs=wanted)
    found.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    for output in found.graph.output:
        output.type.tensor_type.elem_type = TensorProto.FLOAT
    return found


def converted(made: ModelProto, folder: Path) -> Graph:
    path = folder / "net.onnx"
    path.write_bytes(made.SerializeToString())
    graph = api.convert(path)
    verify(graph)
    return graph


def check(made: ModelProto, inputs: Inputs, folder: Path, tolerance: float = 3e-6) -> Graph:
    graph = converted(made, folder)
    found, expected = simulate.run(graph, inputs), reference(made, [inputs])[0]
    for (name, ours), theirs in zip(found.items(), expected, strict=True):
        assert ours.shape == theirs.shape, name
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * np.abs(theirs).max(), err_msg=name)
    return graph


SIMPLE = {
    "SimplifiedLayerNormalization": ({"x": (2, 3, 16)}, {"g": (16,)}, {"domain": "", "epsilon": 1e-3}),
    "SkipSimplifiedLayerNormalization": (
        {"x": (2, 3, 16), "s": (2, 3, 16)},
        {"g": (16,), "b": (16,)},
        {"outputs": "y - - t"},
    ),
    "SkipLayerNormalization": (
        {"x": (2, 3, 16), "s": (2, 3, 16)},
        {"g": (16,), "e": (16,), "b": (16,)},
        {"outputs": "y - - t", "epsilon": 1e-5},
    ),
    "BiasGelu": ({"x": (2, 3, 16)}, {"b": (16,)}, {}),
    "FastGelu": ({"x": (2, 3, 16)}, {"b": (16,)}, {}),
    "Gelu": ({"x": (2, 3, 16)}, {}, {}),
    "QuickGelu": ({"x": (2, 3, 16)}, {}, {"alpha": 1.5}),
    "FusedMatMul": ({"x": (2, 5, 3), "z": (2, 4, 5)}, {}, {"alpha": 0.5, "transA": 1, "transB": 1}),
}


@pytest.mark.parametrize("op", SIMPLE)
def test_simple_ones(op: str, tmp_path: Path) -> None:
    shapes, constants, extra = SIMPLE[op]
    inputs = {name: numbers(*shape) for name, shape in shapes.items()}
    made = net(
        op,
        inputs,
        {name: numbers(*shape) for name, shape in constants.items()},
        " ".join((*shapes, *constants)),
        **extra,
    )
    check(made, inputs, tmp_path)


@pytest.mark.parametrize("mask", [False, True])
def test_embeddings(mask: bool, tmp_path: Path) -> None:
    ids = np.int32([[1, 4, 0], [2, 2, 3]])
    inputs = {"i": ids, "s": np.int32([[0, 0, 1], [0, 1, 1]])}
    inputs |= {"m": np.int32([[1, 1, 0], [1, 1, 1]])} if mask else {}
    tables = {"w": (5, 8), "p": (6, 8), "t": (2, 8), "g": (8,), "b": (8,)}
    constants = {name: numbers(*shape) for name, shape in tables.items()}
    made = net("EmbedLayerNormalization", inputs, constants, "i s w p t g b" + " m" * mask, "y c")
    made.graph.output[1].type.tensor_type.elem_type = TensorProto.INT32
    check(made, inputs, tmp_path)


def caches(length: int, size: int) -> dict[str, Array]:
    angles = np.arange(length)[:, None] / 10000 ** (np.arange(size // 2) / (size // 2))
    return {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("positions", [[[3, 4, 5], [0, 1, 9]], [2]])
@pytest.mark.parametrize("shape", [(2, 3, 32), (2, 4, 3, 8)])
def test_rotary_embeddings(
    interleaved: int, positions: list[Any], shape: tuple[int, ...], tmp_path: Path
) -> None:
    inputs = {"x": numbers(*shape), "p": np.int64(positions)}
    made = net("RotaryEmbedding", inputs, caches(12, 8), "x p cos sin", interleaved=interleaved)
    check(made, inputs, tmp_path)


def test_rotary_embeddings_of_a_part_of_each_head(tmp_path: Path) -> None:
    inputs = {"x": numbers(1, 3, 32), "p": np.int64([[3, 4, 5]])}
    extra = {"rotary_embedding_dim": 4, "num_heads": 4}
    check(net("RotaryEmbedding", inputs, caches(12, 4), "x p cos sin", **extra), inputs, tmp_path)


def grouped(
    length: int,
    stored: int,
    total: int,
    ends: list[int],
    *,
    packed: bool = False,
    known: bool = False,
    bias: bool = False,
    **attributes: Any,
) -> tuple[ModelProto, Inputs]:
    """Four heads of queries, two of keys, of 16 numbers; a cache of `stored` positions."""
    batch, size = len(ends), 16
    inputs: Inputs = {"q": numbers(batch, length, (8 if packed else 4) * size)}
    if not packed:
        inputs |= {name: numbers(batch, length, 2 * size) * (1 + i) for i, name in enumerate("kv")}
    inputs |= {name: numbers(batch, 2, stored, size) * (1 + i) for i, name in enumerate(("pk", "pv"))}
    constants: dict[str, Any] = {"total": np.int32(total), **caches(32, size)}
    (constants if known else inputs)["ends"] = np.int32(ends) - 1
    if bias:
        inputs["b"] = numbers(1, 4, length, total)
    order = "q - -" if packed else "q k v"
    order += " pk pv ends total cos sin" + " - b" * bias
    made = net(
        "GroupQueryAttention",
        inputs,
        constants,
        order,
        "y nk nv",
        num_heads=4,
        kv_num_heads=2,
        **attributes,
    )
    return made, inputs


GROUPED: dict[str, tuple[tuple[int, int, int, list[int]], dict[str, Any]]] = {
    "prompt": ((5, 0, 5, [5]), {}),
    "prompt, turned": ((5, 0, 5, [5, 5]), {"do_rotary": 1}),
    "prompt, packed": ((5, 0, 5, [5]), {"do_rotary": 1, "packed": True}),
    "next, known": ((1, 6, 7, [7]), {"do_rotary": 1, "known": True}),
    "next": ((1, 6, 7, [7]), {"do_rotary": 1}),
    "several, known": ((3, 6, 9, [9]), {"do_rotary": 1, "known": True}),
    "several": ((3, 6, 9, [9]), {"do_rotary": 1, "rotary_interleaved": 1}),
    "batch": ((1, 6, 7, [7, 4]), {"do_rotary": 1}),
    "window": ((5, 0, 5, [5]), {"local_window_size": 2}),
    "window of a cache": ((1, 6, 7, [7]), {"local_window_size": 3}),
    "soft cap": ((5, 0, 5, [5]), {"softcap": 0.5, "scale": 0.7}),
    "bias": ((3, 4, 7, [7]), {"bias": True}),
}


@pytest.mark.parametrize("case", GROUPED)
def test_grouped_attention(case: str, tmp_path: Path) -> None:
    shape, extra = GROUPED[case]
    made, inputs = grouped(*shape, **extra)
    graph = converted(made, tmp_path)
    found, expected = simulate.run(graph, inputs), reference(made, [inputs])[0]
    for (name, ours), theirs in zip(found.items(), expected, strict=True):
        assert ours.shape == theirs.shape
        for b, end in enumerate(shape[3]):  # behind the end of a sequence is what was there
            valid = slice(None) if name == "y" else np.s_[:, :end]
            np.testing.assert_allclose(
                ours[b][valid], theirs[b][valid], rtol=0, atol=4e-6 * np.abs(theirs).max(), err_msg=name
            )


@pytest.mark.parametrize("window", [-1, 3])
@pytest.mark.parametrize("tokens", [1, 3])
def test_grouped_attention_reads_its_cache_in_place(tokens: int, window: int, tmp_path: Path) -> None:
    made, inputs = grouped(tokens, 9, 9, [7], do_rotary=1, local_window_size=window)
    graph = simplify(converted(made, tmp_path))
    assert [node.op.window for node in graph.nodes if isinstance(node.op, CachedAttention)] == [
        max(window, 0)
    ]
    (found, *_), (expected, *_) = simulate.run(graph, inputs).values(), reference(made, [inputs])[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=4e-6 * np.abs(expected).max())


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("tokens", [1, 3])
def test_attention_of_opset_24_reads_its_cache_in_place(tokens: int, causal: int, tmp_path: Path) -> None:
    """TensorScatter writes a cache, and so many positions of it are filled."""
    inputs = {name: numbers(1, 2, tokens, 8) * scale for name, scale in (("k", 2), ("v", 3))}
    inputs |= {name: numbers(1, 2, 9, 8) * scale for name, scale in (("pk", 4), ("pv", 5))}
    inputs |= {"q": numbers(1, 4, tokens, 8), "at": np.int64([4])}
    nodes = [
        node("TensorScatter", "pk k at", "nk"),
        node("TensorScatter", "pv v at", "nv"),
        node("Add", "at n", "length"),
        node("Attention", "q nk nv - - - length", "y", is_causal=causal),
    ]
    ports = [tensor(name, x.shape, _TYPES[x.dtype.name]) for name, x in inputs.items()]
    made = model(nodes, {"n": np.int64([tokens])}, inputs=ports, outputs=("y", "nk", "nv"), opset=24)
    graph = simplify(converted(made, tmp_path))
    assert {"CachedAttention", "Scatter"} < {type(node.op).__name__ for node in graph.nodes}
    assert not {"MatMul", "Softmax", "Expand"} & {type(node.op).__name__ for node in graph.nodes}
    expected = ReferenceEvaluator(made).run(None, inputs)
    for (name, ours), theirs in zip(simulate.run(graph, inputs).items(), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=4e-6 * np.abs(theirs).max(), err_msg=name)


def test_a_cache_of_fixed_length_is_filled_from_run_to_run(tmp_path: Path) -> None:
    """Token by token, the results are those of the whole prompt at once."""
    whole, prompt = grouped(4, 0, 4, [4], do_rotary=1)
    expected = simulate.run(converted(whole, tmp_path), prompt)["y"]
    step, first = grouped(1, 8, 8, [1], do_rotary=1)
    graph = converted(step, tmp_path)
    keys, values = np.zeros_like(first["pk"]), np.zeros_like(first["pv"])
    for t in range(4):
        now = {name: prompt[name][:, t : t + 1] for name in "qkv"}
        found = simulate.run(graph, {**now, "pk": keys, "pv": values, "ends": np.int32([t])})
        keys, values = found["nk"], found["nv"]
        np.testing.assert_allclose(found["y"], expected[:, t : t + 1], rtol=0, atol=1e-5)


def heads(**extra: Any) -> tuple[ModelProto, Inputs]:
    inputs = {name: numbers(2, n, 32) * scale for name, n, scale in (("q", 3, 1), ("k", 5, 2), ("v", 5, 3))}
    inputs |= extra.pop("inputs", {})
    constants = extra.pop("constants", {})
    order = extra.pop("order", "q k v")
    names = [name for name in order.split() if name in inputs]
    made = net("MultiHeadAttention", {n: inputs[n] for n in names}, constants, order, num_heads=4, **extra)
    return made, {n: inputs[n] for n in names}


def test_attention_of_heads(tmp_path: Path) -> None:
    check(*heads(), tmp_path)
    check(*heads(order="q k v b", constants={"b": numbers(96)}, scale=0.3), tmp_path)
    mask = {"m": np.int32([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])}
    check(*heads(order="q k v - m", inputs=mask), tmp_path)
    check(*heads(order="q k v - - a", inputs={"a": numbers(2, 4, 3, 5)}), tmp_path)
    same = {"k": numbers(2, 3, 32), "v": numbers(2, 3, 32) * 2}
    check(*heads(inputs=same, unidirectional=1), tmp_path)
    past = {**same, "pk": numbers(2, 4, 2, 8), "pv": numbers(2, 4, 2, 8) * 2}
    check(*heads(order="q k v - - - pk pv", inputs=past, outputs="y nk nv"), tmp_path)


def test_packed_heads_are_those_that_stand_apart(tmp_path: Path) -> None:
    """ONNX Runtime has them on GPUs only."""
    apart, inputs = heads()
    expected = simulate.run(converted(apart, tmp_path), inputs)["y"]
    split = {name: x.reshape(*x.shape[:2], 4, 1, 8) for name, x in inputs.items()}
    packed = {"q": inputs["q"], "k": np.concatenate([split["k"], split["v"]], 3)}
    made, given = heads(order="q k", inputs=packed)
    np.testing.assert_array_equal(simulate.run(converted(made, tmp_path), given)["y"], expected)
    same = {name: split[name][:, :3] for name in "qkv"}
    made, given = heads(order="q", inputs={"q": np.concatenate(list(same.values()), 3)})
    apart, inputs = heads(inputs={name: x.reshape(2, 3, 32) for name, x in same.items()})
    expected = simulate.run(converted(apart, tmp_path), inputs)["y"]
    np.testing.assert_array_equal(simulate.run(converted(made, tmp_path), given)["y"], expected)


@pytest.mark.parametrize("case", ["plain", "counts", "mask", "unidirectional", "past"])
def test_attention_with_its_projections(case: str, tmp_path: Path) -> None:
    inputs: Inputs = {"x": numbers(2, 3, 16)}
    constants = {"w": numbers(16, 48), "b": numbers(48)}
    order, outputs, extra = "x w b", "y", {}
    if case == "counts":
        inputs["m"], order = np.int32([2, 3]), "x w b m"
    elif case == "mask":
        inputs["m"], order = np.int32([[1, 1, 0], [1, 1, 1]]), "x w b m"
    elif case == "unidirectional":
        extra = {"unidirectional": 1, "scale": 0.4}
    elif case == "past":
        inputs["p"], order, outputs = numbers(2, 2, 4, 2, 4), "x w b - p", "y n"
    check(net("Attention", inputs, constants, order, outputs, num_heads=4, **extra), inputs, tmp_path)


def test_compiled_code_computes_the_same(tmp_path: Path) -> None:
    require("cc")
    for i, (made, _) in enumerate((grouped(1, 6, 7, [7], do_rotary=1), grouped(5, 0, 5, [5], packed=True))):
        assert api.build(converted(made, tmp_path), tmp_path / f"net{i}", verify=True).verification


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"smooth_softmax": 1}, "an attention sink"),
        ({"sliding_window_cache": 1, "local_window_size": 4}, "a cache that is a window"),
        ({"k_quant_type": "PER_TENSOR"}, "quantized keys or values"),
    ],
)
def test_what_is_not_there_yet_is_refused(extra: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match=message):
        converted(grouped(1, 6, 7, [7], **extra)[0], tmp_path)
