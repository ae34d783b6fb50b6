"""How many units of each group go: where the loss of quality is least for what it saves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array
from edgekit.quantize.pruning.cost import PruningCost
from edgekit.quantize.pruning.criteria import Order
from edgekit.quantize.pruning.groups import Group

_MIN_DAMAGE = 1e-12  # damage that is as good as none
_MAX_SHARE = 1 - 1e-6


@dataclass(frozen=True)
class Candidate:
    """A group, the order in which its units go, and how much its damage weighs at the outputs."""

    group: Group
    order: Order
    weight: float = 1.0

    def steps(self, multiple: int) -> Sequence[int]:
        """How many units may be gone: those left are a multiple, and some are left."""
        size = self.group.size
        left = range((size - 1) // multiple * multiple, 0, -multiple)
        return [0, *(size - n for n in left)] if size > multiple else [0]

    def damage(self, gone: int) -> float:
        """Noise by what is left of the signal: it grows without end as a layer is emptied."""
        share = min(float(self.order.damage[gone]), _MAX_SHARE)
        return self.weight * share / (1 - share) + _MIN_DAMAGE * gone


def uniform(candidates: Sequence[Candidate], ratio: float, multiple: int) -> Sequence[int]:
    """The same share of each group, or a little more, where the multiples allow it."""
    chosen = []
    for candidate in candidates:
        steps = candidate.steps(multiple)
        chosen.append(next((n for n in steps if n >= ratio * candidate.group.size - 1e-9), steps[-1]))
    return chosen


def to_share(
    candidates: Sequence[Candidate],
    cost: PruningCost,
    share: float,
    multiple: int,
    price: PruningCost | None = None,
) -> Sequence[int]:
    """As few as it takes until the cost is no more than this share of what it was: step by step what does the
    least damage for what it saves of the price, which is the cost if it is no other."""
    price = price or cost
    sizes = np.array([c.group.size for c in candidates], np.float64)
    steps = [c.steps(multiple) for c in candidates]
    at = [0] * len(candidates)
    whole = cost(np.zeros(len(candidates)))
    now = whole

    def enough(left: float) -> bool:
        return left <= share * whole * (1 + 1e-12)

    def gone() -> Array:
        return np.array([s[i] for s, i in zip(steps, at, strict=True)]) / sizes

    def with_step(k: int, step: int) -> Array:
        shares = gone()
        shares[k] = steps[k][step] / sizes[k]
        return shares

    while not enough(now):
        best, lowest, before = -1, np.inf, price(gone())
        for k, candidate in enumerate(candidates):
            # A step may be a jump over several: damage need not grow evenly.
            for ahead in range(at[k] + 1, min(at[k] + 5, len(steps[k]))):
                saved = before - price(with_step(k, ahead))
                more = candidate.damage(steps[k][ahead]) - candidate.damage(steps[k][at[k]])
                if saved > 0 and more / saved < lowest:
                    best, lowest, jump = k, more / saved, ahead
        if best < 0:
            least = "a single channel" if multiple == 1 else f"{multiple} channels"
            hint = f"with {least} in each group {now / whole:.1%} is left; the last layer stays"
            raise EdgeKitError("E0605", "this cannot be reached by pruning", hint=hint)
        at[best] = jump
        now = cost(gone())
    # The last step may have saved more than was needed: others can be taken back.
    while True:
        found = [k for k in range(len(at)) if at[k] and enough(cost(with_step(k, at[k] - 1)))]
        if not found:
            return [s[i] for s, i in zip(steps, at, strict=True)]
        at[max(found, key=lambda k: _gain(candidates[k], steps[k], at[k]))] -= 1


def _gain(candidate: Candidate, steps: Sequence[int], at: int) -> float:
    """What is won by taking back a step."""
    return candidate.damage(steps[at]) - candidate.damage(steps[at - 1])


def masks(candidates: Sequence[Candidate], counts: Sequence[int]) -> Mapping[str, Array]:
    """The units that go, by the names of their groups."""
    found = {}
    for candidate, n in zip(candidates, counts, strict=True):
        mask = np.zeros(candidate.group.size, np.bool_)
        mask[candidate.order.units[:n]] = True
        found[candidate.group.name] = mask
    return found
