"""Loops over the steps of a sequence that compute an LSTM or a GRU, as that one operator.

The body is read once, on inputs of its own, and simplified; what it computes of a step has to be the formula
of the layer, whatever the order of sums and products. Anything else is no match, and stays a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

import numpy as np

from edgekit.converters.semantics import recurrent
from edgekit.converters.semantics.control_flow import Run
from edgekit.converters.semantics.onnx import activations
from edgekit.converters.semantics.recurrent import Activation, RecurrentLayer
from edgekit.converters.semantics.while_loop import undone
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops.activations import Sigmoid, Tanh
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.scatter import ScatterND
from edgekit.core.ops.slice import Slice
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

_MAX_STEPS = 1 << 12
_SIGMOID, _TANH = Activation("sigmoid", activations.Sigmoid), Activation("tanh", activations.Tanh)


class _NoMatchError(Exception):
    """The loop computes something else."""


def recognised(
    condition: Run, body: Run, operands: Sequence[Tensor], unchanged: Collection[int]
) -> list[Tensor] | None:
    """What the loop carries in the end, where it is such a layer."""
    lists = [i for i in unchanged if operands[i].rank == 3 and operands[i].dtype.is_float]
    if len(lists) != 1 or not 0 < (steps := operands[lists[0]].shape[0]) <= _MAX_STEPS:
        return None
    builder = operands[0].builder
    before = len(builder.nodes), set(builder.values)
    try:
        step = _step(body, operands, unchanged)
        counters = {i: step.counter(i, x) for i, x in enumerate(operands) if step.counts(i, x)}
        _check_count(condition, operands, counters, steps)
    except (_NoMatchError, EdgeKitError):  # one needs to know in which step it is
        return None
    finally:
        undone(builder, *before)
    carried = [i for i in range(len(operands)) if i not in unchanged and i not in counters]
    states = [i for i in carried if operands[i].rank == 2]
    for match in (_lstm, _gru):
        try:
            x = operands[lists[0]]
            made = match(step, states, operands, x, step.row(lists[0], counters, operands))
            results = dict(zip(states, made[1:], strict=True))
            for i in set(carried) - set(states):
                results[i] = step.written(i, states[0], counters, operands, made)
        except _NoMatchError:
            continue
        ends = {
            i: x.like(np.asarray(operands[i].data) + steps) for i, x in enumerate(operands) if i in counters
        }
        return [results.get(i, ends.get(i, x)) for i, x in enumerate(operands)]
    return None


@dataclass(frozen=True)
class _Step:
    """One iteration: its nodes, simplified, and the names of what it takes and gives."""

    graph: Graph
    producers: dict[str, Node]
    ins: Sequence[str]
    outs: Sequence[str]

    def node(self, name: str, kind: type[Op]) -> Node:
        found = self.producers.get(name)
        if found is None or not isinstance(found.op, kind):
            _fail()
        return found

    def argument(self, name: str, kind: type[Op]) -> str:
        """Of a function of one operand."""
        return self.node(name, kind).inputs[0]

    def either(self, name: str, kind: type[Op], *readings: Callable[[str], str]) -> tuple[str, str]:
        """The operands of a sum or product in the order in which these readings hold, as these read them."""
        a, b = self.node(name, kind).inputs
        for first, second in ((a, b), (b, a)):
            try:
                return readings[0](first), readings[1](second)
            except _NoMatchError:
                continue
        return _fail()

    def product(self, name: str, *readings: Callable[[str], str]) -> str:
        """The name of a product whose operands these readings hold for."""
        self.either(name, Mul, *readings)
        return name

    def constant(self, name: str) -> Array:
        data = self.graph.values[name].data
        return data if data is not None else _fail()

    def terms(self, name: str) -> list[str]:
        """What a sum of any depth adds."""
        found = self.producers.get(name)
        if found is not None and isinstance(found.op, Add):
            return [term for operand in found.inputs for term in self.terms(operand)]
        if found is not None and isinstance(found.op, Reshape):  # of one row
            row, flat = (self.graph.values[n].type.shape for n in (*found.inputs, name))
            if row == (1, *flat):
                return self.terms(found.inputs[0])
        return [name]

    def counts(self, i: int, start: Tensor) -> bool:
        return start.type.size == 1 and start.dtype.is_integer and self.ins[i] != self.outs[i]

    def counter(self, i: int, start: Tensor) -> int:
        """Where it starts, if each iteration adds one."""
        operands = set(self.node(self.outs[i], Add).inputs)
        others = operands - {self.ins[i]}
        if start.data is None or len(others) != 1 or self.constant(others.pop()).reshape(()) != 1:
            _fail()
        return int(start.data.reshape(())[()])

    def row(self, i: int, counters: dict[int, int], operands: Sequence[Tensor]) -> str:
        """The row of a list that a counter from 0 on picks."""
        for node in self.graph.nodes:
            if isinstance(node.op, Gather) and node.op.axis == 0 and node.inputs[0] == self.ins[i]:
                self.check_index(node.inputs[1], counters)
                (reader,) = [n for n in self.graph.nodes if node.outputs[0] in n.inputs] or [node]
                if isinstance(reader.op, Reshape) and reader.op.shape == operands[i].shape[1:]:
                    return reader.outputs[0]
        return _fail()

    def check_index(self, name: str, counters: dict[int, int]) -> None:
        while name in self.producers:
            name = self.argument(name, Reshape)
        if name not in {self.ins[i] for i, start in counters.items() if not start}:
            _fail()

    def written(
        self, i: int, state: int, counters: dict[int, int], operands: Sequence[Tensor], made: Sequence[Tensor]
    ) -> Tensor:
        """A list of the results of all steps, or of the last one alone."""
        node = self.node(self.outs[i], ScatterND)
        whole, index, row = node.inputs
        if whole != self.ins[i] or node.op != ScatterND("none"):
            _fail()
        if self.argument(row, Reshape) != self.outs[state]:
            _fail()
        if operands[i].shape == made[0].shape and self.graph.values[index].data is None:
            self.check_index(index, counters)
            return made[0]
        if operands[i].shape[0] != 1 or self.constant(index).any():
            _fail()
        return made[1].reshape(*operands[i].shape)

    def products(self, name: str, operand: str) -> tuple[Array, Array]:
        """Weights and biases of what `operand` adds to a sum of products and constants."""
        node = self.node(name, Dense)
        if node.op != Dense() or node.inputs[0] != operand:
            _fail()
        return self.constant(node.inputs[1]), self.constant(node.inputs[2])


def _fail() -> NoReturn:
    raise _NoMatchError


def _step(body: Run, operands: Sequence[Tensor], unchanged: Collection[int]) -> _Step:
    """Constants that stay are constants here, too."""
    builder = operands[0].builder
    before = [
        x if i in unchanged and x.data is not None else Tensor(builder, builder.input(f"step_{i}", x.type))
        for i, x in enumerate(operands)
    ]
    mark = len(builder.nodes)
    after = body(before)
    nodes = builder.nodes[mark:]
    ins, outs = [x.name for x in before], [x.name for x in after]
    made = {name for node in nodes for name in node.outputs}
    if len(outs) != len(ins) or not all(name in made or name in ins for name in outs):
        return _fail()
    read = {name for node in nodes for name in node.inputs if builder.data(name) is None} - made
    if not read <= set(ins):
        return _fail()
    used = {name: builder.values[name] for name in (*ins, *made, *(n for node in nodes for n in node.inputs))}
    results = tuple(dict.fromkeys(name for name in outs if name in made))
    given = tuple(name for name in ins if builder.data(name) is None)
    graph = simplify(Graph("step", given, results, tuple(nodes), used))
    return _Step(graph, {name: node for node in graph.nodes for name in node.outputs}, ins, outs)


def _check_count(condition: Run, operands: Sequence[Tensor], counters: dict[int, int], steps: int) -> None:
    """Does the loop end after as many steps as there are, because of counters alone?"""
    for i in range(steps + 1):
        now = [x.like(np.asarray(x.data) + i) if k in counters else x for k, x in enumerate(operands)]
        (holds,) = condition(now)
        if holds.data is None or bool(holds.data.all()) != (i < steps):
            _fail()


def _lstm(
    step: _Step, states: Sequence[int], operands: Sequence[Tensor], x: Tensor, row: str
) -> list[Tensor]:
    """c' = s(f) c + s(i) tanh(g), h' = s(o) tanh(c')"""
    if len(states) != 2:
        return _fail()
    h, c = states
    gates = _lstm_gates(step, h, c)
    n = operands[h].shape[1]
    whole = {step.node(gate, Slice).inputs[0] for gate in gates}
    order = [_block(step, gate, n) for gate in gates]
    if len(whole) != 1 or sorted(order) != [0, 1, 2, 3]:
        _fail()
    w, r, bias = _sum(step, whole.pop(), row, step.ins[h])
    layer = _layer(x, operands[h], (w, r, bias, np.zeros_like(bias)), order, (_SIGMOID, _TANH, _TANH))
    y, last, cells = recurrent.lstm(replace(layer, c=operands[c]), False)
    assert cells is not None, "an LSTM has cells"
    return [y, last, cells]


def _lstm_gates(step: _Step, h: int, c: int) -> tuple[str, str, str, str]:
    """The sums of the gates i, o, f and g."""

    def sigmoid(name: str) -> str:
        return step.argument(name, Sigmoid)

    def tanh(name: str) -> str:
        return step.argument(name, Tanh)

    def is_cell(name: str) -> str:
        return name if name == step.ins[c] else _fail()

    o, cells = step.either(step.outs[h], Mul, sigmoid, tanh)
    if cells != step.outs[c]:
        return _fail()
    f, added = step.either(
        cells,
        Add,
        lambda name: step.either(name, Mul, sigmoid, is_cell)[0],
        lambda name: step.product(name, sigmoid, tanh),
    )
    i, g = step.either(added, Mul, sigmoid, tanh)
    return i, o, f, g


def _gru(step: _Step, states: Sequence[int], operands: Sequence[Tensor], x: Tensor, row: str) -> list[Tensor]:
    """h' = s(z) h + (1 - s(z)) tanh(n + s(r) m), where n is of x and m of h"""
    if len(states) != 1:
        return _fail()
    (h,) = states

    def sigmoid(name: str) -> str:
        return step.argument(name, Sigmoid)

    def tanh(name: str) -> str:
        return step.argument(name, Tanh)

    def part(name: str) -> str:
        return step.node(name, Slice).outputs[0]

    def is_state(name: str) -> str:
        return name if name == step.ins[h] else _fail()

    def complement(name: str) -> str:
        one, gate = step.node(name, Sub).inputs
        return sigmoid(gate) if (step.constant(one) == 1).all() else _fail()

    z, new = step.either(
        step.outs[h],
        Add,
        lambda name: step.either(name, Mul, sigmoid, is_state)[0],
        lambda name: step.product(name, complement, tanh),
    )
    same, inner = step.either(new, Mul, complement, tanh)
    of_x, product = step.either(inner, Add, part, lambda name: step.product(name, sigmoid, part))
    r, of_h = step.either(product, Mul, sigmoid, part)
    n = operands[h].shape[1]
    left, right = step.argument(of_x, Slice), step.argument(of_h, Slice)
    order = [_gate(step, gate, left, right, n) for gate in (z, r)]
    order.append(_block(step, of_x, n))
    if same != z or _block(step, of_h, n) != order[2] or sorted(order) != [0, 1, 2]:
        return _fail()
    (w, b), (u, state_bias) = step.products(left, row), step.products(right, step.ins[h])
    layer = _layer(x, operands[h], (w, u, b, state_bias), order, (_SIGMOID, _TANH))
    return list(recurrent.gru(layer, True)[:2])


def _gate(step: _Step, name: str, left: str, right: str, n: int) -> int:
    """The block of a gate, which is the same of both sums."""
    a, b = step.node(name, Add).inputs
    found = {step.argument(one, Slice): _block(step, one, n) for one in (a, b)}
    return found[left] if set(found) == {left, right} and found[left] == found[right] else _fail()


def _block(step: _Step, name: str, n: int) -> int:
    """Which of the blocks of n columns a slice is."""
    op = step.node(name, Slice).op
    assert isinstance(op, Slice)
    rows, first = op.starts
    if rows or first % n or op.shape[1] != n or op.steps != (1, 1):
        return _fail()
    return first // n


def _sum(step: _Step, name: str, row: str, state: str) -> tuple[Array, Array, Array]:
    """Weights of x and of h, and the bias, of a sum of both products and constants."""
    found: dict[str, Array] = {}
    bias = np.zeros((), np.float32)
    for term in step.terms(name):
        if term not in step.producers:
            bias = bias + step.constant(term)
            continue
        operand = step.node(term, Dense).inputs[0]
        weights, own = step.products(term, operand)
        bias = bias + own
        if operand in found or operand not in (row, state):
            _fail()
        found[operand] = weights
    if set(found) != {row, state} or bias.shape != found[row].shape[:1]:
        return _fail()
    return found[row], found[state], bias


def _layer(
    x: Tensor,
    h: Tensor,
    weights: tuple[Array, Array, Array, Array],
    order: Sequence[int],
    f: Sequence[Activation],
) -> RecurrentLayer:
    """The layer with its gates in the order of the operator."""
    n = h.shape[1]
    rows = np.concatenate([np.arange(i * n, (i + 1) * n) for i in order])
    w, r, b, state_bias = (x.like(array[rows]) for array in weights)
    return RecurrentLayer(x, w, r, b, state_bias, h, activations=f)
