"""Loops of ONNX over the steps of a sequence, as tf2onnx writes layers of Keras: these layers again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

import numpy as np
from onnx import GraphProto

from edgekit.converters.onnx.tensor_list import Edge
from edgekit.converters.semantics.onnx import indexing
from edgekit.converters.semantics.recurrent_loops import recognised
from edgekit.converters.semantics.while_loop import undone
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.logic import And, Equal, Less, Or
from edgekit.core.types import DType

if TYPE_CHECKING:
    from edgekit.converters.onnx.reader import OnnxImporter


def recurrent_loop(
    trips: float, carried: Sequence[Edge | None], body: GraphProto, importer: OnnxImporter
) -> list[Tensor] | None:
    """What a loop of at most so many iterations results in, where it is such a layer.

    It carries the number of the iteration, and as tensors of their final shape what it stacks; what it reads
    around it stays."""
    state = [x for x in carried if isinstance(x, Tensor)]
    around = list(_around(body, importer))
    rows = [x for x in around if x.rank == 3 and x.dtype.is_float]
    if not state or len(state) < len(carried) or len(rows) != 1:
        return None
    steps, counted = rows[0].shape[0], importer.unrolled
    lists = [*rows, *(x for x in around if x.dtype is DType.BOOL and x.rank > 1)]
    if trips < steps or not any(x.rank == 2 and x.dtype.is_float for x in state):
        return None
    builder = importer.builder
    true = importer.const(np.array(True), "go_on")
    first = importer.const(np.array(0, np.int64), "step")
    ends = 1 + len(state)
    fixed = ends + len(lists)

    def run(graph: GraphProto, values: Sequence[Tensor]) -> list[Tensor]:
        return importer.subgraph(graph, (values[0], true, *values[1:ends]), "body")

    def iteration(values: Sequence[Tensor]) -> list[Tensor]:
        _, *made = run(body, values)
        pairs = zip(values[fixed:], made[len(state) :], strict=True)
        stacks = [indexing.ScatterND(s, values[0].reshape(1, 1), x.reshape(1, *x.shape)) for s, x in pairs]
        return [values[0] + 1, *made[: len(state)], *values[ends:fixed], *stacks]

    def condition(values: Sequence[Tensor]) -> list[Tensor]:
        """An iteration says whether there is another one: what the one before this said."""
        count = values[0]
        before = [x if x.name == start.name else x - 1 for start, x in zip(operands, values, strict=True)]
        (said,) = run(_condition(body), before)
        said = count.apply(Equal(), 0).apply(Or(), said.reshape())
        return [said if trips == inf else count.apply(Less(), int(trips)).apply(And(), said)]

    before = len(builder.nodes), set(builder.values)
    try:
        _, *made = run(body, [first, *state])
        shapes = [x.shape for x in made[len(state) :]]
        undone(builder, *before)
        stacks = [importer.const(np.zeros((steps, *shape), np.float32), "stack") for shape in shapes]
        operands = [first, *state, *lists, *stacks]
        results = recognised(
            condition, iteration, operands, {*range(ends, fixed), *(i + 1 for i in unchanged(body))}
        )
    except EdgeKitError:  # the loop says it where it is imported
        undone(builder, *before)
        return None
    finally:
        importer.unrolled = counted
    return None if results is None else results[1:ends] + results[fixed:]


def unchanged(body: GraphProto) -> Collection[int]:
    """Which of the values that a loop carries stay as they are."""
    copies = {node.output[0]: node.input[0] for node in body.node if node.op_type == "Identity"}
    found = set()
    for i, (before, after) in enumerate(zip(body.input[2:], body.output[1:], strict=False)):
        name = after.name
        while name in copies:
            name = copies[name]
        if name == before.name:
            found.add(i)
    return found


def _around(body: GraphProto, importer: OnnxImporter) -> Iterator[Tensor]:
    """The tensors that a body reads of what is around it."""
    own = {value.name for value in (*body.input, *body.initializer)}
    own.update(name for node in body.node for name in node.output)
    for name in dict.fromkeys(name for node in body.node for name in node.input):
        edge = importer.scope.get(name) if name and name not in own else None
        if isinstance(edge, Tensor):
            yield edge


def _condition(body: GraphProto) -> GraphProto:
    """What of a body says whether there is another iteration."""
    needed = {body.output[0].name}
    nodes = []
    for node in reversed(body.node):
        if needed.intersection(node.output):
            nodes.append(node)
            needed.update(node.input)
    given = [tensor for tensor in body.initializer if tensor.name in needed]
    return GraphProto(node=nodes[::-1], input=body.input, output=body.output[:1], initializer=given)
