"""How many units go, against every choice there is; costs and fits, against what they are made of."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from edgekit.core.errors import EdgeKitError
from edgekit.quantize.pruning.allocate import Candidate, masks, to_share, uniform
from edgekit.quantize.pruning.cost import PruningCost, _gone, _variants
from edgekit.quantize.pruning.criteria import Order
from edgekit.quantize.pruning.fit import _Part, _Rows, _Weights
from edgekit.quantize.pruning.groups import Group


def group(name: str, size: int) -> Group:
    return Group({name: np.arange(size)[:, None]})


def candidates(seed: int, sizes: tuple[int, ...]) -> list[Candidate]:
    """Damage grows with each unit, by another amount each."""
    random = np.random.default_rng(seed)
    found = []
    for i, size in enumerate(sizes):
        damage = np.concatenate([[0], np.sort(random.uniform(0, 0.9, size))])
        order = Order(units=random.permutation(size), damage=damage)
        found.append(Candidate(group(f"group {i}", size), order, float(random.uniform(0.5, 2))))
    return found


def cost_of(count: int, seed: int) -> PruningCost:
    """A chain: each layer's inputs are the outputs of the one before."""
    random = np.random.default_rng(seed)
    parts = np.concatenate([np.zeros((count + 1, 3)), random.uniform(1, 9, (count + 1, 1))], axis=1)
    inputs, outputs = np.zeros((2, count + 1, count))
    inputs[1:], outputs[:-1] = np.eye(count), np.eye(count)
    return PruningCost(parts, inputs, outputs)


@pytest.mark.parametrize("multiple", [1, 2])
@pytest.mark.parametrize("share", [0.8, 0.6, 0.45])
@pytest.mark.parametrize("seed", range(3))
def test_enough_goes_and_nothing_that_could_stay(seed: int, share: float, multiple: int) -> None:
    chosen, cost = candidates(seed, (4, 6, 3)), cost_of(3, seed)
    sizes = np.array([c.group.size for c in chosen])
    limit = share * cost(np.zeros(3))
    steps = [c.steps(multiple) for c in chosen]
    for each, size in zip(steps, sizes, strict=True):
        assert all((size - n) % multiple == 0 and size - n > 0 for n in each[1:])
        assert list(each) == sorted(set(each))
    counts = to_share(chosen, cost, share, multiple)
    assert cost(np.array(counts) / sizes) <= limit * (1 + 1e-9)
    for k, (n, each) in enumerate(zip(counts, steps, strict=True)):
        if n:
            fewer = np.array(counts)
            fewer[k] = each[each.index(n) - 1]
            assert cost(fewer / sizes) > limit
    damage = [sum(c.damage(n) for c, n in zip(chosen, each, strict=True)) for each in product(*steps)]
    enough = [cost(np.array(each) / sizes) <= limit for each in product(*steps)]
    least = min(d for d, fits in zip(damage, enough, strict=True) if fits)
    assert sum(c.damage(n) for c, n in zip(chosen, counts, strict=True)) <= 1.5 * least + 1e-9
    for name, mask in masks(chosen, counts).items():
        (candidate,) = (c for c in chosen if c.group.name == name)
        n = counts[chosen.index(candidate)]
        np.testing.assert_array_equal(np.flatnonzero(mask), np.sort(candidate.order.units[:n]))


def test_a_jump_may_be_better_than_a_step() -> None:
    """The first unit of the one group does much damage, the others none that counts."""
    even = np.array([0, 0.2, 0.4, 0.6, 0.8])
    jump = np.array([0, 0.5, 0.5, 0.5, 0.5])
    chosen = [
        Candidate(group(str(i), 4), Order(units=np.arange(4), damage=damage))
        for i, damage in enumerate((even, jump))
    ]
    parts = np.tile([0.0, 0.0, 1.0, 0.0], (2, 1))
    cost = PruningCost(parts, np.zeros((2, 2)), np.eye(2))
    assert to_share(chosen, cost, 0.625, 1) == [0, 3]


@pytest.mark.parametrize(("multiple", "least"), [(1, "a single channel"), (2, "2 channels")])
def test_what_cannot_be_reached_says_what_is_left(multiple: int, least: str) -> None:
    with pytest.raises(EdgeKitError) as caught:
        to_share(candidates(0, (4, 4)), cost_of(2, 0), 0.01, multiple)
    assert caught.value.hint.startswith(f"with {least} in each group ")


@pytest.mark.parametrize("multiple", [1, 4])
def test_the_same_share_of_each_goes(multiple: int) -> None:
    chosen = candidates(1, (16, 8, 12))
    assert uniform(chosen, 0.5, multiple) == {1: [8, 4, 6], 4: [8, 4, 8]}[multiple]


def test_variants_that_are_measured_leave_multiples() -> None:
    assert [_gone(12, share, 4) for share in (0, 0.5, 0.75, 0.99)] == [0, 4, 8, 8]
    assert [_gone(12, share, 1) for share in (0, 0.5, 0.75, 0.99)] == [0, 6, 9, 11]
    groups = [group("a", 8), group("b", 12)]
    first, second, *_ = _variants(groups, 1)
    assert (tuple(first), tuple(second)) == ((0, 0), (4, 6))


@pytest.mark.parametrize("groups", [1, 2])
def test_a_fit_is_least_squares_near_the_old_weights(groups: int) -> None:
    random = np.random.default_rng(3)
    rows: Any = object.__new__(_Rows)
    rows.lo, rows.hi = -np.inf, np.inf
    rows.x = random.normal(size=(groups, 40, 5)).astype(np.float32) + np.float32(0.5)
    rows.y = random.normal(size=(groups, 40, 3)).astype(np.float32)
    kept = np.array([0, 2, 3])
    rows.parts = [_Part(g, slice(None), kept) for g in range(groups)]
    old = _Weights(random.normal(size=(groups, 5, 3)), random.normal(size=(groups, 1, 3)))
    found = rows.fitted(old, 0.1)
    off = rows.sums(found) - rows.y
    np.testing.assert_allclose(off.mean(axis=1), 0, atol=1e-5)
    for g in range(groups):
        x = rows.x[g][:, kept].astype(np.float64)
        x -= x.mean(axis=0)
        trust = 0.1 * np.square(x).sum(axis=0).mean()
        slope = x.T @ off[g] + trust * (found.w[g][kept] - old.w[g][kept])
        np.testing.assert_allclose(slope, 0, atol=1e-3)
    assert not found.w[:, [1, 4]].any()
    assert rows.error(found) == pytest.approx(float(np.square(off).sum()), rel=1e-4)
    plain = rows.with_best_bias(old)
    np.testing.assert_array_equal(plain.w, old.w)
    np.testing.assert_allclose((rows.sums(plain) - rows.y).mean(axis=1), 0, atol=1e-5)
