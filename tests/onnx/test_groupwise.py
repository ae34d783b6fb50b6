"""Groupwise-quantized weights of ONNX Runtime: its numbers, from weights that stay in 4 or 8 bits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from support.onnx_models import model, node, tensor
from support.quantized_models import reference
from support.tools import require

from edgekit import api
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes import verify
from edgekit.core.passes.stored_weights import widened_weights
from edgekit.core.types import Array, DType

_FLOATS = {np.float32: TensorProto.FLOAT, np.float16: TensorProto.FLOAT16}


def packed(integers: Array, bits: int) -> Array:
    """Bytes of unsigned integers along the last dimension, the first in the low bits."""
    per_byte = 8 // bits
    padded = np.pad(integers, [(0, 0)] * (integers.ndim - 1) + [(0, -integers.shape[-1] % per_byte)])
    parts = padded.reshape(*padded.shape[:-1], -1, per_byte).astype(np.uint8)
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return np.bitwise_or.reduce(parts << shifts, axis=-1).astype(np.uint8)


def product(
    inputs: int = 64,
    outputs: int = 24,
    *,
    bits: int = 4,
    group: int = 32,
    zeros: str = "",
    dtype: Any = np.float32,
    bias: bool = False,
    shape: tuple[int, ...] = (3,),
    **extra: Array,
) -> ModelProto:
    """y = MatMulNBits(x): zero points "packed", "real" or none."""
    rng = np.random.default_rng(bits + group)
    groups = -(-inputs // group)
    integers = rng.integers(0, 1 << bits, (outputs, groups, group))
    constants: dict[str, Any] = {
        "b": packed(integers, bits),
        "s": rng.uniform(0.005, 0.02, (outputs, groups)).astype(dtype),
    }
    if zeros == "packed":
        constants["z"] = packed(rng.integers(0, 1 << bits, (outputs, groups)), bits)
    elif zeros == "real":
        constants["z"] = rng.uniform(0, (1 << bits) - 1, (outputs, groups)).astype(dtype)
    if bias:
        constants["c"] = rng.standard_normal(outputs).astype(dtype)
    constants |= extra
    names = ["x", "b", "s", *(name if name in constants else "-" for name in ("z", "g", "c"))]
    made = node("MatMulNBits", " ".join(names), "y", domain="com.microsoft")
    attributes = {"K": inputs, "N": outputs, "bits": bits, "block_size": group}
    made.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    return _model([made], constants, "x", (*shape, inputs), _FLOATS[dtype])


def table(*, bits: int = 4, group: int = 16, zeros: bool = False, dtype: Any = np.float32) -> ModelProto:
    rng = np.random.default_rng(bits)
    integers = rng.integers(0, 1 << bits, (9, 2 * group))
    constants: dict[str, Any] = {
        "t": packed(integers, bits),
        "s": rng.uniform(0.005, 0.02, (9, 2)).astype(dtype),
    }
    if zeros:
        constants["z"] = packed(rng.integers(0, 1 << bits, (9, 2)), bits)
    made = node("GatherBlockQuantized", "t i s z" if zeros else "t i s", "y", domain="com.microsoft")
    attributes = {"bits": bits, "block_size": group, "quantize_axis": 1}
    made.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    return _model([made], constants, "i", (2, 3), TensorProto.INT64)


def _model(nodes: Any, constants: Any, port: str, shape: Any, type: int) -> ModelProto:
    net = model(nodes, constants, inputs=[tensor(port, shape, type)], opset=21)
    net.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    for output in net.graph.output:  # onnxruntime wants to know
        output.type.tensor_type.elem_type = TensorProto.FLOAT if type == TensorProto.INT64 else type
    return net


def sample(net: ModelProto) -> dict[str, Array]:
    rng = np.random.default_rng(5)
    (port,) = net.graph.input
    shape = [d.dim_value for d in port.type.tensor_type.shape.dim]
    if port.type.tensor_type.elem_type == TensorProto.INT64:
        return {port.name: rng.integers(0, 9, shape)}
    dtype = next(d for d, code in _FLOATS.items() if code == port.type.tensor_type.elem_type)
    return {port.name: rng.standard_normal(shape).astype(dtype)}


def converted(net: ModelProto, folder: Path) -> Graph:
    path = folder / "net.onnx"
    path.write_bytes(net.SerializeToString())
    graph = api.convert(path)
    verify(graph)
    return graph


def matrices(graph: Graph) -> set[DType]:
    """Formats of the larger constants."""
    return {DType.of(data.dtype) for _, data in graph.constants() if data.size >= 256}


def assert_near(graph: Graph, net: ModelProto, tolerance: float) -> None:
    (found,) = simulate.run(graph, sample(net)).values()
    (expected,) = reference(net, [sample(net)])[0]
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(
        found.astype(np.float64), expected.astype(np.float64), rtol=0, atol=tolerance * np.abs(expected).max()
    )


@pytest.mark.parametrize("zeros", ["", "packed"])
@pytest.mark.parametrize("group", [16, 32, 128])
@pytest.mark.parametrize("bits", [2, 4, 8])
def test_products_are_those_of_onnxruntime(bits: int, group: int, zeros: str, tmp_path: Path) -> None:
    net = product(bits=bits, group=group, zeros=zeros, bias=group == 32)
    graph = converted(net, tmp_path)
    assert_near(graph, net, 2e-6)
    assert matrices(graph) == {DType.S8 if bits == 8 else DType.S4}


def test_the_last_group_may_be_shorter(tmp_path: Path) -> None:
    net = product(72, 5, zeros="packed", shape=(2, 3))
    assert_near(converted(net, tmp_path), net, 2e-6)


def test_halves(tmp_path: Path) -> None:
    net = product(dtype=np.float16, zeros="packed")
    graph = converted(net, tmp_path)
    assert_near(graph, net, 2e-3)
    assert matrices(graph) == {DType.S4}


def test_graphics_processors_get_plain_weights_of_halves(tmp_path: Path) -> None:
    """They have kernels for groups beside float32."""
    for dtype, kept in ((np.float16, set()), (np.float32, {DType.S4})):
        graph = converted(product(dtype=dtype, zeros="packed"), tmp_path)
        wide = widened_weights(graph, only_integers=True)
        assert matrices(wide) & {DType.S4} == kept
        (before,), (after,) = (simulate.run(g, sample(product(dtype=dtype))).values() for g in (graph, wide))
        np.testing.assert_allclose(after, before, rtol=0, atol=2e-3 * float(np.abs(before).max()))


def test_zero_points_between_integers_make_plain_weights(tmp_path: Path) -> None:
    net = product(zeros="real")
    graph = converted(net, tmp_path)
    assert_near(graph, net, 2e-6)
    assert matrices(graph) == {DType.F32}


def test_groups_in_another_order_make_plain_weights(tmp_path: Path) -> None:
    order = np.random.default_rng(1).permutation(64) // 32
    net = product(g=order.astype(np.int32))
    graph = converted(net, tmp_path)
    assert_near(graph, net, 2e-6)
    in_order = product(g=(np.arange(64) // 32).astype(np.int32))
    assert matrices(converted(in_order, tmp_path)) == {DType.S4}


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
def test_rows_of_tables_are_those_of_onnxruntime(bits: int, zeros: bool, tmp_path: Path) -> None:
    net = table(bits=bits, zeros=zeros)
    graph = converted(net, tmp_path)
    assert_near(graph, net, 1e-7)
    assert matrices(graph) == {DType.S8 if bits == 8 else DType.S4}


def test_compiled_code_computes_the_same_from_packed_weights(tmp_path: Path) -> None:
    require("cc")
    for i, net in enumerate((product(256, 64, zeros="packed"), product(256, 64, bits=8), table(group=128))):
        graph = converted(net, tmp_path)
        found = api.build(graph, tmp_path / f"net{i}", verify=True)
        assert found.verification is not None
        stored = sum(len(t.raw_data) for t in net.graph.initializer)
        assert found.weight_bytes < stored + 64 * 4 + 200  # and a bias


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("form", ["MatMulNBits", "blocked columns", "blocked rows"])
def test_flash_has_half_a_byte_for_each_weight_of_four_bits(form: str, zeros: bool, tmp_path: Path) -> None:
    """In the library that ships, as the compiler makes it, beside one with the same weights in floats."""
    require("cc")
    inputs, outputs = 512, 64
    if form == "MatMulNBits":
        net = product(inputs, outputs, group=16, zeros="packed" * zeros)
    else:
        net = blocked(DType.S4, form == "blocked rows", zeros=zeros, inputs=inputs, outputs=outputs)
    graph = converted(net, tmp_path)
    found = api.build(graph, tmp_path / "int4", verify=True)
    wide = api.build(widened_weights(graph), tmp_path / "float")
    weights = inputs * outputs
    assert found.narrow_weights == {"s4": weights // 2}
    scales = 2 * 4 * weights // 16  # and offsets, of groups
    assert found.weight_bytes < weights / 2 + scales + 4 * outputs + 100
    assert wide.weight_bytes >= 4 * weights
    assert found.flash_bytes is not None
    assert wide.flash_bytes is not None
    assert wide.flash_bytes - found.flash_bytes > 2.5 * weights


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K": 65}, "do not hold 24 rows of 65 in 4 bits"),
        ({"bits": 3}, "weights of 3 bits"),
        ({"block_size": 24}, "block_size 24"),
        ({"weight_prepacked": 1}, "packed for one processor"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, int], message: str, tmp_path: Path) -> None:
    net = product()
    for key, value in change.items():
        kept = [a for a in net.graph.node[0].attribute if a.name != key]
        del net.graph.node[0].attribute[:]
        net.graph.node[0].attribute.extend([*kept, helper.make_attribute(key, value)])
    with pytest.raises(EdgeKitError, match=message):
        converted(net, tmp_path)


def blocked(
    dtype: DType,
    axis: int,
    *,
    zeros: bool = False,
    scales: Any = np.float32,
    inputs: int = 64,
    outputs: int = 24,
) -> ModelProto:
    """A product with a blocked matrix behind DequantizeLinear, and rows of a blocked table."""
    rng = np.random.default_rng(3)
    low, high = (-8, 8) if dtype is DType.S4 else (0, 16) if dtype is DType.U4 else (-128, 128)
    shape, of_groups = (inputs, outputs), (inputs // 16, outputs)
    if axis == 1:
        shape, of_groups = shape[::-1], of_groups[::-1]
    constants: dict[str, Any] = {
        "w": rng.integers(low, high, shape).astype(dtype.numpy),
        "s": rng.uniform(0.005, 0.02, of_groups).astype(scales),
    }
    if zeros:
        constants["z"] = rng.integers(low, high, of_groups).astype(dtype.numpy)
    nodes = [node("DequantizeLinear", "w s z" if zeros else "w s", "d", axis=axis, block_size=16)]
    nodes += [node("MatMul", "x d", "y")] if axis == 0 else [node("Gemm", "x d", "y", transB=1)]
    net = model(nodes, constants, inputs=[tensor("x", (3, inputs), _FLOATS[scales])], opset=21)
    net.graph.output[0].type.tensor_type.elem_type = _FLOATS[scales]
    return net


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", [DType.S4, DType.U4, DType.S8], ids=lambda d: d.value)
def test_weights_behind_a_blocked_dequantization_stay_as_stored(
    dtype: DType, axis: int, zeros: bool, tmp_path: Path
) -> None:
    net = blocked(dtype, axis, zeros=zeros)
    graph = converted(net, tmp_path)
    assert_near(graph, net, 2e-6)
    assert matrices(graph) == {DType.S8 if dtype is DType.S8 else DType.S4}
    assert not graph.groupwise
    wide = widened_weights(graph)
    assert matrices(wide) == {DType.F32}
    assert_near(wide, net, 2e-6)


def test_a_matrix_that_two_layers_read_is_stored_once(tmp_path: Path) -> None:
    net = blocked(DType.S4, 1, zeros=True)
    net.graph.node.append(node("Gather", "d i", "rows"))
    net.graph.input.append(tensor("i", (2, 2), TensorProto.INT64))
    net.graph.output.append(tensor("rows", None))
    graph = converted(net, tmp_path)
    given = {**sample_of("x", (3, 64)), "i": np.array([[0, 23], [-1, 7]])}
    for found in (graph, widened_weights(graph)):
        for y, expected in zip(simulate.run(found, given).values(), reference(net, [given])[0], strict=True):
            np.testing.assert_allclose(y, expected, rtol=0, atol=2e-6 * np.abs(expected).max())
    integers = [data for _, data in graph.constants() if DType.of(data.dtype) is DType.S4 and data.size > 100]
    assert len(integers) == 1


def test_weights_that_a_pass_has_changed_become_plain(tmp_path: Path) -> None:
    net = blocked(DType.S4, 0)
    net.graph.node[1].output[0] = "m"
    net.graph.node.append(node("Mul", "m third", "y"))
    net.graph.initializer.extend(model([], {"third": np.float32([1 / 3] * 24)}).graph.initializer)
    graph = converted(net, tmp_path)
    assert_near(graph, net, 2e-6)
    assert matrices(graph) == {DType.F32}


def test_quantizing_starts_from_plain_numbers(tmp_path: Path) -> None:
    graph = converted(product(zeros="packed"), tmp_path)
    made, _ = api.quantize_model(graph, "random", calibrate="minmax")
    assert matrices(made) == {DType.S8}


def test_the_report_says_in_which_format_weights_are(tmp_path: Path) -> None:
    require("cc")
    found = api.build(converted(product(256, 64), tmp_path), tmp_path / "net")
    assert found.narrow_weights == {"s4": 256 * 64 // 2}


def sample_of(name: str, shape: tuple[int, ...]) -> dict[str, Array]:
    return {name: np.random.default_rng(5).standard_normal(shape).astype(np.float32)}


@pytest.mark.parametrize("per_row", [False, True])
@pytest.mark.parametrize("turned", [0, 1])
def test_bytes_of_nine_bits_around_a_zero_point_stay_bytes(
    turned: int, per_row: bool, tmp_path: Path
) -> None:
    rng = np.random.default_rng(8)
    shape, outputs = ((24, 64), 0) if turned else ((64, 24), 1)
    count = (24,) if per_row else ()
    constants = {
        "w": rng.integers(0, 256, shape).astype(np.uint8),
        "s": rng.uniform(0.005, 0.02, count).astype(np.float32),
        "z": rng.integers(60, 100, count).astype(np.uint8),
    }
    nodes = [node("DequantizeLinear", "w s z", "d", axis=outputs), node("Gemm", "x d", "y", transB=turned)]
    net = model(nodes, constants, inputs=[tensor("x", (3, 64))], opset=21)
    net.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
    graph = converted(net, tmp_path)
    assert_near(graph, net, 3e-6)
    assert matrices(graph) == {DType.S8}
