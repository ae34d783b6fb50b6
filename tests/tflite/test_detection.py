"""Detectors' last operators: the simulator agrees with LiteRT, and the C code with the simulator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers
from support.tflite_writer import Operator, Tensor, constant, model
from tflite.litert import converted, litert, named

from edgekit.codegen.program import compile_graph
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array
from edgekit.onnx_backend import compile_programs

Rng = np.random.Generator
SAMPLES = 5
OPTIONS: Mapping[str, Any] = {
    "max_detections": 10,
    "max_classes_per_detection": 1,
    "detections_per_class": 20,
    "use_regular_nms": False,
    "nms_score_threshold": 0.3,
    "nms_iou_threshold": 0.5,
    "num_classes": 3,
    "y_scale": 10.0,
    "x_scale": 10.0,
    "h_scale": 5.0,
    "w_scale": 5.0,
}


def flexbuffer(options: Mapping[str, Any]) -> bytes:
    builder = flexbuffers.Builder()
    with builder.Map():
        for name, value in options.items():
            builder.Key(name)
            builder.Add(value)
    return bytes(builder.Finish())


def detection(
    boxes: int = 40, background: int = 1, dtype: str = "float32", columns: int = 4, **changes: Any
) -> Operator:
    """Boxes around anchors on a grid; None leaves an option out."""
    options = {name: value for name, value in {**OPTIONS, **changes}.items() if value is not None}
    classes = options.get("num_classes", 0) + background
    at = np.random.default_rng(boxes).uniform(0.2, 0.8, (boxes, 2))
    anchors = np.concatenate([at, np.full((boxes, 2), 0.3)], 1)
    shapes = (1, boxes, columns), (1, boxes, classes)
    if dtype == "float32":
        inputs = [Tensor(shapes[0]), Tensor(shapes[1]), constant(anchors, "float32")]
    else:
        zero = 128 if dtype == "uint8" else 0
        codes = np.rint(anchors * 200) + zero - 100
        inputs = [
            Tensor(shapes[0], dtype, scale=[0.06], zero=[zero]),
            Tensor(shapes[1], dtype, scale=[1 / 256], zero=[zero - 128]),
            constant(codes, dtype, scale=[0.005], zero=[zero - 100]),
        ]
    room = options.get("max_detections", 0) * options.get("max_classes_per_detection", 0)
    outputs = [Tensor((1, room, 4)), Tensor((1, room)), Tensor((1, room)), Tensor((1,))]
    return Operator("TFLite_Detection_PostProcess", inputs, outputs, custom=flexbuffer(options))


def suppression(
    boxes: int = 30, most: int = 10, limit: float = 0.5, least: float = 0.2, sigma: Any = None
) -> Operator:
    inputs = [Tensor((boxes, 4)), Tensor((boxes,)), constant(most)]
    inputs += [constant(limit, "float32"), constant(least, "float32")]
    outputs = [Tensor((most,), "int32"), Tensor((), "int32")]
    if sigma is None:
        return Operator("NON_MAX_SUPPRESSION_V4", inputs, outputs, "NonMaxSuppressionV4Options")
    inputs.append(constant(sigma, "float32"))
    outputs.insert(1, Tensor((most,)))
    return Operator("NON_MAX_SUPPRESSION_V5", inputs, outputs, "NonMaxSuppressionV5Options")


OPERATORS: Mapping[str, Operator] = {
    "classes together": detection(),
    "without background": detection(background=0),
    "two classes of a detection": detection(max_classes_per_detection=2),
    "more classes of a detection than there are": detection(max_classes_per_detection=5),
    "classes apart": detection(use_regular_nms=True),
    "few of a class": detection(use_regular_nms=True, detections_per_class=2),
    "classes apart, room for two": detection(use_regular_nms=True, max_classes_per_detection=2),
    "without options that have defaults": detection(detections_per_class=None, use_regular_nms=None),
    "more detections than boxes": detection(boxes=6, max_detections=9, nms_score_threshold=0.0),
    "keypoints behind boxes": detection(columns=7, use_regular_nms=True),
    "bytes": detection(dtype="uint8"),
    "bytes, classes apart": detection(dtype="uint8", use_regular_nms=True, num_classes=1),
    "bytes, and two classes": detection(dtype="uint8", max_classes_per_detection=2, num_classes=2),
    "no score is enough": detection(nms_score_threshold=2.0),
    "no byte is enough": detection(dtype="uint8", nms_score_threshold=2.0),
    "V4": suppression(),
    "V4 with few boxes": suppression(boxes=4),
    "V4 with any overlap": suppression(limit=0.0),
    "V4 with every overlap": suppression(limit=1.0),
    "V4 without room": suppression(most=0),
    "V5": suppression(sigma=0.5, limit=1.0),
    "V5 with both": suppression(sigma=0.2, limit=0.4),
    "V5 without softness": suppression(sigma=0.0),
    "V5 with few boxes": suppression(boxes=4, sigma=0.5),
}
# What LiteRT has no kernel for: int8, which computes as uint8 does.
SIGNED = {kind.replace("bytes", "int8"): kind for kind in OPERATORS if kind.startswith("bytes")}


def inputs_of(op: Operator, rng: Rng) -> list[Array]:
    """Scores differ, but for bytes: of equal ones LiteRT's order is that of a heap, or of a partial sort."""
    boxes, scores = op.inputs[0], op.inputs[1]
    assert boxes is not None
    assert scores is not None
    if boxes.dtype != "float32":
        low, high = np.iinfo(boxes.dtype).min, np.iinfo(boxes.dtype).max
        count = int(np.prod(scores.shape))
        codes = rng.permutation(np.linspace(low, high, count)).round()
        encodings = rng.integers(low, high + 1, boxes.shape)
        return [encodings.astype(boxes.dtype), codes.reshape(scores.shape).astype(boxes.dtype)]
    values = rng.permutation(np.linspace(0, 1, int(np.prod(scores.shape)))).reshape(scores.shape)
    if op.custom is None:
        first = rng.integers(0, 8, (boxes.shape[0], 2))
        corners = np.concatenate([first, first + rng.integers(1, 5, first.shape)], 1)
        return [corners.astype(np.float32), values.astype(np.float32)]
    return [rng.standard_normal(boxes.shape).astype(np.float32) * 3, values.astype(np.float32)]


