"""What leaves a model joined of tensors with different ranges, as boxes and scores: joined in floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from edgekit.core.ir import Graph, Node
from edgekit.core.ops.concat import Concat
from edgekit.core.passes.integer_labels import keeps_scale
from edgekit.quantize.calibration.observe import Statistics, minmax

_UNEVEN = 4.0  # the widest part over the narrowest, which would lose two of its eight bits in a common scale


@dataclass(frozen=True)
class MixedRangeConcats:
    """Of such outputs. Names are those of tensors in the float graph."""

    mixed_range: frozenset[str] = frozenset()  # results of concats whose operands keep scales of their own
    real: frozenset[str] = frozenset()  # those that stay floats, and so does what is only moved from there
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # what each output is joined of
    one_scale: Sequence[str] = ()  # outputs whose parts must share one

    @staticmethod
    def found(graph: Graph, statistics: Mapping[str, Statistics]) -> MixedRangeConcats:
        """In a graph whose tensors have shown these values."""
        leaving = _leaving(graph)
        mixed_range = {
            node.outputs[0] for node in graph.nodes if _has_mixed_ranges(node, statistics)
        } & leaving
        parts: dict[str, tuple[str, ...]] = {}
        for node in graph.nodes:
            name = node.outputs[0]
            if name in mixed_range or (name in leaving and not parts.keys().isdisjoint(node.inputs)):
                joined = (parts.get(n, (n,)) for n in node.inputs if _width(n, statistics))
                parts[name] = tuple(dict.fromkeys(part for some in joined for part in some))
        outputs = {name: parts[name] for name in graph.outputs if name in parts}
        return MixedRangeConcats(frozenset(mixed_range), frozenset(parts), outputs)

    @property
    def in_one_scale(self) -> MixedRangeConcats:
        """The same, where outputs are integers."""
        return MixedRangeConcats(self.mixed_range, one_scale=tuple(self.parts))


def _leaving(graph: Graph) -> set[str]:
    """What only moves elements, on to outputs and nowhere else."""
    found: set[str] = set()
    for node in reversed(graph.nodes):
        name, users = node.outputs[0], graph.users(node.outputs[0])
        leaves = all(user.outputs[0] in found for user in users) if users else name in graph.outputs
        if leaves and keeps_scale(node.op) and len(node.outputs) == 1 and name not in _states(graph):
            found.add(name)
    return found


def _states(graph: Graph) -> set[str]:
    return set(graph.exits) - set(graph.outputs)


def _has_mixed_ranges(node: Node, statistics: Mapping[str, Statistics]) -> bool:
    widths = [width for name in node.inputs if (width := _width(name, statistics))]
    return isinstance(node.op, Concat) and bool(widths) and max(widths) >= _UNEVEN * min(widths)


def _width(name: str, statistics: Mapping[str, Statistics]) -> float:
    """The range of a computed tensor, with 0 in it."""
    if name not in statistics:
        return 0.0
    low, high = minmax(statistics[name])
    return max(high, 0.0) - min(low, 0.0)


NO_MIXED_RANGE = MixedRangeConcats()
