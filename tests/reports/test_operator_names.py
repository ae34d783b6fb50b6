"""A layer has one name and one operator in all tables, whatever it became among integers."""

import numpy as np
import pytest
from support.tools import ROOT

from edgekit import convert, diff, quantize_model
from edgekit.codegen.library_map import library_map
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.ir import Graph
from edgekit.reports import pages, results

KEYWORDS = ROOT / "examples" / "keywords"
M4 = target.load("cortex-m4")


def of_library(graph: Graph) -> dict[str, set[str]]:
    """The operators of each layer, without those that change formats."""
    found: dict[str, set[str]] = {}
    for layer in library_map(compile_graph(graph, M4), None, {}, None).layers:
        if layer.operator not in ("Quantize", "Dequantize"):
            found.setdefault(layer.origin, set()).add(layer.operation.partition(" ")[0])
    return found


def test_a_layer_has_one_operator_in_all_tables() -> None:
    graph = convert(KEYWORDS / "keywords.onnx")
    with np.load(KEYWORDS / "calib.npz") as data:
        samples = {name: data[name][:8] for name in graph.inputs}
    made, report = quantize_model(graph, samples, calibrate="minmax")
    expected = of_library(graph)
    assert expected["node_mean"] == {"ReduceMean"}
    assert expected["node_conv2d_1"] == {"Depthwise"}
    assert of_library(made) == expected
    listed = {layer.origin: {layer.op} for layer in report.layers if layer.op != "Reshape"}
    assert listed == expected
    compared = diff(graph, made, samples)
    rows = {layer.origin: {layer.op} for layer in compared.layers if layer.op not in ("Reshape", "input")}
    assert rows.items() <= expected.items()
    assert {"node_mean", "node_conv2d_1"} <= rows.keys()


def test_quality_is_that_of_a_layer_of_the_list() -> None:
    """The one in front of the softmax."""
    graph = convert(KEYWORDS / "keywords.onnx")
    with np.load(KEYWORDS / "calib.npz") as data:
        samples = {name: data[name][:8] for name in graph.inputs}
    _, report = quantize_model(graph, samples, calibrate="minmax")
    assert [name for name, _ in report.quality] == ["node_linear"]
    assert any(line.startswith("quality  node_linear ") for line in results.quantization("", report))


@pytest.mark.parametrize("most", [2, 4, 6])
def test_no_card_stands_alone_in_a_row(most: int) -> None:
    for cards in range(2, 13):
        columns = pages.columns(cards, most)
        assert 1 < columns <= most
        assert cards % columns != 1 or most == 2  # the last one is as wide as the page then
