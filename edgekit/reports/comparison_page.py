"""A comparison of two graphs as one HTML page that needs nothing else: no script or font from elsewhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgekit.comparison.difference import (
    Difference,
    LayerDifference,
    other_weights,
    range_warnings,
    shown_name,
)
from edgekit.comparison.histogram import Histogram
from edgekit.core import quality
from edgekit.quantize.outcome import Quantization
from edgekit.reports import pages
from edgekit.reports.pages import Cell, bar, number, percent

_MAX_DRAWN = 100  # histograms on one page, of the layers that come first
_FULL_BAR = 80.0  # dB, at most
_STEP = 20  # dB between the lines of the chart
_WIDTH, _HEIGHT = 180.0, 34.0  # of a histogram
_CHART_WIDTH, _CHART_HEIGHT, _CHART_TOP = 1100.0, 170.0, 8.0
_NUMBER_WIDTH = 24.0
_TIP = 80  # letters of a name
_MIN_SLOT, _MAX_SLOT = 7.0, 48.0  # of a layer in the chart


def render(
    found: Difference,
    names: Sequence[str],
    told: Sequence[str] = (),
    known: Quantization | None = None,
) -> str:
    """The page. `names` are those of both models. Of quantization, `told` are its warnings, and `known` is
    what it measured, on more samples than these: so the page has the figures of the command."""
    facts, repeated = _facts(found, known), _repeated(found.layers)
    if known and not known.states_before:
        found = _as_measured(found, known)
    top = _top(found.layers)
    return pages.render(
        "difference.html.j2",
        title=" and ".join(names),
        facts=facts,
        warnings=[*told, *range_warnings(found.layers)] if told else found.warnings,
        rows=[
            _row(layer, top, i < _MAX_DRAWN, layer.place in repeated) for i, layer in enumerate(found.layers)
        ],
        chart=_chart(found.layers, top),
        width=number(_WIDTH),
        height=number(_HEIGHT),
        order="the layer that does most harm first" if found.order == "culprit" else "as in the graph",
    )


def _repeated(layers: Sequence[LayerDifference]) -> set[int]:
    """The places of layers that only move values: they have the format and the noise of an earlier layer."""
    seen, repeated = set(), set()
    for layer in sorted(layers, key=lambda layer: layer.place):
        facts = (layer.format, layer.scale, layer.zero, layer.sqnr_db)
        if facts in seen and layer.alone_db == math.inf and not layer.macs:
            repeated.add(layer.place)
        seen.add(facts)
    return repeated


def _as_measured(found: Difference, known: Quantization) -> Difference:
    """With the errors that quantization measured, which accumulate."""
    ratios = {layer.name: layer.sqnr_db for layer in known.layers if not math.isnan(layer.sqnr_db)}
    layers = (replace(layer, sqnr_db=ratios.get(layer.name, layer.sqnr_db)) for layer in found.layers)
    return replace(found, layers=tuple(layers))


def _facts(found: Difference, known: Quantization | None) -> list[tuple[str, str]]:
    """What the page says first."""
    facts = [(f"output {d.name}", decibels(d.sqnr_db)) for d in found.outputs]
    if known:
        on = _measured_on(known.measured, known)
        facts = [(f"output {name}", f"{decibels(ratio)}, {on}") for name, ratio in known.outputs.items()]
    worst = max(found.layers, key=lambda layer: layer.noise_share or 0.0, default=None)
    if worst and worst.noise_share:
        facts.append(("culprit", f"{worst.noise_share:.0%} of the noise: {shown_name(worst)}"))
    before, after = found.weight_bytes
    facts.append(("weights", f"{before:,} B to {after:,} B" + (f", {after / before:.0%}" if before else "")))
    compared = f"{_count(len(found.layers), 'layer')} on {_count(found.samples, 'sample')}"
    if known and not known.states_before and known.layers_measured != found.samples:
        compared += f", accumulated errors {_measured_on(known.layers_measured, known)}"
    facts.append(("compared", compared))
    if found.unmatched:
        facts.append(("without counterpart", _count(found.unmatched, "result")))
    return facts


def _measured_on(count: int, known: Quantization) -> str:
    are_held_out = 0 < known.held_out < known.samples
    return f"on {_count(count, 'sample')}" + " held out" * are_held_out


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


@dataclass(frozen=True)
class _Row:
    """One layer as the table shows it."""

    layer: LayerDifference
    name: str
    number: int
    format: str
    details: str
    noise: Cell
    alone: Cell
    accumulated: Cell
    clipped: Cell
    macs: Cell
    bytes: Cell
    plot: Plot | None
    is_repeated: bool  # what an earlier row says
    is_hot: bool  # so much is clipped that it is worth a warning


@dataclass(frozen=True)
class Plot:
    """A histogram: paths of the cells inside and outside of the range, and where its ends are."""

    inside: str
    outside: str
    marks: tuple[str, ...]
    label: str
    tip: str


@dataclass(frozen=True)
class _Bar:
    """A rectangle from the base of the chart upwards."""

    kind: str
    x: str
    y: str
    width: str
    height: str


@dataclass(frozen=True)
class _Slot:
    """One layer in the chart."""

    number: int
    bars: tuple[_Bar, ...]
    middle: str
    tip: str
    label: str  # empty where it would not fit


@dataclass(frozen=True)
class _Chart:
    """Signal to noise of all layers in the order of the graph."""

    width: str
    height: str  # with what is below the base
    lines: tuple[tuple[int, str, str], ...]  # dB, where, and where the text beside it stands
    below: str  # where the numbers of the layers stand
    top: int  # dB
    slots: tuple[_Slot, ...]


def _row(layer: LayerDifference, top: float, drawn: bool, is_repeated: bool) -> _Row:
    details = [] if layer.scale is None else [f"scale {layer.scale:.4g}", f"zero {layer.zero}"]
    if weights := other_weights(layer):
        details.append(weights)
    share, clipped = layer.noise_share, layer.clipped
    return _Row(
        layer=layer,
        name=shown_name(layer),
        number=layer.place + 1,
        format=layer.format,
        details=", ".join(details),
        noise=Cell("" if share is None else percent(share), sort_value(share), bar(share or 0.0)),
        alone=_sqnr(layer.alone_db, top),
        accumulated=_sqnr(layer.sqnr_db, top),
        clipped=Cell("" if clipped is None else percent(clipped), sort_value(clipped)),
        macs=Cell(f"{layer.macs:,}", str(layer.macs)),
        bytes=Cell(f"{layer.weight_bytes:,}", str(layer.weight_bytes)),
        plot=plot(layer.histogram, layer.range, layer.scale, layer.format)
        if drawn and layer.histogram
        else None,
        is_repeated=is_repeated,
        is_hot=bool(range_warnings([layer])),
    )


def _sqnr(ratio: float, top: float) -> Cell:
    return Cell(decibels(ratio), sort_value(ratio), bar(ratio / top))


def sort_value(number: float | None) -> str:
    """For scripts, in full; `Infinity` as JavaScript spells it."""
    if number is None:
        return "-1"
    return repr(number) if math.isfinite(number) else "Infinity" if number > 0 else "-Infinity"


def decibels(ratio: float) -> str:
    return quality.decibels(ratio) or "no signal"


def _plain(value: float) -> str:
    return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")


def _of_layer(layer: LayerDifference) -> Plot | None:
    found = layer.histogram
    return plot(found, layer.range, layer.scale, layer.format) if found else None


def plot(
    found: Histogram, range: tuple[float, float] | None = None, scale: float | None = None, format: str = ""
) -> Plot:
    """Heights are logarithmic: what is clipped is rare, and would not be seen beside the zeros of a ReLU."""
    low, high = found.start, found.start + found.width * len(found.counts)
    step = scale or 0.0
    if range:
        low, high = min(low, range[0]), max(high, range[1])
    span = (high - low) or 1.0
    tallest = math.log1p(max(found.counts))
    inside: list[str] = []
    outside: list[str] = []
    for i, count in enumerate(found.counts):
        if not count:
            continue
        left = found.start + i * found.width
        x, end = _WIDTH * (left - low) / span, _WIDTH * (left + found.width - low) / span
        is_out = range and (left >= range[1] + step or left + found.width <= range[0] - step)
        y = _HEIGHT * (1 - math.log1p(count) / tallest)
        base, wide = number(_HEIGHT), number(max(end - x, 0.8))
        (outside if is_out else inside).append(f"M{number(x)} {base}V{number(y)}h{wide}V{base}")
    tip = f"values from {_plain(found.low)} to {_plain(found.high)}"
    if range:
        tip += f", {format} holds {_plain(range[0])} to {_plain(range[1])}"
    return Plot(
        inside="".join(inside),
        outside="".join(outside),
        marks=tuple(number(_WIDTH * (end - low) / span) for end in range or ()),
        label=f"{_plain(found.low)} \N{HORIZONTAL ELLIPSIS} {_plain(found.high)}",
        tip=tip,
    )


def _top(layers: Sequence[LayerDifference]) -> float:
    """The SQNR of a full bar."""
    finite = [r for layer in layers for r in (layer.alone_db, layer.sqnr_db) if math.isfinite(r)]
    return min(_FULL_BAR, max(_STEP * math.ceil(max(finite, default=0.0) / _STEP), 2 * _STEP))


def _chart(layers: Sequence[LayerDifference], top: float) -> _Chart:
    wide = min(max(_CHART_WIDTH / max(len(layers), 1), _MIN_SLOT), _MAX_SLOT)
    every = math.ceil(_NUMBER_WIDTH / wide)
    base = _CHART_TOP + _CHART_HEIGHT
    slots = []
    for i, layer in enumerate(sorted(layers, key=lambda layer: layer.place)):
        left = i * wide
        slots.append(
            _Slot(
                number=layer.place + 1,
                bars=(
                    _Bar("hit", number(left), number(_CHART_TOP), number(wide), number(_CHART_HEIGHT)),
                    _bar("alone", left + 0.12 * wide, wide, layer.alone_db / top),
                    _bar("all", left + 0.5 * wide, wide, layer.sqnr_db / top),
                ),
                middle=number(left + 0.5 * wide),
                tip=f"{layer.place + 1}. {shown_name(layer):.{_TIP}} ({layer.op}): {_both(layer)}",
                label=str(layer.place + 1) if i % every == 0 else "",
            )
        )
    lines = [(db, base - _CHART_HEIGHT * db / top) for db in range(0, int(top) + 1, _STEP)]
    return _Chart(
        width=number(max(wide * len(layers), _MAX_SLOT)),
        height=number(base + 18),
        lines=tuple((db, number(y), number(y + 3.5)) for db, y in lines),
        below=number(base + 14),
        top=int(top),
        slots=tuple(slots),
    )


def _both(layer: LayerDifference) -> str:
    return f"alone {decibels(layer.alone_db)}, accumulated {decibels(layer.sqnr_db)}"


def _bar(kind: str, x: float, slot: float, share: float) -> _Bar:
    height = _CHART_HEIGHT * min(max(share, 0.0), 1.0)
    if math.isinf(share):
        kind += " exact"
    return _Bar(
        kind, number(x), number(_CHART_TOP + _CHART_HEIGHT - height), number(0.38 * slot), number(height)
    )
