"""Any well-formed graph and any attribute, as hypothesis strategies: for what must hold without exception."""

import types
import typing
from dataclasses import fields
from enum import Enum
from typing import Any

import numpy as np
from hypothesis import strategies as st

from edgekit.core.builder import Builder
from edgekit.core.fixed import int_range
from edgekit.core.ir import Graph, Source
from edgekit.core.ops import Op
from edgekit.core.ops.activations import Sigmoid
from edgekit.core.ops.arithmetic import Add, Clip, Neg
from edgekit.core.ops.concat import Concat
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType, Quant, Type

# Every text that UTF-8 can say.
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
dims = st.lists(st.integers(0, 4), max_size=4).map(tuple)
dtypes = st.sampled_from(DType)
scales = st.tuples(st.floats(1e-9, 1e9))


@st.composite
def tensors(draw: st.DrawFn) -> Type:
    """The type of an input; integers may stand for reals, per tensor."""
    dtype, shape = draw(dtypes), draw(dims)
    if not dtype.is_integer or dtype.bits > 16 or draw(st.booleans()):
        return Type(dtype, shape)
    zeros = st.tuples(st.integers(*int_range(dtype)))
    quants = st.builds(Quant, scales, zeros, st.none(), st.sampled_from(["E", "tfl"]))
    return Type(dtype, shape, draw(quants))


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """A well-formed graph: some inputs and constants of every type, and operators that fit what is there."""
    builder = Builder()
    edges = [builder.input(draw(names), draw(tensors())) for _ in range(draw(st.integers(1, 3)))]
    inputs = tuple(edges)
    for _ in range(draw(st.integers(0, 6))):
        builder.origin = draw(names)
        edges.append(draw(results(builder, draw(st.sampled_from(edges)))))
    outputs = draw(st.lists(st.sampled_from(edges), min_size=1, max_size=3, unique=True))
    return builder.graph(draw(names), inputs, outputs, draw(st.builds(Source, names, names, names, names)))


@st.composite
def results(draw: st.DrawFn, builder: Builder, x: str) -> str:
    """The result of a new node that reads x."""
    t = builder.type(x)
    match draw(st.sampled_from(["reshape", "transpose", "concat", "add", "clip", "unary"])):
        case "transpose":
            return builder.one(Transpose(tuple(draw(st.permutations(range(t.rank))))), x, name=draw(names))
        case "concat" if t.rank and t.quant is None:
            return builder.one(Concat(draw(st.integers(0, t.rank - 1))), x, draw(constants(builder, t)))
        case "add" if t.real.dtype is DType.F32:
            return builder.one(Add(), x, draw(constants(builder, t)), name=draw(names))
        case "clip" if t.dtype is DType.F32:
            bounds = np.sort(
                np.array(draw(st.tuples(*[st.floats(width=32, allow_nan=False)] * 2)), np.float32)
            )
            return builder.one(Clip(), x, builder.const(bounds[0]), builder.const(bounds[1]))
        case "unary" if t.dtype is DType.F32:
            return builder.one(draw(st.sampled_from([Neg(), Sigmoid()])), x, name=draw(names))
    return builder.one(Reshape(tuple(draw(st.permutations(t.shape)))), x, name=draw(names))


@st.composite
def constants(draw: st.DrawFn, builder: Builder, type: Type) -> str:
    """A constant of this type, with any bits."""
    data = np.frombuffer(draw(st.binary(min_size=type.bytes, max_size=type.bytes)), np.uint8)
    data = data % 2 if type.dtype is DType.BOOL else data
    return builder.const(data.view(type.dtype.numpy).reshape(type.shape), hint=draw(names))


def values(hint: Any) -> st.SearchStrategy[Any]:
    """What a field that is declared with this type may hold."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*map(values, arguments))
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(values(arguments[0]), max_size=4).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    if hint is int:
        return st.integers(-(1 << 63), (1 << 63) - 1)
    if hint is float:
        return st.floats() | st.integers(-9, 9)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return st.sampled_from(hint)
    if hint is Op:
        return st.sampled_from([Neg(), Transpose((1, 0)), Concat(-1)])
    simple = {bool: st.booleans(), str: names, type(None): st.none()}
    return simple[hint] if hint in simple else records(hint)


def records(cls: type[Any]) -> st.SearchStrategy[Any]:
    """Instances of a dataclass."""
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{field.name: values(hints[field.name]) for field in fields(cls)})
