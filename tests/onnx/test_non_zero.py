"""NonZero and Compress of what inputs decide, against ONNX Runtime: room for all elements, and a count."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto
from support.onnx_models import function, model, node, tensor
from support.selected_rows import of_onnx, runtime
from support.tools import require_module

from edgekit.codegen.program import compile_graph
from edgekit.converters.onnx.reader import convert
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array
from edgekit.onnx_backend import compile_programs

Constants = Mapping[str, Any]
SAMPLES = 4


def net(
    shape: tuple[int, ...], *nodes: Any, outputs: tuple[str, ...] = ("y",), constants: Constants | None = None
) -> ModelProto:
    """What follows x and whether its elements are above 0.5."""
    compared = (node("Greater", "x half", "mask"), *nodes)
    given = {"half": np.float32(0.5), **(constants or {})}
    return model(compared, given, inputs=[tensor("x", shape)], outputs=outputs, opset=17)


# As detectors that pick candidates first: by a mask of scores, then the best of those that do not overlap.
DETECTOR = (
    node("Slice", "x from4 to5 axis2", "score1"),
    node("Squeeze", "score1 axes02", "score"),
    node("Slice", "x from0 to4 axis2", "boxes"),
    node("Squeeze", "boxes axes0", "box"),
    node("Greater", "score half", "enough"),
    node("NonZero", "enough", "at"),
    node("Transpose", "at", "places", perm=[1, 0]),
    node("GatherND", "box places", "candidates"),
    node("NonZero", "enough", "again"),
    node("Transpose", "again", "places2", perm=[1, 0]),
    node("GatherND", "score places2", "values"),
    node("Unsqueeze", "candidates axes0", "boxes1"),
    node("Unsqueeze", "values axes01", "scores"),
    node("NonMaxSuppression", "boxes1 scores most limit", "rows"),
    node("Gather", "rows two", "index", axis=1),
    node("Gather", "candidates index", "y"),
    node("Gather", "values index", "z"),
)
PLACES: Constants = {
    **{f"from{i}": [i] for i in (0, 4)},
    **{f"to{i}": [i] for i in (4, 5)},
    "axis2": [2],
    "axes0": [0],
    "axes02": [0, 2],
    "axes01": [0, 1],
    "most": [1 << 62],
    "limit": np.float32([0.3]),
    "two": np.array(2, np.int64),
}
MODELS: Mapping[str, ModelProto] = {
    "a line": net((17,), node("NonZero", "mask", "y")),
    "a table": net((4, 5), node("NonZero", "mask", "y")),
    "floats": net((3, 2, 4), node("Floor", "x", "f"), node("NonZero", "f", "y")),
    "gathered": net(
        (9, 3),
        node("NonZero", "mask", "i"),
        node("Transpose", "i", "t", perm=[1, 0]),
        node("GatherND", "x t", "y"),
    ),
    "compressed": net((20,), node("Compress", "x mask", "y")),
    "compressed rows": net(
        (6, 3),
        node("ReduceMax", "x", "most", axes=[1], keepdims=0),
        node("Greater", "most half", "chosen"),
        node("Compress", "x chosen", "y", axis=0),
        node("Compress", "x chosen", "z"),
        outputs=("y", "z"),
    ),
    "the best of some": net(
        (20,),
        node("Compress", "x mask", "some"),
        node("Shape", "some", "n"),
        node("Min", "n five", "k"),
        node("TopK", "some k", "y at"),
        constants={"five": [5]},
    ),
    "sums": net(
        (20,),
        node("NonZero", "mask", "i"),
        node("ReduceSum", "i", "y", keepdims=0),
        node("Compress", "x mask", "some"),
        node("Exp", "some", "e"),
        node("Floor", "e", "f"),  # 1 where there is no row
        node("ReduceSum", "f", "z"),
        outputs=("y", "z"),
    ),
    "sums of places": net(
        (4, 5),
        node("NonZero", "mask", "i"),
        node("ReduceSum", "i along", "y", keepdims=0),
        constants={"along": [1]},
    ),
    "a detector": net((1, 12, 5), *DETECTOR, outputs=("y", "z"), constants=PLACES),
    "of what was found": net(
        (4, 5),
        node("NonZero", "mask", "i"),
        node("Cast", "i", "f", to=TensorProto.FLOAT),
        node("NonZero", "f", "y"),
    ),
    "of what is computed of it": net(
        (4, 5),
        node("NonZero", "mask", "i"),
        node("Cast", "i", "f", to=TensorProto.FLOAT),
        node("Exp", "f", "e"),  # 1 where there is no row
        node("NonZero", "e", "y"),
    ),
    "their number": net((4, 5), node("NonZero", "mask", "i"), node("Shape", "i", "y")),
}


def inputs_of(proto: ModelProto, seed: int) -> dict[str, Array]:
    (x,) = proto.graph.input
    shape = [d.dim_value for d in x.type.tensor_type.shape.dim]
    numbers = np.random.default_rng(seed).permutation(np.linspace(-1, 2, int(np.prod(shape))))
    return {"x": (numbers - 9 * (seed == 3)).reshape(shape).astype(np.float32)}


@pytest.mark.parametrize("kind", MODELS)
def test_the_simulator_finds_what_onnx_runtime_finds(kind: str) -> None:
    proto = MODELS[kind]
    names = [value.name for value in proto.graph.output]
    graph = convert(proto)
    verify(graph)
    for seed in range(SAMPLES):
        inputs = inputs_of(proto, seed)
        found = of_onnx(graph, simulate.run(graph, inputs), names)
        for y, right in zip(found, runtime(proto, inputs), strict=True):
            assert (y.dtype, y.shape) == (right.dtype, right.shape), seed
            assert np.array_equal(y, right), seed


def test_c_finds_what_the_simulator_finds(tmp_path: Path) -> None:
    graphs = {f"net{i}": simplify(convert(p, name=f"net{i}")) for i, p in enumerate(MODELS.values())}
    programs = {name: compile_graph(graph, target.load("host")) for name, graph in graphs.items()}
    driver, errors = compile_programs(list(programs.values()), tmp_path, "size")
    assert not errors, next(iter(errors.values()))
    for (name, graph), proto in zip(graphs.items(), MODELS.values(), strict=True):
        for seed in (0, 3):
            inputs = inputs_of(proto, seed)
            found = driver.run(programs[name], inputs)
            for output, right in simulate.run(graph, inputs).items():
                assert np.array_equal(found[output], right), (name, output)


def test_masks_that_are_asked_twice_have_one_count() -> None:
    graph = convert(MODELS["a detector"])
    assert sum(type(n.op).__name__ == "NonZero" for n in graph.nodes) == 1
    assert graph.outputs == ("y", "z", "y_count")


def test_numbers_of_rows_may_come_from_constants_instead() -> None:
    """What is mixed names the inputs that would have to be known."""
    proto = net((8,), node("Compress", "x mask", "some"), node("ReduceProd", "some", "y", keepdims=0))
    with pytest.raises(
        EdgeKitError, match=r"E0301 Reduce computes one number.*depends on the input x"
    ) as info:
        convert(proto)
    assert info.value.inputs == ("x",)
    x = inputs_of(proto, 0)["x"]
    found = simulate.run(convert(proto, constants={"x": x}), {})["y"]
    assert found == pytest.approx(runtime(proto, {"x": x})[0])


CHOSEN = (
    node("ReduceMax", "x", "best", axes=[1], keepdims=0),
    node("Greater", "best half", "chosen"),
    node("Compress", "x chosen", "some", axis=0),
    node("Unsqueeze", "some axes0", "boxes"),
    node("NonMaxSuppression", "boxes scores most limit", "y"),
)


def test_rows_are_selected_from_rows_that_are_alike() -> None:
    proto = net((8, 4), *CHOSEN, constants=PLACES)
    proto.graph.input.append(tensor("scores", [1, 1, 8]))
    with pytest.raises(EdgeKitError, match=r"E0301 .*depends on the input x"):
        convert(proto)


def test_functions_ask_for_the_number_of_rows() -> None:
    body = function("Rows", [node("Shape", "a", "n"), node("Cast", "n", "b", to=TensorProto.FLOAT)])
    nodes = (
        node("Compress", "x mask", "some"),
        node("Rows", "some", "n", domain="local"),
        node("Mul", "x n", "y"),
    )
    proto = model(
        (node("Greater", "x half", "mask"), *nodes),
        {"half": np.float32(0.5)},
        inputs=[tensor("x", [6])],
        functions=[body],
    )
    graph = convert(proto)
    x = {"x": np.linspace(0, 1, 6).astype(np.float32)}
    assert np.array_equal(simulate.run(graph, x)["y"], runtime(proto, x)[0])


def test_a_detector_of_torch_that_pads_its_results() -> None:
    """Candidates by a mask, suppression, and rows of 0 up to a fixed number, for each image of a batch."""
    torch = require_module("torch")

    class Suppression(torch.autograd.Function):  # type: ignore[misc, name-defined]  # of an optional package
        @staticmethod
        def forward(ctx: Any, boxes: Any, scores: Any) -> Any:
            return scores.argsort()[:2]

        @staticmethod
        def symbolic(g: Any, boxes: Any, scores: Any) -> Any:
            def const(value: Any) -> Any:
                return g.op("Constant", value_t=torch.tensor(value))

            operands = g.op("Unsqueeze", boxes, const([0])), g.op("Unsqueeze", scores, const([0, 1]))
            rows = g.op("NonMaxSuppression", *operands, const([2**63 - 1]), const([0.5]))
            return g.op("Squeeze", g.op("Gather", rows, const([2]), axis_i=1), const([1]))

    class Detector(torch.nn.Module):  # type: ignore[misc, name-defined]  # of an optional package
        def forward(self, x: Any) -> Any:
            out = torch.zeros(2, 6, 5)
            for i in range(2):
                box, score = x[i, :, :4], x[i, :, 4]
                mask = score > 0.5
                box, score = box[mask], score[mask]
                keep = Suppression.apply(box, score)[:6]
                rows = torch.cat([box[keep], score[keep].view(-1, 1)], 1)
                out[i] = torch.nn.functional.pad(rows, (0, 0, 0, 6 - rows.shape[0]))
            return out

    made = io.BytesIO()
    x = torch.rand(2, 20, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(Detector(), (x,), made, opset_version=17, dynamo=False, input_names=["x"])
    proto = onnx.load_from_string(made.getvalue())
    graph = convert(proto)
    assert [str(graph.type(name)) for name in graph.outputs] == ["f32[2,6,5]"]
    for seed in range(SAMPLES):
        inputs = {"x": np.random.default_rng(seed).random((2, 20, 5)).astype(np.float32) * (seed / 2)}
        (found,) = simulate.run(graph, inputs).values()
        assert np.array_equal(found, runtime(proto, inputs)[0])
