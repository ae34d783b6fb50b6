"""While(body): carried values go through a body of nodes while the first of them, a bool, is true.

An iteration is at most the `limit`-th: data never make a loop endless. The body holds no constants, they are
operands of the loop: so it is an attribute like others. See docs/adr/0060.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from edgekit.core import limits
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import ITERATION, Arg, Call, Op, Step, require
from edgekit.core.reasons import OperandError
from edgekit.core.types import Array, DType, Type, Value

_MAX_ELEMENTS, _MAX_RANK = 1 << 27, 32
MAX_LIMIT = (1 << 31) - 1


@dataclass(frozen=True)
class BodyNode:
    """A node of a body."""

    op: Op
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    origin: str = ""


@dataclass(frozen=True)
class BodyValue:
    """What an edge of a body carries."""

    name: str
    type: Type


@dataclass(frozen=True)
class While(Op):
    """The inputs of the body are the operands: first those that are carried from iteration to iteration, then
    those that stay. The outputs of the body are carried on; the last ones are the results."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: tuple[BodyNode, ...]
    values: tuple[BodyValue, ...]
    limit: int

    @cached_property
    def types(self) -> Mapping[str, Type]:
        return {value.name: value.type for value in self.values}

    @cached_property
    def graph(self) -> Graph:
        """The body, whose constants are inputs."""
        nodes = tuple(Node(node.op, node.inputs, node.outputs, node.origin) for node in self.nodes)
        values = {value.name: Value(value.type) for value in self.values}
        return Graph("body", self.inputs, self.outputs, nodes, values)

    @property
    def carried(self) -> int:
        """How many values are."""
        return len(self.outputs)

    def infer(self, *ins: Type) -> tuple[Type, ...]:
        require(0 <= self.limit <= MAX_LIMIT, f"{self.limit} is no limit of iterations")
        require(len(self.types) == len(self.values), "two values of the body have the same name")
        require(len({*self.inputs}) == len(self.inputs), "two inputs of the body have the same name")
        require(1 <= self.carried <= len(self.inputs) == len(ins), f"takes {len(self.inputs)} operands")
        known = dict(zip(self.inputs, ins, strict=True))
        for name, type in known.items():
            require(self.types.get(name) == type, f"operand {name} is {type}, not {self.types.get(name)}")
        first = self.types[self.inputs[0]]
        require(first.dtype is DType.BOOL and first.size == 1, f"the condition is {first}, not one bool")
        for node in self.nodes:
            self._infer(node, known)
        for before, after in zip(self.inputs, self.outputs, strict=False):
            require(after in known, f"{after} is never computed")
            require(known[after] == known[before], f"{before} is {known[before]}, and {known[after]} next")
        return tuple(ins[: self.carried])

    def _infer(self, node: BodyNode, known: dict[str, Type]) -> None:
        """The types of a node's results."""
        for name in node.inputs:
            require(name in known, f"{name} is read before it is computed")
        results = node.op.infer(*(known[name] for name in node.inputs))
        require(len(results) == len(node.outputs), f"{node.origin} has {len(results)} results")
        for name, type in zip(node.outputs, results, strict=True):
            found = self.types.get(name)
            if name in known or found is None or len(found.shape) > _MAX_RANK or found.size > _MAX_ELEMENTS:
                raise OperandError(f"{name} is computed twice, or has no sensible type")
            require(found.real == type.real, f"{name} is {found}, computed is {type}")
            known[name] = found

    def eval(self, *ins: Array) -> tuple[Array, ...]:
        carried, staying = ins[: self.carried], ins[self.carried :]
        meter = limits.RunMeter()
        for _ in range(self.limit):
            if not carried[0].item():
                break
            meter.spend(self._work_of_iteration)
            values = dict(zip(self.inputs, (*carried, *staying), strict=True))
            for node in self.nodes:
                values.update(zip(node.outputs, self._compute(node, values), strict=True))
            carried = tuple(values[name] for name in self.outputs)
        return tuple(np.array(x) for x in carried)

    def _compute(self, node: BodyNode, values: Mapping[str, Array]) -> tuple[Array, ...]:
        args = [values[name] for name in node.inputs]
        ins, outs = ([self.types[name] for name in names] for names in (node.inputs, node.outputs))
        quantized = any(t.quant is not None for t in (*ins, *outs))
        with np.errstate(all="ignore"):
            return node.op.integer(args, ins, outs) if quantized else node.op.eval(*args)

    def integer(self, args: Sequence[Array], ins: Sequence[Type], outs: Sequence[Type]) -> tuple[Array, ...]:
        """The body says what its integers stand for."""
        return self.eval(*args)

    def macs(self, *ins: Type) -> int:
        """Of as many iterations as there may be."""
        return self.limit * sum(n.op.macs(*(self.types[x] for x in n.inputs)) for n in self.nodes)

    def work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        """Of as many iterations as there may be."""
        return super().work(ins, outs) + self.limit * self._work_of_iteration

    def run_work(self, ins: Sequence[Type], outs: Sequence[Type]) -> int:
        return self._work_of_iteration

    @cached_property
    def _work_of_iteration(self) -> int:
        return self.graph.work + ITERATION * (len(self.nodes) + 1)

    def lower(self, ins: Sequence[Arg], outs: Sequence[Arg]) -> Sequence[Step]:
        """No kernel has this name: lowering puts the calls of the body in its place."""
        return [Call(kernel="while", types={}, args=(*ins, *outs), results=len(outs))]

    def inlined(self, names: Mapping[str, str]) -> tuple[list[Node], dict[str, Type]]:
        """The nodes of the body, and the types of what they compute, under other names."""
        nodes = []
        for node in self.nodes:
            inputs, outputs = (tuple(names[x] for x in edges) for edges in (node.inputs, node.outputs))
            nodes.append(Node(node.op, inputs, outputs, node.origin))
        return nodes, {names[x]: self.types[x] for node in self.nodes for x in node.outputs}
