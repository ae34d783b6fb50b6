"""One iteration of a loop, read once on inputs of its own and simplified: formulas are found in it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeVar

from edgekit.converters.semantics.control_flow import Run
from edgekit.converters.tensor import Tensor
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.expand import Expand
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.logic import Not, Where
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.scatter import ScatterND
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array, DType

A = TypeVar("A")
B = TypeVar("B")
Shown = tuple[Tensor, Tensor]  # of all steps, and of the last one


class NoMatchError(Exception):
    """The loop computes something else."""


@dataclass(frozen=True)
class Selected:
    """What something is where a condition holds; elsewhere it stays, or is 0."""

    condition: str
    new: str
    is_zero: bool


@dataclass(frozen=True)
class Step:
    """One iteration: its nodes, simplified, and the names of what it takes and gives."""

    graph: Graph
    producers: dict[str, Node]
    ins: Sequence[str]
    outs: Sequence[str]

    def node(self, name: str, kind: type[Op]) -> Node:
        found = self.producers.get(name)
        if found is None or not isinstance(found.op, kind):
            no_match()
        return found

    def argument(self, name: str, kind: type[Op]) -> str:
        """Of a function of one operand."""
        return self.node(name, kind).inputs[0]

    def either(
        self, name: str, kind: type[Op], first: Callable[[str], A], second: Callable[[str], B]
    ) -> tuple[A, B]:
        """The operands of a sum or product in the order in which these readings hold, as these read them."""
        a, b = self.node(name, kind).inputs
        for left, right in ((a, b), (b, a)):
            try:
                return first(left), second(right)
            except NoMatchError:
                continue
        return no_match()

    def product(self, name: str, first: Callable[[str], str], second: Callable[[str], str]) -> str:
        """The name of a product whose operands these readings hold for."""
        self.either(name, Mul, first, second)
        return name

    def constant(self, name: str) -> Array:
        data = self.graph.values[name].data
        return data if data is not None else no_match()

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
            no_match()
        return int(start.data.reshape(())[()])

    def row(self, i: int, counters: Mapping[int, int], operands: Sequence[Tensor]) -> str:
        """The row of a list that a counter from 0 on picks."""
        for node in self.graph.nodes:
            if isinstance(node.op, Gather) and node.op.axis == 0 and node.inputs[0] == self.ins[i]:
                self.check_index(node.inputs[1], counters)
                for reader in self.graph.nodes:
                    shape = reader.op.shape if isinstance(reader.op, Reshape) else None
                    if reader.inputs[:1] == node.outputs and shape == operands[i].shape[1:]:
                        return reader.outputs[0]
        return no_match()

    def check_index(self, name: str, counters: Mapping[int, int]) -> None:
        if self.through(name, Reshape) not in {self.ins[i] for i, start in counters.items() if not start}:
            no_match()

    def through(self, name: str, *kinds: type[Op]) -> str:
        """What these operators of one operand were applied to."""
        while name in self.producers and isinstance(self.producers[name].op, kinds):
            name = self.producers[name].inputs[0]
        return name

    def written(
        self, i: int, counters: Mapping[int, int], operands: Sequence[Tensor], shown: Mapping[str, Shown]
    ) -> Tensor:
        """A list of the results of all steps, or of the last one alone, of what a step shows by name."""
        node = self.node(self.outs[i], ScatterND)
        whole, index, row = node.inputs
        if whole != self.ins[i] or node.op != ScatterND("none"):
            no_match()
        name = self.argument(row, Reshape)
        y, last = shown[name] if name in shown else no_match()
        if operands[i].shape == y.shape and self.graph.values[index].data is None:
            self.check_index(index, counters)
            return y
        if operands[i].shape[0] != 1 or self.constant(index).any():
            no_match()
        return last.reshape(*operands[i].shape)

    def selected(self, name: str, held: str) -> Selected:
        """Where a name is something new, and elsewhere what was held, or 0. By a choice, or by products with
        0 and 1, as tf2onnx writes one."""

        def flag(name: str) -> str:
            return self.argument(self.through(name, Expand), Cast)

        def opposite(name: str) -> str:
            return self.argument(flag(name), Not)

        def other(name: str) -> bool:
            """Is it 0?"""
            if name == held:
                return False
            return True if not self.constant(name).any() else no_match()

        if (node := self.producers.get(name)) is not None and isinstance(node.op, Where):
            condition, new, held_or_zero = node.inputs
            return Selected(condition, new, other(held_or_zero))
        (condition, new), (elsewhere, is_zero) = self.either(
            name,
            Add,
            lambda name: self.either(name, Mul, flag, str),
            lambda name: self.either(name, Mul, opposite, other),
        )
        return Selected(condition, new, is_zero) if condition == elsewhere else no_match()

    def mask(
        self,
        condition: str,
        operands: Sequence[Tensor],
        unchanged: Collection[int],
        counters: Mapping[int, int],
    ) -> Tensor:
        """The list [T, B] whose rows a condition is."""
        row = self.node(self.through(condition, Expand, Reshape), Gather)
        self.check_index(row.inputs[1], counters)
        mask = next((operands[i] for i in unchanged if self.ins[i] == row.inputs[0]), None) or no_match()
        is_flags = mask.dtype is DType.BOOL and row.op == Gather(0)
        return mask.reshape(*mask.shape[:2]) if is_flags and mask.shape[2:] in ((), (1,)) else no_match()

    def readers(self, name: str) -> int:
        return sum(name in node.inputs for node in self.graph.nodes)

    def products(self, name: str, operand: str) -> tuple[Array, Array]:
        """Weights and biases of what `operand` adds to a sum of products and constants."""
        node = self.node(name, Dense)
        if node.op != Dense() or node.inputs[0] != operand:
            no_match()
        return self.constant(node.inputs[1]), self.constant(node.inputs[2])


def no_match() -> NoReturn:
    raise NoMatchError


def step_of(body: Run, operands: Sequence[Tensor], unchanged: Collection[int]) -> Step:
    """What stays is itself here, too."""
    builder = operands[0].builder
    before = [
        x if i in unchanged else Tensor(builder, builder.input(f"step_{i}", x.type))
        for i, x in enumerate(operands)
    ]
    mark = len(builder.nodes)
    after = body(before)
    nodes = builder.nodes[mark:]
    ins, outs = [x.name for x in before], [x.name for x in after]
    made = {name for node in nodes for name in node.outputs}
    if len(outs) != len(ins) or not all(name in made or name in ins for name in outs):
        return no_match()
    read = {name for node in nodes for name in node.inputs if builder.data(name) is None} - made
    if not read <= set(ins):
        return no_match()
    used = {name: builder.values[name] for name in (*ins, *made, *(n for node in nodes for n in node.inputs))}
    results = tuple(dict.fromkeys(name for name in outs if name in made))
    given = tuple(dict.fromkeys(name for name in ins if builder.data(name) is None))
    graph = simplify(Graph("step", given, results, tuple(nodes), used))
    return Step(graph, {name: node for node in graph.nodes for name in node.outputs}, ins, outs)
