"""Example inputs of a module, as users have them: a tensor or several, one sample or a batch of any size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

from edgekit.core.errors import EdgeKitError
from edgekit.torch.devices import inputs_on_cpu, on_cpu

Tensor = torch.Tensor
_RELATIVE, _ABSOLUTE = 1e-3, 1e-4  # batches of another size are summed in another order
_FAULTS = (RuntimeError, ValueError, IndexError, AssertionError)  # of modules, for shapes that do not fit


def example_tensors(given: Sequence[Tensor] | Tensor | DataLoader[Any]) -> tuple[Tensor, ...]:
    """One for each input, on the CPU."""
    if isinstance(given, DataLoader):
        what = "example_inputs is a DataLoader"
        hint = "a tuple of tensors, one for each input: (x[:1],); samples are `calibration`"
        raise EdgeKitError("E0102", what, hint=hint)
    return inputs_on_cpu((given,) if isinstance(given, Tensor) else given)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """The module in evaluation mode, and then in the modes that its parts were in."""
    modes = {module: module.training for module in model.modules()}
    try:
        with suppress(NotImplementedError):  # pt2e's answer: its models have no modes
            model.eval()
        yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def one_sample(model: nn.Module, given: Sequence[Tensor] | Tensor | DataLoader[Any]) -> tuple[Tensor, ...]:
    """One sample of a batch, the last. The dimension that counts samples is the first one along which the
    module computes the same of a part; the inputs are left as they are where there is none."""
    inputs = example_tensors(given)
    if all(x.shape[:1] == (1,) for x in inputs):
        return inputs
    model = on_cpu(model)
    with evaluating(model), torch.no_grad():
        sizes = list(enumerate(zip(*(x.shape for x in inputs), strict=False)))  # of dimensions that all have
        if any(set(of) == {1} and _counts_samples(model, inputs, axis) for axis, of in sizes):
            return inputs
        counted = (axis for axis, of in sizes if len(set(of)) == 1 and _counts_samples(model, inputs, axis))
        return next((tuple(x.narrow(axis, -1, 1) for x in inputs) for axis in counted), inputs)


def random_like(inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Random numbers in the place of floats: examples may be zeros."""
    chance = torch.Generator().manual_seed(0)
    return tuple(torch.randn(x.shape, generator=chance) if x.dtype is torch.float32 else x for x in inputs)


def _counts_samples(model: nn.Module, inputs: Sequence[Tensor], axis: int) -> bool:
    """Are the results of the last part alone the last ones of all? Of one, twice as many are made."""
    size = inputs[0].shape[axis]
    batch = inputs if size > 1 else tuple(torch.cat([x, x], axis) for x in inputs)
    batch = random_like(batch)
    try:
        last = tuple(x.narrow(axis, -1, 1) for x in batch)
        pairs = list(zip(_results(model(*batch)), _results(model(*last)), strict=True))
    except _FAULTS:
        return False
    size = batch[0].shape[axis]
    return all(
        any(_is_last(many, one, axis) for axis, n in enumerate(many.shape) if n == size)
        for many, one in pairs
    )


def _is_last(many: Tensor, one: Tensor, axis: int) -> bool:
    part = many.narrow(axis, -1, 1)
    return part.shape == one.shape and torch.allclose(part, one, _RELATIVE, _ABSOLUTE, equal_nan=True)


def _results(made: Any) -> list[Tensor]:
    """The tensors among what a module returns."""
    if isinstance(made, Tensor):
        return [made]
    inner = made.values() if isinstance(made, dict) else made if isinstance(made, tuple | list) else ()
    return [x for item in inner for x in _results(item)]