def made(op: Operator, folder: Path, name: str = "net") -> tuple[bytes, Graph]:
    content = model(op)
    graph = converted(content, folder, name)
    verify(graph)
    return content, graph


@pytest.mark.parametrize("kind", OPERATORS)
def test_the_simulator_detects_what_litert_detects(kind: str, tmp_path: Path) -> None:
    op = OPERATORS[kind]
    content, graph = made(op, tmp_path)
    counts = set()
    for seed in range(SAMPLES):
        inputs = inputs_of(op, np.random.default_rng(seed))
        results = simulate.run(graph, named(graph, inputs))
        found, expected = [results[name] for name in graph.outputs], litert(content, inputs)
        count = int(expected[-1].reshape(()))
        counts.add(count)
        for y, right in zip(found, expected, strict=True):
            assert (y.shape, y.dtype) == (right.shape, right.dtype)
        assert found[-1] == expected[-1]
        for y, right in zip(found[:-1], expected[:-1], strict=True):
            used, unused = split(op, y, count)
            there, _ = split(op, right, count)
            assert not unused.any()
            np.testing.assert_allclose(used, there, rtol=2e-6, atol=2e-7, err_msg=f"{kind}, seed {seed}")
    assert max(counts) > 1 or kind.endswith(("is enough", "without room", "any overlap"))


def split(op: Operator, y: Array, count: int) -> tuple[Array, Array]:
    """What is of detections in a result, and what is not. LiteRT leaves most of the latter as it was."""
    if op.custom is None:
        return y[:count], y[count:]
    options = flexbuffers.Loads(op.custom)
    each, classes = options["max_classes_per_detection"], options["num_classes"]
    if options.get("use_regular_nms"):
        return y[0, :count], y[0, count:]
    rows = y.reshape(-1, each, *y.shape[2:])
    return rows[:count, :classes], np.concatenate([rows[count:].reshape(-1), rows[:, classes:].reshape(-1)])


@pytest.mark.parametrize("kind", SIGNED)
def test_int8_computes_as_uint8_does(kind: str, tmp_path: Path) -> None:
    unsigned = OPERATORS[SIGNED[kind]]
    signed = replace(unsigned, inputs=[shifted(t) for t in unsigned.inputs if t is not None])
    (_, graph), (_, other) = made(unsigned, tmp_path), made(signed, tmp_path)
    inputs = inputs_of(unsigned, np.random.default_rng(0))
    results = simulate.run(graph, named(graph, inputs))
    found = simulate.run(other, named(other, [(x.astype(int) - 128).astype(np.int8) for x in inputs]))
    for name, right in results.items():
        assert np.array_equal(found[name], right)


def shifted(t: Tensor) -> Tensor:
    """Bytes as int8."""
    data = None if t.data is None else (t.data.astype(int) - 128).astype(np.int8)
    return replace(t, dtype="int8", data=data, zero=[t.zero[0] - 128])


