"""Non-maximum suppression: the best boxes of each class, without those that overlap a better one too much.

There is room for a fixed number of results; a count says how many there are, and what lies beyond it is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from edgekit.core import math_f32
from edgekit.core.limits import RunMeter
from edgekit.core.ops import ELEMENT, ITERATION, Arg, Call, Op, Step, require
from edgekit.core.types import Array, DType, Type

_SCORES = (DType.F32, DType.S8, DType.U8)


@dataclass(frozen=True)
class NonMaxSuppression(Op):
    """Operands: boxes [B, N, 4], scores [B, C, N], the overlap (intersection over union) from which on one is
    dropped, and the score from which on it is a candidate. Results: rows [total, 3] of batch, class, box,
    their scores [total], and how many there are.

    Rows go by batch and class, and in each from the best score down. Where they are `ranked`, the best of all
    are kept, from the best score down. Of equal scores, the earlier class and box is first. Boxes are two
    opposite corners or, `centered`, x, y, width, height. NaN is no candidate.
    """

    per_class: int
    total: int  # rows there is room for: for all, unless they are ranked
    ranked: bool = False
    centered: bool = False
    classes_last: bool = False  # scores are [B, N, C]
    background: int = 0  # classes at the front that are none: the next has number 0
    agnostic: bool = False  # a box competes with its best class only, against boxes of all classes
    least_counts: bool = False  # a score equal to the least is a candidate
    limit_drops: bool = False  # an overlap equal to the limit drops a box
    decay: float = 0.0  # -1 / (2 sigma) of soft suppression, which multiplies scores by exp(decay overlap^2)

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        boxes, scores, limit, least = ins
        require(
            boxes.rank == scores.rank == 3, f"takes boxes[B,N,4] and scores[B,C,N], got {boxes}, {scores}"
        )
        batch, classes, n = self._sizes(scores)
        require(boxes.shape == (batch, n, 4), f"boxes {boxes} and scores {scores} do not match")
        require(boxes.dtype is DType.F32 and boxes.quant is None, f"takes boxes of float32, got {boxes}")
        require(scores.dtype in _SCORES, f"takes scores of float32 or bytes, got {scores}")
        require(limit == Type(DType.F32, ()), f"the limit of overlaps is a float32, got {limit}")
        require(least == Type(scores.dtype, ()), f"the least score should be as scores are, got {least}")
        require(n > 0 and batch > 0 and classes > 0, f"there are no boxes in {boxes} of classes in {scores}")
        require(1 <= self.per_class <= n, f"there are no {self.per_class} boxes of a class in {boxes}")
        most = batch * self._groups(classes) * self.per_class
        has_room = 1 <= self.total <= most and (self.ranked or self.total == most)
        require(has_room, f"takes room for {most} rows, or ranks them, got {self.total}")
        soft = self.decay < 0 and scores.dtype is DType.F32 and not self.agnostic
        require(self.decay == 0 or soft, f"no soft suppression by {self.decay:g} of {scores}")
        return Type(DType.S64, (self.total, 3)), Type(scores.dtype, (self.total,)), Type(DType.S64, ())

    def _sizes(self, scores: Type) -> tuple[int, int, int]:
        """Batch, classes without background, boxes."""
        batch, *sizes = scores.shape
        n, classes = sizes if self.classes_last else reversed(sizes)
        return batch, classes - self.background, n

    def _groups(self, classes: int) -> int:
        """Sets of boxes in which the suppression goes on apart from the others."""
        return 1 if self.agnostic else classes

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        boxes, scores, limit, least = ins
        by_class = np.swapaxes(scores, 1, 2) if self.classes_last else scores
        by_class = by_class[:, self.background :]
        keys = _best(by_class)[:, None] if self.agnostic else by_class
        found, meter = [], RunMeter()
        for b, c in product(range(len(keys)), range(keys.shape[1])):
            for i, score in self._selected(boxes[b], keys[b, c], limit[()], least[()], meter):
                best = next(k for k, s in enumerate(by_class[b, :, i]) if s == score) if self.agnostic else c
                found.append((b, best, i, score))
        if self.ranked:
            found = sorted(found, key=lambda row: row[3], reverse=True)[: self.total]  # stable
        rows, best_scores = np.zeros((self.total, 3), np.int64), np.zeros(self.total, scores.dtype)
        for at, (*row, score) in enumerate(found):
            rows[at], best_scores[at] = row, score
        return rows, best_scores, np.asarray(len(found), np.int64)

    def _selected(
        self, boxes: Array, scores: Array, limit: Any, least: Any, meter: RunMeter
    ) -> Iterator[tuple[int, Any]]:
        """The boxes of one class and their scores, from the best down."""
        keys = scores.copy()
        seen = np.zeros(len(keys), int)  # of the boxes chosen before, how many each was compared with
        open_boxes = np.flatnonzero(self._counts(keys, least))
        chosen: list[int] = []
        while open_boxes.size and len(chosen) < self.per_class:
            i = open_boxes[np.argmax(keys[open_boxes])]
            meter.spend(_work_of_choice(open_boxes.size, len(chosen) - seen[i] if self.decay else 0))
            if not self.decay:
                chosen.append(i)
                others = open_boxes[open_boxes != i]
                open_boxes = others[~self._drops(_overlaps(boxes[others], boxes[i], self.centered), limit)]
                yield int(i), keys[i]
                continue
            before = keys[i]
            dropped = False
            for j in reversed(chosen[seen[i] :]):
                overlap = _overlaps(boxes[i : i + 1], boxes[j], self.centered)
                dropped = bool(self._drops(overlap, limit)[0])
                if dropped:
                    break
                exp = np.exp if overlap.dtype == np.float64 else math_f32.exp
                keys[i] *= exp(overlap.dtype.type(self.decay) * overlap * overlap)[0]
                if not self._counts(keys[i], least):
                    break
            seen[i] = len(chosen)
            selected = not dropped and keys[i] == before
            if selected:
                chosen.append(i)
                yield int(i), keys[i]
            if selected or dropped or not self._counts(keys[i], least):
                open_boxes = open_boxes[open_boxes != i]

    def _counts(self, scores: Array, least: Any) -> Array:
        counts: Array = scores >= least if self.least_counts else scores > least
        return counts

    def _drops(self, overlaps: Array, limit: Any) -> Array:
        drops: Array = overlaps >= limit if self.limit_drops else overlaps > limit
        return drops

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Each box that is chosen is compared with all that are left."""
        batch, classes, n = self._sizes(ins[1])
        chosen = batch * self._groups(classes) * self.per_class
        earlier = self.per_class if self.decay else 0  # boxes that a candidate is compared with one by one
        return super().work(ins, outs) + chosen * _work_of_choice(n, earlier)

    def run_work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        return super().work(ins, outs)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        scores = ins[1].type
        batch, classes, n = self._sizes(scores)
        every = classes + self.background
        params = {
            "batch": batch,
            "boxes": n,
            "groups": self._groups(classes),
            "classes": classes if self.agnostic else 1,
            "score_batch": every * n,
            "score_class": 1 if self.classes_last else n,
            "score_box": every if self.classes_last else 1,
            "first": self.background * (1 if self.classes_last else n),
            "per_class": self.per_class,
            "total": self.total,
            "ranked": int(self.ranked),
            "centered": int(self.centered),
            "least_counts": int(self.least_counts),
            "limit_drops": int(self.limit_drops),
            "decay": self.decay,
        }
        kernel = "non_max_suppression"
        return [
            Call(
                kernel=kernel,
                types={"T": scores.dtype},
                args=(*ins, *outs),
                params=params,
                label=f"soft_{kernel}" if self.decay else kernel,
                expr="a * ek_exp_f32(p->decay * overlap * overlap)" if self.decay else "a",
                results=3,
                scratch=n * (12 if self.decay else 8),
            )
        ]


