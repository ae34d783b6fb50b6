"""Samplers draw what their settings say, by integers that are the same everywhere."""

import math

import numpy as np
import pytest
from support.tools import require_module

from edgekit.core.errors import EdgeKitError
from edgekit.core.text.sampler import POWERS, Sampler, random_number


def logits(seed: int, words: int = 50) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(words) * 4).astype(np.float32)


def probabilities(sampler: Sampler, x: np.ndarray) -> np.ndarray:
    """By torch, in float64, in the order of transformers: temperature, which counts in steps of 2^-16, top-k
    and top-p."""
    torch = require_module("torch")
    scores = torch.tensor(x, dtype=torch.float64) / (round(sampler.temperature * 65536) / 65536)
    if sampler.top_k:
        scores[scores < scores.topk(min(sampler.top_k, len(x))).values[-1]] = -math.inf
    ordered, places = scores.sort(descending=False)
    dropped = ordered.softmax(-1).cumsum(-1) <= 1 - sampler.top_p
    dropped[-1:] = False
    scores[places[dropped]] = -math.inf
    return scores.softmax(-1).numpy()


SETTINGS = [
    Sampler(temperature=1.0),
    Sampler(temperature=0.3),
    Sampler(temperature=7.5),
    Sampler(temperature=100.0, top_k=9),
    Sampler(temperature=0.8, top_k=5),
    Sampler(temperature=1.2, top_p=0.9),
    Sampler(temperature=0.9, top_k=20, top_p=0.6),
    Sampler(temperature=1.0, top_p=0.001),
    Sampler(temperature=0.01),
]


@pytest.mark.parametrize("sampler", SETTINGS, ids=str)
def test_weights_are_the_probabilities_of_torch(sampler: Sampler) -> None:
    """Exponents are cut to 16 bits, which changes a weight by a share of 1.06e-5 at most."""
    for seed in range(12):
        x = logits(seed)
        weights = sampler.weights((x.astype(np.float64) * 2**24).astype(np.int64))
        np.testing.assert_allclose(weights / weights.sum(), probabilities(sampler, x), atol=1.1e-5)


@pytest.mark.parametrize("sampler", SETTINGS[:7], ids=str)
def test_tokens_are_drawn_as_often_as_they_are_probable(sampler: Sampler) -> None:
    x, draws = logits(3, 12), 2000
    counts = np.bincount([sampler.next(x, (), i) for i in range(draws)], minlength=len(x))
    expected = draws * probabilities(sampler, x)
    assert not counts[expected == 0].any()
    seen = expected > 5
    chi2 = ((counts - expected)[seen] ** 2 / expected[seen]).sum()
    assert chi2 < 40  # of at most 11 degrees of freedom: once in 30,000 fair samplers


def test_the_best_token_is_taken_without_a_temperature() -> None:
    for seed in range(200):
        x = logits(seed, 1000)
        assert Sampler().next(x, range(1000), seed) == x.argmax()
    assert Sampler().next(np.array([1, 3, 3, np.nan], np.float32), (), 0) == 1
    assert Sampler().next(np.array([-np.inf, -np.inf, -3e4], np.float32), (), 0) == 0  # all at the bound


def test_penalties_are_those_of_transformers() -> None:
    torch = require_module("torch")
    x, seen = logits(1), [3, 3, 7, 11, 60, -1]
    chosen = torch.tensor(x)[[3, 7, 11]]
    expected = torch.tensor(x)
    expected[[3, 7, 11]] = torch.where(chosen < 0, chosen * 1.3, chosen / 1.3)
    found = Sampler(repetition_penalty=1.3)._penalized(x.copy(), seen)
    assert found.tobytes() == expected.numpy().tobytes()
    best = int(x.argmax())
    assert Sampler(repetition_penalty=100).next(x, [best], 0) != best


def test_equal_logits_are_kept_from_the_front() -> None:
    x = np.zeros(8, np.float32)
    assert {Sampler(temperature=1, top_k=3).next(x, (), i) for i in range(100)} == {0, 1, 2}
    assert {Sampler(temperature=1, top_p=0.5).next(x, (), i) for i in range(100)} == {0, 1, 2, 3}


def test_random_numbers_are_splitmix64() -> None:
    """The first numbers of its author's C with the seed 1234567."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [random_number(1234567, i) for i in range(4)] == expected


def test_factors_are_powers_of_two() -> None:
    mpmath = require_module("mpmath")
    for j, table in enumerate(POWERS):
        exact = [mpmath.power(2, 31 - mpmath.mpf(i) / 16 ** (j + 1)) for i in range(16)]
        assert all(abs(found - value) <= 0.5 for found, value in zip(table, exact, strict=True))


def test_what_is_drawn_stays() -> None:
    """A change of the arithmetic is a change for users."""
    sampler = Sampler(temperature=0.8, top_k=30, top_p=0.95, seed=2026, repetition_penalty=1.1)
    x = ((np.arange(64) * 37 % 64) / 8).astype(np.float32)
    text: list[int] = []
    for i in range(12):
        text.append(sampler.next(x, text, i))
    assert text == [57, 29, 38, 19, 50, 43, 62, 48, 19, 12, 19, 57]


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": -1},
        {"temperature": 0.001},
        {"temperature": math.nan},
        {"top_k": -1},
        {"top_p": 0.0},
        {"top_p": 1.5},
        {"seed": -1},
        {"seed": 1 << 64},
        {"repetition_penalty": 0.0},
    ],
)
def test_settings_without_a_meaning_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(EdgeKitError, match=f"{next(iter(settings))} is"):
        Sampler(**settings)
