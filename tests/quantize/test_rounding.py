"""Weights rounded together: never worse than the nearest, and better where inputs depend on each other."""

import gc
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.nets import Net

from edgekit.core.ops._linear import Linear
from edgekit.core.ops.arithmetic import Neg
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reduce import Reduce
from edgekit.core.types import Array, DType, Quant, Type, Value
from edgekit.quantize.rounding import weight_rounding
from edgekit.quantize.rounding.bias_correction import LayerPair
from edgekit.quantize.rounding.gptq import (
    GptqProblem,
    GptqTarget,
    Moments,
    _descended,
    _in_turn,
    best_scale,
    round_to,
)
from edgekit.quantize.rounding.integer_weights import LIMITS, weight_quant
from edgekit.quantize.rounding.refinement import _affordable
from edgekit.quantize.rounding.weight_rounding import rounded, window_count, windows


def correlated(random: np.random.Generator, rows: int, inputs: int, spread: float = 1.0) -> Array:
    """Inputs that share a few causes, like the channels of an image."""
    causes = random.normal(size=(rows, max(inputs // 6, 1))) @ random.normal(
        size=(max(inputs // 6, 1), inputs)
    )
    result: Array = (causes + spread * random.normal(size=(rows, inputs))).astype(np.float32)
    return result


def moments(x: Array, weights: Array) -> Moments:
    found = Moments(*weights.shape)
    found.add(x, x @ weights)
    return found


def nearest(weights: Array, scale: Array, limit: int) -> Array:
    return np.rint(weights / scale[:, None]).clip(-limit, limit)


@given(
    groups=st.integers(1, 3),
    inputs=st.integers(1, 90),
    outputs=st.integers(1, 5),
    rows=st.integers(1, 200),
    limit=st.sampled_from(sorted(LIMITS.values())),
    share=st.sampled_from([0.0, 0.5, 1.0]),
    damping=st.sampled_from([0.0, 0.01, 1.0]),
    clipped=st.sampled_from([1.0, 0.5]),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_output_is_worse_than_with_the_nearest_integers(
    groups: int,
    inputs: int,
    outputs: int,
    rows: int,
    limit: int,
    share: float,
    damping: float,
    clipped: float,
    seed: int,
) -> None:
    random = np.random.default_rng(seed)
    weights = random.normal(size=(groups, inputs, outputs))
    x = np.stack([correlated(random, rows, inputs) for _ in range(groups)])
    problem = GptqProblem(moments(x, weights), weights, GptqTarget(share, damping))
    scale = np.abs(weights).max(axis=1) / limit * clipped
    found = round_to(problem, scale, limit)
    assert np.abs(found).max() <= limit
    np.testing.assert_array_equal(found, np.rint(found))
    known = problem.error(problem.sorted(nearest(weights, scale, limit)), scale)
    assert (problem.error(problem.sorted(found), scale) <= known * (1 + 1e-9) + 1e-12).all()


@pytest.mark.parametrize("damping", [0.0, 0.01, 1.0])
def test_real_weights_go_where_sums_are_nearest(damping: float) -> None:
    """The way back to the old weights weighs as much as the damping says: there the slope of both is 0."""
    random = np.random.default_rng(4)
    x = np.stack([correlated(random, 80, 7) for _ in range(2)]).astype(np.float64)
    old, wanted = random.normal(size=(2, 7, 3)), random.normal(size=(2, 80, 3))
    seen = Moments(*old.shape)
    seen.add(x, wanted)
    whole, half = (GptqProblem(seen, old, GptqTarget(share, damping)) for share in (1.0, 0.5))
    best, middle = (each.unsorted(each.centre) for each in (whole, half))
    x -= x.mean(axis=1, keepdims=True)
    off = x.transpose(0, 2, 1) @ (x @ best - wanted) / x.shape[1]
    own = np.square(x).mean(axis=1)
    own = damping * np.maximum(own, 1e-4 * own.mean()) + 1e-4 * own.mean()
    np.testing.assert_allclose(off, -own[:, :, None] * (best - old), atol=1e-4)
    np.testing.assert_allclose(middle, (old + best) / 2, rtol=1e-9)


def test_one_output_of_several_keeps_the_nearest_integers_where_they_are_better() -> None:
    """Rounding in turn is worse for the first output of this layer, and better for the others."""
    random = np.random.default_rng(342)
    weights = random.normal(size=(1, 12, 5))
    x = np.stack([correlated(random, 60, 12)])
    problem = GptqProblem(moments(x, weights), weights, GptqTarget(0.0, 0.0))
    scale = np.abs(weights).max(axis=1) / 7 * 0.5
    in_turn = problem.error(_descended(problem, _in_turn(problem, scale, 7), scale, 7), scale)
    known = problem.error(problem.sorted(nearest(weights, scale, 7)), scale)
    assert (in_turn > known * (1 + 1e-9)).tolist() == [[True, False, False, False, False]]
    assert (problem.error(problem.sorted(round_to(problem, scale, 7)), scale) <= known).all()


def test_what_few_integers_can_do_is_found() -> None:
    random = np.random.default_rng(1)
    weights = random.normal(size=(1, 3, 20))
    problem = GptqProblem(moments(correlated(random, 50, 3)[None], weights), weights, GptqTarget(0, 0))
    scale = np.abs(weights).max(axis=1) / 2
    grid = np.stack(np.meshgrid(*[np.arange(-2, 3)] * 3), axis=-1).reshape(-1, 1, 3, 1)
    every = np.stack([problem.error(problem.sorted(np.tile(q, (1, 1, 20))), scale) for q in grid])
    found = problem.error(problem.sorted(round_to(problem, scale, 2)), scale)
    assert np.isclose(found, every.min(axis=0)).mean() >= 0.9


@pytest.mark.parametrize(("inputs", "rows", "limit", "clipped"), [(8, 60, 3, 1.0), (150, 400, 1, 0.5)])
def test_no_weight_alone_could_be_a_better_integer(
    inputs: int, rows: int, limit: int, clipped: float
) -> None:
    random = np.random.default_rng(8)
    weights = random.normal(size=(2, inputs, 5))
    x = np.stack([correlated(random, rows, inputs, spread=3.0) for _ in range(2)])
    problem = GptqProblem(moments(x, weights), weights, GptqTarget(0, 0.01))
    scale = np.abs(weights).max(axis=1) / limit * clipped
    found = problem.sorted(round_to(problem, scale, limit))
    least = problem.error(found, scale)
    for i, step in product(range(inputs), (-1, 1)):
        other = found.copy()
        other[:, i] += step
        allowed = np.abs(other[:, i]) <= limit
        assert (~allowed | (problem.error(other, scale) >= least - 1e-9)).all()


@pytest.mark.parametrize("limit", sorted(LIMITS.values()))
def test_correlated_inputs_leave_much_less_error(limit: int) -> None:
    random = np.random.default_rng(2)
    weights = random.normal(size=(1, 48, 16))
    known, unseen = np.split(correlated(random, 2000, 48, 0.1), 2)
    problem = GptqProblem(moments(known[None], weights), weights, GptqTarget(0, 0.01))
    scale = np.abs(weights).max(axis=1) / limit
    errors = [
        np.square(unseen @ (q * scale[:, None] - weights)[0]).mean()
        for q in (round_to(problem, scale, limit), nearest(weights, scale, limit))
    ]
    assert errors[0] < errors[1] / 8


def test_scales_that_clip_are_chosen_where_they_pay() -> None:
    random = np.random.default_rng(3)
    weights = random.normal(size=(1, 64, 8))
    weights[0, 0] = 6  # an outlier that no sample multiplies with anything
    x = correlated(random, 400, 64)
    x[:, 0] = 0
    problem = GptqProblem(moments(x[None], weights), weights, GptqTarget(0, 0.01))
    full = np.abs(weights).max(axis=1) / 7
    chosen = best_scale(problem, np.stack([full, full / 2]), 7)
    np.testing.assert_array_equal(chosen, full / 2)


def test_moments_of_parts_add_up_and_take_the_same_memory() -> None:
    random = np.random.default_rng(4)
    weights = random.normal(size=(2, 5, 3))
    x = random.normal(size=(2, 300, 5))
    one, two, both = moments(x[:, :100], weights), moments(x[:, 100:], weights), moments(x, weights)
    for total, whole in zip((one + two).centred(), both.centred(), strict=True):
        np.testing.assert_allclose(total, whole, rtol=1e-9, atol=1e-12)
    assert one.squares.nbytes == both.squares.nbytes
    assert one.products.nbytes == both.products.nbytes


LAYERS = {
    "dense": (Dense(), (4, 6), (5, 6)),
    "convolution": (Conv2d(strides=(2, 1), pads=(1, 0, 1, 1)), (1, 7, 6, 4), (5, 3, 2, 4)),
    "dilated": (Conv2d(dilations=(2, 2)), (2, 7, 6, 3), (4, 2, 2, 3)),
    "groups": (Conv2d(groups=2, pads=(1, 1, 1, 1)), (1, 5, 5, 4), (6, 3, 3, 2)),
    "depthwise": (Conv2d(groups=4, pads=(1, 1, 1, 1)), (1, 5, 5, 4), (4, 3, 3, 1)),
    "transposed": (ConvTranspose2d((9, 4), (2, 1), (1, 0)), (2, 4, 5, 3), (4, 3, 2, 3)),
    "dilated and transposed": (ConvTranspose2d((8, 9), (1, 3), (0, 2), (2, 1)), (1, 5, 3, 2), (3, 2, 4, 2)),
    "groups transposed": (ConvTranspose2d((8, 8), (2, 2), groups=2), (1, 4, 4, 4), (6, 2, 2, 2)),
    "beyond what is reached": (ConvTranspose2d((7, 6), (2, 2), (-1, -2)), (1, 2, 2, 3), (2, 2, 2, 3)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_windows_times_weights_are_the_layer(name: str) -> None:
    op, shape, w_shape = LAYERS[name]
    random = np.random.default_rng(5)
    x, w = (random.normal(size=s).astype(np.float32) for s in (shape, w_shape))
    (y,) = op.eval(x, w, np.zeros(len(w), np.float32))
    count = window_count(op, shape, w_shape)
    chosen = random.permutation(count)[: count // 2]
    grouped = w.reshape(op.groups, len(w) // op.groups, -1).transpose(0, 2, 1)
    found = (windows(op, x, w_shape, chosen) @ grouped).transpose(1, 0, 2).reshape(len(chosen), -1)
    np.testing.assert_allclose(found, y.reshape(count, -1)[chosen], rtol=1e-4, atol=1e-5)


STEP = 0.02  # of the inputs


def pair(op: Linear, shape: tuple[int, ...], w_shape: tuple[int, ...], samples: int = 24) -> LayerPair:
    """A layer whose inputs are rounded, and lie side by side in an image, or share causes."""
    random = np.random.default_rng(6)
    weights = random.normal(size=w_shape).astype(np.float32)
    bias = random.normal(size=w_shape[0]).astype(np.float32)
    mix = correlated(random, shape[-1], shape[-1], 0.1)

    def arrays() -> Iterator[tuple[Array, Array]]:
        for seed in range(samples):
            x: Array = np.random.default_rng(seed).normal(size=shape)
            for axis in range(-3, -1) if len(shape) == 4 else ():
                x = x.cumsum(axis=axis)
            x = x.astype(np.float32) @ mix
            yield x, np.rint(x / STEP).astype(np.int16)

    return LayerPair(op, weights, bias, Type(DType.S16, shape, Quant((STEP,), (0,))), samples, arrays)


def constant(weights: Array, bits: int) -> Value:
    integers, quant = weight_quant(weights, bits=bits)
    return Value(Type(DType.of(integers.dtype), weights.shape, quant), integers)


def error(pair: LayerPair, weights: Value) -> float:
    """What the layer's outputs are off, apart from their means."""
    assert weights.data is not None
    assert weights.type.quant is not None
    real = weights.data.astype(np.float32) * np.asarray(weights.type.quant.scale, np.float32).reshape(
        -1, *[1] * (weights.type.rank - 1)
    )
    found = []
    for exact, seen in pair.inputs():
        off = pair.op.eval(exact, pair.weights, pair.bias)[0] - pair.op.eval(seen, real, pair.bias)[0]
        found.append(off.reshape(-1, off.shape[-1]))
    rows = np.concatenate(found)
    return float(np.square(rows - rows.mean(axis=0)).sum())


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_every_kind_gain(name: str, bits: int) -> None:
    layer = pair(*LAYERS[name])
    before = constant(layer.weights, bits)
    after = rounded(layer, before)
    assert after.type.dtype is before.type.dtype
    assert after.data is not None
    assert np.abs(after.data.astype(int)).max() <= LIMITS[after.type.dtype]
    assert error(layer, after) < 0.9 * error(layer, before)


def test_the_same_samples_give_the_same_integers() -> None:
    layer = pair(*LAYERS["convolution"])
    before = constant(layer.weights, 4)
    assert rounded(layer, before) == rounded(layer, before)


def test_in_which_half_a_sample_is_does_not_matter() -> None:
    """Halves judge each other; the integers that stay are fitted to both."""
    layer = pair(*LAYERS["dense"])
    before, samples = constant(layer.weights, 4), list(layer.arrays())
    swapped = [samples[i ^ 1] for i in range(len(samples))]
    after = rounded(layer, before)
    assert after is not before
    assert rounded(replace(layer, arrays=lambda: iter(swapped)), before) == after


def test_chance_in_few_rows_is_not_learned_by_heart(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(7)
    rows = [random.normal(size=(1, 40)).astype(np.float32) for _ in range(300)]

    def layer(some: list[Array]) -> LayerPair:
        def arrays() -> Iterator[tuple[Array, Array]]:
            for x in some:
                yield x, np.rint(x / 0.5).astype(np.int16)

        x = Type(DType.S16, (1, 40), Quant((0.5,), (0,)))
        return LayerPair(Dense(), weights, np.zeros(8, np.float32), x, len(some), arrays)

    weights = random.normal(size=(8, 40)).astype(np.float32)
    before = constant(weights, 4)
    after = rounded(layer(rows[:10]), before)
    unseen = layer(rows[10:])
    assert error(unseen, after) < 1.25 * error(unseen, before)
    monkeypatch.setattr(weight_rounding, "_AIMS", (GptqTarget(1, 0.03),))
    assert rounded(layer(rows[:10]), before) is before


def test_one_sample_is_no_ground_to_round_on() -> None:
    layer = pair(*LAYERS["dense"], samples=1)
    before = constant(layer.weights, 4)
    assert rounded(layer, before) is before


def test_weights_that_are_zero_stay_so() -> None:
    layer = pair(*LAYERS["dense"])
    weights = layer.weights.copy()
    weights[2] = 0
    layer = replace(layer, weights=weights)
    after = rounded(layer, constant(weights, 4))
    assert after.data is not None
    assert not after.data[2].astype(int).any()


def peak(layer: LayerPair) -> int:
    """Bytes at most, while weights are rounded; the less of two runs, since others may allocate meanwhile."""
    before, peaks = constant(layer.weights, 4), []
    for _ in range(2):
        gc.collect()
        tracemalloc.start()
        rounded(layer, before)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return min(peaks)


def test_memory_does_not_grow_with_samples_or_images(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weight_rounding, "_MAX_CELLS", 2**18)
    few, many, large = (
        peak(pair(Conv2d(), (1, side, side, 4), (8, 3, 3, 4), samples))
        for samples, side in ((32, 20), (256, 20), (32, 40))
    )
    assert max(many, large) < 1.25 * few


@pytest.mark.parametrize(("size", "samples"), [(8, 128), (2**18, 128), (2**20, 32), (2**21, 16), (2**24, 4)])
def test_samples_are_as_many_as_their_largest_tensor_lets_fit(size: int, samples: int) -> None:
    net = Net()
    y = net(Reduce("mean", (0,)), net(Neg(), net.x(size)))
    assert _affordable(net.done(net(Neg(), y, name="y"))) == samples
