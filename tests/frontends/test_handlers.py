"""Operators that no exported net of the tests has: a handler alone, against numpy or torch."""

import importlib
import pkgutil
from pathlib import Path

import numpy as np
import pytest
from support.handler_cases import IMAGE, PLACES, Case, X, case, check, computed, rand

from edgekit.converters.frontend import check_supported
from edgekit.converters.onnx import reader as onnx_reader
from edgekit.converters.semantics.movement import repetition
from edgekit.converters.tensor import Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.layer_norm import RmsNorm
from edgekit.core.types import DType, Type

READERS = {
    info.name: importlib.import_module(f"frontends.cases.{info.name}")
    for info in pkgutil.iter_modules([str(Path(__file__).parent / "cases")])
}


@pytest.mark.parametrize(
    ("reader", "case"), [(name, case) for name, file in READERS.items() for case in file.CASES], ids=str
)
def test_operators_compute_what_they_should(reader: str, case: Case) -> None:
    check(READERS[reader].PACKAGE, case)


REFUSED = (
    (
        "mxnet",
        case(
            "Convolution",
            IMAGE,
            rand(2, 4, 3, 3),
            kernel=(3, 3),
            no_bias=True,
            layout="NHWC",
            expected="layout",
        ),
    ),
    (
        "mxnet",
        case("Convolution", IMAGE, rand(2, 4, 3, 3), kernel=(2, 3), no_bias=True, expected="contradicts"),
    ),
    ("keras_layers", case("Cropping2D", IMAGE, cropping=((2, 2), (0, 0)), expected="cropping")),
    ("keras_layers", case("Cropping2D", IMAGE, cropping=((-1, 0), (0, 0)), expected="cropping")),
    ("keras_layers", case("Dot", IMAGE, X, axes=1, expected="not supported")),
    (
        "paddle",
        case(
            "pool2d",
            rand(1, 1, 5, 5),
            [2, 2],
            strides=(2, 2),
            paddings=(1, 1),
            ceil_mode=True,
            expected="empty",
        ),
    ),
    (
        "paddle",
        case("put_along_axis", X, PLACES, X, axis=0, reduce="median", expected="by median is not supported"),
    ),
    ("paddle", case("put_along_axis", X, PLACES, X, axis=0, include_self=False, expected="by assign")),
)


@pytest.mark.parametrize(("reader", "case"), REFUSED, ids=str)
def test_other_settings_are_refused(reader: str, case: Case) -> None:
    with pytest.raises(EdgeKitError, match=case.expected):
        computed(READERS[reader].PACKAGE, case)


def test_cells_in_turn_are_repeated_ones() -> None:
    for index, size, times in (
        ([0, 0, 1, 1], 2, 2),
        ([0, 1, 2], 3, 1),
        ([0, 0, 0], 1, 3),
        ([0, 1, 0, 1], 2, 0),
        ([0, 0, 1], 2, 0),
        ([0], 2, 0),
        ([], 0, 0),
    ):
        assert repetition(np.array(index, np.int64), size) == times


def test_a_norm_in_its_own_type_is_one_operator() -> None:
    builder = Builder()
    x, scale = (
        Tensor(builder, builder.input(name, Type(DType.F32, (2, 4)[i:]))) for i, name in enumerate("xs")
    )
    y = onnx_reader.handlers()["", "RMSNormalization"](x, scale)
    graph = builder.graph("net", ["x", "s"], [y.name])
    assert [node.op for node in graph.nodes if isinstance(node.op, RmsNorm)] == [RmsNorm(1e-5)]
    assert "Sqrt" not in {type(node.op).__name__ for node in graph.nodes}


def test_unsupported_operators_are_named_together_and_the_hint_says_where_to_look() -> None:
    with pytest.raises(EdgeKitError) as caught:
        check_supported([("Add", "a"), ("Warp", "b"), ("Bend", "c")], {"Add": None})
    said = str(caught.value)
    assert all(words in said for words in ("unsupported op Warp", "node b", "unsupported op Bend", "node c"))
    assert "op Add" not in said
    assert "docs/frontends.md says what is read" in said
