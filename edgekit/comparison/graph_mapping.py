"""Which value of one graph stands for which of another, and what the numbers of one are in the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.flip_sign import FlipSign
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.types import Array, DType, Type

_FORMATS = ("int8", "int16", "bf16", "f16", "float")  # quantization may call results <name>_<format>
_SCALED = 0.1  # of the logarithm of a factor: less is rounding
_UNDONE = 0.25  # of the squared difference in weights: less is left where channels were equalized


@dataclass(frozen=True)
class Counterpart:
    """A value of a, and what stands for it in b."""

    name: str
    other: str
    type: Type  # in a
    held: Type  # in b
    factor: Array | None = None  # of each channel: b computes it so much larger, and its reader takes it back

    @property
    def is_exact(self) -> bool:
        """Can b hold whatever a computes?"""
        return self.factor is None and self.held == self.type

    def to_b(self, array: Array) -> Array:
        """A value of a in the format of b."""
        return array if self.is_exact else _stored(self.scaled(array), self.held)

    def to_a(self, array: Array) -> Array:
        """A value of b in the format of a."""
        return array if self.is_exact else _stored(self.from_b(array), self.type)

    def scaled(self, array: Array) -> Array:
        """The numbers that b should have for a value of a."""
        numbers = real(array, self.type)
        return numbers if self.factor is None else numbers * self.factor

    def from_b(self, array: Array) -> Array:
        """The numbers that a should have for a value of b."""
        numbers = real(array, self.held)
        if self.factor is not None:
            numbers = numbers / self.factor
        # As a holds them, so that moving them makes no difference.
        return numbers.astype(np.float32).astype(np.float64) if self.type.dtype is DType.F32 else numbers


def real(array: Array, type: Type) -> Array:
    """The numbers that a tensor stands for."""
    wide = array.astype(np.float64)
    if type.quant is None:
        return wide
    scale, zero = np.array(type.quant.scale), np.array(type.quant.zero)
    if type.quant.axis is not None:
        shape = [1] * wide.ndim
        shape[type.quant.axis] = -1
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    result: Array = (wide - zero) * scale
    return result


def _stored(numbers: Array, type: Type) -> Array:
    """Numbers in a format: integers as `Quantize` rounds them."""
    if type.quant is None:
        return numbers.astype(type.dtype.numpy)
    source = Type(DType.F32, type.shape)
    (result,) = Quantize(type.dtype).integer([numbers.astype(np.float32)], [source], [type])
    return result


def _comparable(a: Type, b: Type) -> bool:
    """Do both stand for numbers of the same kind? Bytes such as pixels stand for themselves."""
    if a.shape != b.shape:
        return False
    are_integers = a.dtype.is_integer and b.dtype.is_integer
    return (
        a.dtype is b.dtype or (_is_real(a) and _is_real(b)) or (are_integers and (_is_real(a) or _is_real(b)))
    )


def _is_real(type: Type) -> bool:
    """Does a tensor stand for real numbers?"""
    return type.dtype.is_float or type.quant is not None


def _ports(a: Graph, names: Sequence[str], b: Graph, others: Sequence[str], what: str) -> dict[str, str]:
    """Which input or output of b each one of a is: by name, or else by position."""
    if len(names) != len(others):
        counts = f"{len(names)} and {len(others)}"
        raise EdgeKitError("E0102", f"{a.name} and {b.name} differ in the number of {what}: {counts}")
    pairs = {n: n for n in names} if set(names) == set(others) else dict(zip(names, others, strict=True))
    for mine, other in pairs.items():
        if a.type(mine).shape != b.type(other).shape:
            both = f"{mine} is {a.type(mine)} in {a.name}, {other} is {b.type(other)} in {b.name}"
            raise EdgeKitError("E0102", f"the {what} differ: {both}")
    return pairs


@dataclass(frozen=True)
class Matching:
    """Two graphs, and the values that they have in common, in the order of a."""

    a: Graph
    b: Graph
    inputs: Mapping[str, str]  # of a, and what they are called in b
    outputs: Mapping[str, str]
    values: Mapping[str, Counterpart]  # by the name in a: inputs, states and results

    @staticmethod
    def of(a: Graph, b: Graph) -> Matching:
        inputs = _ports(a, a.inputs, b, b.inputs, "inputs")
        outputs = _ports(a, a.outputs, b, b.outputs, "outputs")
        states = _ports(a, a.entries[len(inputs) :], b, b.entries[len(inputs) :], "states")
        for mine, other in (inputs | states).items():
            if not _comparable(a.type(mine), b.type(other)):
                both = f"{a.type(mine)} in {a.name}, {b.type(other)} in {b.name}"
                raise EdgeKitError("E0102", f"{'state' if mine in states else 'input'} {mine} is {both}")
        values = {
            mine: Counterpart(mine, other, a.type(mine), b.type(other))
            for mine, called in (inputs | states).items()
            for other in [_quantized_input(b, called)]
        }
        taken = {c.other for c in values.values()}
        for name in (name for node in a.nodes for name in node.outputs):
            found = _result(b, outputs.get(name, name))
            if found is not None and found not in taken and _comparable(a.type(name), b.type(found)):
                values[name] = Counterpart(name, found, a.type(name), b.type(found))
                taken.add(found)
        return Matching(a, b, inputs, outputs, _equalized(a, b, values))

    def given(self, sample: Mapping[str, Array]) -> dict[str, Array]:
        """The inputs of a as b takes them."""
        return {
            other: Counterpart(mine, other, self.a.type(mine), self.b.type(other)).to_b(sample[mine])
            for mine, other in self.inputs.items()
        }

    @cached_property
    def _theirs(self) -> Mapping[str, Counterpart]:
        return {c.other: c for c in self.values.values()}

    def steps(self, counterpart: Counterpart) -> tuple[Steps, Steps]:
        """How a and b compute a value from the nearest ones that both have."""
        return (
            _steps(self.a, counterpart.name, self.values),
            _steps(self.b, counterpart.other, self._theirs),
        )


@dataclass(frozen=True)
class Steps:
    """Nodes that lead from values that both graphs have to another one."""

    result: str
    nodes: tuple[Node, ...]
    operands: tuple[Counterpart, ...]


def _steps(graph: Graph, result: str, common: Mapping[str, Counterpart]) -> Steps:
    needed, operands = {result}, dict[str, Counterpart]()
    nodes = []
    for node in reversed(graph.nodes):
        if needed.isdisjoint(node.outputs):
            continue
        nodes.append(node)
        for name in node.inputs:
            if name in common and name != result:
                operands[name] = common[name]
            else:
                needed.add(name)
    return Steps(result, tuple(reversed(nodes)), tuple(operands.values()))


def _quantized_input(b: Graph, name: str) -> str:
    """An input that is read only to be quantized is what comes of that."""
    users = b.users(name)
    if len(users) == 1 and isinstance(users[0].op, Quantize | FlipSign) and name not in b.outputs:
        return users[0].outputs[0]
    return name


def _result(b: Graph, name: str) -> str | None:
    """The value that b computes under a name, in the format in which it is computed."""
    called = (name, *(f"{name}_{suffix}" for suffix in _FORMATS))
    found = next((n for n in called if b.producer(n) is not None), None)
    while found is not None:
        node = b.producer(found)
        assert node is not None
        if not isinstance(node.op, Dequantize | FlipSign) or b.producer(node.inputs[0]) is None:
            return found
        (found,) = node.inputs
    return None


def _equalized(a: Graph, b: Graph, values: Mapping[str, Counterpart]) -> Mapping[str, Counterpart]:
    """The counterparts with their factors. Equalization makes channels between layers larger or smaller, and
    the weights of the next layer make up for it: without the factors such a value would seem all wrong. They
    are in the weights, and are believed where the weights of the next layer are those of a only once they are
    taken off, for most channels: what is merely damaged, the next layer does not make up for."""
    factors: dict[str, Array] = {}
    seen: set[str] = set()
    for node in a.nodes:
        if node.outputs[0] not in seen:
            line = _line(a, b, values, node)
            seen.update(node.outputs[0] for node in line)
            factors |= _factors(a, b, values, line)
    return {name: replace(c, factor=factors.get(name)) for name, c in values.items()}


def _line(a: Graph, b: Graph, values: Mapping[str, Counterpart], node: Node) -> list[Node]:
    """Layers that start with a node, each but the last read by the next one only."""
    line = []
    while _weights(a, b, values, node):
        line.append(node)
        name = node.outputs[0]
        if not a.used_once(name) or a.users(name)[0].inputs[0] != name:
            break
        (node,) = a.users(name)
    return line


def _factors(
    a: Graph, b: Graph, values: Mapping[str, Counterpart], line: Sequence[Node]
) -> Mapping[str, Array]:
    """The factors of the results of a line of layers; those of the last one are not rescaled."""
    believed: dict[str, Array] = {}
    doubtful: dict[str, Array] = {}  # so far nothing speaks for or against them
    factor: Array | None = None
    for node in line:
        weights = _weights(a, b, values, node)
        assert weights is not None
        mine, theirs = weights
        without = theirs if factor is None else theirs * _per_input(node, theirs, factor)
        assert isinstance(node.op, Linear)
        is_last = node is line[-1]
        # Whatever comes in larger may go out larger where each output has one input only.
        if factor is not None and (is_last or not node.op.is_depthwise(a.type(node.inputs[1]))):
            before, after = (_distances(node.op, mine, w, is_last) for w in (theirs, without))
            undone = (after < _UNDONE * before)[np.abs(np.log(factor)) > _SCALED]
            if 2 * np.count_nonzero(undone) > undone.size:
                believed |= doubtful
            else:
                without = theirs
            doubtful = {}
        factor = _fitted(mine, without)
        doubtful[node.outputs[0]] = factor
    return believed


def _fitted(mine: Array, theirs: Array) -> Array:
    """How much larger the weights of each output are; no more is known of those that are damaged."""
    own, other = (np.square(w).reshape(len(w), -1).sum(axis=1) for w in (mine, theirs))
    factor = np.ones_like(own)
    np.divide(other, own, out=factor, where=(own > 0) & (other > 0))
    root: Array = np.sqrt(factor)
    return root


def _distances(op: Linear, mine: Array, theirs: Array, is_last: bool) -> Array:
    """Between weights, for each input; whatever the factors of the outputs are, if they may have any."""
    factor = np.ones(len(mine)) if is_last else _fitted(mine, theirs)
    error = theirs - mine * factor.reshape(-1, *[1] * (mine.ndim - 1))
    squares = np.square(error).reshape(op.groups, -1, mine.shape[-1])
    return squares.sum(axis=1).reshape(-1)  # type: ignore[no-any-return]  # sum of an array


def _weights(a: Graph, b: Graph, values: Mapping[str, Counterpart], node: Node) -> tuple[Array, Array] | None:
    """The weights of a layer in a and in b."""
    if not isinstance(node.op, Linear) or node.outputs[0] not in values:
        return None
    other = b.producer(values[node.outputs[0]].other)
    if other is None or type(other.op) is not type(node.op):
        return None
    found = []
    for graph, layer in ((a, node), (b, other)):
        data = graph.data(layer.inputs[1])
        if data is None:
            return None
        found.append(real(data, graph.type(layer.inputs[1])))
    return (found[0], found[1]) if found[0].shape == found[1].shape else None


def _per_input(node: Node, weights: Array, factor: Array) -> Array:
    """The factors of the channels of x, as weights [O, ..., I / groups] take them."""
    assert isinstance(node.op, Linear)
    outputs, depth = weights.shape[0], weights.shape[-1]
    group = np.arange(outputs) // (outputs // node.op.groups)
    channels: Array = factor[group[:, None] * depth + np.arange(depth)]
    return channels.reshape(outputs, *[1] * (weights.ndim - 2), depth)
