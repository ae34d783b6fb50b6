"""A torch module in the making: every step is computed as soon as it is added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from support.random_models import Dice
from support.random_networks.trial import MAX_ELEMENTS, MAX_MAGNITUDE, NOISE, UnfitError
from support.torch_cases import flat
from torch import Tensor, nn


class TorchNet:
    """Steps so far: a function or module, the values that it reads, and how many it makes."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self.inputs: list[Tensor] = []
        self.steps: list[tuple[Callable[..., Any], tuple[int, ...]]] = []
        self.made: list[Tensor] = []
        self.exact: list[bool] = []
        self.what: list[str] = []

    def input(self, data: Tensor) -> None:
        self.inputs.append(data)
        self.made.append(data)
        self.exact.append(True)

    def pick(self, fits: Callable[[Tensor], bool] = lambda _: True, exact: bool = False) -> int:
        """One of the floats that fit, mostly a new one."""
        places = [
            i
            for i, x in enumerate(self.made)
            if x.dtype == torch.float32 and fits(x) and (self.exact[i] or not exact)
        ]
        if not places:
            raise UnfitError
        return places[-min(int(self.dice.rng.geometric(0.5)), len(places))]

    def rank(self, *ranks: int) -> int:
        return self.pick(lambda x: x.ndim in ranks)

    def add(self, what: str, function: Callable[..., Any], *operands: int, exact: bool = False) -> int:
        """Add a step, unless torch refuses it or its results are of no use; gives the first result."""
        if isinstance(function, nn.Module):
            function.eval()
        try:
            with torch.no_grad():
                results = list(flat(function(*(self.made[i] for i in operands))))
        except (RuntimeError, ValueError, IndexError, TypeError, NotImplementedError, AssertionError):
            raise UnfitError from None
        for y in results:
            if not 0 < y.numel() <= MAX_ELEMENTS or y.ndim > 6:
                raise UnfitError
            if y.is_floating_point() and not bool((y.abs() <= MAX_MAGNITUDE).all()):
                raise UnfitError
        self.steps.append((function, operands))
        self.what.append(what)
        exact = exact and all(self.exact[i] for i in operands)
        for y in results:
            self.made.append(y)
            self.exact.append(exact or not y.is_floating_point())
        return len(self.made) - len(results)

    def attempt(self, step: Callable[[TorchNet], Any]) -> bool:
        """Take a step, or leave everything as it was."""
        before = len(self.steps), len(self.made)
        try:
            step(self)
        except UnfitError:
            steps, made = before
            del self.steps[steps:], self.what[steps:], self.made[made:], self.exact[made:]
            return False
        return True

    def loose_ends(self) -> list[int]:
        read = {i for _, operands in self.steps for i in operands}
        return [i for i in range(len(self.inputs), len(self.made)) if i not in read]

    def module(self, outputs: Sequence[int]) -> Module:
        return Module(self, outputs).eval()


class Module(nn.Module):
    """The network. `noise` changes results that are rounded by some units in their last place."""

    def __init__(self, net: TorchNet, outputs: Sequence[int]) -> None:
        super().__init__()
        self.steps, self.exact, self.outputs = list(net.steps), list(net.exact), list(outputs)
        for i, (function, _) in enumerate(self.steps):
            if isinstance(function, nn.Module):
                self.add_module(f"step{i}", function)

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        made = list(inputs)
        for function, operands in self.steps:
            made += flat(function(*(made[i] for i in operands)))
        return tuple(made[i] for i in self.outputs)

    def noisy(self, inputs: Sequence[Tensor], seed: int) -> tuple[Tensor, ...]:
        generator = torch.Generator().manual_seed(seed)
        made = [self._noised(x, generator) if x.is_floating_point() else x for x in inputs]
        for function, operands in self.steps:
            for y in flat(function(*(made[i] for i in operands))):
                if not self.exact[len(made)]:
                    y = self._noised(y, generator)
                made.append(y)
        return tuple(made[i] for i in self.outputs)

    @staticmethod
    def _noised(x: Tensor, generator: torch.Generator) -> Tensor:
        return x * (1 + NOISE * (2 * torch.rand(x.shape, generator=generator) - 1))


def seeded(build: Callable[[], nn.Module], dice: Dice) -> nn.Module:
    """A module with random weights, statistics included."""
    with torch.random.fork_rng():
        torch.manual_seed(dice.roll(0, 2**31 - 1))
        module = build()
        for name, parameter in module.named_parameters():
            if "norm" in type(module).__name__.lower() or "norm" in name:
                nn.init.normal_(parameter, mean=1.0, std=0.5)
        for name, buffer in module.named_buffers():
            if name.endswith("running_mean"):
                nn.init.normal_(buffer, std=0.3)
            elif name.endswith("running_var"):
                nn.init.uniform_(buffer, 0.5, 1.5)
    return module.eval()
