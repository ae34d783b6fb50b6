"""Loops over the steps of a sequence that compute an LSTM, a GRU or a plain RNN, as that one operator.

The body is read once, on inputs of its own, and simplified; what it computes of a step has to be the formula
of the layer, whatever the order of sums and products. Anything else is no match, and stays a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from edgekit.converters.semantics import recurrent
from edgekit.converters.semantics.control_flow import Run
from edgekit.converters.semantics.loop_step import NoMatchError, Shown, Step, no_match, step_of
from edgekit.converters.semantics.masked_steps import skipping
from edgekit.converters.semantics.movement import part, where
from edgekit.converters.semantics.onnx import activations
from edgekit.converters.semantics.recurrent import Activation, RecurrentLayer, Result
from edgekit.converters.semantics.while_loop import undone
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.activations import Sigmoid, Tanh
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.slice import Slice
from edgekit.core.types import Array

_MAX_STEPS = 1 << 12
_Found = tuple[RecurrentLayer, Callable[[RecurrentLayer], Result]]
_SIGMOID, _TANH = Activation("sigmoid", activations.Sigmoid), Activation("tanh", activations.Tanh)


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
        step = step_of(body, operands, unchanged)
        counters = {i: step.counter(i, x) for i, x in enumerate(operands) if step.counts(i, x)}
        _check_count(condition, operands, counters, steps)
    except (NoMatchError, EdgeKitError):  # one needs to know in which step it is
        return None
    finally:
        undone(builder, *before)
    carried = [i for i in range(len(operands)) if i not in unchanged and i not in counters]
    states = [i for i in carried if operands[i].rank == 2]
    for match in (_lstm, _gru, _rnn):
        try:
            masked = _masked(step, states, operands, unchanged, counters)
            x = operands[lists[0]]
            row = masked.step.row(lists[0], counters, operands)
            layer, run = match(masked.step, masked.states, operands, x, row)
            if masked.mask is not None and masked.mask.shape != (steps, layer.h.shape[0]):
                continue
            y, last, cells = skipping(layer, masked.mask, run)
            shown = masked.shows(step, operands, y, last)
            ends = [last] if cells is None else [last, cells]
            results = dict(zip(masked.states, ends, strict=True))
            for i in set(carried) - set(masked.states):
                results[i] = (
                    shown[step.outs[i]][1]
                    if i in masked.repeated
                    else step.written(i, counters, operands, shown)
                )
        except NoMatchError:
            continue
        made = {
            i: x.like(np.asarray(operands[i].data) + steps) for i, x in enumerate(operands) if i in counters
        }
        return [results.get(i, made.get(i, x)) for i, x in enumerate(operands)]
    return None


@dataclass(frozen=True)
class _Masked:
    """A step as it is where it counts, which its mask [T, B] says: elsewhere states stay."""

    step: Step
    states: Sequence[int]
    mask: Tensor | None = None
    repeated: Mapping[int, bool] = field(default_factory=dict)  # what else is carried to be shown: is it 0?

    def shows(self, step: Step, operands: Sequence[Tensor], y: Tensor, last: Tensor) -> dict[str, Shown]:
        """The results by the names that steps have for them."""
        if self.mask is None:
            return {step.outs[self.states[0]]: (y, last)}
        found = {}
        for i, is_zero in {self.states[0]: False, **self.repeated}.items():
            every = where(self.mask.reshape(*self.mask.shape, 1), y, 0) if is_zero else y
            if is_zero or _is_zero(operands[i]):  # which is what is shown before all steps that count
                found[step.outs[i]] = every, part(every, 0, y.shape[0] - 1, 1).reshape(*last.shape)
            elif i in self.repeated:
                no_match()
        return found


def _masked(
    step: Step,
    states: Sequence[int],
    operands: Sequence[Tensor],
    unchanged: Collection[int],
    counters: Mapping[int, int],
) -> _Masked:
    try:
        chosen = {i: step.selected(step.outs[i], step.ins[i]) for i in states}
    except NoMatchError:
        return _Masked(step, states)
    conditions = {found.condition for found in chosen.values()}
    if len(conditions) != 1:
        return no_match()
    mask = step.mask(conditions.pop(), operands, unchanged, counters)
    repeated = {i: found.is_zero for i, found in chosen.items() if step.readers(step.ins[i]) < 2}
    outs = [chosen[i].new if i in chosen else name for i, name in enumerate(step.outs)]
    kept = [i for i in states if i not in repeated]
    if not kept or any(outs[i] != outs[kept[0]] for i in repeated) or any(chosen[i].is_zero for i in kept):
        return no_match()
    return _Masked(replace(step, outs=outs), kept, mask, repeated)


def _is_zero(x: Tensor) -> bool:
    return x.data is not None and not x.data.any()


def _check_count(condition: Run, operands: Sequence[Tensor], counters: Mapping[int, int], steps: int) -> None:
    """Does the loop end after as many steps as there are, because of counters alone?"""
    builder = operands[0].builder
    given = {i: Tensor(builder, builder.input(f"count_{i}", operands[i].type)) for i in counters}
    mark = len(builder.nodes)
    (holds,) = condition([given.get(i, x) for i, x in enumerate(operands)])
    nodes = builder.nodes[mark:]
    edges = {name for node in nodes for name in node.inputs} | {holds.name}
    known = {name: data for name in edges if (data := builder.data(name)) is not None}
    for step in range(steps + 1):
        values = dict(known)
        for i, x in given.items():
            values[x.name] = np.asarray(operands[i].data) + np.asarray(step, x.dtype.numpy)
        for node in nodes:
            if not all(name in values for name in node.inputs):
                no_match()
            values |= zip(node.outputs, node.op.eval(*(values[name] for name in node.inputs)), strict=True)
        if holds.name not in values or bool(values[holds.name].all()) != (step < steps):
            no_match()


def _rnn(step: Step, states: Sequence[int], operands: Sequence[Tensor], x: Tensor, row: str) -> _Found:
    """h' = tanh(w x + r h + b)"""
    if len(states) != 1:
        return no_match()
    (h,) = states
    w, r, bias = _sum(step, step.argument(step.outs[h], Tanh), row, step.ins[h])
    return _layer(x, operands[h], (w, r, bias, np.zeros_like(bias)), [0], (_TANH,)), recurrent.rnn


