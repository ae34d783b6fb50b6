"""Masks of attention: what a softmax should not see is chosen to be low, and takes no part in the range.

A mask adds -10,000 or minus infinity to numbers. A scale that reaches so far leaves nothing to the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.logic import Equal, Not, Where
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.softmax import Softmax
from edgekit.core.passes import Edit
from edgekit.core.passes.match import constant_operand, number
from edgekit.core.types import Array
from edgekit.quantize.calibration.observe import Range

MASKED = -1e4  # exp of it is 0 in float32
_MAX_MASKED_SCORE = -50.0  # a constant below that is a mask
_MARGIN = 6.0  # by which what is masked lies below what is not, times its number: exp(-6) is 1/400


def mask_chosen(edit: Edit, node: Node) -> Sequence[str] | None:
    """softmax(x + mask) -> softmax(where(mask, x, low)), also with a reshape between them"""
    if not isinstance(node.op, Softmax):
        return None
    before = edit.producer(node.inputs[0])
    moved = before if before is not None and isinstance(before.op, Reshape) else None
    if moved is not None:
        before = edit.producer(moved.inputs[0]) if edit.used_once(node.inputs[0]) else None
    if before is None or not edit.used_once(before.outputs[0]):
        return None
    chosen = _chosen(edit, before)
    if chosen is None:
        return None
    if moved is not None:
        chosen = edit.one(moved.op, chosen)
    return edit.add(Softmax(), chosen)


def _chosen(edit: Edit, node: Node) -> str | None:
    """The sum with a mask, or the choice by one, as a choice between x and MASKED."""
    match node.op:
        case Add():
            if added := _added(edit, node):
                x, condition, is_seen = added
                masked = edit.const(np.float32(MASKED))
                return edit.one(Where(), condition, *((x, masked) if is_seen else (masked, x)))
            found = constant_operand(edit, node)
            mask = edit.data(found[1]) if found else None
            if found is None or mask is None or not (mask <= _MAX_MASKED_SCORE).any():
                return None
            seen = mask > _MAX_MASKED_SCORE
            rest = np.where(seen, mask, 0).astype(np.float32)
            x = edit.one(Add(), found[0], edit.const(rest)) if rest.any() else found[0]
            return edit.one(Where(), edit.const(seen), x, edit.const(np.float32(MASKED)))
        case Where():
            condition, *branches = node.inputs
            low = [_is_low(edit.data(name)) for name in branches]
            if sum(low) != 1:
                return None
            masked = edit.const(np.float32(MASKED))
            operands = (masked if is_low else name for is_low, name in zip(low, branches, strict=True))
            return edit.one(Where(), condition, *operands)
    return None


def mask_asked(edit: Edit, node: Node) -> Sequence[str] | None:
    """x + where(seen, 0, -inf) == -inf -> not seen. Whether a softmax has something to see is asked of its
    mask, as integers have no infinity; an x that is -inf itself would be another answer."""
    if not isinstance(node.op, Equal) or number(edit, node.inputs[1]) != -np.inf:
        return None
    before = edit.producer(node.inputs[0])
    added = _added(edit, before) if before is not None and isinstance(before.op, Add) else None
    if added is None:
        return None
    _, condition, is_seen = added
    hidden = edit.one(Not(), condition) if is_seen else condition
    return edit.add(Expand(edit.type(node.outputs[0]).shape), hidden)


def _added(edit: Edit, node: Node) -> tuple[str, str, bool] | None:
    """What a computed mask of 0 and -inf is added to, its condition, and whether that is true of what is
    seen."""
    for x, mask in (node.inputs, node.inputs[::-1]):
        chosen = edit.producer(mask)
        if chosen is not None and isinstance(chosen.op, Where):
            a, b = (number(edit, name) for name in chosen.inputs[1:])
            if (a, b) in ((0, -np.inf), (-np.inf, 0)):
                return x, chosen.inputs[0], a == 0
    return None


def _is_low(data: Array | None) -> bool:
    """Is this a constant that masks, and is not MASKED yet?"""
    return data is not None and bool((data <= _MAX_MASKED_SCORE).all()) and not is_masked(data)


def is_masked(data: Array | None) -> bool:
    return data is not None and data.size == 1 and data.item() == MASKED


def without_masked(graph: Graph, ranges: Mapping[str, Range]) -> dict[str, Range]:
    """The ranges, where those behind a mask are those of what it leaves, and a margin below them."""
    found = dict(ranges)
    behind: set[str] = set()
    for node in graph.nodes:
        (name, *_) = node.outputs
        if isinstance(node.op, Where) and any(is_masked(graph.data(n)) for n in node.inputs[1:]):
            x = next((n for n in node.inputs[1:] if n in ranges), None)
            if x is None or name not in ranges:
                continue
            low, high = ranges[x]
            found[name] = (low - _MARGIN - log(graph.type(name).shape[-1]), high)
            behind.add(name)
        elif isinstance(node.op, Reshape) and node.inputs[0] in behind and name in ranges:
            found[name] = found[node.inputs[0]]
            behind.add(name)
    return found
