"""What calibrations find again: numbers that random calls were made with."""

from collections.abc import Iterator

import numpy as np
import pytest

from benchmarks.calibration_fits import Sample, chosen_kinds, fitted
from edgekit.codegen.kernels.kernel_files import MOST_KINDS

_PLAIN, _PAIRS, _RIGHT = "ek_dense_s8__dsp", "ek_dense_s8_pairs__dsp", "ek_dense_s8_right_pairs__dsp"
_FILES = {_PLAIN: "dsp/dense_int", _PAIRS: "dsp/dense_int.pairs", _RIGHT: "dsp/dense_int.pairs"}
_KINDS = ("calls", "outputs", "products", "positions")
_TRUE = {
    _PLAIN: {"calls": 90.0, "outputs": 12.0, "products": 2.0, "positions": 5.0},
    _PAIRS: {"calls": 150.0, "outputs": 9.0, "products": 1.5, "positions": 40.0},
    _RIGHT: {"calls": 150.0, "outputs": 10.0, "products": 1.5, "positions": 40.0},
}


def samples(kernel: str, calls: int, noise: float = 0.0) -> Iterator[Sample]:
    """The same calls for each kernel."""
    rng, off = np.random.default_rng(1), np.random.default_rng(len(kernel))
    for i in range(calls):
        rows, inputs, outputs = (int(n) for n in rng.integers(1, 60, 3))
        work = {"calls": 1, "outputs": rows * outputs, "products": rows * outputs * inputs, "positions": rows}
        work |= {"inputs": rows * inputs, "odd outputs": rows * (outputs % 4)}
        count = sum(factor * work[kind] for kind, factor in _TRUE[kernel].items())
        took = round(count * (1 + off.normal() * noise))
        yield Sample(kernel, _FILES[kernel], f"{_FILES[kernel]}.c", f"{i}", work, took)


def test_factors_of_rivals_are_found() -> None:
    found = [*samples(_PLAIN, 60), *samples(_PAIRS, 60)]
    fits = fitted(found, dict.fromkeys(_TRUE, _KINDS))
    for kernel in (_PLAIN, _PAIRS):
        assert fits[kernel].terms == pytest.approx(_TRUE[kernel], rel=0.1)
        assert fits[kernel].error < 0.01
        assert fits[kernel].shares.keys() == fits[kernel].terms.keys()


def test_kinds_that_explain_nothing_are_left_out() -> None:
    assert set(chosen_kinds([*samples(_PAIRS, 60)])) == {*_KINDS}
    many = [
        Sample(
            s.kernel,
            s.file,
            s.source,
            s.call,
            dict(s.work) | {f"other {i}": i + len(s.call) for i in range(20)},
            s.instructions,
        )
        for s in samples(_PAIRS, 60, noise=0.2)
    ]
    assert len(chosen_kinds(many)) <= MOST_KINDS


def test_an_instance_with_few_calls_is_like_the_one_with_most() -> None:
    """Five calls with errors of a tenth determine no factors of their own."""
    found = [*samples(_PAIRS, 60), *samples(_RIGHT, 5, noise=0.1)]
    terms = fitted(found, dict.fromkeys(_TRUE, _KINDS))[_RIGHT].terms
    assert terms["products"] == pytest.approx(_TRUE[_PAIRS]["products"], rel=0.1)
    alone = fitted([*samples(_RIGHT, 5, noise=0.1)], dict.fromkeys(_TRUE, _KINDS))[_RIGHT].terms
    assert terms["products"] != alone.get("products")


def test_errors_are_of_calls_that_the_fit_has_not_seen() -> None:
    noisy = fitted([*samples(_PLAIN, 12, noise=0.1)], dict.fromkeys(_TRUE, _KINDS))[_PLAIN]
    assert 0.05 < noisy.error < 0.5
