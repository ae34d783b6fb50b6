"""How the layers of a graph are quantized: formats, scales, and how weights and values are distributed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from edgekit.api import Difference, Graph
from edgekit.codegen.library_map import LibraryMap
from edgekit.comparison.difference import LayerDifference
from edgekit.comparison.histogram import Histogram
from edgekit.core import fixed
from edgekit.core.ir import MeasuredTensor, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.types import Array, Quant
from edgekit.reports import pages
from edgekit.reports.comparison_page import Plot, decibels, plot, sort_value
from edgekit.reports.pages import Cell, bar, number, percent

_CELLS = 64  # of a histogram, at most
_FULL_BAR = 60.0  # dB


@dataclass(frozen=True)
class Quantized:
    """A layer with integers: of its result, and of its weights."""

    plot_size: ClassVar[tuple[str, str]] = (number(120.0), number(34.0))

    name: str
    result: str
    layer: int | None  # in the library; None: it became part of another one
    format: str
    scale: str
    weights: str  # the format of weights; empty without
    zeros: str  # the share of weights that are zero
    weight_path: str  # the histogram of weights
    weight_tip: str
    sqnr: Cell | None  # as quantization measured it
    alone: Cell | None
    accumulated: Cell | None
    noise: Cell | None
    values: Plot | None


def quantized_layers(graph: Graph, found: LibraryMap, difference: Difference | None) -> tuple[Quantized, ...]:
    """The layers that hold or make integers; none in a graph of floats."""
    calls = {name: i for i, layer in enumerate(found.layers) for name in layer.results}
    measured = {layer.other: layer for layer in difference.layers} if difference else {}
    return tuple(_rows(graph, calls, measured))


def _rows(graph: Graph, calls: dict[str, int], measured: dict[str, LayerDifference]) -> Iterator[Quantized]:
    known = {tensor.value: tensor for tensor in graph.source.measured}
    for node in graph.nodes:
        result = node.outputs[0]
        quant, weights = graph.type(result).quant, _weights(graph, node)
        if quant is None and (weights is None or weights.dtype.kind == "f"):
            continue
        layer = measured.get(result)
        format = graph.type(result).dtype.value
        yield Quantized(
            name=node.origin or result,
            result=result,
            layer=calls.get(result),
            format=format,
            scale="" if quant is None else _scale(quant),
            weights="" if weights is None else str(weights.dtype),
            zeros="" if weights is None or not weights.size else percent(float((weights == 0).mean())),
            weight_path="" if weights is None else _histogram(weights),
            weight_tip="" if weights is None or not weights.size else _tip(weights),
            alone=_sqnr(layer.alone_db) if layer else None,
            accumulated=_sqnr(layer.sqnr_db) if layer else None,
            noise=_noise(layer) if layer else None,
            sqnr=_sqnr(kept.sqnr_db) if (kept := known.get(result)) else None,
            values=_values(graph, result, layer, known.get(result)),
        )


def _values(
    graph: Graph, result: str, layer: LayerDifference | None, kept: MeasuredTensor | None
) -> Plot | None:
    """How values are distributed: as they were compared now, or as quantization saw them."""
    if layer and layer.histogram:
        return plot(layer.histogram, layer.range, layer.scale, layer.format)
    counts = kept.counts if kept else ()
    if not kept or not counts or min(counts) < 0 or not max(counts):
        return None
    width = (kept.high - kept.low) / len(counts)
    if not (math.isfinite(kept.low) and math.isfinite(kept.high) and width > 0):  # of a forged file
        return None
    type = graph.type(result)
    histogram = Histogram(kept.low, width, counts, kept.low, kept.high)
    if type.quant is None or len(type.quant.scale) > 1:
        return plot(histogram)
    (scale,), (zero,) = type.quant.scale, type.quant.zero
    low, high = ((end - zero) * scale for end in fixed.int_range(type.dtype))
    return plot(histogram, (low, high), scale, type.dtype.value)


def _weights(graph: Graph, node: Node) -> Array | None:
    """Those of a convolution, a dense layer or a product with a constant."""
    return graph.data(node.inputs[1]) if isinstance(node.op, Linear) else None


def _scale(quant: Quant) -> str:
    zeros = sorted(set(quant.zero))
    zero = f"zero {zeros[0]}" if len(zeros) == 1 else f"zeros {zeros[0]} to {zeros[-1]}"
    if len(quant.scale) == 1:
        return f"{quant.scale[0]:.4g}, {zero}"
    return f"{len(quant.scale)} from {min(quant.scale):.3g} to {max(quant.scale):.3g}, {zero}"


def _numbers(weights: Array) -> Array:
    return weights.reshape(-1).astype(np.float32)


def _histogram(weights: Array) -> str:
    """A path of SVG; heights are logarithmic, as a few large weights decide the scale."""
    values = _numbers(weights)
    if not values.size:
        return ""
    width, height = (float(size) for size in Quantized.plot_size)
    low, high = float(values.min()), float(values.max())
    cells = int(min(_CELLS, high - low + 1)) if weights.dtype.kind != "f" else _CELLS
    counts, _ = np.histogram(values, max(cells, 1), (low, high + (0.0 if high > low else 1.0)))
    tallest = math.log1p(int(counts.max()))
    step, parts = width / len(counts), []
    for i, count in enumerate(counts.tolist()):
        if count:
            y = number(height * (1 - math.log1p(count) / tallest))
            parts.append(f"M{number(i * step)} {number(height)}V{y}h{number(step)}V{number(height)}")
    return "".join(parts)


def _tip(weights: Array) -> str:
    values = _numbers(weights)
    return f"{weights.size:,} weights from {values.min():g} to {values.max():g}"


def _sqnr(ratio: float) -> Cell:
    return Cell(decibels(ratio), sort_value(ratio), bar(ratio / _FULL_BAR))


def _noise(layer: LayerDifference) -> Cell:
    share = layer.noise_share
    if share is None:
        return Cell("", "-1")
    return Cell(pages.percent(share), sort_value(share), bar(share))
