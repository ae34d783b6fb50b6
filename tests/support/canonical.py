"""Canonical forms of graphs: what is the same net has the same one, whatever the layout of its inputs."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.cast import BitCast
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array


@dataclass(frozen=True)
class Canonical:
    """What a graph does, without any name: its operators and types in order, and its constants."""

    structure: str
    constants: tuple[Array, ...]

    @property
    def digest(self) -> str:
        """One for all nets of the same structure."""
        return hashlib.sha256(self.structure.encode()).hexdigest()[:16]

    def assert_same(self, other: "Canonical", rtol: float = 1e-5) -> None:
        """The same operators, and constants that differ by rounding alone."""
        assert self.structure == other.structure
        for mine, theirs in zip(self.constants, other.constants, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=rtol, atol=1e-6)


def canonical(graph: Graph) -> Canonical:
    """The canonical form of a graph, simplified. Frameworks differ in where an image has its channels: an
    input that is transposed first is taken as what it is transposed to."""
    graph = simplify(graph)
    names = {name: f"x{i}" for i, name in enumerate(graph.inputs)}
    constants: list[Array] = []
    lines: list[str] = []
    for node in graph.nodes:
        if alias := _alias(graph, node):
            names[node.outputs[0]] = names[alias]
            continue
        for name in node.inputs:
            if name not in names:
                names[name] = f"c{len(constants)}"
                data = graph.values[name].data
                assert data is not None, f"{name} is computed by nothing"
                constants.append(data)
        names |= {name: f"v{len(lines)}.{i}" for i, name in enumerate(node.outputs)}
        lines.append(f"{_typed(graph, node.outputs, names)} = {node.op}({_typed(graph, node.inputs, names)})")
    result = "return " + ", ".join(names[name] for name in graph.outputs)
    return Canonical("\n".join([*lines, result]), tuple(constants))


def _typed(graph: Graph, edges: Sequence[str], names: dict[str, str]) -> str:
    types = {e: graph.values[e].type for e in edges}
    return ", ".join(f"{names[e]}: {types[e].dtype.value}{list(types[e].shape)}" for e in edges)


def _alias(graph: Graph, node: Node) -> str | None:
    """The operand that a node passes on, as far as the net goes."""
    moves_input = isinstance(node.op, Transpose) and node.inputs[0] in graph.inputs
    return node.inputs[0] if moves_input or isinstance(node.op, BitCast) else None