def _work_of_choice(candidates: int, compared: int) -> int:
    """Steps to find the best of these candidates, and to compare it or them."""
    return 8 * (ELEMENT * candidates + ITERATION * (1 + compared))


def _best(scores: Array) -> Array:
    """The best of all classes, as the kernel finds it: NaN is best only where it comes first."""
    best = scores[:, 0]
    for c in range(1, scores.shape[1]):
        best = np.where(scores[:, c] > best, scores[:, c], best)
    return best


def _overlaps(boxes: Array, other: Array, centered: bool) -> Array:
    """Intersection over union of each box with another one."""
    areas = other_area = shared = np.ones((), np.float32)
    with np.errstate(all="ignore"):
        for axis in (0, 1):
            (low, high), (other_low, other_high) = _side(boxes, axis, centered), _side(other, axis, centered)
            areas, other_area = areas * (high - low), other_area * (other_high - other_low)
            inside = _smaller(high, other_high) - _larger(low, other_low)
            shared = shared * np.where(inside > 0, inside, np.float32(0))
        union = areas + other_area - shared
        meets = (areas > 0) & (other_area > 0) & (shared > 0) & (union > 0)
        return np.where(meets, shared / union, np.float32(0))


def _side(boxes: Array, axis: int, centered: bool) -> tuple[Array, Array]:
    """Where boxes begin and end along an axis."""
    first, second = boxes[..., axis], boxes[..., axis + 2]
    if centered:
        half = second / np.float32(2)
        return first - half, first + half
    return _smaller(first, second), _larger(first, second)


def _smaller(a: Array, b: Array) -> Array:
    return np.where(b < a, b, a)


def _larger(a: Array, b: Array) -> Array:
    return np.where(a < b, b, a)
