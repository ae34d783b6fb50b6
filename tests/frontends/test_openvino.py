"""OpenVINO's files compute what OpenVINO does: nets of each operator were recorded."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest
from support.exports import SAMPLES
from support.handler_cases import Case, Known, case, computed, rand
from support.openvino_files import Weights, layer, net, parameter, port, result, write
from support.recorded import names, unpacked

from edgekit.converters import read
from edgekit.converters.file_formats import xml_tree
from edgekit.converters.frontend import handlers
from edgekit.converters.openvino import ops
from edgekit.converters.openvino.attributes import _PARSERS, dims
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array, DType

RECORDED = SAMPLES.parent / "recorded" / "openvino.zip"
# OpenVINO's plugin for processors refuses it where nothing reads its places.
BY_HAND = {"AdaptiveMaxPool"}


@pytest.mark.parametrize("name", names(RECORDED))
def test_model_computes_what_openvino_did(name: str, tmp_path: Path) -> None:
    unpacked(RECORDED, name, tmp_path).compare()


def test_every_operator_is_in_a_recorded_net() -> None:
    with ZipFile(RECORDED) as zip:
        texts = [zip.read(name).decode() for name in zip.namelist() if name.endswith(".xml")]
    found = {type for text in texts for type in re.findall(r'<layer [^>]*type="(\w+)"', text)}
    assert set(handlers(ops)) - found == BY_HAND


def test_attributes_are_of_types_that_are_parsed() -> None:
    known = {*_PARSERS}
    for kind, handler in handlers(ops).items():
        code = handler.__code__
        attributes = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        wrong = {name for name in attributes if handler.__annotations__[name] not in known}
        assert wrong <= {"outputs", "opset"}, f"{kind}: {wrong}"


def chain(*layers: str, folder: Path, shapes: Mapping[str, Sequence[int]] | None = None) -> Graph:
    """A net of an input, these layers of one input each, and a result."""
    made = [*layers, result(len(layers))]
    places = [(i, 0 if "Parameter" in text else 1) for i, text in enumerate(layers)]
    sources = {(b, 0): place for (b, place) in zip(range(1, len(made)), places, strict=True)}
    return read.read(write(folder, net(made, sources)), shapes=shapes)


def test_adaptive_maxima(tmp_path: Path) -> None:
    weights = Weights()
    x = np.random.default_rng(0).standard_normal((1, 2, 6, 4)).astype(np.float32)
    pool = layer(2, "AdaptiveMaxPool", 2, [port(2, (1, 2, 3, 2))], "opset8", index_element_type="i64")
    layers = [parameter(0, x.shape), weights.constant(1, "i64", np.array([3, 2])), pool, result(3)]
    path = write(tmp_path, net(layers, {(2, 0): (0, 0), (2, 1): (1, 0), (3, 0): (2, 2)}), weights.raw)
    graph = simplify(read.read(path))
    (found,) = simulate.run(graph, {graph.inputs[0]: x}).values()
    np.testing.assert_array_equal(found, x.reshape(1, 2, 3, 2, 2, 2).max((3, 5)))


def test_names_are_those_of_tensors(tmp_path: Path) -> None:
    graph = chain(
        parameter(0, (1, 4), names="tokens,alias"),
        layer(1, "ReLU", 1, [port(1, (1, 4), names="odd\\,name")]),
        folder=tmp_path,
    )
    assert (graph.inputs, graph.outputs) == (("tokens",), ("odd,name",))


def test_open_sizes_are_bound(tmp_path: Path) -> None:
    layers = parameter(0, ("?", 3, "8..32")), layer(1, "ReLU", 1, [port(1, (-1, 3, -1))])
    with pytest.raises(EdgeKitError, match="--shape"):
        chain(*layers, folder=tmp_path)
    graph = chain(*layers, folder=tmp_path, shapes={"parameter_0": (2, 3, 9)})
    assert graph.type(graph.outputs[0]).shape == (2, 3, 9)


def stateful(folder: Path, initial: bool) -> Graph:
    """y = x + state, and the state becomes y."""
    weights = Weights()
    start = weights.constant(1, "f32", np.array([[1, 2]], np.float32))
    data = {"variable_id": "memory", "variable_shape": "1,2", "variable_type": "f32"}
    layers = [
        parameter(0, (1, 2)),
        *([start] if initial else []),
        layer(2, "ReadValue", int(initial), [port(1, (1, 2))], "opset6", **data),
        layer(3, "Add", 2, [port(2, (1, 2))], auto_broadcast="numpy"),
        layer(4, "Assign", 1, [port(1, (1, 2))], "opset6", variable_id="memory"),
        result(5),
    ]
    sources = {(3, 0): (0, 0), (3, 1): (2, 1), (4, 0): (3, 2), (5, 0): (3, 2)}
    if initial:
        sources[2, 0] = 1, 0
    return read.read(write(folder, net(layers, sources), weights.raw))


@pytest.mark.parametrize("initial", [False, True])
def test_variables_are_states(initial: bool, tmp_path: Path) -> None:
    graph = stateful(tmp_path, initial)
    (state,) = graph.states
    assert state.input == "memory"
    np.testing.assert_array_equal(state.start, [[1, 2] if initial else [0, 0]])
    x = np.array([[3, 4]], np.float32)
    memory = state.start
    for found in simulate.run_each(graph, [{"parameter_0": x}] * 3):
        memory = memory + x
        np.testing.assert_array_equal(found[graph.outputs[0]], memory)


def test_a_fake_quantization_of_bytes_is_one_that_layers_keep(tmp_path: Path) -> None:
    kinds: list[list[type]] = []
    for name in ("fake_quantize", "fake_quantize_16"):
        path = unpacked(RECORDED, name, tmp_path / name).path
        kinds.append([type(node.op) for node in read.read(path).nodes])
    assert {Quantize, Dequantize} <= set(kinds[0])
    assert not {Quantize, Dequantize} & set(kinds[1])


I64 = np.int64
CELLS = rand(2, 3, 4)
PIXELS = rand(1, 4, 5, 6)
POOL: dict[str, Any] = {"kernel": (3, 3), "strides": (2, 2), "pads_begin": (1, 1), "pads_end": (1, 1)}
SEQUENCE = (
    rand(2, 5, 3),
    rand(2, 1, 4),
    Known(np.array([5, 5])),
    *(rand(1, 12, n) for n in (3, 4)),
    rand(1, 12),
)


def ints(*values: int) -> Known:
    return Known(np.array(values, I64))


def one(value: int) -> Known:
    return Known(np.array(value, I64))


@pytest.mark.parametrize(
    "refused",
    [
        case("Gelu", CELLS, approximation_mode="SIGMOID", expected="Gelu by SIGMOID"),
        case("Round", CELLS, mode="up", expected="rounding by up"),
        case(
            *("ScatterElementsUpdate", rand(3), Known(np.array([0])), rand(1), one(0)),
            reduction="mean",
            expected="by mean",
        ),
        case("ScatterNDUpdate", rand(3), Known(np.array([[0]])), rand(1), reduction="sub", expected="by sub"),
        case("TopK", CELLS, one(2), axis=1, mode="max", sort="index", expected="order of places"),
        case("Range", one(0), one(3), one(0), expected="in steps of 0"),
        case("ScaledDotProductAttention", rand(1, 4, 3, 8), *[rand(1, 2, 3, 8)] * 2, expected="attention of"),
        case("LRN", PIXELS, ints(2), alpha=1.0, beta=1.0, bias=1.0, size=3, expected="than channels"),
        case(
            *("ConvolutionBackpropData", PIXELS, Known(rand(4, 3, 3, 3)), ints(2, 2)),
            strides=(1, 1),
            dilations=(1, 1),
            pads_begin=(0, 0),
            pads_end=(0, 0),
            expected="cuts its result",
        ),
        case("Split", CELLS, one(1), num_splits=2, expected="2 parts of axis 1"),
        case("Slice", CELLS, ints(0), ints(2), ints(0), expected="Slice from"),
        case("Pad", CELLS, ints(0, 0, 0), ints(0, 0, 0), pad_mode="wrap", expected="by wrap"),
        case(
            "Pad", CELLS, ints(0, -2, 0), ints(0, -2, 0), pad_mode="constant", expected="more than there is"
        ),
        case("Broadcast", rand(3), ints(2, 3), mode="pdpd", expected="Broadcast by pdpd"),
        case("ShuffleChannels", PIXELS, group=3, expected="3 groups of axis 1"),
        case("MaxPool", PIXELS, **POOL, rounding_type="up", expected="rounding by 'up'"),
        case("MaxPool", PIXELS, **POOL, auto_pad="full", expected="padding by 'full'"),
        case(
            *("AvgPool", PIXELS),
            **POOL | {"kernel": (1, 1), "pads_end": (2, 2)},
            exclude_pad=True,
            rounding_type="ceil",
            expected="begins in the padding",
        ),
        case("AdaptiveAvgPool", CELLS, ints(2, 2), expected="adaptive pooling of"),
        case(
            "Interpolate",
            PIXELS,
            ints(9, 9),
            ints(2, 3),
            mode="area",
            opset=11,
            expected="Interpolate by area",
        ),
        case(
            "Interpolate", PIXELS, ints(9), ints(2, 3), mode="linear", opset=11, expected="1 sizes for 2 axes"
        ),
        case("Interpolate", PIXELS, ints(0, 9), ints(2, 3), mode="linear", opset=11, expected=r"to \[0, 9\]"),
        case(
            *("Interpolate", PIXELS, ints(9, 9), ints(2, 3)),
            mode="linear",
            antialias=True,
            opset=11,
            expected="with antialias",
        ),
        case(
            *("GRUSequence", *SEQUENCE),
            hidden_size=4,
            direction="forward",
            activations=("elu", "tanh"),
            expected="activations",
        ),
        case(
            "GRUSequence",
            *SEQUENCE,
            hidden_size=4,
            direction="bidirectional",
            expected="direction bidirectional",
        ),
    ],
    ids=str,
)
def test_settings_without_a_meaning_here_are_refused(refused: Case) -> None:
    with pytest.raises(EdgeKitError, match=refused.expected):
        computed(ops, refused)


def test_two_results_of_one_name_are_two_outputs(tmp_path: Path) -> None:
    layers = [parameter(0, (2,)), layer(1, "ReLU", 1, [port(1, (2,), names="y")]), result(2), result(3)]
    graph = read.read(write(tmp_path, net(layers, {(1, 0): (0, 0), (2, 0): (1, 1), (3, 0): (1, 1)})))
    assert graph.outputs == ("y", "y_1")


def test_shapes() -> None:
    assert dims("1,3,?,8..32") == [1, 3, None, None]
    assert dims("[1, 3]") == [1, 3]
    assert dims("") == []
    assert dims("...") is None


def test_layers_may_stand_in_any_order(tmp_path: Path) -> None:
    layers = [parameter(0, (2,)), layer(1, "ReLU", 1, [port(1, (2,))]), result(2)]
    sources = {(1, 0): (0, 0), (2, 0): (1, 1)}
    graphs = [read.read(write(tmp_path, net(order, sources))) for order in (layers, layers[::-1])]
    for a, b in pairwise(graphs):
        assert (a.nodes, a.outputs) == (b.nodes, b.outputs)


def test_elements_know_where_they_are() -> None:
    root = xml_tree.parse(b"<a>\n <b n='3'>x</b>\n <b n='y'/></a>", "net.xml")
    first, second = root.all("b")
    assert (first.integer("n"), first.content) == (3, "x")
    with pytest.raises(EdgeKitError, match=r"'y', it should be an integer"):
        second.integer("n")
    assert second.where == "net.xml, line 3"


@pytest.mark.parametrize("kind", [DType.S4, DType.U4])
def test_two_integers_are_in_a_byte(kind: DType, tmp_path: Path) -> None:
    name = "signed_nibbles" if kind is DType.S4 else "nibbles"
    graph = read.read(unpacked(RECORDED, name, tmp_path).path)
    stored: list[Array] = [v.data for v in graph.values.values() if v.data is not None]
    assert all(np.isfinite(a.astype(np.float32)).all() for a in stored)
