"""What quantization measured stays with the graph, in files and on pages; forged numbers do no harm."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.report_pages import figures
from support.tools import ROOT

from edgekit import Graph, Quantization, convert, load, quantize_model, save
from edgekit.codegen.library_map import library_map
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.ir import MeasuredTensor
from edgekit.core.simulate import run_all
from edgekit.reports import library_page
from edgekit.reports.library_page import PageOptions

DIGITS = ROOT / "examples" / "digits"


@pytest.fixture(scope="module")
def quantized() -> tuple[Graph, Quantization, np.ndarray]:
    with np.load(DIGITS / "calib.npz") as data:
        x = data["x"][:16]
    return *quantize_model(convert(DIGITS / "digits.onnx"), x, calibrate="minmax"), x


def page(graph: Graph) -> str:
    found = library_map(compile_graph(graph, target.load("host")), None, {}, None)
    return library_page.render(figures(found), PageOptions(graph=graph))


def test_each_layer_keeps_its_noise_and_its_values(
    quantized: tuple[Graph, Quantization, np.ndarray],
) -> None:
    graph, report, x = quantized
    noise = {layer.name: layer.sqnr_db for layer in report.layers}
    assert len(graph.source.measured) == len(noise)
    float_graph = convert(DIGITS / "digits.onnx")
    values = {name: [] for name in noise}
    for sample in x:
        for name, array in run_all(float_graph, {"x": sample[None]}).items():
            if name in values:
                values[name].append(array)
    by_noise = {tensor.sqnr_db: tensor for tensor in graph.source.measured}
    for name, ratio in noise.items():
        tensor, seen = by_noise[ratio], np.concatenate([v.ravel() for v in values[name]])
        assert tensor.value in graph.values
        assert sum(tensor.counts) == seen.size
        width = (tensor.high - tensor.low) / len(tensor.counts)
        assert tensor.low <= seen.min() < tensor.low + width
        assert tensor.high - width <= seen.max() <= tensor.high or math.isclose(seen.max(), tensor.high)


def test_files_hold_them(quantized: tuple[Graph, Quantization, np.ndarray], tmp_path: Path) -> None:
    graph, _, _ = quantized
    save(graph, tmp_path / "small.ek")
    assert load(tmp_path / "small.ek").source == graph.source
    assert "SQNR is the ratio" in page(graph)
    assert "SQNR is the ratio" not in page(replace(graph, source=replace(graph.source, measured=())))


@pytest.mark.parametrize(
    "change",
    [
        {"counts": ()},
        {"counts": (-1, 5)},
        {"counts": (0, 0)},
        {"low": math.nan},
        {"high": math.inf},
        {"low": 7.0, "high": -7.0},
        {"sqnr_db": -math.inf},
        {"value": "</script><b>"},
    ],
)
def test_forged_measurements_do_no_harm(
    quantized: tuple[Graph, Quantization, np.ndarray], change: dict[str, object]
) -> None:
    graph, _, _ = quantized
    forged: list[MeasuredTensor] = [replace(tensor, **change) for tensor in graph.source.measured]
    text = page(replace(graph, source=replace(graph.source, measured=tuple(forged))))
    assert "nan" not in text.lower().replace("name", "")
    assert "</script><b>" not in text
