"""What --shape, --dim and --const bind, and the one error about all that is left open."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from support.onnx_models import FLOAT, model, node, tensor
from support.tools import require_module

from edgekit import EdgeKitError, inspection, load, save, settings
from edgekit.converters import read
from edgekit.converters.inputs import fix_inputs
from edgekit.converters.onnx.reader import convert
from edgekit.core import simulate
from edgekit.core.ir import OneSidedBranch
from edgekit.core.passes.simplify import simplify


def encoder() -> ModelProto:
    """Ids and a mask of one length, and a table of another one."""
    inputs = [
        tensor("ids", ["batch", "sequence"]),
        tensor("mask", ["batch", "sequence"]),
        tensor("table", ["words", 4]),
    ]
    return model(
        [node("Add", "ids mask", "y"), node("Relu", "table", "z")], inputs=inputs, outputs=["y", "z"]
    )


def shapes(bound: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    graph = convert(encoder(), dims=bound)
    return {name: graph.type(name).shape for name in graph.inputs}


def test_a_name_binds_every_dimension_that_has_it() -> None:
    assert shapes({"sequence": 64, "words": 9}) == {"ids": (1, 64), "mask": (1, 64), "table": (9, 4)}
    assert shapes({"batch": 3, "sequence": 2, "words": 1})["mask"] == (3, 2)


def test_integers_of_numpy_bind_as_those_of_python_do(tmp_path: Path) -> None:
    path = tmp_path / "encoder.onnx"
    path.write_bytes(encoder().SerializeToString())
    graph = read.read(path, dims={"sequence": np.int64(64)}, shapes={"table": np.array([9, 4])})
    assert graph == read.read(path, dims={"sequence": 64}, shapes={"table": (9, 4)})
    assert {type(length) for value in graph.values.values() for length in value.type.shape} == {int}


def test_one_error_tells_all_that_is_open() -> None:
    with pytest.raises(EdgeKitError) as caught:
        convert(encoder())
    lines = str(caught.value).splitlines()
    assert "input ids has a dynamic shape [batch,sequence]" in lines[0]
    assert "bind it: --dim sequence=N" in lines[1]
    assert any("input mask" in line for line in lines)


@pytest.mark.parametrize(
    ("dims", "bound", "hint"),
    [
        (["n", 3, "h", "w"], (1, 32, 48, 3), "channels come second: --shape x=1,3,32,48"),
        (["n", "h", "w", 3], (1, 3, 32, 48), "channels come last: --shape x=1,32,48,3"),
        (["n", 3, 32, 48], (3, 32, 48), "dimension 1 is missing: --shape x=1,3,32,48"),
        (["n", 1, "h", 48], (5, 32, 48), "dimension 2 is missing: --shape x=5,1,32,48"),
        (["n", 3, "h", "w"], (1, 4, 48, 32), ""),
        (["n", 3, "h", "w"], (7,), ""),
    ],
)
def test_a_shape_in_another_order_is_told(dims: list[int | str], bound: tuple[int, ...], hint: str) -> None:
    net = model([node("Relu", "x", "y")], inputs=[tensor("x", dims)])
    with pytest.raises(EdgeKitError, match="does not fit input x") as caught:
        convert(net, shapes={"x": bound})
    assert caught.value.hint == hint
    if hint:
        order = tuple(int(n) for n in hint.split("=")[1].split(","))
        assert convert(net, shapes={"x": order}).type("x").shape == order


@pytest.mark.parametrize(
    ("dims", "option"),
    [
        (["batch", "height", "width", 3], "--dim height=N --dim width=N"),
        (["batch", "seq + 1"], "--dim 'seq + 1=N'"),  # as torch names what it computes
        ([None, 3, None, None], "--shape x=1,3,N,N"),
        (["?", 3, "?", "?"], "--shape x=1,3,N,N"),  # as Paddle's exporter names what is open
        (["batch", "sequence", None], "--shape x=1,N,N"),
        (None, "--shape x=..."),
    ],
)
def test_the_hint_is_what_a_shell_takes(dims: list[int | str | None] | None, option: str) -> None:
    with pytest.raises(EdgeKitError) as caught:
        convert(model([node("Relu", "x", "y")], inputs=[tensor("x", dims)]))
    assert caught.value.hint == f"bind it: {option}"
    words = [word.replace("N", "7") for word in shlex.split(option)]
    if "x=..." not in words:
        values = words[1::2]
        options = (
            {"dims": settings.dims(values)} if words[0] == "--dim" else {"shapes": settings.shapes(values)}
        )
        graph = convert(model([node("Relu", "x", "y")], inputs=[tensor("x", dims)]), **options)
        assert 7 in graph.type("x").shape


def test_a_batch_is_1_wherever_its_name_stands() -> None:
    inputs = [tensor("x", ["batch", 2]), tensor("state", [2, "batch", 3])]
    graph = convert(
        model([node("Relu", "x", "y"), node("Relu", "state", "z")], inputs=inputs, outputs=["y", "z"])
    )
    assert graph.type("state").shape == (2, 1, 3)


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        ({"dims": {"sequences": 4}}, "no dimension named sequences.*did you mean sequence"),
        ({"shapes": {"id": (1, 4)}}, "the model has no input named id"),
        (
            {"shapes": {"ids": (1, 4, 1)}},
            r"shape \[1, 4, 1\] does not fit input ids, which is \[batch,sequence\]",
        ),
        ({"dims": {"sequence": 4}, "shapes": {"ids": (1, 5)}}, r"shape \[1, 5\] does not fit input ids"),
        (
            {"dims": {"sequence": 4, "words": 2}, "constants": {"x": 1.0}},
            "the model has no input named x",
        ),
    ],
)
def test_bindings_that_do_not_fit_are_refused(bound: dict[str, object], words: str) -> None:
    with pytest.raises(EdgeKitError, match=f"(?s){words}"):
        convert(encoder(), **bound)


def branches(width: int = 1, sizes: Sequence[int | str | None] | None = (2,)) -> ModelProto:
    """If sr is 16000, y = x + 1, which is valid if 1 has this width, else no valid shape for x of 2."""
    right = helper.make_graph(
        [helper.make_node("Add", ["x", "one"], ["a"])],
        "right",
        [],
        [helper.make_tensor_value_info("a", FLOAT, [2])],
    )
    wrong = helper.make_graph(
        [helper.make_node("MatMul", ["x", "other"], ["b"])],
        "wrong",
        [],
        [helper.make_tensor_value_info("b", FLOAT, None)],
    )
    choice = helper.make_node("If", ["is_16k"], ["y"], then_branch=right, else_branch=wrong)
    return model(
        [node("Equal", "sr rate", "is_16k"), choice],
        {"rate": np.int64(16000), "one": np.ones(width, np.float32), "other": np.ones((5, 3), np.float32)},
        inputs=[tensor("x", sizes), tensor("sr", [], TensorProto.INT64)],
    )


def test_a_constant_input_chooses_a_branch() -> None:
    graph = simplify(convert(branches(), constants={"sr": 16000.0}))
    assert graph.inputs == ("x",)
    (y,) = simulate.run(graph, {"x": np.array([1, 2], np.float32)}).values()
    assert y.tolist() == [2, 3]


def test_a_branch_without_valid_shapes_is_not_taken() -> None:
    graph = convert(branches())
    assert graph.source.one_sided == (OneSidedBranch("y", "sr"),)
    assert "--const sr=N says which is meant" in inspection.one_sided(graph)
    assert "matmul" not in " ".join(graph.values)
    (y,) = simulate.run(graph, {"x": np.array([1, 2], np.float32), "sr": np.array(16000)}).values()
    assert y.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("sizes", "bound", "also"),
    [
        ([2], {}, ""),
        ([None], {"shapes": {"x": [2]}}, ", or bind what fits else_branch: --shape x=N"),
        (None, {"shapes": {"x": [2]}}, ", or bind what fits else_branch: --shape x=..."),
        (["width"], {"dims": {"width": 2}}, ", or bind what fits else_branch: --dim width=N"),
    ],
)
def test_a_number_that_chooses_a_branch_without_valid_shapes_is_refused(
    sizes: Sequence[int | str | None] | None, bound: dict[str, Any], also: str
) -> None:
    with pytest.raises(EdgeKitError) as caught:
        convert(branches(sizes=sizes), constants={"sr": 8000.0}, **bound)
    assert caught.value.code == "E0103"
    assert caught.value.where == "node y"
    assert (
        caught.value.message == "--const chooses else_branch, which does not fit x f32[2]; then_branch does"
    )
    assert caught.value.hint == f"choose then_branch by --const sr=N{also}"
    (inner,) = caught.value.also
    assert (inner.code, inner.hint) == ("E0401", "")


def test_where_neither_branch_has_valid_shapes_the_error_is_that_of_the_chosen_one() -> None:
    with pytest.raises(EdgeKitError) as caught:
        convert(branches(width=7), constants={"sr": 8000.0})
    assert (caught.value.code, caught.value.also) == ("E0401", [])


def test_where_no_branch_has_valid_shapes_the_error_tells_of_both() -> None:
    with pytest.raises(EdgeKitError) as caught:
        convert(branches(width=7))
    assert [error.code for error in (caught.value, *caught.value.also)] == ["E0401", "E0401"]
    assert caught.value.hint.startswith("choose a branch by --const sr=N")


def test_a_saved_graph_remembers_the_branch_that_is_always_taken(tmp_path: Path) -> None:
    save(convert(branches()), tmp_path / "net.ek")
    assert load(tmp_path / "net.ek").source.one_sided == (OneSidedBranch("y", "sr"),)


def test_a_number_has_to_fit_the_type() -> None:
    with pytest.raises(EdgeKitError, match=r"--const sr=0\.5 does not fit input sr"):
        convert(branches(), constants={"sr": 0.5})


def test_inputs_of_any_graph_become_constants() -> None:
    graph = convert(model([node("Add", "a b", "y")], inputs=[tensor("a", [2]), tensor("b", [2])]))
    fixed = simplify(fix_inputs(graph, {"b": 3.0}))
    assert fixed.inputs == ("a",)
    (y,) = simulate.run(fixed, {"a": np.array([1, 2], np.float32)}).values()
    assert y.tolist() == [4, 5]
    with pytest.raises(EdgeKitError, match="the model has no input named c"):
        fix_inputs(graph, {"c": 1.0})


def test_symbols_of_torch_export_are_bound_by_name(tmp_path) -> None:
    torch = require_module("torch")
    n = torch.export.Dim("n", min=2, max=64)

    class Sum(torch.nn.Module):
        def forward(self, x, y):  # type: ignore[no-untyped-def]  # as torch has it
            return x + y

    example = torch.ones(1, 5), torch.ones(1, 5)
    exported = torch.export.export(Sum(), example, dynamic_shapes=({1: n}, {1: n}))
    torch.export.save(exported, tmp_path / "sum.pt2")
    from edgekit.converters.torch_export.reader import convert as read

    with pytest.raises(EdgeKitError, match=r"dynamic shape \[1,(\w+)\]") as caught:
        read(tmp_path / "sum.pt2")
    symbol = caught.value.hint.partition("--dim ")[2].partition("=")[0]
    graph = read(tmp_path / "sum.pt2", dims={symbol: 7})
    assert [graph.type(name).shape for name in graph.inputs] == [(1, 7), (1, 7)]
