"""Rotary embeddings and SwiGLU of language models: several operators of the graph that become one call each.

The graph keeps its operators, so that passes and quantization see what they know.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from edgekit.codegen.memory.sharing import LoweredLayer
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Arg, Call, Op
from edgekit.core.ops.activations import Swish
from edgekit.core.ops.arithmetic import Add, Mul, Neg, Sub
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.slice import Slice
from edgekit.core.types import DType


def fuse_idioms(graph: Graph, layers: Sequence[LoweredLayer]) -> list[LoweredLayer]:
    """The layers; those of which no result is needed any more stay."""
    found = _Operators(graph)
    return [_fused(layer, found) for layer in layers]


def _fused(layer: LoweredLayer, found: _Operators) -> LoweredLayer:
    node = layer.node
    if found.graph.type(node.outputs[0]).dtype is not DType.F32:
        return layer
    call = found.swiglu(node) or found.rotary(node)
    return LoweredLayer(node, (call,)) if call else layer


class _Operators:
    """A graph, by the operators that make its edges."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.made: Mapping[str, Node] = {name: node for node in graph.nodes for name in node.outputs}
        self.uses = Counter([*(name for node in graph.nodes for name in node.inputs), *graph.exits])

    def inner(self, name: str, kind: type[Op], uses: int = 1) -> Sequence[str]:
        """The operands of what makes an edge, if that is of this kind and for so many users."""
        node = self.made.get(name)
        is_inner = node is not None and type(node.op) is kind and self.uses[name] == uses
        return node.inputs if node is not None and is_inner else ()

    def args(self, *names: str) -> tuple[Arg, ...]:
        return tuple(Arg(name, self.graph.values[name]) for name in names)

    def swiglu(self, node: Node) -> Call | None:
        """x sigmoid(x) times another tensor of the same shape"""
        if type(node.op) is not Mul:
            return None
        y = node.outputs[0]
        for gate, other in (node.inputs, node.inputs[::-1]):
            x, *factor = self.inner(gate, Swish) or ("",)
            if not factor or len({self.graph.type(name) for name in (x, other, y)}) > 1:
                continue
            data = self.graph.values[factor[0]].data
            if data is not None and data.size == 1 and data.item() == 1:
                n = self.graph.type(y).size
                args = self.args(x, other, y)
                return Call("swiglu", {"T": DType.F32}, args, {"n": n}, inplace=(0, 1)) if n else None
        return None

    def rotary(self, node: Node) -> Call | None:
        """[a, b] with halves a c - b s and b c + a s, or [a, b] c + [-b, a] s"""
        y = node.outputs[0]
        shape = self.graph.type(y).shape
        if len(shape) != 4 or 0 in shape or shape[-1] % 2:
            return None
        match node.op:
            case Concat(axis=3) if len(node.inputs) == 2:
                x, cos, sin = self._of_halves(*node.inputs) or ("", "", "")
            case Add():
                x, cos, sin = (
                    self._of_wholes(*node.inputs) or self._of_wholes(*node.inputs[::-1]) or ("", "", "")
                )
            case _:
                return None
        if not x or self.graph.type(x) != self.graph.type(y):
            return None
        half = shape[-1] // 2
        width = half if isinstance(node.op, Concat) else 2 * half
        angles = {self.graph.type(name).shape for name in (cos, sin)}
        if angles == {(1, 1, shape[2], width)}:
            params = {"heads": shape[0] * shape[1], "positions": shape[2], "repeat": 1}
        elif angles == {(1, shape[1], 1, width)}:  # heads within positions
            params = {"heads": shape[0], "positions": shape[1], "repeat": shape[2]}
        else:
            return None
        params |= {"half": half, "second": width - half}
        return Call("rotary", {"T": DType.F32}, self.args(x, cos, sin, y), params, inplace=(0,))

    def _of_halves(self, first: str, second: str) -> tuple[str, str, str] | None:
        """x, cos and sin of both halves of a result."""
        difference, total = self.inner(first, Sub), self.inner(second, Add)
        products = [self.inner(name, Mul) for name in (*difference, *total)]
        if len(products) != 4 or not all(products):
            return None
        for a, cos in (products[0], products[0][::-1]):
            for b, sin in (products[1], products[1][::-1]):
                wanted = {frozenset((b, cos)), frozenset((a, sin))}
                x = self._halves(a, b, 2)
                if x and {frozenset(product) for product in products[2:]} == wanted:
                    return x, cos, sin
        return None

    def _of_wholes(self, plain: str, turned: str) -> tuple[str, str, str] | None:
        """x, cos and sin of two products."""
        for x, cos in self._both(self.inner(plain, Mul)):
            for parts, sin in self._both(self.inner(turned, Mul)):
                negative, a = self.inner(parts, Concat) or ("", "")
                (b,) = self.inner(negative, Neg) or ("",)
                if b and self._halves(a, b, 1) == x:
                    return x, cos, sin
        return None

    @staticmethod
    def _both(names: Sequence[str]) -> Sequence[tuple[str, str]]:
        return ((names[0], names[1]), (names[1], names[0])) if len(names) == 2 else ()

    def _halves(self, a: str, b: str, uses: int) -> str:
        """The tensor of whose last dimension these are the halves, or nothing."""
        whole = [self.inner(name, Slice, uses) for name in (a, b)]
        if not all(whole) or whole[0] != whole[1]:
            return ""
        (x,) = whole[0]
        *outer, n = self.graph.type(x).shape
        ones, zeros, shape = (1,) * (len(outer) + 1), (0,) * len(outer), (*outer, n // 2)
        wanted = [Slice((*zeros, start), ones, shape) for start in (0, n // 2)]
        return x if [self.made[name].op for name in (a, b)] == wanted else ""
