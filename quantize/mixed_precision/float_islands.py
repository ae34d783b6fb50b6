"""Small layers between layers of floats stay floats: conversions cost more than they save, and round."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.core.ir import Graph
from edgekit.core.ops import Op
from edgekit.core.ops.arithmetic import Add, Mul, Sub
from edgekit.core.ops.pool2d import Pool2d
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.reshape import Reshape
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.quantize.calibration.scales import given, runs_in_int8


class FloatIslands:
    """Finds them in a graph, for one set of float layers after another."""

    def __init__(self, graph: Graph, *, has_float_ports: bool) -> None:
        settled = given(graph)  # raw bytes are integers, though a cast gives them
        ends = frozenset(graph.exits) - (frozenset(graph.outputs) if has_float_ports else frozenset())
        self._integers = {node.outputs[0] for node in graph.nodes if runs_in_int8(graph, node)}
        self._givers: dict[str, list[str]] = {}  # the layers that give what each one computes with
        self._readers: dict[str, list[str]] = {}  # that must be floats, too
        self._ends: set[str] = set()
        self._cheap: list[str] = []
        for node in graph.nodes:
            result, computed = node.outputs[0], [n for n in node.inputs if graph.data(n) is None]
            producers = [graph.producer(name) for name in computed]
            self._givers[result] = [producer.outputs[0] if producer else "" for producer in producers]
            if computed and settled.keys().isdisjoint(computed) and _is_cheap(node.op):
                self._cheap.append(result)
            if not isinstance(node.op, Reshape):
                users = (user for name in node.outputs for user in graph.users(name))
                self._readers[result] = [user.outputs[0] for user in users]
                if not ends.isdisjoint(node.outputs):
                    self._ends.add(result)

    def among(self, real: frozenset[str]) -> frozenset[str]:
        """The layers with an integer form that stay floats, by their results: those of `real`, and those
        whose computed operands come from layers of floats, and whose results go to such layers or, where
        ports are floats, leave the graph. A reshape costs nothing in either form: conversions go after
        it."""
        found = {name for name in real if name in self._givers}
        for name in self._cheap:
            if self._are_floats(self._givers[name], found):
                found.add(name)
        while True:
            kept = {name for name in found if name in real or self._stays(name, found)}
            if len(kept) == len(found):
                return frozenset(self._integers & kept)
            found = kept

    def _are_floats(self, layers: Sequence[str], found: set[str]) -> bool:
        """Have they no integer form, or do they stay in floats? An input of the graph is no layer."""
        return all(name in found or bool(name and name not in self._integers) for name in layers)

    def _stays(self, name: str, found: set[str]) -> bool:
        return (
            name not in self._ends
            and self._are_floats(self._givers[name], found)
            and self._are_floats(self._readers.get(name, ()), found)
        )


def _is_cheap(op: Op) -> bool:
    """Are floats as fast as integers here? Functions such as tanh are a table for integers."""
    return keeps_scale(op) or isinstance(op, Add | Sub | Mul | Reduce | Pool2d)
