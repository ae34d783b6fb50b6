"""Elementwise operators in torch have the values and the gradients of torch's own functions."""

from collections.abc import Callable, Mapping

import pytest
import torch
from torch.nn import functional

from edgekit.core.ops import registry
from edgekit.core.ops._map import Map
from edgekit.torch.formulas import elementwise

Tensor = torch.Tensor

# Its second and third operand, where an operator has them, are tensors of numbers from 0.2 to 2.
FUNCTIONS: Mapping[str, Callable[..., Tensor]] = {
    "Abs": torch.abs,
    "Add": torch.add,
    "Clip": lambda x, lo, hi: torch.minimum(torch.maximum(x, lo), hi),
    "Cos": torch.cos,
    "Div": torch.div,
    "Elu": lambda x, a, rate: x.clamp(min=0) + a * torch.expm1(x.clamp(max=0) * rate),
    "Erf": torch.erf,
    "Exp": torch.exp,
    "Floor": torch.floor,
    "Gelu": functional.gelu,
    "GeluTanh": lambda x: functional.gelu(x, approximate="tanh"),
    "HardSigmoid": lambda x, a, b: torch.clamp(x * a + b, 0, 1),
    "HardSwish": functional.hardswish,
    "Log": torch.log,
    "Max": torch.maximum,
    "Min": torch.minimum,
    "Mish": functional.mish,
    "Mod": torch.remainder,
    "Mul": torch.mul,
    "Neg": torch.neg,
    "PRelu": lambda x, slope: torch.where(x > 0, x, x * slope),
    "Pow": torch.pow,
    "Round": torch.round,
    "Sigmoid": torch.sigmoid,
    "Sin": torch.sin,
    "Softplus": functional.softplus,
    "Sqrt": torch.sqrt,
    "Sub": torch.sub,
    "Swish": lambda x, a: x * torch.sigmoid(a * x),
    "Tanh": torch.tanh,
    "Where": lambda c, a, b: torch.where(c > 0, a, b),
}
_POSITIVE = ("Log", "Pow", "Sqrt")
# At 0 these have two slopes, and torch takes another one; or a formula's own slope there is that of torch.
_SMOOTH = ("Gelu", "GeluTanh", "HardSwish", "Mish", "Sigmoid", "Softplus", "Swish", "Tanh")


def operands(name: str, op: Map) -> list[Tensor]:
    generator = torch.Generator().manual_seed(3)
    x = torch.rand((40, 6), generator=generator) * 6 - 3
    if name in _POSITIVE:
        x = x.abs() + 0.1
    if name in _SMOOTH:
        x[:2] = 0
    if name == "Where":
        x = x > 0
    return [x, *(torch.rand(6, generator=generator) * 1.8 + 0.2 for _ in range(op.arity - 1))]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_those_of_torch(name: str) -> None:
    op = registry()[name]()
    assert isinstance(op, Map)
    found, expected = (
        [x.clone().requires_grad_(x.is_floating_point()) for x in operands(name, op)] for _ in range(2)
    )
    values, own = elementwise(op, *found), FUNCTIONS[name](*expected)
    torch.testing.assert_close(values, own)
    direction = torch.randn(own.shape, generator=torch.Generator().manual_seed(4))
    for result in (values, own):
        (result * direction).sum().backward()
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-5)


def test_the_side_that_is_not_taken_spoils_no_gradient() -> None:
    """torch's own rule makes NaN of the slope of log(0), though it counts for nothing."""
    x = torch.tensor([0.0, 200.0], requires_grad=True)
    alpha, rate = torch.tensor(1.0), torch.tensor(1.0)
    elementwise(registry()["Elu"](), x, alpha, rate).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1.0, 1.0]


def test_where_a_function_is_vertical_nothing_is_wanted() -> None:
    x = torch.tensor([0.0, 4.0], requires_grad=True)
    elementwise(registry()["Sqrt"](), x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0.0, 0.25]
