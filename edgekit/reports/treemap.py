"""Squarified treemaps: rectangles whose areas are numbers, as near to squares as they can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Rect:
    """A part of a picture."""

    x: float
    y: float
    width: float
    height: float


def treemap(sizes: Sequence[float], frame: Rect) -> list[Rect]:
    """A rectangle for each size, in the order of `sizes`; together they fill the frame."""
    order = sorted(range(len(sizes)), key=lambda i: -sizes[i])
    total = sum(sizes)
    scale = frame.width * frame.height / total if total else 0.0
    found = [Rect(frame.x, frame.y, 0.0, 0.0)] * len(sizes)
    left, at = frame, 0
    while at < len(order):
        row = [order[at]]
        while at + len(row) < len(order):
            wider = [*row, order[at + len(row)]]
            if _worst([sizes[i] * scale for i in wider], left) > _worst(
                [sizes[i] * scale for i in row], left
            ):
                break
            row = wider
        placed, left = _row([sizes[i] * scale for i in row], left)
        for i, rect in zip(row, placed, strict=True):
            found[i] = rect
        at += len(row)
    return found


def _worst(areas: Sequence[float], frame: Rect) -> float:
    """The largest ratio of sides in a row of rectangles along the shorter side of the frame."""
    total, side = sum(areas), min(frame.width, frame.height)
    if not total or not min(areas):
        return float("inf")
    return max(side * side * max(areas) / total**2, total**2 / (side * side * min(areas)))


def _row(areas: Sequence[float], frame: Rect) -> tuple[list[Rect], Rect]:
    """Rectangles along the shorter side, and what they leave of the frame."""
    total, placed = sum(areas), []
    if frame.width >= frame.height:
        wide, y = total / frame.height if frame.height else 0.0, frame.y
        for area in areas:
            high = area / wide if wide else 0.0
            placed.append(Rect(frame.x, y, wide, high))
            y += high
        return placed, Rect(frame.x + wide, frame.y, max(frame.width - wide, 0.0), frame.height)
    high, x = total / frame.width if frame.width else 0.0, frame.x
    for area in areas:
        wide = area / high if high else 0.0
        placed.append(Rect(x, frame.y, wide, high))
        x += wide
    return placed, Rect(frame.x, frame.y + high, frame.width, max(frame.height - high, 0.0))
