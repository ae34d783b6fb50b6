"""IF and WHILE of TFLite: branches are taken or selected, loops are unrolled, or stay."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from edgekit.converters.semantics.movement import where
from edgekit.converters.semantics.while_loop import MAX_UNROLLED, undone, while_loop
from edgekit.converters.tensor import Tensor, scalar
from edgekit.converters.tflite.file import Table
from edgekit.core.errors import EdgeKitError

KINDS = ("IF", "WHILE")
# Runs a subgraph, by its number, on these operands.
Run = Callable[[int, Sequence[Tensor]], list[Tensor]]
MAX_RUNS = 4000  # of subgraphs, in loops that are unrolled


def resolved(
    kind: str,
    options: Table,
    operands: Sequence[Tensor],
    run: Run,
    unchanged: Callable[[int], Collection[int]],
    most: int | None,
) -> list[Tensor]:
    """The results of such an operator; its options number two subgraphs. `unchanged` tells which operands a
    subgraph returns as they are."""
    first, second = options.integer(0), options.integer(1)
    if kind == "WHILE":
        return _while(first, second, operands, run, unchanged(second), most)
    if not operands:
        raise EdgeKitError("E0401", "IF takes a condition")
    return _if(operands[0], first, second, operands[1:], run)


def _if(condition: Tensor, yes: int, no: int, operands: Sequence[Tensor], run: Run) -> list[Tensor]:
    if condition.data is not None:
        return run(yes if scalar(condition, "the condition of IF") else no, operands)
    # Nothing has side effects: compute both branches, and select.
    pairs = list(zip(run(yes, operands), run(no, operands), strict=True))
    if any(a.type != b.type for a, b in pairs):
        condition.constant("the type of a result of IF")
    chosen = condition.reshape()
    return [where(chosen, a, b) for a, b in pairs]


def _while(
    condition: int,
    body: int,
    operands: Sequence[Tensor],
    run: Run,
    unchanged: Collection[int],
    most: int | None,
) -> list[Tensor]:
    carried = list(operands)
    if not carried:
        raise EdgeKitError("E0401", "WHILE carries nothing")
    builder = carried[0].builder
    before = len(builder.nodes), set(builder.values)

    def goes_on(values: Sequence[Tensor]) -> Tensor:
        (found,) = run(condition, values)
        if found.type.size != 1:
            raise EdgeKitError("E0401", f"the condition of WHILE is {found.type}, not one bool")
        return found.reshape()

    while True:  # `run` counts
        go_on = goes_on(carried)
        if go_on.data is None or len(builder.nodes) - before[0] > MAX_UNROLLED:
            inputs = go_on.ancestors
            break
        if not scalar(go_on, "the end of WHILE"):
            return carried
        carried = run(body, carried)
    undone(builder, *before)

    def iteration(values: Sequence[Tensor]) -> list[Tensor]:
        following = run(body, values[1:])
        return [goes_on(following), *following]

    start = [goes_on(operands), *operands]
    same = {i + 1 for i in unchanged}
    return while_loop(start, iteration, unchanged=same, limit=None, most=most, inputs=inputs)[1:]
