"""Fits what kernels take to counted calls: few kinds of work for each, and rivals together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby

import numpy as np
from scipy.optimize import nnls

from edgekit.codegen.cost.cost_features import Work
from edgekit.codegen.kernels.kernel_files import MOST_KINDS
from edgekit.core.types import Array

_FOLDS = 6
_LOSS = 1.02  # by so much the error may grow for a kind less
_SMALL = 0.03  # of every estimate: kinds below say nothing
_NOTHING = 0.005  # the same, of kinds that a file names
_NEAR = 0.1  # of a call: smaller differences of kernels matter most
_APART = 2.0  # how much more than what a single kernel takes
_FEW, _LIKE_OTHERS = 30, 2.0  # samples of an instance, which then is like the one of the same code with most
_SHAPED = 4  # kinds: kernels with fewer of them do other work in each instance
Kinds = Mapping[str, Sequence[str]]  # by kernel function


@dataclass(frozen=True)
class Sample:
    """One kernel call: what it does, and what it took."""

    kernel: str  # the function
    file: str  # of the kernel
    source: str  # of its code, which may be that of other kernels, too
    call: str  # the same where other kernels computed it, too
    work: Work
    instructions: int


@dataclass(frozen=True)
class Fit:
    """Instructions for a unit of each kind of work, and the error on samples that were held out."""

    terms: Mapping[str, float]
    error: float
    shares: Mapping[str, tuple[float, float]]  # of an estimate that each term had, at least and at most


def chosen_kinds(found: Sequence[Sample]) -> tuple[str, ...]:
    """The kinds of work that explain all instances of a kernel best: those that least squares without
    negative numbers use, without those that do others no good."""
    names = sorted({kind for sample in found for kind, number in sample.work.items() if number})
    by_instance = sorted(found, key=lambda sample: sample.kernel)
    parts = [_shares([*own], names) for _, own in groupby(by_instance, lambda sample: sample.kernel)]
    live = sorted(
        {i for x in parts for i in np.flatnonzero((_factors(x) * x).max(axis=0) >= _SMALL).tolist()}
    )
    error = _errors(parts, live)
    while len(live) > 1:
        best, worst = min((_errors(parts, [k for k in live if k != i]), i) for i in live)
        if best > error * _LOSS and len(live) <= MOST_KINDS:
            break
        live, error = [k for k in live if k != worst], best
    return tuple(names[i] for i in live)


def fitted(found: Sequence[Sample], kinds: Kinds) -> dict[str, Fit]:
    """By kernel; those that computed the same calls, also through others, are fitted together."""
    fits = {}
    for own in _rivals(found):
        terms, errors = _solved(own, kinds), _held_out(own, kinds)
        code = {s.kernel: (s.source, frozenset(kinds[s.kernel])) for s in own}
        for kernel in terms:
            # What calibration saw of the code, whatever instance of it.
            samples = [sample for sample in own if code[sample.kernel] == code[kernel]]
            each = np.array([[f * s.work.get(kind, 0) for kind, f in terms[kernel].items()] for s in samples])
            each /= np.maximum(each.sum(axis=1, keepdims=True), 1e-9)
            shares = {
                kind: (float(f"{part.min():.2g}"), float(f"{part.max():.2g}"))
                for kind, part in zip(terms[kernel], each.T, strict=True)
            }
            known = {kind: factor for kind, factor in terms[kernel].items() if shares[kind][1] > _NOTHING}
            shares = {kind: share for kind, share in shares.items() if kind in known}
            fits[kernel] = Fit(known, float(f"{errors[kernel]:.2g}"), shares)
    return fits


def _rivals(found: Sequence[Sample]) -> Iterator[list[Sample]]:
    """The samples of kernels that compete with each other, with all instances of their code."""
    together: dict[str, set[str]] = {}
    for sample in found:
        for name in (sample.call, sample.source):
            together.setdefault(name, set()).add(sample.kernel)
    group = {sample.kernel: {sample.kernel} for sample in found}
    for kernels in together.values():
        whole = set().union(*(group[kernel] for kernel in kernels))
        for kernel in whole:
            group[kernel] = whole
    for whole in {id(whole): whole for whole in group.values()}.values():
        yield [sample for sample in found if sample.kernel in whole]


def _solved(found: Sequence[Sample], kinds: Kinds) -> dict[str, dict[str, float]]:
    """By kernel and kind what a unit takes: relative errors count, and those of differences between kernels
    of one call more, the more the nearer they are."""
    terms = [(kernel, kind) for kernel in sorted({s.kernel for s in found}) for kind in kinds[kernel]]
    at = {term: i for i, term in enumerate(terms)}
    rows: list[Array] = []
    sides: list[float] = []

    def share(sample: Sample, least: int) -> Array:
        row = np.zeros(len(at))
        for kind in kinds[sample.kernel]:
            row[at[sample.kernel, kind]] = sample.work.get(kind, 0) / least
        return row

    for _, same in groupby(sorted(found, key=lambda sample: sample.call), lambda sample: sample.call):
        samples = [*same]
        rows += [share(sample, sample.instructions) for sample in samples]
        sides += [1.0] * len(samples)
        for one, other in combinations(samples, 2):
            least = min(one.instructions, other.instructions)
            apart = (one.instructions - other.instructions) / least
            weight = _APART * _NEAR / (_NEAR + abs(apart))
            rows.append(weight * (share(one, least) - share(other, least)))
            sides.append(weight * apart)
    for kernel, most, kind in _few(found, kinds):
        weight = _LIKE_OTHERS * max(_typical(found, name, kind) for name in (kernel, most))
        rows.append(np.zeros(len(at)))
        rows[-1][at[kernel, kind]], rows[-1][at[most, kind]] = weight, -weight
        sides.append(0.0)
    factors, _ = nnls(np.array(rows), np.array(sides), maxiter=100 * len(at))
    found_terms: dict[str, dict[str, float]] = {kernel: {} for kernel, _ in terms}
    for (kernel, kind), i in at.items():
        if factors[i] > 0:
            found_terms[kernel][kind] = float(f"{factors[i]:.3g}")
    return {kernel: own for kernel, own in found_terms.items() if own}


def _few(found: Sequence[Sample], kinds: Kinds) -> Iterator[tuple[str, str, str]]:
    """Instances with few samples, the one with most that does the same kinds of work in the same code, and
    each of these kinds."""
    uses = Counter((sample.source, frozenset(kinds[sample.kernel]), sample.kernel) for sample in found)
    for (source, same, kernel), count in uses.items():
        alike = {other: n for (code, work, other), n in uses.items() if (code, work) == (source, same)}
        most = max(alike, key=lambda other: alike[other])
        if count < _FEW and most != kernel and len(same) >= _SHAPED:
            yield from ((kernel, most, kind) for kind in sorted(same))


def _typical(found: Sequence[Sample], kernel: str, kind: str) -> float:
    return float(np.mean([s.work.get(kind, 0) / s.instructions for s in found if s.kernel == kernel]))


def _held_out(found: Sequence[Sample], kinds: Kinds) -> dict[str, float]:
    """Roots of mean squares of relative errors, each on a fold of the calls that the fit has not seen."""
    fold = {call: i % _FOLDS for i, call in enumerate(dict.fromkeys(sample.call for sample in found))}
    off: dict[str, list[float]] = {sample.kernel: [] for sample in found}
    for held in range(_FOLDS):
        terms = _solved([s for s in found if fold[s.call] != held] or found, kinds)
        for sample in (s for s in found if fold[s.call] == held):
            count = sum(f * sample.work.get(kind, 0) for kind, f in terms.get(sample.kernel, {}).items())
            off[sample.kernel].append(count / sample.instructions - 1)
    return {kernel: float(np.sqrt(np.mean(np.square(each)))) for kernel, each in off.items()}


def _shares(found: Sequence[Sample], names: Sequence[str]) -> Array:
    x = np.array([[sample.work.get(name, 0) for name in names] for sample in found], np.float64)
    y = np.array([sample.instructions for sample in found], np.float64)
    return np.asarray(x / y[:, None])


def _factors(x: Array) -> Array:
    return np.asarray(nnls(x, np.ones(len(x)), maxiter=100 * x.shape[1])[0])


def _errors(parts: Sequence[Array], live: Sequence[int]) -> float:
    """The sum over instances."""
    return sum(float(np.sqrt(np.mean((x[:, live] @ _factors(x[:, live]) - 1) ** 2))) for x in parts)
