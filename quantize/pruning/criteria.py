"""Which units matter least: from the weights alone, or from what calibration shows.

A criterion gives the order in which units of a group go, and what each step costs: the error of the layers
that read them, as a share of what they compute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.passes.channels import PrunableLayer
from edgekit.core.types import Array
from edgekit.quantize.pruning.activation_moments import columns, grouped
from edgekit.quantize.pruning.groups import Group, Network
from edgekit.quantize.rounding.gptq import Moments

_DAMPING = 1e-3  # of the mean square of an input: what was never seen is not free
_STEPS = 48  # of the search for the best order: more units than this go several at a time
_POINTS = 12  # of a curve


@dataclass(frozen=True)
class Order:
    """Units in the order in which they go, and the share of error when the first n are gone, for each n."""

    units: Array
    damage: Array


@dataclass(frozen=True)
class Context:
    """A network, and what was seen of it; nothing where there is no data."""

    network: Network
    seen: Mapping[str, Moments]


def order(context: Context, group: Group, criterion: str) -> Order:
    """How the units of a group go by a criterion."""
    readers = list(_readers(context, group))
    if criterion == RECONSTRUCTION:
        return _by_reconstruction(group, readers)
    scores = SCORES[criterion](context, group)
    units = np.argsort(scores, kind="stable")
    if not readers:
        lost = np.concatenate([[0.0], np.cumsum(scores[units])])
        return Order(units, lost / max(float(lost[-1]), 1e-300))
    counts = np.unique(np.linspace(0, group.size - 1, _POINTS).round().astype(int))
    known = [sum(reader.damage(units[:n]) for reader in readers) for n in counts]
    return Order(units, np.interp(np.arange(group.size + 1), counts, known))


def check(criterion: str, has_data: bool) -> None:
    """Does the criterion exist, and can it be computed?"""
    if criterion not in CRITERIA:
        raise EdgeKitError("E0103", f"unknown criterion {criterion}", hint=f"one of {', '.join(CRITERIA)}")
    if criterion not in FROM_WEIGHTS and not has_data:
        hint = f"give --data, or take {' or '.join(FROM_WEIGHTS)}, which see weights alone"
        raise EdgeKitError("E0110", f"criterion {criterion} needs calibration data", hint=hint)


def l1(context: Context, group: Group) -> Array:
    """Sums of the magnitudes of the filters that compute a unit."""
    return _of_filters(context, group, np.abs)


def l2(context: Context, group: Group) -> Array:
    """The norms of the filters that compute a unit."""
    return np.asarray(np.sqrt(_of_filters(context, group, np.square)))


def bn(context: Context, group: Group) -> Array:
    """The scales of batch normalization, which are in the filters since it was folded: how far what a filter
    computes varies, in units of the widest of its layer."""
    total = np.zeros(group.size)
    for name, outputs in context.network.writers(group):
        moments, layer = context.seen.get(name), context.network.layers[name]
        if moments is None:
            continue
        squares, _ = moments.centred()
        w = grouped(layer.w, layer.op.groups)
        deviation = np.sqrt(np.einsum("gio,gij,gjo->go", w, squares, w, optimize=True)).reshape(-1)
        total += deviation[outputs].sum(axis=1) / max(float(deviation.max()), 1e-300)
    return total if total.any() else l2(context, group)


def activation(context: Context, group: Group) -> Array:
    """The weights that read a unit, by what arrives there: the mean square of what it adds to results."""
    total = np.zeros(group.size)
    for reader in _readers(context, group):
        power = np.einsum("gii->gi", reader.squares)[:, :, None] * np.square(reader.weights)
        total += power[:, reader.columns].sum(axis=(0, 2, 3)) / reader.signal
    return total if total.any() else l2(context, group)


def _of_filters(context: Context, group: Group, of: Callable[[Array], Array]) -> Array:
    total = np.zeros(group.size)
    for name, outputs in context.network.writers(group):
        each = of(context.network.layers[name].w.astype(np.float64)).reshape(
            len(context.network.layers[name].w), -1
        )
        total += each.sum(axis=1)[outputs].sum(axis=1)
    return total


RECONSTRUCTION = "reconstruction"
SCORES: Mapping[str, Callable[[Context, Group], Array]] = {
    score.__name__: score for score in (l1, l2, bn, activation)
}
CRITERIA = (RECONSTRUCTION, *SCORES)
FROM_WEIGHTS = ("l1", "l2")


@dataclass
class _Reader:
    """A layer that reads a group: its weights [groups, inputs, outputs], and the squares of what it reads."""

    layer: PrunableLayer
    columns: Array  # [units, cells of a unit]
    weights: Array
    squares: Array
    signal: float

    def __post_init__(self) -> None:
        self.inverse = np.linalg.inv(self.squares)

    def damage(self, units: Array) -> float:
        """The share of error without these units, if the weights that stay make up for them as they can."""
        if not len(units):
            return 0.0
        places = self.columns[units].reshape(-1)
        gone = self.weights[:, places]
        inside = self.inverse[:, places[:, None], places]
        return float((gone * np.linalg.solve(inside, gone)).sum()) / self.signal

    def costs(self, units: Array) -> Array:
        """The damage of each of these units alone."""
        places = self.columns[units]
        gone = self.weights[:, places]  # [groups, units, cells, outputs]
        inside = self.inverse[:, places[:, :, None], places[:, None, :]]
        return np.asarray((gone * np.linalg.solve(inside, gone)).sum(axis=(0, 2, 3))) / self.signal

    def remove(self, units: Array) -> None:
        """Take units out: the others make up for them."""
        places = self.columns[units].reshape(-1)
        across = self.inverse[:, :, places]
        inside = self.inverse[:, places[:, None], places]
        share = np.linalg.solve(inside, across.transpose(0, 2, 1))
        self.weights = self.weights - across @ np.linalg.solve(inside, self.weights[:, places])
        self.inverse = self.inverse - across @ share
        self.weights[:, places] = 0


def _readers(context: Context, group: Group) -> Iterator[_Reader]:
    for name, inputs in context.network.readers(group):
        moments, layer = context.seen.get(name), context.network.layers[name]
        if moments is None:
            continue
        squares, _ = moments.centred()
        mean = float(np.einsum("gii->gi", squares).mean()) or 1.0
        squares = squares + np.eye(squares.shape[1]) * (_DAMPING * mean)
        weights = grouped(layer.w, layer.op.groups)
        signal = float((weights * (squares @ weights)).sum())
        yield _Reader(layer, columns(inputs, layer), weights, squares, max(signal, 1e-300))


def _by_reconstruction(group: Group, readers: list[_Reader]) -> Order:
    """Each time that unit goes for which those that stay can make up best."""
    left = np.arange(group.size)
    units: list[int] = []
    damage = [0.0]
    at_once = max(1, group.size // _STEPS)
    while len(left):
        costs = np.asarray(sum((reader.costs(left) for reader in readers), start=np.zeros(len(left))))
        chosen = np.argsort(costs, kind="stable")[:at_once]
        for n in chosen:
            units.append(int(left[n]))
            damage.append(damage[-1] + max(float(costs[n]), 0.0))
        gone = left[chosen]
        left = np.delete(left, chosen)
        for reader in readers if len(left) else []:
            reader.remove(gone)
    return Order(np.array(units), np.array(damage))
