"""Memory that layers of a loop over rows take beside its rings: much of it lies where new rows will come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate


@dataclass(frozen=True)
class PassingBytes:
    """What is in use from one layer of an iteration to another one: scratch memory, or a result that is read
    in the iteration in which it is computed."""

    bytes: int
    first: int
    last: int
    # The last layer may write its result, the newest rows of this ring, over these bytes, if it starts so
    # many before them.
    ring: str = ""
    distance: int = 0

    def meets(self, first: int, last: int) -> bool:
        """Is it in use at one of these layers?"""
        return self.first <= last and first <= self.last


@dataclass(frozen=True)
class NewestRows:
    """The end of a ring, from the layer that writes newest rows there to the last one that reads them. At the
    other layers this memory is free."""

    ring: str
    bytes: int
    first: int
    last: int

    def left(self, item: PassingBytes) -> int:
        """How much of an item finds no place here."""
        if not item.meets(self.first, self.last):
            return 0 if item.bytes <= self.bytes else item.bytes
        if item.ring == self.ring and item.last == self.first:
            return min(max(item.bytes + item.distance - self.bytes, 0), item.bytes)
        return item.bytes


def passing_bytes(items: Sequence[PassingBytes], rings: Sequence[NewestRows], layers: int) -> int:
    """Bytes of items at the layer that takes most, but those over newest rows of rings."""
    held: list[list[PassingBytes]] = [[] for _ in rings]
    apart: list[PassingBytes] = []
    for item in sorted(items, key=lambda item: -item.bytes):
        free = [k for k, others in enumerate(held) if not any(item.meets(o.first, o.last) for o in others)]
        left, _, k = min(((rings[k].left(item), rings[k].bytes, k) for k in free), default=(item.bytes, 0, 0))
        if left < item.bytes:
            held[k].append(item)
        if left:
            apart.append(item if left == item.bytes else replace(item, bytes=left))
    peaks = _bytes_at(apart, layers)
    # One ring can be the topmost one: what is apart then begins in it where it is free.
    tops = zip(rings, held, strict=True)
    return min([max(peaks, default=0), *(_peak(peaks, apart, rows, others) for rows, others in tops)])


def _bytes_at(items: Iterable[PassingBytes], layers: int) -> list[int]:
    """What is in use at each layer."""
    changes = [0] * (layers + 1)
    for item in items:
        changes[item.first] += item.bytes
        changes[min(item.last + 1, layers)] -= item.bytes
    return list(accumulate(changes[:layers]))


def _peak(
    peaks: Sequence[int], apart: Sequence[PassingBytes], top: NewestRows, held: Sequence[PassingBytes]
) -> int:
    """Of the layers, with a ring as the topmost one."""
    inside = _bytes_at((item for item in apart if not item.meets(top.first, top.last)), len(peaks))
    for item in held:
        inside[item.first : item.last + 1] = [0] * len(inside[item.first : item.last + 1])
    return max((total - min(top.bytes, free) for total, free in zip(peaks, inside, strict=True)), default=0)
