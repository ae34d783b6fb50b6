"""IF and WHILE of TFLite, resolved at import: branches are taken or selected, loops unrolled."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from edgekit.converters.movement import where
from edgekit.converters.tensor import Tensor, scalar
from edgekit.converters.tflite_file import Table
from edgekit.errors import EdgeKitError

KINDS = ("IF", "WHILE")
# Runs a subgraph, by its number, on these operands.
Run = Callable[[int, Sequence[Tensor]], list[Tensor]]
MAX_RUNS = 4000  # of subgraphs, in loops that are unrolled


def resolved(kind: str, options: Table, operands: Sequence[Tensor], run: Run) -> list[Tensor]:
    """The results of such an operator; its options number two subgraphs."""
    first, second = options.integer(0), options.integer(1)
    if kind == "WHILE":
        return _while(first, second, operands, run)
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


def _while(condition: int, body: int, operands: Sequence[Tensor], run: Run) -> list[Tensor]:
    carried = list(operands)
    while True:  # `run` counts
        (go_on,) = run(condition, carried)
        if not scalar(go_on, "the end of WHILE"):
            return carried
        carried = run(body, carried)
