"""Branches are taken or selected, loops are unrolled, or stay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from edgekit.converters.semantics.movement import where
from edgekit.converters.semantics.while_loop import MAX_UNROLLED, undone, while_loop
from edgekit.converters.tensor import Tensor, scalar
from edgekit.core.errors import EdgeKitError

# Runs a graph on these operands.
Run = Callable[[Sequence[Tensor]], Sequence[Tensor]]


def branch(condition: Tensor, yes: Run, no: Run, operands: Sequence[Tensor]) -> list[Tensor]:
    """The results of one of two graphs."""
    if condition.data is not None:
        return list((yes if scalar(condition, "the condition of a branch") else no)(operands))
    # Nothing has side effects: compute both branches, and select.
    pairs = list(zip(yes(operands), no(operands), strict=True))
    if any(a.type != b.type for a, b in pairs):
        condition.constant("the type of a result of a branch")
    chosen = condition.reshape()
    return [where(chosen, a, b) for a, b in pairs]


def loop(
    condition: Run, body: Run, operands: Sequence[Tensor], unchanged: Collection[int], most: int | None
) -> list[Tensor]:
    """What is carried in the end. The body returns operands that are `unchanged` as they are."""
    carried = list(operands)
    if not carried:
        raise EdgeKitError("E0401", "a loop carries nothing")
    builder = carried[0].builder
    before = len(builder.nodes), set(builder.values)

    def condition_of(values: Sequence[Tensor]) -> Tensor:
        (found,) = condition(values)
        if found.type.size != 1:
            raise EdgeKitError("E0401", f"the condition of a loop is {found.type}, not one bool")
        return found.reshape()

    while True:  # readers limit how many graphs run, so that this ends
        holds = condition_of(carried)
        if holds.data is None or len(builder.nodes) - before[0] > MAX_UNROLLED:
            inputs = holds.ancestors
            break
        if not scalar(holds, "the end of a loop"):
            return carried
        carried = list(body(carried))
    undone(builder, *before)

    def iteration(values: Sequence[Tensor]) -> list[Tensor]:
        following = body(values[1:])
        return [condition_of(following), *following]

    start = [condition_of(operands), *operands]
    same = {i + 1 for i in unchanged}
    return while_loop(start, iteration, unchanged=same, limit=None, most=most, inputs=inputs)[1:]
