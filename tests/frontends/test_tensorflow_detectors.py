"""Suppressions of TensorFlow: results that are outputs, several classes joined, and what is refused."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.recorded import unpacked
from support.tensorflow_files import constant, graph, node, placeholder
from support.tools import require

from edgekit import api
from edgekit.codegen.verification.output_coverage import is_count
from edgekit.converters import read
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import CountedRows, Graph
from edgekit.core.passes.simplify import simplify
from edgekit.onnx_backend import counted

RECORDED = Path(__file__).parent / "recorded" / "tensorflow.zip"
# Three boxes, of which the second overlaps with the first, and scores of two classes.
BOXES = np.array([[0, 0, 4, 4], [0, 0, 4, 3], [5, 5, 9, 9]], np.float32)
SCORES = (np.array([0.5, 0.9, 0.2], np.float32), np.array([0.7, 0.7, 0.6], np.float32))
GIVEN = (
    placeholder("boxes", (3, 4)),
    placeholder("one", (3,)),
    placeholder("two", (3,)),
    constant("most", 3, "int32"),
    constant("limit", 0.5),
    constant("least", 0.3),
    constant("zero", 0, "int32"),
    constant("step", 1, "int32"),
    constant("zeros", [0], "int32"),
    constant("ones", [1], "int32"),
    constant("last", [-1], "int32"),
    node("first", "NonMaxSuppressionV3", ["boxes", "one", "most", "limit", "least"]),
    node("second", "NonMaxSuppressionV3", ["boxes", "two", "most", "limit", "least"]),
)


def converted(folder: Path, *nodes: bytes) -> Graph:
    (folder / "net.pb").write_bytes(graph(*GIVEN, *nodes))
    return simplify(read.read(folder / "net.pb"))


def results(made: Graph, *scores: np.ndarray) -> dict[str, list[float]]:
    given = {"boxes": BOXES, "one": scores[0], "two": scores[-1]}
    found = simulate.run(made, {name: given[name] for name in made.inputs})
    return {name: counted(made, found, name).tolist() for name in made.outputs}


def test_rows_that_are_outputs_have_counts(tmp_path: Path) -> None:
    made = converted(
        tmp_path,
        node("index", "ConcatV2", ["first", "second", "zero"]),
        node("y", "GatherV2", ["boxes", "index", "zero"]),
        node("z", "Identity", ["first"]),
    )
    assert made.outputs == ("y", "z", "y_count", "z_count")
    assert made.source.counted_rows == (CountedRows("y", 0, "y_count"), CountedRows("z", 0, "z_count"))
    found = results(made, *SCORES)
    assert found["y"] == BOXES[[1, 0, 2]].tolist()  # box 0 is the first of two with 0.7
    assert (found["z"], found["y_count"], found["z_count"]) == ([1], [3], [1])
    assert results(made, SCORES[1], SCORES[0])["y"] == BOXES[[0, 2, 1]].tolist()
    assert results(made, 0 * SCORES[0])["y"] == []


def test_sizes_of_rows_are_known_at_run_time(tmp_path: Path) -> None:
    made = converted(
        tmp_path,
        node("n", "Size", ["second"]),
        node("places", "Range", ["zero", "n", "step"]),
        node("shape", "Shape", ["first"]),
        node("every", "Fill", ["shape", "least"]),
        node("behind", "Sub", ["most", "n"]),
        node("pairs", "Pack", ["zero", "behind"]),
        node("pads", "Reshape", ["pairs", "row"]),
        constant("row", [1, 2], "int32"),
        node("whole", "PadV2", ["second", "pads", "most"]),
        node("some", "StridedSlice", ["whole", "zeros", "shape", "ones"]),
        node("ends", "Pack", ["n", "n"]),
        *(
            node(f"out_{name}", "Identity", [name])
            for name in ("n", "places", "every", "whole", "some", "ends")
        ),
    )
    found = results(made, *SCORES)
    assert found["out_n"] == 2
    assert found["out_ends"] == [2, 2]
    assert found["out_places"] == [0, 1]
    assert found["out_every"] == [pytest.approx(0.3)]
    assert found["out_whole"] == [0, 2, 3]
    assert "out_whole_count" not in found
    assert found["out_some"] == [0]


@pytest.mark.parametrize("name", ["detections", "detections_by_threshold"])
def test_detectors_run_in_c(name: str, tmp_path: Path) -> None:
    require("gcc")
    found = api.verify(simplify(read.read(unpacked(RECORDED, name, tmp_path).path)), optimize="size")
    assert found.exact


def test_numbers_of_detections_may_be_the_same_for_all_inputs(tmp_path: Path) -> None:
    graph = simplify(read.read(unpacked(RECORDED, "detections", tmp_path).path))
    boxes, scores, classes, number = graph.outputs
    assert is_count(graph, number)
    assert not any(is_count(graph, name) for name in (boxes, scores, classes, *graph.inputs))


def test_conditions_are_no_counts(tmp_path: Path) -> None:
    made = converted(
        tmp_path,
        node("good", "Less", ["least", "one"]),
        node("y", "Cast", ["good"], DstT=np.dtype("int32")),
        node("z", "Sum", ["y", "zero"]),
        node("some", "Sum", ["one", "zero"]),
    )
    assert [is_count(made, name) for name in ("y", "z", "some")] == [False] * 3


def rows_of(*more: bytes) -> Sequence[bytes]:
    """Scores that a class keeps, and what follows them."""
    return (node("best", "GatherV2", ["one", "first", "zero"]), *more)


@pytest.mark.parametrize(
    ("nodes", "code", "words"),
    [
        (rows_of(node("y", "Mean", ["best", "zeros"])), "E0205", "Reduce computes one number from rows"),
        (rows_of(node("y", "Softmax", ["best"])), "E0205", "Softmax computes one number from rows"),
        (
            rows_of(node("y", "StridedSlice", ["best", "zeros", "last", "ones"])),
            "E0205",
            "takes a part of the rows",
        ),
        (rows_of(node("y", "AddV2", ["first", "second"])), "E0205", "computes one number from rows"),
        (
            (
                node("row", "ExpandDims", ["first", "zero"]),
                node("n", "Size", ["second"]),
                node("sizes", "Pack", ["n", "n"]),
                node("y", "Fill", ["sizes", "least"]),
            ),
            "E0301",
            "the shape of Fill depends on the input",
        ),
        (
            (
                node("size", "Shape", ["second"]),
                node("more", "Sub", ["size", "pair"]),
                constant("pair", [2], "int32"),
                node("y", "Fill", ["more", "least"]),
            ),
            "E0301",
            "the shape of Fill depends on the input",
        ),
        (
            (
                node("size", "Cast", ["one"], DstT=np.dtype("int32")),
                node("y", "Fill", ["size", "least"]),
            ),
            "E0301",
            "the shape of Fill depends on the input one",
        ),
        (
            (
                constant("over", 1.5),
                node("y", "NonMaxSuppressionV3", ["boxes", "one", "most", "over", "least"]),
            ),
            "E0401",
            "not between 0 and 1",
        ),
        (
            (
                constant("few", -1, "int32"),
                node("y", "NonMaxSuppressionV3", ["boxes", "one", "few", "limit", "least"]),
            ),
            "E0401",
            "a suppression to -1 boxes",
        ),
        (
            (
                constant("image", [[[[0, 0, 1, 1]]]]),
                node("y", "CombinedNonMaxSuppression", ["image", "one", "most", "most", "limit", "least"]),
            ),
            "E0401",
            r"a suppression of f32\[1,1,1,4\] by f32\[3\]",
        ),
        (
            (
                constant("boxes4", np.zeros((1, 2, 1, 4))),
                constant("scores3", np.zeros((1, 2, 2))),
                node(
                    "y", "CombinedNonMaxSuppression", ["boxes4", "scores3", "zero", "most", "limit", "least"]
                ),
            ),
            "E0401",
            "to 0 boxes a class, 3 in all",
        ),
        (
            (node("y", "NonMaxSuppressionV3", ["one", "one", "most", "limit", "least"]),),
            "E0401",
            "a suppression of f32",
        ),
        (
            (
                constant("below", -1.0),
                node("y", "NonMaxSuppressionV5", ["boxes", "one", "most", "limit", "below", "limit"]),
            ),
            "E0205",
            "soft suppression with a least score below 0",
        ),
        (
            (
                constant("huge", 1 << 30, "int32"),
                node(
                    "y",
                    "NonMaxSuppressionV4",
                    ["boxes", "one", "huge", "limit", "least"],
                    pad_to_max_output_size=True,
                ),
            ),
            "E0402",
            "absurd",
        ),
    ],
)
def test_what_would_mix_rows_is_refused(
    nodes: Sequence[bytes], code: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(EdgeKitError, match=words) as info:
        converted(tmp_path, *nodes)
    assert info.value.code == code
