"""NonMaxSuppression and what exporters put behind it, against ONNX Runtime; C against the simulator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto
from support.onnx_models import INT64, model, node, tensor
from support.selected_rows import of_onnx, runtime
from support.tools import require

from edgekit import api, inspection
from edgekit.codegen.program import compile_graph
from edgekit.codegen.verification.output_coverage import is_count
from edgekit.converters.onnx.reader import convert
from edgekit.core import ek_file, simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import CountedRows
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array
from edgekit.onnx_backend import compile_programs

Rng = np.random.Generator
SAMPLES = 6


@dataclass(frozen=True)
class Net:
    """A model with boxes [B, N, 4] and scores [B, C, N], and operators behind the suppression."""

    batch: int = 1
    classes: int = 1
    boxes: int = 30
    most: int | None = 10
    limit: float | None = 0.5
    least: float | None = 0.25
    centered: int = 0
    opset: int = 11
    behind: tuple[Any, ...] = ()
    constants: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[str, ...] = ("rows",)

    def proto(self, **changes: Any) -> ModelProto:
        given: dict[str, Any] = {
            "most": self.most if self.most is None else np.array([self.most], np.int64),
            "limit": self.limit if self.limit is None else np.array([self.limit], np.float32),
            "least": self.least if self.least is None else np.array([self.least], np.float32),
        }
        names = " ".join("-" if data is None else name for name, data in given.items())
        attributes = {"center_point_box": self.centered} if self.centered else {}
        first = node("NonMaxSuppression", f"boxes scores {names}", "rows", **attributes)
        constants = {name: data for name, data in given.items() if data is not None} | dict(self.constants)
        sizes = [self.batch, self.boxes, 4], [self.batch, self.classes, self.boxes]
        inputs = [tensor(name, shape) for name, shape in zip(("boxes", "scores"), sizes, strict=True)]
        settings = {"inputs": inputs, "outputs": self.outputs, "opset": self.opset} | changes
        return model([first, *self.behind], constants, **settings)

    def inputs(self, rng: Rng) -> dict[str, Array]:
        """Boxes of whole numbers, of which some overlap right at the limit, and scores of which many
        are equal; in one of four, few are enough."""
        first = rng.integers(0, 6, (self.batch, self.boxes, 2))
        size = rng.integers(0, 5, first.shape)
        corners = np.concatenate([first, size if self.centered else first + size], -1)
        if not self.centered:
            turned = rng.random(corners.shape[:2]) < 0.3
            corners = np.where(turned[..., None], corners[..., [2, 1, 0, 3]], corners)
        scores = rng.integers(0, 9, (self.batch, self.classes, self.boxes)) / 8
        few = rng.random() < 0.25
        return {"boxes": corners.astype(np.float32), "scores": np.float32(scores / 8 if few else scores)}


FIRST = np.array(0, np.int64)
COLUMNS = {"zero": FIRST, "two": np.array(2, np.int64), "end": np.array([-1], np.int64)}
# As YOLOv7's end-to-end export: gathered by [image, box], one row of numbers for each box.
YOLO = (
    node("Gather", "rows zero", "image", axis=1),
    node("Gather", "rows two", "box", axis=1),
    node("Unsqueeze", "image", "images", axes=[1]),
    node("Unsqueeze", "box", "box1", axes=[1]),
    node("Concat", "images box1", "at", axis=1),
    node("GatherND", "boxes at", "chosen"),
    node("Transpose", "scores", "by_box", perm=[0, 2, 1]),
    node("ReduceMax", "by_box", "best", axes=[2]),
    node("GatherND", "best at", "score"),
    node("Cast", "images", "number", to=TensorProto.FLOAT),
    node("Concat", "number chosen score", "y", axis=1),
)
# A second stage: the image in each of the chosen boxes.
ROIS = (
    *YOLO[:6],
    node("Cast", "images", "number", to=TensorProto.FLOAT),
    node("Concat", "number chosen", "rois", axis=1),
    node("MaxRoiPool", "picture rois", "y", pooled_shape=[2, 3]),
    node("Squeeze", "images", "numbers", axes=[1]),
    node("RoiAlign", "picture chosen numbers", "z", output_height=2, output_width=2),
)
# As PaddleDetection's: the best of all classes, at most 7, by TopK over what was gathered.
PADDLE = (
    node("Gather", "rows two", "box", axis=1),
    node("Slice", "rows from_one to_two one", "class"),
    node("Gather", "boxes0 box", "chosen"),
    node("Reshape", "scores flat", "line"),
    node("Squeeze", "class", "class0", axes=[1]),
    node("Mul", "class0 n", "before"),
    node("Add", "before box", "place"),
    node("Gather", "line place", "score"),
    node("Shape", "score", "shape"),
    node("Gather", "shape zero", "size", axis=0),
    node("Min", "size keep", "kept"),
    node("Reshape", "kept flat", "k"),
    node("TopK", "score k", "top order"),
    node("Gather", "chosen order", "y"),
    node("Gather", "class0 order", "labels"),
)
PADDLE_CONSTANTS = {
    **COLUMNS,
    "from_one": np.array([1], np.int64),
    "to_two": np.array([2], np.int64),
    "one": np.array([1], np.int64),
    "flat": np.array([-1], np.int64),
    "n": np.array(30, np.int64),
    "keep": np.array(7, np.int64),
}
NETS: Mapping[str, Net] = {
    "one class": Net(),
    "all boxes": Net(most=1 << 40, classes=2),
    "classes and a batch": Net(batch=2, classes=3, most=5),
    "centers": Net(batch=2, classes=2, centered=1),
    "opset 10": Net(opset=10, limit=0.25),
    "no thresholds": Net(limit=None, least=None, boxes=8),
    "no least score": Net(least=None, most=40),
    "limit 1": Net(limit=1.0, most=30),
    "least of nothing": Net(least=float("nan")),
    "yolo": Net(behind=YOLO, constants=COLUMNS, outputs=("y",)),
    "regions of an image": Net(
        behind=ROIS,
        constants=COLUMNS | {"picture": np.float32(np.arange(128).reshape(1, 2, 8, 8) % 11)},
        outputs=("y", "z"),
    ),
    "the first of them": Net(
        behind=(
            node("Slice", "rows start stop axis", "few"),
            node("Cast", "few", "y", to=TensorProto.INT32),
            node("Gather", "few two", "box", axis=1),
            node("Squeeze", "boxes", "boxes0", axes=[0]),
            node("Gather", "boxes0 box", "chosen"),
            node("ReduceMax", "chosen", "z", axes=[1], keepdims=0),
        ),
        constants={**COLUMNS, "start": [0], "stop": [4], "axis": [0]},
        outputs=("y", "z", "chosen"),
    ),
    "padded": Net(
        behind=(
            node("Shape", "rows", "shape"),
            node("Gather", "shape zero1", "n", axis=0),
            node("Sub", "room n", "missing"),
            node("Concat", "nothing missing zero1", "pads", axis=0),
            node("Pad", "rows pads", "y"),
        ),
        constants={"zero1": [0], "room": [25], "nothing": [0, 0]},
        outputs=("y",),
    ),
    "padded with a number": Net(
        most=6,
        behind=(
            node("Cast", "rows", "g", to=TensorProto.FLOAT),
            node("Shape", "rows", "shape"),
            node("Gather", "shape zero1", "n", axis=0),
            node("Sub", "room n", "missing"),
            node("Concat", "nothing missing zero1", "pads", axis=0),
            node("Pad", "g pads half", "whole"),
            node("ReduceMax", "whole", "y", axes=[0]),
        ),
        constants={"zero1": [0], "room": [6], "nothing": [0, 0], "half": np.float32(0.5)},
        outputs=("whole", "y"),
    ),
    "the best of padded rows": Net(
        behind=(
            node("Cast", "rows", "g", to=TensorProto.FLOAT),
            node("Shape", "rows", "shape"),
            node("Gather", "shape zero1", "n", axis=0),
            node("Sub", "room n", "missing"),
            node("Concat", "nothing missing zero1", "pads", axis=0),
            node("Pad", "g pads half", "whole"),
            node("TopK", "whole three", "y at", axis=0),
        ),
        constants={"zero1": [0], "room": [12], "nothing": [0, 0], "half": np.float32(0.5), "three": [3]},
        outputs=("y",),
    ),
    "paddle": Net(
        classes=3,
        opset=12,
        behind=(node("Squeeze", "boxes", "boxes0", axes=[0]), *PADDLE),
        constants=PADDLE_CONSTANTS,
        outputs=("y", "top", "labels"),
    ),
}


@pytest.mark.parametrize("kind", NETS)
def test_the_simulator_selects_what_onnx_runtime_selects(kind: str) -> None:
    net = NETS[kind]
    proto = net.proto()
    graph = convert(proto)
    verify(graph)
    for seed in range(SAMPLES):
        inputs = net.inputs(np.random.default_rng(seed))
        results = simulate.run(graph, inputs)
        for found, right in zip(of_onnx(graph, results, net.outputs), runtime(proto, inputs), strict=True):
            assert (found.dtype, found.shape) == (right.dtype, right.shape), (kind, seed)
            assert np.array_equal(found, right), (kind, seed)


def test_c_selects_what_the_simulator_selects(tmp_path: Path) -> None:
    graphs = {
        f"net{i}": simplify(convert(net.proto(), name=f"net{i}")) for i, net in enumerate(NETS.values())
    }
    programs = {name: compile_graph(graph, target.load("host")) for name, graph in graphs.items()}
    driver, errors = compile_programs(list(programs.values()), tmp_path)
    assert not errors, next(iter(errors.values()))
    for (name, program), net in zip(programs.items(), NETS.values(), strict=True):
        for seed in range(2):
            inputs = net.inputs(np.random.default_rng(seed))
            found = driver.run(program, inputs)
            for output, right in simulate.run(graphs[name], inputs).items():
                assert np.array_equal(found[output], right), (name, output)


def test_outputs_with_rows_have_one_count(tmp_path: Path) -> None:
    graph = convert(NETS["paddle"].proto())
    assert graph.outputs == ("y", "top", "labels", "y_count")
    assert [graph.type(name).shape for name in graph.outputs] == [(7, 4), (7,), (7,), (1,)]
    assert graph.source.counted_rows == tuple(CountedRows(n, 0, "y_count") for n in ("y", "top", "labels"))
    assert "y (7), top (7), labels (7): y_count says how many count" in inspection.counted_rows(graph)
    ek_file.save(graph, tmp_path / "net.ek")
    assert ek_file.load(tmp_path / "net.ek").source == graph.source


def test_a_count_that_is_always_the_same_is_no_gap_in_verification() -> None:
    require("gcc")
    graph = simplify(convert(NETS["yolo"].proto()))
    assert is_count(graph, "y_count")
    assert not any(is_count(graph, name) for name in ("y", "boxes"))
    found = api.verify(graph, optimize="size")
    assert not found.shortfall
    assert found.exact


def test_thresholds_may_be_inputs() -> None:
    net = Net(limit=None, least=None)
    proto = net.proto()
    proto.graph.node[0].input[3:] = ["limit", "least"]
    proto.graph.input.extend([tensor("limit", [1]), tensor("least", [1])])
    graph = convert(proto)
    for limit, least in ((0.0, 0.0), (0.3, 0.5), (1.0, 2.0)):
        inputs = net.inputs(np.random.default_rng(1))
        inputs |= {"limit": np.array([limit], np.float32), "least": np.array([least], np.float32)}
        found = of_onnx(graph, simulate.run(graph, inputs), ("rows",))
        assert np.array_equal(found[0], runtime(proto, inputs)[0])


@pytest.mark.parametrize("most", [0, -5, None], ids=str)
def test_room_for_nothing_gives_nothing(most: int | None) -> None:
    proto = Net(most=most).proto()
    graph = convert(proto)
    inputs = Net().inputs(np.random.default_rng(0))
    assert simulate.run(graph, inputs)["rows"].shape == (0, 3) == runtime(proto, inputs)[0].shape


def test_the_rows_of_constants_are_counted() -> None:
    inputs = Net().inputs(np.random.default_rng(0))
    graph = convert(Net().proto(), constants=inputs)
    assert graph.outputs == ("rows",)
    assert np.array_equal(simulate.run(graph, {})["rows"], runtime(Net().proto(), inputs)[0])


@pytest.mark.parametrize("limit", [-0.5, 1.5, float("nan")], ids=str)
def test_a_limit_that_onnx_runtime_refuses_is_refused(limit: float) -> None:
    proto = Net(limit=limit).proto()
    with pytest.raises(EdgeKitError, match="iou_threshold of NonMaxSuppression is not between 0 and 1"):
        convert(proto)
    with pytest.raises(Exception, match="iou_threshold"):
        runtime(proto, Net().inputs(np.random.default_rng(0)))


def test_the_most_boxes_must_be_known() -> None:
    proto = Net(most=None).proto()
    proto.graph.node[0].input[2] = "most"
    proto.graph.input.append(tensor("most", [1], INT64))
    with pytest.raises(EdgeKitError, match=r"max_output_boxes_per_class depends on the input most") as info:
        convert(proto)
    assert info.value.code == "E0301"
    assert convert(proto, constants={"most": 4}).type("rows").shape == (4, 3)


def test_endless_room_is_refused() -> None:
    with pytest.raises(EdgeKitError, match="E0402"):
        convert(Net(batch=1 << 10, boxes=1 << 16, most=1 << 62).proto())


def _float_rows(*nodes: Any) -> Callable[[], Net]:
    return lambda: Net(
        behind=(node("Cast", "rows", "f", to=TensorProto.FLOAT), *nodes),
        constants={**COLUMNS, "flat": np.array([-1], np.int64)},
        outputs=("y",),
    )


MIXING: Mapping[str, tuple[Callable[[], Net], str]] = {
    "a mean over rows": (_float_rows(node("ReduceMean", "f", "y", axes=[0])), "Reduce computes one number"),
    "a softmax over rows": (_float_rows(node("Softmax", "f", "y", axis=0)), "Softmax computes one number"),
    "rows as one line": (_float_rows(node("Reshape", "f flat", "y")), "Reshape computes one number"),
    "a sequence of rows": (
        _float_rows(node("SplitToSequence", "f", "parts_t"), node("SequenceLength", "parts_t", "y")),
        "takes a part of the rows",
    ),
    "an identity of rows": (_float_rows(node("EyeLike", "f", "y")), "takes a part of the rows"),
    "a product over rows": (
        _float_rows(node("Transpose", "f", "t", perm=[1, 0]), node("MatMul", "t f", "y")),
        "MatMul computes one number",
    ),
    "the first row": (_float_rows(node("Gather", "f zero", "y", axis=0)), "Reshape computes one number"),
    "all but the last row": (
        _float_rows(node("Slice", "f zero1 end zero1", "y")),
        "takes a part of the rows",
    ),
    "half of the rows": (_float_rows(node("Split", "f", "y z", axis=0)), "takes a part of the rows"),
    "the last rows": (_float_rows(node("Slice", "f end far zero1", "y")), "takes a part|Slice computes"),
}


@pytest.mark.parametrize("kind", MIXING)
def test_rows_are_not_mixed_with_unused_ones(kind: str) -> None:
    net, said = MIXING[kind][0](), MIXING[kind][1]
    zero = {"zero1": np.array([0], np.int64), "far": np.array([1 << 40], np.int64)}
    net = Net(behind=net.behind, constants={**net.constants, **zero}, outputs=("y",), opset=13)
    with pytest.raises(EdgeKitError, match=rf"(?s)({said}).*node \w+_[yt].*extract_model") as info:
        convert(net.proto())
    assert info.value.code == "E0205"


COUNT = (node("Shape", "rows", "shape"), node("Gather", "shape zero", "n", axis=0))
COUNT += (node("Unsqueeze", "n", "n1", axes=[0]), node("Cast", "n", "f", to=TensorProto.FLOAT))
# What computes with the number of rows, and takes it for something else than the shape of such rows.
MEANT: Mapping[str, tuple[Any, ...]] = {
    "as an output": (node("Identity", "n", "y"),),
    "as a factor of data": (node("Mul", "scores f", "y"),),
    "as the size of a constant": (node("ConstantOfShape", "n1", "y"),),
    "as the end of other data": (node("Slice", "scores zero1 n1 two1", "y"),),
    "as a bound of other data": (node("TopK", "scores n1", "y at"),),
    "as an index": (node("Gather", "boxes n", "y", axis=1),),
    "as one of several sizes": (
        node("Concat", "two1 n1", "both", axis=0),
        node("Gather", "both one", "m", axis=0),
        node("Add", "m m", "y"),
    ),
    "as rows behind": (node("Cast", "rows", "g", to=TensorProto.FLOAT), node("Pad", "g pads", "y")),
    "as rows of another number": (node("Expand", "two1 n1", "y"),),
    "as a range": (node("Range", "zero n one", "y"),),
    "as the end of a part": (node("Min", "n1 two1", "few"), node("Slice", "rows zero1 few zero1", "y")),
    "behind each other": (node("Concat", "rows rows", "y", axis=0),),
    "behind others": (node("Concat", "three rows three", "y", axis=0),),
    "as their flat size": (node("Concat", "n1 three_of", "dims", axis=0), node("Reshape", "rows dims", "y")),
    "as a choice": (
        node("Greater", "n two", "many"),
        node("Where", "many two n", "fewest"),
        node("Range", "zero fewest one", "few"),
        node("Gather", "rows few", "y"),
    ),
    "as a choice by factors": (
        node("Greater", "n two", "many"),
        node("Cast", "many", "yes", to=TensorProto.INT64),
        node("Not", "many", "fewer"),
        node("Cast", "fewer", "no", to=TensorProto.INT64),
        node("Mul", "yes two", "two_of"),
        node("Mul", "n no", "n_of"),
        node("Add", "two_of n_of", "fewest"),
        node("Range", "zero fewest one", "few"),
        node("Gather", "rows few", "y"),
    ),
    "as rows before padding": (
        node("Sub", "room1 n1", "more"),
        node("Concat", "zeros2 more zero1", "sizes", axis=0),
        node("Cast", "rows", "g", to=TensorProto.FLOAT),
        node("Pad", "g sizes", "whole"),
        node("TopK", "whole two1", "y at", axis=0),
    ),
    "all elements": (node("Size", "rows", "size"), node("Neg", "size", "y")),
}


LIKE_COUNTS: Mapping[str, tuple[Any, ...]] = {
    "as the end of rows": (node("Sub", "n1 one1", "less"), node("Slice", "rows zero1 less zero1", "y")),
    "as half of the rows": (
        node("Div", "n1 two1", "half_of"),
        node("Cast", "rows", "g", to=TensorProto.FLOAT),
        node("TopK", "g half_of", "y at", axis=0),
    ),
    "as two sizes": (node("Concat", "n1 n1", "dims", axis=0), node("ConstantOfShape", "dims", "y")),
}


def counting(nodes: Sequence[Any]) -> Net:
    more = {"zero1": [0], "two1": [2], "one": np.array(1, np.int64), "pads": [0, 0, 1, 0], "zeros2": [0, 0]}
    more |= {"room1": [10], "one1": [1], "three": np.arange(6).reshape(2, 3), "three_of": [3]}
    return Net(behind=(*COUNT, *nodes), constants={**COLUMNS, **more}, outputs=("rows", "y"), opset=12)


@pytest.mark.parametrize("kind", MEANT)
def test_numbers_of_rows_are_computed(kind: str) -> None:
    net = counting(MEANT[kind])
    proto = net.proto()
    graph = simplify(convert(proto))
    for seed in range(SAMPLES):
        inputs = net.inputs(np.random.default_rng(seed))
        found = of_onnx(graph, simulate.run(graph, inputs), net.outputs)
        for one, right in zip(found, runtime(proto, inputs), strict=True):
            assert (one.dtype, one.shape) == (right.dtype, right.shape), seed
            assert np.array_equal(one, right), seed


@pytest.mark.parametrize("kind", LIKE_COUNTS)
def test_numbers_without_a_bound_are_no_sizes(kind: str) -> None:
    with pytest.raises(EdgeKitError, match=r"(?s)y depends on how many rows.*node Shape_shape"):
        convert(counting(LIKE_COUNTS[kind]).proto())


def test_other_numbers_of_a_shape_are_those_of_the_file() -> None:
    """Here the second, 3, which is taken from a list with the number of rows."""
    columns = (
        node("Gather", "shape one", "columns", axis=0),
        node("Unsqueeze", "columns", "columns1", axes=[0]),
        node("Concat", "n1 columns1 n1", "sizes", axis=0),
        node("Gather", "sizes one", "y", axis=0),
        node("Reshape", "rows minus", "flat"),
        node("Reshape", "rows shape", "same"),
    )
    constants = {**COLUMNS, "one": np.array(1, np.int64), "minus": [-1, 3]}
    net = Net(behind=(*COUNT, *columns), constants=constants, outputs=("y", "same"))
    graph = convert(net.proto())
    assert graph.outputs == ("y", "same", "same_count")
    assert simulate.run(graph, net.inputs(np.random.default_rng(0)))["y"] == 3


def test_what_no_output_needs_may_mix() -> None:
    dead = (node("Cast", "rows", "f", to=TensorProto.FLOAT), node("ReduceMax", "f", "unused", axes=[0]))
    graph = convert(Net(behind=dead).proto())
    assert graph.outputs == ("rows", "rows_count")
