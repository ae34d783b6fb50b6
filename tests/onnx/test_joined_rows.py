"""Selections of several classes that are joined, as TensorFlow's and torchvision's detectors do in ONNX."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support.exports import SAMPLES
from support.onnx_models import model, node, tensor
from support.recorded import names, unpacked
from support.selected_rows import of_onnx, runtime
from support.tools import require, require_module

from edgekit import api
from edgekit.converters.onnx.reader import convert
from edgekit.core import simulate
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

RECORDED = SAMPLES.parent / "recorded" / "tf2onnx_detectors.zip"


@pytest.mark.parametrize("name", names(RECORDED))
def test_detector_of_tf2onnx_computes_what_tensorflow_did(name: str, tmp_path: Path) -> None:
    unpacked(RECORDED, name, tmp_path).compare()


def exported(levels: int, classes: int, most: int) -> onnx.ModelProto:
    """The last steps of torchvision's SSD, or of its RetinaNet with several levels, as torch exports them."""
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

    def best(scores: Any) -> Any:
        size = torch._shape_as_tensor(scores)
        return scores.topk(torch.min(torch.cat((torch.tensor([most]), size)), 0)[0])

    def of_classes(boxes: Any, scores: Any) -> Any:
        for label in range(classes):
            keep = scores[:, label] > 0.3
            score, index = best(scores[:, label][keep])
            yield boxes[keep][index], score, torch.full_like(score, label, dtype=torch.int64)

    def of_levels(boxes: Any, scores: Any) -> Any:
        size = len(boxes) // levels
        for first in range(0, len(boxes), size):
            flat = scores[first : first + size].flatten()
            places = torch.where(flat > 0.3)[0]
            score, index = best(flat[flat > 0.3])
            places = places[index]
            box = torch.div(places, classes, rounding_mode="floor")
            yield boxes[first : first + size][box], score, places % classes

    class Detector(torch.nn.Module):  # type: ignore[misc, name-defined]  # of an optional package
        def forward(self, boxes: Any, scores: Any) -> Any:
            found = (of_levels if levels > 1 else of_classes)(boxes, scores)
            boxes, scores, labels = (torch.cat(parts) for parts in zip(*found, strict=True))
            apart = boxes + (labels.to(boxes) * (boxes.max() + torch.tensor(1).to(boxes)))[:, None]
            keep = Suppression.apply(apart, scores)[:7]
            return boxes[keep], scores[keep], labels[keep]

    made = io.BytesIO()
    x = inputs_of(classes, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        settings = {"opset_version": 17, "dynamo": False, "input_names": [*x]}
        torch.onnx.export(Detector(), tuple(map(torch.tensor, x.values())), made, **settings)
    return onnx.load_from_string(made.getvalue())


def inputs_of(classes: int, seed: int) -> dict[str, Array]:
    """Boxes of whole numbers and scores of which no two are equal; one time in three none is good."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 9, (20, 2))
    corners = np.concatenate([first, first + rng.integers(0, 6, first.shape)], 1)
    scores = (
        rng.permutation(20 * classes).reshape(20, classes) / (20 * classes) * (0.2 if seed % 3 == 2 else 1)
    )
    return {"boxes": corners.astype(np.float32), "scores": scores.astype(np.float32)}


@pytest.mark.parametrize(("levels", "classes", "most"), [(1, 2, 4), (1, 7, 30), (2, 3, 5)])
def test_detectors_of_torch_compute_what_onnx_runtime_computes(levels: int, classes: int, most: int) -> None:
    proto = exported(levels, classes, most)
    graph = simplify(convert(proto))
    outputs = [value.name for value in proto.graph.output]
    for seed in range(6):
        inputs = inputs_of(classes, seed)
        found = of_onnx(graph, simulate.run(graph, inputs), outputs)
        for one, right in zip(found, runtime(proto, inputs), strict=True):
            assert (one.dtype, one.shape) == (right.dtype, right.shape), seed
            assert np.array_equal(one, right), seed


def test_joined_rows_are_exact_in_c() -> None:
    """Also where one of two parts has all of its rows, and by columns."""
    require("gcc")
    nodes = (
        node("Greater", "x half", "mask"),
        node("Compress", "x mask", "some"),
        node("Concat", "some x some", "y", axis=0),
        node("Unsqueeze", "some", "row", axes=[0]),
        node("Concat", "row row", "z", axis=1),
    )
    proto = model(nodes, {"half": np.float32(0.5)}, inputs=[tensor("x", [9])], outputs=("y", "z"), opset=12)
    graph = simplify(convert(proto))
    x = {"x": np.linspace(0, 1, 9).astype(np.float32)}
    for one, right in zip(of_onnx(graph, simulate.run(graph, x), ("y", "z")), runtime(proto, x), strict=True):
        assert np.array_equal(one, right)
    assert api.verify(graph, optimize="size").exact
