"""A graph of one sample as a graph of many: training takes batches.

The samples are counted by the first dimension where that is 1. Attention of PyTorch, for one, has the steps
there: such tensors get one more dimension in front, and operators the axes behind it (`in_front`). Recurrent
layers have a dimension for samples, behind the steps: they go there for the layer, and to the front again.
Inputs and outputs may have the samples behind the steps, too: `sample_axes` finds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.recurrent import Recurrent
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import Array, Value


def batched(graph: Graph, count: int, *, in_front: bool = False) -> Graph:
    """The same graph for `count` samples. A tensor whose first dimension is not 1 is an error, or has one
    more dimension in front that counts them: inputs and outputs, too, of models whose samples are counted by
    another dimension."""
    made = _Batch(graph, count)
    axes = sample_axes(graph) if in_front else dict.fromkeys((*graph.inputs, *graph.outputs), 0)
    for name in graph.inputs:
        if not axes[name] and not made.has_first(name):
            raise _mixed(name, None)
        made.give(name, is_in_front=axes[name] > 0)
    for node in graph.nodes:
        if made.in_front.keys().isdisjoint(node.inputs):
            made.nodes.append(node)
        elif isinstance(node.op, Recurrent):
            if not (in_front and made.put_recurrent(node)):
                raise _mixed(node.outputs[0], node)
        elif not (made.put_first(node) or (in_front and (made.put_gather(node) or made.put_in_front(node)))):
            raise _mixed(node.outputs[0], node)
    for name in graph.outputs:
        if made.in_front.get(name, False) != (axes[name] > 0):
            raise _mixed(name, graph.producer(name))
    return replace(graph, nodes=tuple(made.nodes), values=made.values)


def sample_axes(graph: Graph) -> dict[str, int]:
    """The dimension of each input and output that counts samples: the first that is 1 in all inputs, as in
    (steps, samples, features); or the only one that is 1."""
    types = {name: graph.type(name) for name in (*graph.inputs, *graph.outputs)}
    shortest = min((types[name].rank for name in graph.inputs), default=0)
    common = [axis for axis in range(shortest) if all(types[x].shape[axis] == 1 for x in graph.inputs)][:1]
    axes = {}
    for name, type in types.items():
        ones = [axis for axis, size in enumerate(type.shape) if size == 1]
        found = [axis for axis in common if axis in ones] or [
            axis for axis in ones if axis == 0 or len(ones) == 1
        ]
        if not found:
            raise _mixed(name, graph.producer(name))
        axes[name] = found[0]
    return axes


def together(samples: Array, axis: int) -> Array:
    """Inputs of a model, with their samples along `axis`, as the graph of a batch takes them: in front."""
    return np.expand_dims(np.moveaxis(samples, axis, 0), axis + 1) if axis else samples


@dataclass
class _Batch:
    """A graph of many samples, as far as it is made."""

    graph: Graph
    count: int
    nodes: list[Node] = field(default_factory=list)
    values: dict[str, Value] = field(init=False)
    in_front: dict[str, bool] = field(default_factory=dict)  # of all that depends on the samples
    _reshaped: dict[tuple[str, tuple[int, ...]], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.values = dict(self.graph.values)

    def has_first(self, name: str) -> bool:
        """Is the first dimension of one sample free to count them?"""
        return self.graph.type(name).shape[:1] == (1,)

    def give(self, name: str, *, is_in_front: bool) -> None:
        """A tensor of all samples."""
        type = self.graph.type(name)
        inner = type.shape if is_in_front else type.shape[1:]
        self.values[name] = Value(replace(type, shape=(self.count, *inner)))
        self.in_front[name] = is_in_front

    def put_first(self, node: Node) -> bool:
        """Add an operator that has the samples in the first dimension of all that depends on them."""
        wide = [name for name in node.inputs if name in self.in_front]
        if not all(map(self.has_first, (*wide, *node.outputs))):
            return False
        op = node.op
        if isinstance(op, Reshape | Expand | Slice) and op.shape[:1] == (1,):
            op = replace(op, shape=(self.count, *op.shape[1:]))
        shapes = {name: (self.count, *self.graph.type(name).shape[1:]) for name in wide}
        return self._put(node, op, shapes, is_in_front=False)

    def put_in_front(self, node: Node) -> bool:
        """Add an operator that has the samples in front of all dimensions of what depends on them."""
        rank = max(self.graph.type(name).rank for name in node.inputs)
        is_wide = [name in self.in_front for name in node.inputs]
        shapes = {}
        for name in node.inputs:
            if name in self.in_front:
                shape = self.graph.type(name).shape
                missing = rank - len(shape) if sum(is_wide) > 1 else 0  # broadcast, if at all
                shapes[name] = (self.count, *[1] * missing, *shape)
        return self._put(node, _behind_samples(node.op, is_wide, self.count), shapes, is_in_front=True)

    def put_gather(self, node: Node) -> bool:
        """Add a Gather of rows of a table, as of an embedding: each sample names as many as one did."""
        if not isinstance(node.op, Gather) or node.op.axis or node.inputs[0] in self.in_front:
            return False
        table, index = node.inputs
        shape = self.graph.type(index).shape
        own = shape[0]
        if self.graph.type(index).size != own:  # rows of each column
            return False
        rows = self._in_shape(index, (self.count * own, *shape[1:]))
        (found,) = node.op.infer(self.values[table].type, self.values[rows].type)
        made = f"{node.outputs[0]}, of {self.count * own} rows"
        self.values[made] = Value(found)
        self.nodes.append(replace(node, inputs=(table, rows), outputs=(made,)))
        self.give(node.outputs[0], is_in_front=True)
        apart = Reshape(self.values[node.outputs[0]].type.shape)
        self.nodes.append(Node(apart, (made,), node.outputs))
        return True

    def put_recurrent(self, node: Node) -> bool:
        """Add a recurrent layer: its tensors are [steps, rows, numbers], its states [rows, numbers], and each
        sample has as many rows as one had."""
        x, r, *others = node.inputs
        if x not in self.in_front or r in self.in_front:
            return False
        steps, own, sums = self.graph.type(x).shape
        rows = self.count * own
        by_steps = self._moved(self._in_shape(x, (self.count, steps, own, sums)), (1, 0, 2, 3))
        operands = [self._in_shape(by_steps, (steps, rows, sums)), r]
        for name in others:
            is_state = self.graph.type(name).rank == 2
            operands.append(self._rows(name, rows) if is_state else name)
        found = node.op.infer(*(self.values[name].type for name in operands))
        made = []
        for name, type in zip(node.outputs, found, strict=True):
            made.append(f"{name}, of {rows} rows")
            self.values[made[-1]] = Value(replace(self.graph.type(name), shape=type.shape))
        self.nodes.append(replace(node, inputs=tuple(operands), outputs=tuple(made)))
        y, *states = node.outputs
        size = self.graph.type(y).shape[2]
        apart = self._in_shape(made[0], (steps, self.count, own, size))
        self.give(y, is_in_front=True)
        self.nodes.append(Node(Transpose((1, 0, 2, 3)), (apart,), (y,)))
        for name, last in zip(states, made[1:], strict=True):
            self.give(name, is_in_front=True)
            self.nodes.append(Node(Reshape(self.values[name].type.shape), (last,), (name,)))
        return True

    def _rows(self, name: str, rows: int) -> str:
        """A state with so many rows; a constant one is repeated."""
        type = self.graph.type(name)
        shape = (rows, type.shape[1])
        data = self.graph.data(name)
        if name in self.in_front or data is None:
            return self._in_shape(name, shape)
        made = f"{name}, of {rows} rows"
        self.values[made] = Value(replace(type, shape=shape), np.tile(data, (self.count, 1)))
        return made

    def _moved(self, name: str, perm: tuple[int, ...]) -> str:
        type = self.values[name].type
        made = f"{name}, by steps"
        self.values[made] = Value(replace(type, shape=tuple(type.shape[axis] for axis in perm)))
        self.nodes.append(Node(Transpose(perm), (name,), (made,)))
        return made

    def _put(self, node: Node, op: Op, shapes: dict[str, tuple[int, ...]], *, is_in_front: bool) -> bool:
        """Add an operator whose inputs have these shapes, if it has the results of one sample, many times."""
        types = [self.values[name].type for name in node.inputs]
        wanted = [replace(t, shape=shapes.get(n, t.shape)) for n, t in zip(node.inputs, types, strict=True)]
        try:
            found = op.infer(*wanted)
        except TypeError:
            return False
        expected = [self.graph.type(name).shape for name in node.outputs]
        if not is_in_front:
            expected = [shape[1:] for shape in expected]
        if [type.shape for type in found] != [(self.count, *shape) for shape in expected]:
            return False
        inputs = tuple(self._in_shape(name, shapes.get(name)) for name in node.inputs)
        for name in node.outputs:
            self.give(name, is_in_front=is_in_front)
        self.nodes.append(replace(node, op=op, inputs=inputs))
        return True

    def _in_shape(self, name: str, shape: tuple[int, ...] | None) -> str:
        """A tensor with this shape: the samples stay outermost, so nothing moves."""
        type = self.values[name].type
        if shape is None or type.shape == shape:
            return name
        key = (name, shape)
        if key not in self._reshaped:
            made = f"{name}, of rank {len(shape)}"
            self.values[made] = Value(replace(type, shape=shape))
            self.nodes.append(Node(Reshape(shape), (name,), (made,)))
            self._reshaped[key] = made
        return self._reshaped[key]


def _behind_samples(op: Op, is_wide: Sequence[bool], count: int) -> Op:
    """An operator whose dimensions are behind that of the samples."""
    match op:
        case Reshape() | Expand():
            return replace(op, shape=(count, *op.shape))
        case Slice():
            return replace(op, starts=(0, *op.starts), steps=(1, *op.steps), shape=(count, *op.shape))
        case Transpose():
            return replace(op, perm=_permuted(op.perm))
        case MatMul():
            a, b = (
                _permuted(perm) if wide else perm
                for perm, wide in zip((op.perm_a, op.perm_b), is_wide, strict=True)
            )
            return replace(op, perm_a=a, perm_b=b)
        case Reduce():
            return replace(op, axes=tuple(axis + 1 for axis in op.axes))
    along: Any = op  # an axis, as Concat, TopK and others
    if isinstance(getattr(along, "axis", None), int):
        return cast(Op, replace(along, axis=along.axis + 1))
    return op


def _permuted(perm: tuple[int, ...]) -> tuple[int, ...]:
    return (0, *(axis + 1 for axis in perm)) if perm else ()


def _mixed(name: str, node: Node | None) -> EdgeKitError:
    return EdgeKitError(
        "E0205",
        f"the first dimension of {name} does not count samples",
        node.origin if node else "",
        "training needs a model that computes samples independently, the first dimension of all tensors",
    )