def test_c_detects_what_the_simulator_detects(tmp_path: Path) -> None:
    graphs = {
        f"net{i}": simplify(made(op, tmp_path, f"net{i}")[1]) for i, op in enumerate(OPERATORS.values())
    }
    programs = {name: compile_graph(graph, target.load("host")) for name, graph in graphs.items()}
    driver, errors = compile_programs(list(programs.values()), tmp_path, "size")
    assert not errors, next(iter(errors.values()))
    for (name, graph), op in zip(graphs.items(), OPERATORS.values(), strict=True):
        for seed in range(2):
            inputs = named(graph, inputs_of(op, np.random.default_rng(seed)))
            found = driver.run(programs[name], inputs)
            for output, right in simulate.run(graph, inputs).items():
                if right.ndim > 2:  # boxes, decoded in floats
                    np.testing.assert_allclose(found[output], right, rtol=2e-6, atol=2e-7)
                else:
                    assert np.array_equal(found[output], right), (name, output)


def test_a_box_without_area_is_selected_once(tmp_path: Path) -> None:
    """LiteRT puts what it has selected back, and relies on it to overlap with itself."""
    content, graph = made(suppression(boxes=2), tmp_path)
    inputs = [np.array([[0, 0, 1, 1], [5, 5, 5, 9]], np.float32), np.array([0.5, 0.7], np.float32)]
    index, count = (simulate.run(graph, named(graph, inputs))[name] for name in graph.outputs)
    assert index.tolist() == [1, 0, *[0] * 8]
    assert count == 2
    assert litert(content, inputs)[0].tolist()[:2] == [1, 1]


def test_equal_scores_go_to_the_first_box(tmp_path: Path) -> None:
    _, graph = made(suppression(most=30, least=-1.0, limit=0.1), tmp_path)
    corners = 10 * np.arange(30)[:, None] + np.array([0, 0, 5, 5])
    boxes = corners.astype(np.float32)
    results = simulate.run(graph, named(graph, [boxes, np.ones(30, np.float32)]))
    assert np.array_equal(results[graph.outputs[0]], np.arange(30))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_detections": 0}, "the option max_detections of TFLite_Detection_PostProcess is 0"),
        ({"max_detections": -3}, "max_detections of TFLite_Detection_PostProcess is -3"),
        ({"max_detections": 1 << 28}, "max_detections of TFLite_Detection_PostProcess is"),
        ({"max_detections": 1 << 20, "max_classes_per_detection": 1 << 20}, "E0402"),
        ({"max_classes_per_detection": None}, "max_classes_per_detection .* is 0"),
        ({"num_classes": 7}, "do not fit 7 classes"),
        ({"nms_iou_threshold": float("nan")}, "nms_iou_threshold .* is nan"),
        ({"nms_iou_threshold": 0.0}, "nms_iou_threshold .* is 0"),
        ({"nms_iou_threshold": 1.5}, "nms_iou_threshold .* is 1.5"),
        ({"nms_score_threshold": float("nan")}, "nms_score_threshold .* is nan"),
        ({"y_scale": 0.0}, "y_scale .* is 0"),
        ({"w_scale": None}, "w_scale .* is 0"),
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(
    changes: Mapping[str, Any], message: str, tmp_path: Path
) -> None:
    op = detection(**changes)
    if "num_classes" in changes:
        op = replace(detection(), custom=flexbuffer({**OPTIONS, **changes}))
    outputs = [Tensor((1, 10, 4)), Tensor((1, 10)), Tensor((1, 10)), Tensor((1,))]
    with pytest.raises(EdgeKitError, match=message):
        made(replace(op, outputs=outputs), tmp_path)


@pytest.mark.parametrize("custom", [b"", b"\x00", b"\x05\x04\x01", bytes(40), b"\xff" * 40], ids=str)
def test_options_that_are_damaged_are_refused(custom: bytes, tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match="E04"):
        made(replace(detection(), custom=custom), tmp_path)


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (suppression(most=-1), "a suppression of .* to -1 boxes"),
        (suppression(most=1 << 30), "E0402"),
        (suppression(sigma=-1.0), "a sigma of -1"),
    ],
    ids=["negative", "huge", "sigma"],
)
def test_hostile_suppressions_are_refused(op: Operator, message: str, tmp_path: Path) -> None:
    op = replace(op, outputs=[replace(t, shape=()) for t in op.outputs])
    with pytest.raises(EdgeKitError, match=message):
        made(op, tmp_path)
