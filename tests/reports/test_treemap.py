"""Treemaps: areas are sizes, rectangles fill the frame and do not overlap, and they are no stripes."""

import random

import pytest

from edgekit.reports.treemap import Rect, treemap


@pytest.mark.parametrize("seed", range(20))
def test_areas_are_sizes_and_nothing_overlaps(seed: int) -> None:
    draw = random.Random(seed)
    sizes = [draw.choice((1, 7, 300, 5000)) * draw.randint(1, 9) for _ in range(draw.randint(1, 50))]
    frame = Rect(10, 20, 1100, 360)
    found = treemap(sizes, frame)
    unit = frame.width * frame.height / sum(sizes)
    for i, (size, a) in enumerate(zip(sizes, found, strict=True)):
        assert a.width * a.height == pytest.approx(size * unit)
        assert a.x >= frame.x - 1e-6
        assert a.y >= frame.y - 1e-6
        assert a.x + a.width <= frame.x + frame.width + 1e-6
        assert a.y + a.height <= frame.y + frame.height + 1e-6
        for b in found[:i]:
            apart_x = min(a.x + a.width, b.x + b.width) - max(a.x, b.x)
            apart_y = min(a.y + a.height, b.y + b.height) - max(a.y, b.y)
            assert min(apart_x, apart_y) < 1e-6


def test_equal_sizes_are_nearly_squares() -> None:
    for rect in treemap([1] * 12, Rect(0, 0, 400, 300)):
        assert rect.width / rect.height == pytest.approx(1)


def test_nothing_takes_no_room() -> None:
    assert treemap([], Rect(0, 0, 9, 9)) == []
    assert [rect.width * rect.height for rect in treemap([0, 5], Rect(0, 0, 9, 9))] == [0, 81]
