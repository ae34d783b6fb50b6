"""Random ONNX networks of many operator sets, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np
from support.random_models import Dice
from support.random_networks import onnx_elementwise, onnx_layers, onnx_moves, onnx_rare
from support.random_networks.onnx_net import OnnxNet, run
from support.random_networks.trial import (
    Recipe,
    RuntimeRefusalError,
    Trial,
    Truth,
    UnfitError,
    noisy,
    spread,
)

from edgekit.converters.onnx.reader import convert

_KINDS = (onnx_layers.RECIPES, onnx_layers.RECIPES, onnx_elementwise.RECIPES, onnx_moves.RECIPES)
_RARE = (onnx_rare.RECIPES, onnx_rare.RECIPES, onnx_rare.RECIPES, *_KINDS[1:])
_OPSETS = (11, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 19, 20, 21, 22)
_TRIES = 8  # of recipes that may not fit


def start(dice: Dice, opset: int) -> OnnxNet:
    """Inputs: mostly an image of an odd size, a sequence or rows."""
    net = OnnxNet(dice, opset)
    for _ in range(dice.pick(1, 1, 2, 3)):
        shape = dice.pick(
            (1, dice.roll(1, 8), dice.roll(3, 11), dice.roll(3, 11)),
            (1, dice.roll(1, 8), dice.roll(3, 11), dice.roll(3, 11)),
            (dice.roll(1, 3), dice.roll(1, 5), *dice.rolls(2, 2, 7)),
            (dice.roll(1, 3), dice.roll(2, 9), dice.roll(1, 9)),
            (dice.roll(1, 4), dice.roll(1, 17)),
            (1, dice.roll(1, 3), *dice.rolls(3, 3, 5)),
        )
        net.input(dice.normal(*shape))
    return net


def grown(recipe: Recipe) -> OnnxNet:
    """The network before its outputs are chosen."""
    dice = Dice(recipe.seed)
    net = start(dice, dice.pick(*_OPSETS))
    for step in recipe.steps:
        net.dice = Dice(recipe.seed, step)
        for _ in range(_TRIES):
            if net.attempt(_step(net.dice, _RARE if recipe.family == "rare" else _KINDS)):
                break
    if not net.nodes:
        raise UnfitError
    return net


def _step(dice: Dice, kinds: Sequence[onnx_layers.Recipes]) -> Callable[[OnnxNet], None]:
    recipes = dice.pick(*kinds)
    weights = np.array([weight for weight, _ in recipes], float)
    return recipes[int(dice.rng.choice(len(recipes), p=weights / weights.sum()))][1]


def ends(net: OnnxNet) -> list[str]:
    """Values without a consumer, and here and there one that has some."""
    names = net.loose_ends()
    return (
        names
        + [n for n in net.made if n not in names and n not in net.inputs and net.dice.roll(0, 9) == 0][:2]
    )


def truth(net: OnnxNet, outputs: Sequence[str]) -> Truth:
    proto = net.model(outputs)
    (right,) = run(proto, [net.inputs])
    others = [run(net.noisy_model(outputs, seed), [noisy(net.inputs, seed)])[0] for seed in (1, 2)]
    with suppress(RuntimeRefusalError):  # its optimizations fail on some networks
        others += run(proto, [net.inputs], optimized=True)
    return Truth(right, spread(right, others), [name in net.exact for name in outputs])


def make(recipe: Recipe) -> Trial:
    net = grown(recipe)
    outputs = ends(net)
    proto = net.model(outputs)
    return Trial(
        recipe,
        frozenset(node.op_type for node in net.nodes),
        net.inputs,
        truth(net, outputs),
        lambda: convert(proto),
    )
