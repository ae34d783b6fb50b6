"""Rows that NonMaxSuppression or NonZero selects: room for a fixed number, and a count of those there are.

Which tensors have such rows is found from the graph; what would mix them with unused rows is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from edgekit.converters.semantics.counted_sizes import SELECTS, Size, count_of, notes, room
from edgekit.converters.semantics.movement import cast, where
from edgekit.converters.tensor import FIXED, Operand, Tensor
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.fixed import int_range
from edgekit.core.ir import CountedRows, Node
from edgekit.core.ops import Op
from edgekit.core.ops._map import Map
from edgekit.core.ops.arithmetic import Min
from edgekit.core.ops.cast import BitCast, Cast
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.gather import Gather, GatherND
from edgekit.core.ops.logic import Less, Where
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.max_roi_pool import MaxRoiPool
from edgekit.core.ops.non_max_suppression import NonMaxSuppression
from edgekit.core.ops.non_zero import NonZero
from edgekit.core.ops.pad import Pad
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.ops.rank import ArgExtreme, TopK
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.roi_align import RoiAlign
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import Array, DType, Type


@dataclass(frozen=True)
class SelectedRows:
    """Along an axis of a tensor, min(count, most) cells are selected rows, and those beyond are unused."""

    axis: int
    count: str  # the edge with the number of rows
    most: int
    by: str  # the operator that selects them
    size: Size  # what is known of the count
    blank: bool = False  # unused cells are 0

    @property
    def used(self) -> Size:
        """How many there are."""
        return self.size.at_most(Size(self.most), (self.count, "at most", self.most))


@dataclass(frozen=True)
class MixedRows:
    """What a node made of selected and unused rows together: good as long as no output depends on it."""

    op: str
    origin: str
    by: str
    count: str


class MixedRowsError(Exception):
    """A node mixes selected rows with unused ones."""


Found = dict[str, SelectedRows | MixedRows]


def trace(builder: Builder, padded: Collection[str] = ()) -> Found:
    """The tensors with selected rows. Those that are `padded` have unused ones no longer."""
    known = notes(builder)
    if padded:
        whole: Found = {}
        _trace(builder, builder.nodes, whole, padded)
        return whole
    if known.nodes and (len(builder.nodes) < known.nodes or builder.nodes[known.nodes - 1] is not known.last):
        known.traced, known.nodes = {}, 0  # nodes were taken back
    found: Found = known.traced
    _trace(builder, builder.nodes[known.nodes :], found)
    known.nodes, known.last = len(builder.nodes), builder.nodes[-1] if builder.nodes else None
    return found


def _trace(builder: Builder, nodes: Sequence[Node], found: Found, padded: Collection[str] = ()) -> None:
    rows_of = notes(builder).rows
    for node in nodes:
        if isinstance(node.op, SELECTS):
            *selected, count = node.outputs
            axis, by = isinstance(node.op, NonZero), type(node.op).__name__
            size = count_of(builder, node)
            rows = SelectedRows(int(axis), count, room(builder, node), by, size, blank=True)
            found |= dict.fromkeys(selected, rows)
            if mixed := _selects_from(node, found):
                found |= dict.fromkeys(node.outputs, mixed)
        elif any(name in found for name in node.inputs) and (after := _after(builder, node, found)):
            found |= {name: after for name in node.outputs if name not in padded}
        for name in node.outputs:
            if name in rows_of:
                found.pop(name, None)
                if isinstance(note := rows_of[name], SelectedRows):
                    found[name] = note


def of(x: Tensor) -> SelectedRows | None:
    """The selected rows of a tensor, where it has some."""
    if x.builder.kinds.isdisjoint(SELECTS):
        return None
    found = trace(x.builder).get(x.name)
    return found if isinstance(found, SelectedRows) else None


def check_end(x: Tensor, axis: int) -> None:
    """Refuse what is counted from the last row on, or by how many there are."""
    rows = of(x)
    if rows is not None and rows.axis == axis:
        message = f"this takes a part of the rows that {rows.by} selects by where they end"
        raise refusal(x.builder, rows, message, f"node {x.builder.origin}")


def check_fixed(builder: Builder, xs: Sequence[Tensor], what: str) -> None:
    """Refuse rows where their number cannot be said."""
    found = {} if builder.kinds.isdisjoint(SELECTS) else trace(builder)
    for x in xs:
        if rows := found.get(x.name):
            message = f"{what} rows that {rows.by} selects"
            raise refusal(builder, rows, message, f"node {builder.origin}")


def filled(x: Tensor, axis: int, value: Operand) -> Tensor:
    """x, with a value in unused rows along an axis."""
    rows = of(x)
    return x if rows is None or rows.axis != axis else where(used_cells(x, rows), x, value)


def ranked_last(x: Tensor, axis: int, *, largest: bool) -> Tensor:
    """x, with unused rows along an axis last where the largest, or the smallest, come first."""
    return filled(x, axis, _last(x.dtype, largest=largest))


def without_unused(x: Tensor, axis: int, kind: str) -> Tensor:
    """x, with unused rows along an axis as what a reduction does not notice, where there is such a number."""
    if kind in ("max", "min"):
        return ranked_last(x, axis, largest=kind == "max")
    return filled(x, axis, 0) if kind == "sum" else x


def _last(dtype: DType, *, largest: bool) -> float | int:
    if dtype is DType.BOOL:
        return not largest
    least, most = (-np.inf, np.inf) if dtype.is_float else int_range(dtype)
    return least if largest else most


def with_counts(
    builder: Builder, outputs: Sequence[tuple[str, Tensor]], found: Found
) -> tuple[list[tuple[str, Tensor]], list[CountedRows]]:
    """Outputs whose unused rows are 0, with the counts behind them, and which count belongs to which."""
    results: list[tuple[str, Tensor]] = []
    counts: dict[Size, tuple[str, Tensor]] = {}
    counted = []
    for name, x in outputs:
        rows = found.get(x.name)
        if isinstance(rows, MixedRows):
            message = f"{rows.op} computes one number from rows that {rows.by} selects and unused ones"
            raise refusal(builder, rows, message, f"node {rows.origin}")
        results.append((name, x))
        if rows is None:
            continue
        if not rows.blank:
            results[-1] = name, where(used_cells(x, rows), x, 0)
        if rows.used not in counts:
            counts[rows.used] = (
                _free(f"{name}_count", [*(n for n, _ in outputs), *(n for n, _ in counts.values())]),
                cast(count(builder, rows), DType.S64).reshape(1),
            )
        counted.append(CountedRows(name, rows.axis, counts[rows.used][0]))
    return [*results, *counts.values()], counted


def refusal(builder: Builder, rows: SelectedRows | MixedRows, message: str, where: str) -> EdgeKitError:
    """How many rows there are is known at run time only. Where it comes from NonZero, constants may help."""
    inputs = Tensor(builder, rows.count).ancestors
    if rows.by == NonZero.__name__:
        message += f": how many depends on the input {', '.join(inputs)}"
        return EdgeKitError("E0301", message, where, FIXED, inputs)
    hint = (
        "let the model end before this node (--outputs, onnx.utils.extract_model), and go on in your program"
    )
    return EdgeKitError("E0205", f"{message}: how many is known at run time only", where, hint)


def count(builder: Builder, rows: SelectedRows) -> Tensor:
    """How many rows there are."""
    number = Tensor(builder, rows.count)
    return number.apply(Min(), rows.most) if rows.most < rows.size.most else number


def _selects_from(node: Node, found: Found) -> MixedRows | None:
    """Rows may be selected from rows, if what belongs to unused ones is no candidate."""
    known = {i: found[name] for i, name in enumerate(node.inputs) if name in found}
    for rows in known.values():
        if isinstance(rows, MixedRows):
            return rows
    operands = {i: rows for i, rows in known.items() if isinstance(rows, SelectedRows)}
    scores = operands.get(1)
    for i, rows in operands.items():
        alike = scores and rows.used == scores.used
        if isinstance(node.op, NonZero) and rows.blank:
            continue
        if not (isinstance(node.op, NonMaxSuppression) and alike and rows.axis == i + 1):
            return MixedRows(type(node.op).__name__, node.origin, rows.by, rows.count)
    return None


def _free(name: str, taken: Sequence[str]) -> str:
    while name in taken:
        name += "_"
    return name


def used_cells(x: Tensor, rows: SelectedRows) -> Tensor:
    """Which cells along the axis are selected rows, for broadcasting to x."""
    numbers = _numbers(x.type, rows)
    count = cast(Tensor(x.builder, rows.count), DType.of(numbers.dtype))
    return x.new(numbers).apply(Less(), count)


def _numbers(x: Type, rows: SelectedRows) -> Array:
    """The rows along the axis, as they are compared with the count."""
    shape = [-1 if i == rows.axis else 1 for i in range(x.rank)]
    dtype = DType.S16 if x.shape[rows.axis] < 1 << 15 else DType.S32
    numbers = np.arange(x.shape[rows.axis], dtype=dtype.numpy)
    numbers[rows.most :] = np.iinfo(dtype.numpy).max
    return numbers.reshape(shape)


def _fills(builder: Builder, node: Node | None, rows: SelectedRows, with_: float | int) -> bool:
    """Does it put a number into unused rows of its second operand, as `filled` does?"""
    if node is None or not isinstance(node.op, Where):
        return False
    condition, x, other = node.inputs
    made = builder.producers
    less, value = made.get(condition), builder.data(other)
    if less is None or not isinstance(less.op, Less) or value is None or (value != with_).any():
        return False
    numbers, count = builder.data(less.inputs[0]), less.inputs[1]
    is_count = rows.count in (count, *(made[count].inputs if count in made else ()))
    return is_count and numbers is not None and np.array_equal(numbers, _numbers(builder.type(x), rows))


def _after(builder: Builder, node: Node, found: Found) -> SelectedRows | MixedRows | None:
    """What a node makes of selected rows; None where its result has no such rows."""
    ins = [builder.type(name) for name in node.inputs]
    known = {i: found[name] for i, name in enumerate(node.inputs) if name in found}
    mixed = [rows for rows in known.values() if isinstance(rows, MixedRows)]
    if mixed:
        return mixed[0]
    operands = {i: rows for i, rows in known.items() if isinstance(rows, SelectedRows)}
    try:
        out = builder.type(node.outputs[0])
        rows = next(iter(operands.values()))
        if isinstance(node.op, Reduce) and _leaves_out(builder, node, node.op, rows):
            return None
        if [*operands] == [1] and _fills(builder, node, rows, 0):
            return replace(rows, blank=True)
        found_by = [_through(node.op, i, rows, ins, out, operands) for i, rows in operands.items()]
        results = [rows for rows in found_by if rows is not None]
        if len({(rows.axis, rows.used) for rows in results}) != 1:
            raise MixedRowsError
    except MixedRowsError:
        first = next(iter(operands.values()))
        return MixedRows(type(node.op).__name__, node.origin, first.by, first.count)
    return replace(results[0], blank=all(rows.blank for rows in results))


def _leaves_out(builder: Builder, node: Node, op: Reduce, rows: SelectedRows) -> bool:
    """Is it a sum over unused rows that are 0, or the extreme over some that are never the one?"""
    if rows.axis not in op.axes or op.kind not in ("sum", "max", "min"):
        return False
    if op.kind == "sum":
        return rows.blank
    (x,) = node.inputs
    return _fills(
        builder, builder.producers.get(x), rows, _last(builder.type(x).dtype, largest=op.kind == "max")
    )


def _through(
    op: Op, at: int, rows: SelectedRows, ins: Sequence[Type], out: Type, operands: dict[int, SelectedRows]
) -> SelectedRows | None:
    """The rows of the result, as far as operand `at` has some; None: those of another operand count."""
    axis, x = rows.axis, ins[at]
    last = x.rank - 1
    full = replace(rows, blank=False)
    match op:
        case Cast() | BitCast():
            return rows
        case Map() | Expand():
            return replace(full, axis=_kept(axis + out.rank - x.rank, x.shape[axis], out))
        case Transpose(perm):
            return replace(rows, axis=perm.index(axis))
        case Reshape(shape):
            return replace(rows, axis=_reshaped(x.shape, axis, shape))
        case Slice(starts, steps, shape) if starts[axis] == 0 and steps[axis] == 1:
            return replace(rows, most=min(rows.most, shape[axis]))
        case Pad(before, after) if before[axis] == after[axis] == 0:
            return full
        case Concat(along) if along != axis:
            return rows if len(operands) == len(ins) else full
        case Gather(along) if at == 1 or axis != along:
            return replace(full, axis=_kept(axis, x.shape[axis], out))
        case Gather() if 1 in operands:
            return None
        case GatherND() if at == 1 and axis < last:
            return full
        case GatherND(batch) if at == 0:
            depth = batch + ins[1].shape[-1]
            if batch <= axis < depth and 1 in operands:
                return None
            if axis < batch or axis >= depth:
                return replace(full, axis=axis if axis < batch else ins[1].rank - 1 + axis - depth)
        case Reduce(_, axes, keeps) if axis not in axes:
            return replace(full, axis=axis if keeps else axis - sum(a < axis for a in axes))
        case ArgExtreme(along) if along != axis:
            return full
        case TopK(along, k):  # `ranked_last` has made unused rows the last
            return replace(full, most=min(rows.most, k) if along == axis else rows.most)
        case Quantize() | Dequantize():
            return full
        case Softmax() | Dense() if at == 0 and axis != last:
            return full
        case MatMul() if axis == _place(op, at, x.rank):
            return replace(full, axis=out.rank - 2 + at)
        case RoiAlign() | MaxRoiPool() if at in (1, 2) and axis == 0:
            return full
    raise MixedRowsError


def _kept(axis: int, size: int, out: Type) -> int:
    """An axis that is not repeated."""
    if out.shape[axis] != size:
        raise MixedRowsError
    return axis


def _reshaped(shape: Sequence[int], axis: int, to: Sequence[int]) -> int:
    """Where an axis is, if it stays a dimension of its own."""
    before, size = prod(shape[:axis]), shape[axis]
    for place, n in enumerate(to):
        if n == size and prod(to[:place]) == before:
            return place
    raise MixedRowsError


def _place(op: MatMul, at: int, rank: int) -> int:
    """The dimension of an operand that is not added up, of the last two."""
    perm = (op.perm_b if at else op.perm_a) or tuple(range(rank))
    return perm[-1 if at else -2]