def _lstm(step: Step, states: Sequence[int], operands: Sequence[Tensor], x: Tensor, row: str) -> _Found:
    """c' = s(f) c + s(i) tanh(g), h' = s(o) tanh(c')"""
    if len(states) != 2:
        return no_match()
    h, c = states
    gates = _lstm_gates(step, h, c)
    n = operands[h].shape[1]
    whole = {step.node(gate, Slice).inputs[0] for gate in gates}
    order = [_block(step, gate, n) for gate in gates]
    if len(whole) != 1 or sorted(order) != [0, 1, 2, 3]:
        no_match()
    w, r, bias = _sum(step, whole.pop(), row, step.ins[h])
    layer = _layer(x, operands[h], (w, r, bias, np.zeros_like(bias)), order, (_SIGMOID, _TANH, _TANH))
    return replace(layer, c=operands[c]), partial(recurrent.lstm, input_forget=False)


def _lstm_gates(step: Step, h: int, c: int) -> tuple[str, str, str, str]:
    """The sums of the gates i, o, f and g."""

    def sigmoid(name: str) -> str:
        return step.argument(name, Sigmoid)

    def tanh(name: str) -> str:
        return step.argument(name, Tanh)

    def is_cell(name: str) -> str:
        return name if name == step.ins[c] else no_match()

    o, cells = step.either(step.outs[h], Mul, sigmoid, tanh)
    if cells != step.outs[c]:
        return no_match()
    f, added = step.either(
        cells,
        Add,
        lambda name: step.either(name, Mul, sigmoid, is_cell)[0],
        lambda name: step.product(name, sigmoid, tanh),
    )
    i, g = step.either(added, Mul, sigmoid, tanh)
    return i, o, f, g


def _gru(step: Step, states: Sequence[int], operands: Sequence[Tensor], x: Tensor, row: str) -> _Found:
    """h' = s(z) h + (1 - s(z)) tanh(n + s(r) m), where n is of x and m of h"""
    if len(states) != 1:
        return no_match()
    (h,) = states

    def sigmoid(name: str) -> str:
        return step.argument(name, Sigmoid)

    def tanh(name: str) -> str:
        return step.argument(name, Tanh)

    def part(name: str) -> str:
        return step.node(name, Slice).outputs[0]

    def is_state(name: str) -> str:
        return name if name == step.ins[h] else no_match()

    def complement(name: str) -> str:
        one, gate = step.node(name, Sub).inputs
        return sigmoid(gate) if (step.constant(one) == 1).all() else no_match()

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
        return no_match()
    (w, b), (u, state_bias) = step.products(left, row), step.products(right, step.ins[h])
    layer = _layer(x, operands[h], (w, u, b, state_bias), order, (_SIGMOID, _TANH))
    return layer, partial(recurrent.gru, reset_after=True)


def _gate(step: Step, name: str, left: str, right: str, n: int) -> int:
    """The block of a gate, which is the same of both sums."""
    a, b = step.node(name, Add).inputs
    found = {step.argument(one, Slice): _block(step, one, n) for one in (a, b)}
    return found[left] if set(found) == {left, right} and found[left] == found[right] else no_match()


def _block(step: Step, name: str, n: int) -> int:
    """Which of the blocks of n columns a slice is."""
    op = step.node(name, Slice).op
    assert isinstance(op, Slice)
    rows, first = op.starts
    if rows or first % n or op.shape[1] != n or op.steps != (1, 1):
        return no_match()
    return first // n


def _sum(step: Step, name: str, row: str, state: str) -> tuple[Array, Array, Array]:
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
            no_match()
        found[operand] = weights
    if set(found) != {row, state} or bias.shape != found[row].shape[:1]:
        return no_match()
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
