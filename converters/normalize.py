"""Inputs as a sensor gives them: (raw - mean) / std goes into the graph, and there into its first layer.

Where the first layer pads its image with zeros, raw zeros would be another border than normalized ones: then
the mean stays an operator of its own, and only the division goes into the weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from edgekit.core import number_formats, suggest
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose
from edgekit.core.passes.affine import affine
from edgekit.core.passes.match import squeezed
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array, DType, Type, Value, type_of

RAW: Mapping[str, DType] = {
    "uint8": DType.U8,
    "int8": DType.S8,
    "uint16": DType.U16,
    "int16": DType.S16,
    "float32": DType.F32,
}
Numbers = float | Sequence[float]
_MOVES = (Transpose, Reshape)


@dataclass(frozen=True)
class Normalization:
    """What the model expects of an input: one number, or one for each channel, in units of the raw input."""

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    raw: str = "uint8"  # a key of RAW


def wanted(
    graph: Graph,
    mean: Mapping[str, Numbers] | Numbers | None,
    std: Mapping[str, Numbers] | Numbers | None,
    raw: Mapping[str, str] | str | None,
) -> dict[str, Normalization]:
    """By input: each argument is by name, or for the only input, which "" stands for, too."""
    found: dict[str, Normalization] = {}
    for field, given in (("mean", mean), ("std", std), ("raw", raw)):
        by_name = _by_name(given)
        for name, value in by_name.items():
            known = _known(graph, name)
            if name != known and known in by_name:
                raise EdgeKitError("E0103", f"{field} of input {known} is there twice")
            if field == "raw":
                value = number_formats.among(value, RAW)
            else:
                value = tuple(map(float, [value] if isinstance(value, Real) else value))
            found[known] = replace(found.get(known, Normalization()), **{field: value})
    return found


def _by_name(given: Any) -> Mapping[str, Any]:
    if given is None:
        return {}
    return given if isinstance(given, Mapping) else {"": given}


def _known(graph: Graph, name: str) -> str:
    """The input that a name is for."""
    if name in graph.inputs:
        return name
    if not name and len(graph.inputs) == 1:
        return graph.inputs[0]
    if not name:
        raise EdgeKitError(
            "E0103",
            f"{graph.name} has {len(graph.inputs)} inputs: which one is raw?",
            hint=f"name it, as in {graph.inputs[0]}=..." if graph.inputs else "",
        )
    raise EdgeKitError(
        "E0108", f"{graph.name} has no input named {name}", hint=suggest.hint(name, graph.inputs, "inputs")
    )


def normalize(graph: Graph, inputs: Mapping[str, Normalization]) -> Graph:
    """The graph that takes raw inputs. What is not named stays as it is."""
    for name, how in inputs.items():
        graph = _normalized(graph, name, how)
    # First into the weights: other passes might move something in between.
    return simplify(affine(graph)) if inputs else graph


def left_over(graph: Graph, name: str) -> str:
    """Why something of the normalization of an input is still computed by operators of its own, as a
    sentence; nothing where there are none."""
    nodes = []
    reader = _only_reader(graph, name)
    while reader and isinstance(reader.op, (*_MOVES, Cast, Add, Mul)):
        if isinstance(reader.op, Add | Mul):
            nodes.append(type(reader.op).__name__)
        reader = _only_reader(graph, reader.outputs[0])
    if not nodes:
        return ""
    kept = " and ".join(nodes)
    if reader and isinstance(reader.op, Linear) and reader.op.skips_taps and nodes == ["Add"]:
        return f"the mean of {name} stays an operator ({kept}): the first layer pads with zeros, not with it"
    first = f"{type(reader.op).__name__} cannot take it over" if reader else "there is no first layer"
    return f"the normalization of {name} stays in operators of its own ({kept}): {first}"


def _normalized(graph: Graph, name: str, how: Normalization) -> Graph:
    type = graph.type(name)
    _check(graph, name, how)
    raw = RAW[how.raw]
    mean, std = (_along_channels(name, type, numbers) for numbers in (how.mean, how.std))
    values, nodes = dict(graph.values), list(graph.nodes)
    values[name] = Value(replace(type, dtype=raw))
    # Behind what only moves elements, since layers can take over what stands directly before them.
    at = name
    while (node := _only_reader(graph, at)) is not None and isinstance(node.op, _MOVES):
        at = node.outputs[0]
        values[at] = Value(replace(graph.type(at), dtype=raw))
        mean, std = (c if c.size == 1 else node.op.eval(c)[0] for c in (mean, std))
    made = _Chain(values, at, graph.type(at))
    if raw is not type.dtype:
        made.add(Cast(type.dtype), f"{name}_real")
    if mean.any():
        made.add(Add(), f"{name}_centred", _rounded(-squeezed(mean), type))
    if (std != 1).any():
        made.add(Mul(), f"{name}_normalized", _rounded(1 / squeezed(std), type))
    first = 1 + max((i for i, node in enumerate(nodes) if at in node.outputs), default=-1)
    readers = [_reading(node, at, made.name) for node in nodes[first:]]
    return replace(graph, nodes=(*nodes[:first], *made.nodes, *readers), values=values)


class _Chain:
    """Operators one behind the other, each on the result of the last."""

    def __init__(self, values: dict[str, Value], name: str, type: Type) -> None:
        self.values = values
        self.name = name
        self.type = type
        self.nodes: list[Node] = []

    def add(self, op: Cast | Add | Mul, hint: str, constant: Array | None = None) -> None:
        operands: tuple[str, ...] = (self.name,)
        if constant is not None:
            operands += (self._fresh(f"{hint}_by", Value(type_of(constant), constant)),)
        self.name = self._fresh(hint, Value(self.type))
        self.nodes.append(Node(op, operands, (self.name,)))

    def _fresh(self, hint: str, value: Value) -> str:
        name, number = hint, 0
        while name in self.values:
            number += 1
            name = f"{hint}_{number}"
        self.values[name] = value
        return name


def _check(graph: Graph, name: str, how: Normalization) -> None:
    type = graph.type(name)
    if any(value.type.quant is not None for value in graph.values.values()):
        raise EdgeKitError("E0103", f"{graph.name} is quantized already", hint="normalize the float model")
    if not type.dtype.is_float:
        raise EdgeKitError(
            "E0103",
            f"input {name} is {type}: only floats can be normalized",
            hint="it takes raw data already",
        )
    if name in graph.exits:
        raise EdgeKitError("E0103", f"{name} is an output, too, and cannot become raw")
    if how.raw not in RAW:
        hint = suggest.hint(how.raw, RAW)
        raise EdgeKitError("E0103", f"unknown type of raw data: {how.raw}", hint=hint)
    if not np.isfinite(how.mean).all() or not np.isfinite(how.std).all() or min(how.std, default=0) <= 0:
        raise EdgeKitError(
            "E0103",
            f"mean {_listed(how.mean)}, std {_listed(how.std)} of input {name} normalize nothing",
            hint="the mean is finite, the standard deviation above 0",
        )


def _along_channels(name: str, type: Type, numbers: Sequence[float]) -> Array:
    """The numbers in the shape of the input, or a single one."""
    wide = np.asarray(numbers, np.float64)
    if len(numbers) == 1:
        return wide
    # The first of four dimensions counts images.
    axes = [i for i, n in enumerate(type.shape) if n == len(numbers) and (i or type.rank < 4)]
    if len(axes) != 1:
        found = "several" if axes else "no"
        raise EdgeKitError(
            "E0103",
            f"{len(numbers)} numbers for the channels of {name}, which is {type}: {found} dimensions fit",
            hint="give one number for all channels, or one for each",
        )
    shape = [1] * type.rank
    shape[axes[0]] = len(numbers)
    return np.broadcast_to(wide.reshape(shape), type.shape)


def _rounded(wide: Array, type: Type) -> Array:
    narrow: Array = np.ascontiguousarray(wide, type.dtype.numpy).reshape(wide.shape)
    narrow.flags.writeable = False
    return narrow


def _only_reader(graph: Graph, name: str) -> Node | None:
    return graph.users(name)[0] if graph.used_once(name) else None


def _reading(node: Node, old: str, new: str) -> Node:
    if old not in node.inputs:
        return node
    return replace(node, inputs=tuple(new if name == old else name for name in node.inputs))


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)
