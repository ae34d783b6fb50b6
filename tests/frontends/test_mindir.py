"""MindIR files compute what MindSpore computed of them, and older ways to write them are understood."""

from pathlib import Path

import numpy as np
import pytest
from support.exports import SAMPLES
from support.mindir_files import constant, described, model, node, number, part, primitive, write
from support.recorded import names, unpacked

from edgekit.converters.mindir.file import dtype_of
from edgekit.converters.mindir.reader import convert
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType

ARCHIVE = SAMPLES.parent / "recorded" / "mindspore.zip"


@pytest.mark.parametrize("name", names(ARCHIVE))
def test_model_computes_what_mindspore_did(name: str, tmp_path: Path) -> None:
    unpacked(ARCHIVE, name, tmp_path).compare()


def rand(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def run(folder: Path, content: bytes, x: Array) -> Array:
    graph = convert(write(folder, content))
    (y,) = simulate.run(graph, {graph.inputs[0]: x}).values()
    return y


def test_settings_may_be_operands_or_attributes(tmp_path: Path) -> None:
    x = rand(2, 3, 4)
    expected = x.mean(1, keepdims=True)
    operands = [constant("a", (1,)), constant("k", True), node("ReduceMean", ["net:x", "a", "k"], "y")]
    attributes = [constant("a", (1,)), node("REF::mean", ["net:x", "a"], "y")]
    inputs = {"net:x": described(x.shape)}
    for nodes, primitives in (
        (operands, []),
        (attributes, [primitive("mean", "ReduceMean", keep_dims=True, input_names=("x", "axis"))]),
        ([constant("a", (1,)), node("ReduceMean", ["net:x", "a"], "y", keep_dims=True)], []),
    ):
        found = run(tmp_path, model(nodes, inputs, "y", primitives=primitives), x)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_settings_may_be_tuples_or_lists(tmp_path: Path) -> None:
    x = rand(2, 3, 4)
    for kind in (20, 21):  # of the file's format
        axes = b"".join(part(17, number(3, axis) + number(16, 7)) for axis in (0, 2)) + number(16, kind)
        nodes = [constant("a", axes), node("ReduceSum", ["net:x", "a"], "y", keep_dims=False)]
        found = run(tmp_path, model(nodes, {"net:x": described(x.shape)}, "y"), x)
        np.testing.assert_allclose(found, x.sum((0, 2)), rtol=1e-5)


def test_inputs_lose_the_name_of_the_graph_and_outputs_get_one(tmp_path: Path) -> None:
    nodes = [node("ReLU", ["net:x"], "a"), node("Tanh", ["net:x"], "b"), node("MakeTuple", ["a", "b"], "y")]
    graph = convert(write(tmp_path, model(nodes, {"net:x": described((3,))}, "y")))
    assert (graph.inputs, graph.outputs) == (("x",), ("output0", "output1"))


def test_open_sizes_are_bound(tmp_path: Path) -> None:
    path = write(tmp_path, model([node("ReLU", ["net:x"], "y")], {"net:x": described((2, -1))}, "y"))
    with pytest.raises(EdgeKitError) as caught:
        convert(path)
    assert caught.value.code == "E0302"
    assert "--shape x=" in caught.value.hint
    assert convert(path, shapes={"x": (2, 5)}).type("x").shape == (2, 5)


def test_what_is_changed_in_place_goes_on_as_the_result(tmp_path: Path) -> None:
    x = rand(5)
    nodes = [
        node("Tanh", ["net:x"], "a"),
        node("InplaceAddExt", ["a", "net:x"], "b"),
        node("Mul", ["b", "net:x"], "y"),
    ]
    found = run(tmp_path, model(nodes, {"net:x": described((5,))}, "y"), x)
    np.testing.assert_allclose(found, (np.tanh(x) + x) * x, rtol=1e-5)


@pytest.mark.parametrize(
    ("begin", "end", "step", "masks", "expected"),
    [
        ((1, 0), (3, 4), (1, 2), (0, 0, 0), lambda x: x[1:3, 0:4:2]),
        ((1, 2), (3, 3), (1, 1), (1, 0, 2), lambda x: x[:3, 2]),
        ((0, -1), (4, 0), (2, -1), (0, 2, 0), lambda x: x[0:4:2, ::-1]),
    ],
)
def test_slices(begin, end, step, masks, expected, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    x = rand(4, 5)
    first, last, shrink = masks
    given = {"b": begin, "e": end, "s": step, "m": first, "n": last, "z": 0, "k": shrink}
    nodes = [constant(name, value) for name, value in given.items()]
    nodes.append(node("StridedSlice", ["net:x", "b", "e", "s", "m", "n", "z", "z", "k"], "y"))
    found = run(tmp_path, model(nodes, {"net:x": described(x.shape)}, "y"), x)
    np.testing.assert_array_equal(found, expected(x))


def test_element_types_have_the_numbers_of_mindspore() -> None:
    """mindspore/core/include/mindapi/base/type_id.h: kNumberTypeBool is 30, the others follow."""
    names = [
        "bool",
        "int",
        "s8",
        "s16",
        "s32",
        "s64",
        "uint",
        "u8",
        "u16",
        "u32",
        "u64",
        "float",
        "f16",
        "f32",
        "f64",
        "bf16",
    ]
    types = {str(dtype.value): dtype for dtype in DType}
    for code, name in enumerate(names, 30):
        if name not in ("int", "uint", "u64", "float"):  # of no size, or not read
            assert dtype_of(code) is types[name], name
