"""Operators on each element, alone, with a number, or with that of another tensor."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np

from edgekit.converters.mxnet.file import dtype_named
from edgekit.converters.semantics import movement
from edgekit.converters.semantics.onnx import activations, elementwise
from edgekit.converters.tensor import Operand, Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.arithmetic import Pow
from edgekit.core.ops.logic import Equal, Less
from edgekit.core.types import DType

Step = Callable[[Tensor], Tensor]
Pair = Callable[[Tensor, Operand], Tensor]

_ACTIVATIONS: dict[str, Step] = {
    "relu": activations.Relu,
    "sigmoid": activations.Sigmoid,
    "tanh": activations.Tanh,
    "softrelu": activations.Softplus,
    "softsign": activations.Softsign,
    "log_sigmoid": lambda x: -activations.Softplus(-x),
    "mish": activations.Mish,
}


def Activation(x: Tensor, *, act_type: str) -> Tensor:
    if act_type not in _ACTIVATIONS:
        raise EdgeKitError("E0203", f"Activation: {act_type} is not supported")
    return _ACTIVATIONS[act_type](x)


def LeakyReLU(
    x: Tensor,
    gamma: Tensor | None = None,
    *,
    act_type: str = "leaky",
    slope: float = 0.25,
    lower_bound: float = 0.125,
    upper_bound: float = 0.334,
) -> Tensor:
    """`rrelu` has slopes at random while it trains, and their mean in use."""
    if act_type == "prelu" and gamma is not None:
        n = gamma.type.size
        if x.rank < 2 or n not in (1, x.shape[1]):
            raise EdgeKitError("E0401", f"slopes {gamma.type} do not fit {x.type}")
        return activations.PRelu(x, gamma.reshape(n, *(1,) * (x.rank - 2)))
    kinds: dict[str, Step] = {
        "leaky": lambda x: activations.LeakyRelu(x, alpha=slope),
        "rrelu": lambda x: activations.LeakyRelu(x, alpha=(lower_bound + upper_bound) / 2),
        "elu": lambda x: activations.Elu(x, alpha=slope),
        "selu": activations.Selu,
        "gelu": activations.Gelu,
    }
    if act_type not in kinds:
        raise EdgeKitError("E0203", f"LeakyReLU: {act_type} is not supported")
    return kinds[act_type](x)


def hard_sigmoid(x: Tensor, *, alpha: float = 0.2, beta: float = 0.5) -> Tensor:
    return activations.HardSigmoid(x, alpha=alpha, beta=beta)


def clip(x: Tensor, *, a_min: float = -inf, a_max: float = inf) -> Tensor:
    return x.clip(a_min, a_max)


def Cast(x: Tensor, *, dtype: str) -> Tensor:
    return movement.cast(x, dtype_named(dtype))


amp_cast = Cast


def Dropout(x: Tensor, *, p: float = 0.5, mode: str = "training", axes: tuple[int, ...] = ()) -> Tensor:
    if mode != "training":
        raise EdgeKitError("E0205", "Dropout in use is not supported: results would be random")
    return x


def copy(x: Tensor) -> Tensor:
    return x


identity = BlockGrad = copy


def square(x: Tensor) -> Tensor:
    return x * x


def rsqrt(x: Tensor) -> Tensor:
    return 1 / elementwise.Sqrt(x)


def zeros_like(x: Tensor) -> Tensor:
    return x.like(np.zeros(x.shape))


def ones_like(x: Tensor) -> Tensor:
    return x.like(np.ones(x.shape))


def where(condition: Tensor, yes: Tensor, no: Tensor) -> Tensor:
    return movement.where(_false(condition), no, yes)


def add_n(first: Tensor, *others: Tensor) -> Tensor:
    return elementwise.Sum(first, *others)


def _unary(step: Step) -> Callable[..., Tensor]:
    def handler(x: Tensor) -> Tensor:
        return step(x)

    return handler


def _binary(pair: Pair) -> Callable[..., Tensor]:
    def handler(a: Tensor, b: Tensor) -> Tensor:
        return pair(a, b)

    return handler


def _with_number(pair: Pair) -> Callable[..., Tensor]:
    def handler(x: Tensor, *, scalar: float) -> Tensor:
        return pair(x, scalar)

    return handler


def _from_number(pair: Pair) -> Callable[..., Tensor]:
    """The number comes first."""

    def handler(x: Tensor, *, scalar: float) -> Tensor:
        return pair(x.like(scalar), x)

    return handler


def _power(a: Tensor, b: Operand) -> Tensor:
    if not isinstance(b, Tensor) and b in (1, 2):
        return a if b == 1 else a * a
    return a.apply(Pow(), b)


def _equal(a: Tensor, b: Operand) -> Tensor:
    return movement.cast(a.apply(Equal(), b), a.dtype)


def _less(a: Tensor, b: Operand) -> Tensor:
    return movement.cast(a.apply(Less(), b), a.dtype)


def _greater(a: Tensor, b: Operand) -> Tensor:
    return _less(b if isinstance(b, Tensor) else a.like(b), a)


def _not(pair: Pair) -> Pair:
    return lambda a, b: 1 - pair(a, b)


def _false(x: Tensor) -> Tensor:
    return x.apply(Equal(), 0) if x.dtype is not DType.BOOL else movement.cast(x, DType.U8).apply(Equal(), 0)


relu = _unary(activations.Relu)
sigmoid = _unary(activations.Sigmoid)
tanh = _unary(activations.Tanh)
softsign = _unary(activations.Softsign)
exp = _unary(elementwise.Exp)
log = _unary(elementwise.Log)
sqrt = _unary(elementwise.Sqrt)
abs = _unary(elementwise.Abs)
negative = _unary(elementwise.Neg)
reciprocal = _unary(elementwise.Reciprocal)
erf = _unary(elementwise.Erf)
floor = _unary(elementwise.Floor)
ceil = _unary(elementwise.Ceil)
sign = _unary(elementwise.Sign)
sin = _unary(elementwise.Sin)
cos = _unary(elementwise.Cos)

elemwise_add = broadcast_add = _binary(lambda a, b: a + b)
elemwise_sub = broadcast_sub = _binary(lambda a, b: a - b)
elemwise_mul = broadcast_mul = _binary(lambda a, b: a * b)
elemwise_div = broadcast_div = _binary(lambda a, b: a / b)
power = broadcast_power = _binary(_power)
maximum = broadcast_maximum = _binary(Tensor.max)
minimum = broadcast_minimum = _binary(Tensor.min)
equal = broadcast_equal = _binary(_equal)
not_equal = broadcast_not_equal = _binary(_not(_equal))
lesser = broadcast_lesser = _binary(_less)
greater = broadcast_greater = _binary(_greater)
lesser_equal = broadcast_lesser_equal = _binary(_not(_greater))
greater_equal = broadcast_greater_equal = _binary(_not(_less))

plus_scalar = _with_number(lambda a, b: a + b)
minus_scalar = _with_number(lambda a, b: a - b)
mul_scalar = _with_number(lambda a, b: a * b)
div_scalar = _with_number(lambda a, b: a / b)
power_scalar = _with_number(_power)
maximum_scalar = _with_number(Tensor.max)
minimum_scalar = _with_number(Tensor.min)
equal_scalar = _with_number(_equal)
not_equal_scalar = _with_number(_not(_equal))
lesser_scalar = _with_number(_less)
greater_scalar = _with_number(_greater)
lesser_equal_scalar = _with_number(_not(_greater))
greater_equal_scalar = _with_number(_not(_less))
rminus_scalar = _from_number(lambda a, b: a - b)
rdiv_scalar = _from_number(lambda a, b: a / b)
rpower_scalar = _from_number(_power)
