"""Chains: consecutive layers that run in one loop over rows, and what they take of memory and time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import inf

from edgekit.codegen.lowering.regions import reads
from edgekit.codegen.lowering.row_calls import RowAxis, row_axis
from edgekit.codegen.lowering.row_chain_loops import ChainLayer, ChainLoop, Lifetime, chain_layer, chain_loop
from edgekit.codegen.lowering.row_inputs import RowInput, arriving
from edgekit.codegen.lowering.row_loops import LoopedLayer, RowLoop, RowOperand, RowWindow
from edgekit.codegen.lowering.row_schedule import RowSchedule, rows_before_end
from edgekit.codegen.lowering.row_views import last_rows
from edgekit.codegen.memory.sharing import LoweredLayer, Ports, Sharing, operands
from edgekit.codegen.planned_once import once
from edgekit.core.ir import Graph
from edgekit.core.ops import Arg, Call
from edgekit.core.target import Target

# A tensor that lives before the first layer, or after the last one.
_BEFORE, _AFTER = -1, 1 << 30


@dataclass(frozen=True)
class Chain:
    """Some layers as a loop over rows, at their place in a model."""

    start: int  # the first of its layers
    made: ChainLoop
    bytes: int  # at its peak, with all that lives meanwhile


@dataclass
class ChainFinder:
    """Makes chains of the layers of a graph, in their order."""

    graph: Graph
    layers: Sequence[LoweredLayer]
    target: Target
    ports: Ports
    axes: list[RowAxis | None] = field(init=False)
    lifetimes: dict[str, Lifetime] = field(init=False)  # by root, of what lies in the arena
    ends: Mapping[str, int] = field(init=False)  # results of which only so many last bytes are read
    arriving: RowInput | None = field(init=False)  # the input, where it arrives row by row
    _sharing: Sharing = field(init=False)
    _readers: dict[str, list[int]] = field(init=False)  # by tensor
    _chained: tuple[ChainLayer | None, ...] = field(init=False)
    _begun: list[int] = field(init=False)  # bytes of what comes to be before each layer
    _left: list[int] = field(init=False)  # bytes that layers find there

    def __post_init__(self) -> None:
        self._sharing = Sharing(self.graph, self.layers, self.ports)
        self._readers = {}
        for i, layer in enumerate(self.layers):
            for name in reads(layer):
                self._readers.setdefault(name, []).append(i)
        self.ends = last_rows(self.graph, self.layers)
        self.lifetimes = self._lifetimes()
        self.axes = [row_axis(layer, self.target) for layer in self.layers]
        is_pushed = self.ports == "rows"
        self.arriving = arriving(self.graph, self.layers, self.axes, self.target) if is_pushed else None
        numbers, lives = range(len(self.layers)), self.lifetimes.values()
        self._chained = tuple(map(self._chain_layer, numbers))
        begun = (sum(life.bytes for life in lives if life.first == i) for i in numbers)
        self._begun = [*accumulate(begun, initial=0)]
        self._left = [sum(life.at(i) for life in lives if life.first < i) for i in numbers]

    def _lifetimes(self) -> dict[str, Lifetime]:
        touched: dict[str, list[int]] = {}
        for i, layer in enumerate(self.layers):
            for step in layer.steps:
                for arg in (*operands(step)[0], *operands(step)[1]):
                    touched.setdefault(self._sharing.root(arg.name)[0], []).append(i)
        for name in self.graph.inputs if self.ports != "caller" else ():
            at = _BEFORE if self.ports == "arena" else 0  # rows arrive in the first loop
            touched.setdefault(self._sharing.root(name)[0], []).append(at)
        for name in self.graph.exits:
            if not self._sharing.is_output(name):
                touched.setdefault(self._sharing.root(name)[0], []).append(_AFTER)
        return {
            root: Lifetime(size := self._sharing.size[root], min(at), max(at), self.ends.get(root, size))
            for root, at in touched.items()
            if self._sharing.is_free(root)
        }

    def apart(self, i: int) -> int:
        """Bytes that are live while one layer runs on whole tensors."""
        live = sum(each.at(i) for each in self.lifetimes.values())
        saved = scratch = 0
        for step in self.layers[i].steps:
            if not isinstance(step, Call):
                continue
            scratch = max(scratch, step.scratch)
            own = self.lifetimes.get(self._sharing.root(step.args[-1].name)[0])
            taken = [(0, step.overlap)] if step.overlap is not None else [(k, 0) for k in step.inplace]
            for k, distance in taken:
                other = self.lifetimes.get(self._sharing.root(step.args[k].name)[0])
                if own and other and own.first == i == other.last:
                    saved = max(saved, own.bytes + other.bytes - max(own.bytes, other.bytes + distance))
        return live - saved + scratch

    def chain(self, start: int, end: int, period: int) -> Chain | None:
        """The layers from start to end as a loop, by blocks of so many rows of the tallest result."""
        layers = self._chained[start:end]
        source = self.arriving if self.arriving and start < self.arriving.readers else None
        if source and (start > 0 or end < source.readers):
            return None
        if None in layers or len(layers) + bool(source) < 2:
            return None
        made = once("loop", layers, lambda: chain_loop(layers, period, source), period, source)
        if made is None:
            return None
        live = self._begun[end] - self._begun[start] + self._left[start]
        return Chain(start, made, live + made.more_bytes)

    def lowered(self, chain: Chain) -> list[LoweredLayer]:
        """The layers of a chain."""
        found, made = [], chain.made
        for i, (layer, calls) in enumerate(zip(made.layers, made.calls, strict=True), chain.start):
            rows = _looped(layer.axis, made.plan, made.loop, calls.call)
            call = _planned(layer.axis, calls.call, made.plan, made.loop)
            found.append(replace(self.layers[i], steps=(call,), rows=rows))
        return found

    def _chain_layer(self, i: int) -> ChainLayer | None:
        """What loops depend on of a layer, if it can be in any."""
        if (axis := self.axes[i]) is None:
            return None
        lives = ((arg.name, self.lifetimes.get(arg.name)) for arg in axis.whole.args)
        seen = tuple((name, life.seen_from(i)) for name, life in lives if life)
        roots = frozenset(self._sharing.root(name)[0] for name in axis.whole_tensors)
        return chain_layer(axis, self._last_reader(i) - i, self.ends.get(axis.layer.result), seen, roots)

    def _last_reader(self, i: int) -> float:
        """The last layer for which all of the result of a layer must be there: a loop that ends before cannot
        keep some rows alone, and none can where that is infinity."""
        name = self.layers[i].node.outputs[0]
        life, readers = self.lifetimes.get(name), self._readers.get(name, ())
        if name in self.ends and life and life.first == i:
            return -inf
        if life is None or life.first < i or not all(self.axes[at] for at in readers):
            return inf
        return float(max([life.last, *readers]))


def _looped(axis: RowAxis, plan: RowSchedule, loop: RowLoop, block: Call) -> LoopedLayer:
    own = plan[axis.layer.result]
    ring = plan.rings.get(axis.layer.result)
    if any(move.ring == axis.layer.result for move in loop.moves):
        ring = None  # no rows of it move before a block
    row = axis.row_bytes(axis.own)
    kept = ring.rows - own.rows if ring else 0
    window = None
    if axis.window is not None:
        read = axis.read(axis.window)
        window = RowWindow(read.stride, read.rows, read.pad, axis.whole.args[axis.window].type.shape[1])
    return LoopedLayer(
        loop=loop,
        whole=axis.whole,
        block=block,
        blocks=own,
        moves=ring.blocks if ring and kept else own.count,
        kept=kept * row,
        dropped=own.rows * row if kept else 0,
        size=(axis.size, axis.at, axis.unit),
        operands=tuple(_operand(axis, plan, i) for i in range(len(axis.whole.args))),
        window=window,
        calls=tuple((axis.block(shape), n) for shape, n in axis.shapes(own.rows, own.start).items()),
        carried=tuple(axis.carried.items()),
    )


def _operand(axis: RowAxis, plan: RowSchedule, i: int) -> RowOperand | None:
    """Where the blocks of a layer are in one of its operands."""
    if i not in axis.rows:
        return None
    name, own = axis.whole.args[i].name, plan[axis.layer.result]
    ring, row = plan.rings.get(name), axis.rows[i]
    if ring is None:
        return RowOperand(row, None, i == axis.window)
    before = own.rows if name == axis.layer.result else rows_before_end(plan[name], own, axis.read(i))
    return RowOperand(row, (ring.rows - before) * row, i == axis.window)


def _planned(axis: RowAxis, block: Call, plan: RowSchedule, loop: RowLoop) -> Call:
    """The call of a block, with operands as they lie in memory: rings, or whole."""
    args: list[Arg] = []
    for i, arg in enumerate(block.args):
        if i not in axis.rows:
            args.append(arg)
            continue
        whole = axis.whole.args[i]
        ring = plan.rings.get(whole.name)
        args.append(axis.with_rows(whole, i, ring.rows) if ring else whole)
    passes = {i for i, arg in enumerate(args) if arg.name in loop.transient}
    in_place = tuple(i for i in block.inplace if {i, axis.own} <= passes)
    overlap = None
    if block.overlap is not None and 0 in passes:
        before = {**dict.fromkeys(loop.transient, 0), **{move.ring: move.kept for move in loop.moves}}
        if (kept := before.get(axis.layer.result)) is not None:
            overlap = kept + block.overlap
    return replace(block, args=tuple(args), inplace=in_place, overlap=overlap)
