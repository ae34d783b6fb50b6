"""A search as one HTML page that needs nothing else: accuracy over size and over time, and what was tried."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from edgekit.core.quality import decibels
from edgekit.reports import pages
from edgekit.reports.pages import Cell
from edgekit.reports.pages import number as coordinate
from edgekit.tuning.budget import costs, interval, quality
from edgekit.tuning.commands import commands
from edgekit.tuning.problem import Point, Result, file_stem
from edgekit.tuning.tune import TriedPoint, Tuned

_WIDTH, _HEIGHT = 520.0, 300.0  # of a chart
_LEFT, _BELOW, _TOP = 52.0, 44.0, 24.0  # around it
_MARGIN = 0.06  # of a span, so that no point lies on the frame
_TICKS = 5
_RADII = (3.5, 9.0)  # of the smallest and the largest of what the other chart shows
_MAX_DB = 120.0


@dataclass(frozen=True)
class _Dot:
    """A point of a chart."""

    x: str
    y: str
    radius: str
    kind: str
    tip: str
    number: int  # of its row
    label_x: str = ""  # of its number; empty where that would lie on another one
    label_y: str = ""


@dataclass(frozen=True)
class _Tick:
    at: str
    text: str


@dataclass(frozen=True)
class _Chart:
    """Quality over a cost; the areas of dots show another cost."""

    title: str
    x_title: str
    y_title: str
    across: tuple[_Tick, ...]
    up: tuple[_Tick, ...]
    dots: tuple[_Dot, ...]
    front: str  # a line through the points that are Pareto-optimal in this chart
    limits: tuple[tuple[str, str, str, str], ...]  # lines x1 y1 x2 y2


@dataclass(frozen=True)
class _Row:
    """A variant in the table."""

    number: int
    one: TriedPoint
    words: str
    commands: str
    cells: tuple[Cell, ...]


def render(found: Tuned) -> str:
    """The page."""
    timed = all(one.result.instructions is not None for one in found.tried)
    tried = sorted(found.tried, key=lambda one: (*(-x for x in quality(one.result)), costs(one.result)))
    numbers = {one.point: number for number, one in enumerate(tried, 1)}
    return pages.render(
        "tuned.html.j2",
        title=f"{found.name} on {found.target}",
        facts=_facts(found),
        missed=found.missed,
        charts=[
            _chart(found, "Flash", "Flash, KB", _flash, found.budget.flash, _time, numbers),
            _chart(found, *_named_time(timed), _time, found.budget.instructions, _flash, numbers),
        ],
        rows=[_row(found, number, one) for number, one in enumerate(tried, 1)],
        file=f"{file_stem(found.name)}.ek" if found.best else "",
        chosen=found.best or found.closest,
        width=coordinate(_LEFT + _WIDTH + 12),
        height=coordinate(_TOP + _HEIGHT + _BELOW),
        left=coordinate(_LEFT),
        right=coordinate(_LEFT + _WIDTH),
        base=coordinate(_TOP + _HEIGHT),
        below=coordinate(_TOP + _HEIGHT + 16),
        axis_below=coordinate(_TOP + _HEIGHT + 36),
        top=coordinate(_TOP),
    )


def _facts(found: Tuned) -> list[tuple[str, str]]:
    best = found.best or found.closest
    facts = [
        ("chosen" if found.best else "closest", best.words),
        ("flash", f"{best.result.flash:,} B"),
        ("RAM", f"{best.result.ram:,} B"),
    ]
    if best.result.instructions is not None:
        facts.append(("instructions", f"{best.result.instructions:,}"))
        if found.pace:
            facts.append(("time", found.pace.in_words(best.result.instructions)))
    if best.result.accuracy is not None and found.budget.accuracy is not None:
        share = f"{best.result.accuracy:.2%} ±{interval(best.result):.1%}"
        facts.append(("accuracy", f"{share}, before {found.budget.accuracy:.2%}"))
    so_far = "" if found.is_finished else " so far: the search was not finished"
    return [*facts, ("tried", f"{len(found.tried)} variants, judged by {found.samples} samples{so_far}")]


def _flash(result: Result) -> float:
    return result.flash / 1024


def _time(result: Result) -> float:
    return (result.macs if result.instructions is None else result.instructions) / 1e6


def _named_time(timed: bool) -> tuple[str, str]:
    return ("Time", "Instructions, millions") if timed else ("Work", "Multiply-accumulates, millions")


def _named_quality(found: Tuned) -> str:
    return "SQNR, dB" if found.budget.accuracy is None else "Accuracy, %"


def _row(found: Tuned, number: int, one: TriedPoint) -> _Row:
    result = one.result
    instructions = Cell("unknown", "-1") if result.instructions is None else Cell.of(result.instructions)
    accuracy = Cell("", "-1") if result.accuracy is None else Cell(_accuracy(result), repr(result.accuracy))
    ratio = Cell(decibels(result.sqnr_db), repr(min(result.sqnr_db, 1e9)))
    cells = (Cell.of(result.flash), Cell.of(result.ram), instructions, Cell.of(result.macs), accuracy, ratio)
    return _Row(number, one, one.words, "\n".join(commands(found, one.point, result)), cells)


def _height(result: Result) -> float:
    """Accuracy in percent, or signal to noise where there are no classes."""
    return min(result.sqnr_db, _MAX_DB) if result.accuracy is None else 100 * result.accuracy


def _accuracy(result: Result) -> str:
    return "" if result.accuracy is None else f"{result.accuracy:.2%}"


@dataclass(frozen=True)
class _Scale:
    """From numbers to coordinates."""

    low: float
    high: float
    start: float
    length: float

    @staticmethod
    def over(values: Sequence[float], start: float, length: float) -> _Scale:
        low, high = min(values), max(values)
        margin = (high - low) * _MARGIN or abs(high) * _MARGIN or 1.0
        return _Scale(low - margin, high + margin, start, length)

    def __call__(self, value: float) -> float:
        return self.start + self.length * (value - self.low) / (self.high - self.low)

    def ticks(self) -> tuple[_Tick, ...]:
        """At round numbers."""
        rough = (self.high - self.low) / _TICKS
        size = 10 ** math.floor(math.log10(rough))
        step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= rough)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return tuple(_Tick(coordinate(self(n * step)), f"{n * step:g}") for n in range(first, last + 1))


def _chart(
    found: Tuned,
    title: str,
    x_title: str,
    cost: Callable[[Result], float],
    limit: int | None,
    area: Callable[[Result], float],
    numbers: Mapping[Point, int],
) -> _Chart:
    results = [one.result for one in found.tried]
    x = _Scale.over([cost(result) for result in results], _LEFT, _WIDTH)
    y = _Scale.over([_height(result) for result in results], _TOP + _HEIGHT, -_HEIGHT)
    most = max(area(result) for result in results) or 1.0
    small, large = _RADII

    def dot(one: TriedPoint) -> _Dot:
        radius = small + (large - small) * math.sqrt(area(one.result) / most)
        chosen = found.best or found.closest
        kind = "chosen" if one is chosen else "front" if one.on_front else "beaten"
        at = (coordinate(x(cost(one.result))), coordinate(y(_height(one.result))))
        number, label = numbers[one.point], labels.get(one.point, ("", ""))
        kind = kind if one.fits else f"{kind} out"
        return _Dot(*at, coordinate(radius), kind, f"{number}. {_tip(one)}", number, *label)

    # What is drawn last lies on top.
    order = sorted(found.tried, key=lambda one: (one.on_front, one is (found.best or found.closest)))
    labels = _labels([(one.point, x(cost(one.result)), y(_height(one.result))) for one in reversed(order)])
    return _Chart(
        title,
        x_title,
        _named_quality(found),
        x.ticks(),
        y.ticks(),
        tuple(dot(one) for one in order),
        _line(results, cost, x, y),
        tuple(_limits(found, cost, limit, x, y)),
    )


def _labels(points: Sequence[tuple[Point, float, float]]) -> dict[Point, tuple[str, str]]:
    """Where the numbers of points stand: above and right of them, the first ones first, none on another."""
    placed: list[tuple[float, float]] = []
    found = {}
    for point, x, y in points:
        at = x + 8, y - 7
        if all(abs(at[0] - a) > 18 or abs(at[1] - b) > 12 for a, b in placed):
            placed.append(at)
            found[point] = coordinate(at[0]), coordinate(at[1])
    return found


def _line(results: Sequence[Result], cost: Callable[[Result], float], x: _Scale, y: _Scale) -> str:
    """From the cheapest on, those that are better than all that are cheaper."""
    best, parts = -math.inf, []
    for result in sorted(results, key=lambda one: (cost(one), -_height(one))):
        if _height(result) > best:
            best = _height(result)
            parts.append(f"{coordinate(x(cost(result)))} {coordinate(y(best))}")
    return "M" + "L".join(parts)


def _limits(
    found: Tuned, cost: Callable[[Result], float], limit: int | None, x: _Scale, y: _Scale
) -> list[tuple[str, str, str, str]]:
    """Where the budget ends, if that is in sight."""
    lines, budget = [], found.budget
    if limit is not None and x.low < (at := limit / (1024 if cost is _flash else 1e6)) < x.high:
        lines.append((coordinate(x(at)), coordinate(_TOP), coordinate(x(at)), coordinate(_TOP + _HEIGHT)))
    least = budget.min_sqnr
    if budget.max_drop is not None and budget.accuracy is not None:
        least = 100 * (budget.accuracy - budget.max_drop)
    if least is not None and y.low < least < y.high:
        lines.append(
            (coordinate(_LEFT), coordinate(y(least)), coordinate(_LEFT + _WIDTH), coordinate(y(least)))
        )
    return lines


def _tip(one: TriedPoint) -> str:
    result = one.result
    words = [one.words, f"flash {result.flash:,} B", f"RAM {result.ram:,} B"]
    if result.instructions is not None:
        words.append(f"{result.instructions:,} instructions")
    words += [text for text in (_accuracy(result), decibels(result.sqnr_db)) if text]
    return "; ".join(words)
