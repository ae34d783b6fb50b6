"""Heavy tails are told before any sample has left the range, and light ones are not."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support.nets import Net

from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.dense import Dense
from edgekit.core.types import Array, DType, Quant, Type, Value
from edgekit.quantize.calibrated import Unseen
from edgekit.quantize.calibration.heavy_tails import clipped, clipping, pareto
from edgekit.quantize.calibration.observe import Statistics, minmax
from edgekit.quantize.integers.int8 import Quantized
from edgekit.quantize.post_training import unseen_warning

Draw = Callable[[np.random.Generator, int], Array]


def seen_of(values: Array) -> Statistics:
    seen = Statistics()
    seen.add(values)
    return seen


def excesses(random: np.random.Generator, shape: float, scale: float, count: int) -> Array:
    """Numbers of the generalized Pareto distribution, by the inverse of what it says of their ranks."""
    left = random.uniform(size=count)
    return scale * (left**-shape - 1) / shape if shape else -scale * np.log(left)


@pytest.mark.parametrize("shape", [-0.5, 0.0, 0.2, 0.4])
def test_shape_and_scale_of_a_tail_are_found(shape: float) -> None:
    found = [pareto(excesses(np.random.default_rng(seed), shape, 3, 400)) for seed in range(20)]
    assert np.mean([s for s, _ in found]) == pytest.approx(shape, abs=0.05)
    assert np.mean([s for _, s in found]) == pytest.approx(3, rel=0.05)


def test_equal_peaks_have_an_end() -> None:
    shape, scale = pareto(np.full(9, 2.0))
    assert shape < -1
    assert -scale / shape == pytest.approx(2.0, rel=0.2)


TAILS: dict[str, tuple[Draw, bool]] = {
    "Student's t of 2": (lambda r, n: r.standard_t(2, n), True),
    "Student's t of 3": (lambda r, n: r.standard_t(3, n), True),
    "Pareto on one side": (lambda r, n: r.pareto(2.2, n), True),
    "normal": (lambda r, n: r.normal(size=n), False),
    "exponential": (lambda r, n: r.exponential(size=n), False),
    "even": (lambda r, n: r.uniform(-1, 1, n), False),
    "pixels": (lambda r, n: r.integers(0, 256, n).astype(float), False),
    "two values": (lambda r, n: r.integers(0, 2, n).astype(float), False),
    "zeros": (lambda r, n: np.zeros(n), False),
    "a mask": (lambda r, n: -1e9 * r.integers(0, 2, n), False),
}


@pytest.mark.parametrize("name", TAILS)
def test_heavy_tails_are_told_from_light_ones(name: str) -> None:
    """By 2,000 values, none of which lies outside the range."""
    draw, is_heavy = TAILS[name]
    found = []
    for seed in range(30):
        seen = seen_of(draw(np.random.default_rng(seed), 2000))
        found.append(clipping(seen, minmax(seen)))
    share = np.mean(np.array(found) < 20)
    assert share > 0.8 if is_heavy else share < 0.05


@pytest.mark.parametrize("freedom", [4, 6, 10, 1e6])
def test_what_is_expected_beyond_the_range_is_what_comes(freedom: float) -> None:
    """Medians, of a range by 2,000 values and 200,000 fresh ones."""
    expected, came = [], []
    for seed in range(20):
        values = np.random.default_rng(seed).standard_t(freedom, 202_000)
        seen, fresh = seen_of(values[:2000]), values[2000:]
        expected.append(clipping(seen, minmax(seen)))
        off = fresh - np.clip(fresh, seen.low, seen.high)
        came.append(10 * math.log10(np.square(fresh).sum() / np.square(off).sum()))
    assert np.median(expected) == pytest.approx(np.median(came), abs=4)


def test_room_beyond_what_was_seen_counts() -> None:
    seen = seen_of(np.random.default_rng(0).standard_t(3, 512))
    found = [clipping(seen, (room * seen.low, room * seen.high)) for room in (1, 2, 4)]
    assert found == sorted(found)
    assert found[2] > found[0] + 6


def test_few_values_say_nothing() -> None:
    seen = seen_of(np.random.default_rng(0).standard_t(1, 190))
    assert clipping(seen, minmax(seen)) == 200


def test_tensors_of_integers_are_judged_by_their_range() -> None:
    """Trials have judged what is clipped of what was seen. A sigmoid alone reads y: it is flat there."""
    net = Net()
    y = net(Dense(), net.x(1, 4), net.random(4, 4), np.zeros(4), name="y")
    graph = net.done(net(Sigmoid(), y, name="out"))
    seen = dict.fromkeys(("x", "y", "out"), seen_of(np.random.default_rng(0).standard_t(2, 512)))
    names = {name: name for name in graph.values}

    def tensors(scale: float) -> dict[str, float]:
        made = dict(graph.values)
        for name in ("x", "y"):
            made[name] = Value(Type(DType.S8, graph.type(name).shape, Quant((scale,), (0,))))
        return {
            name: db for db, name in clipped(graph, Quantized(replace(graph, values=made), names, {}), seen)
        }

    x = seen["x"]
    narrow, exact, wide = (tensors(scale)["x"] for scale in (0.001, x.high / 127, 10.0))
    assert narrow == pytest.approx(clipping(x, minmax(x)))
    assert narrow <= exact < wide
    assert tensors(1.0).keys() == {"x"}
    in_floats = {name: db for db, name in clipped(graph, Quantized(graph, names, {}), seen)}
    assert in_floats == {"x": narrow}


@pytest.mark.parametrize(
    ("held_db", "unseen_db", "tail_db", "words"),
    [
        (30, 29, 23, "the largest values of x are far beyond the others"),
        (30, 29, 25, ""),
        (19, 19, 10, ""),  # it is known to be noisy
        (30, 22, 10, "samples that give no ranges have 22.0 dB"),
    ],
)
def test_a_heavy_tail_is_told_where_no_other_doubt_is(
    held_db: float, unseen_db: float, tail_db: float, words: str
) -> None:
    said = list(unseen_warning(held_db, Unseen(unseen_db, 29, "y"), [(tail_db, "x"), (99, "y")]))
    assert len(said) == bool(words)
    assert words in "".join(said)
