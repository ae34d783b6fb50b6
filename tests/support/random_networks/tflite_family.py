"""Random TFLite networks, integer and float, against LiteRT's reference kernels."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from support.random_networks import tflite_layers
from support.random_networks.tflite_net import JUMPS, Made, Rng, TfliteNet, rescaled, varied
from support.random_networks.trial import (
    Recipe,
    RuntimeRefusalError,
    Trial,
    Truth,
    UnfitError,
    noisy,
    spread,
)
from support.tflite_writer import Operator, Tensor
from tflite import integer_cases, real_cases
from tflite.litert import litert

from edgekit.converters.tflite import reader as tflite_reader
from edgekit.core.ir import Graph
from edgekit.core.types import Array

_TRIES = 5
_MAX_INPUTS = 5
# Thousands of products to find a last bit: too large to be joined with others.
_TOO_LARGE = ("MUL many", "MUL many 16")
INTEGER = {name: case for name, case in integer_cases.CASES.items() if name not in _TOO_LARGE}


def joined(case: Callable[[Rng], Operator]) -> Callable[[TfliteNet], None]:
    """A step that puts an operator on tensors that fit it; new inputs where none does."""

    def step(net: TfliteNet) -> None:
        op = case(net.rng)
        net.add(replace(op, inputs=[_operand(net, op, t) for t in op.inputs]))

    return step


def _operand(net: TfliteNet, op: Operator, wanted: Tensor | None) -> Tensor | None:
    if wanted is None or wanted.data is not None or wanted.variable:
        return wanted

    def fits(m: Made) -> bool:
        if m.tensor.dtype != wanted.dtype or bool(m.tensor.scale) != bool(wanted.scale):
            return False
        if wanted.dtype in ("float32", "bool"):
            return m.exact or op.kind not in JUMPS
        # Whole numbers may be indices: their range matters.
        return bool(wanted.scale) and varied(rescaled(m.data, m.tensor, wanted))

    try:
        return net.adapted(net.pick(fits), wanted)
    except UnfitError:
        if len(net.inputs) >= _MAX_INPUTS:
            raise
        return net.input(wanted, _random(wanted, net.rng))


def _random(t: Tensor, rng: Rng) -> Array:
    if t.dtype == "bool":
        return rng.integers(0, 2, t.shape).astype(np.bool_)
    if t.dtype == "float32":
        return rng.standard_normal(t.shape).astype(np.float32)
    low, high = (np.iinfo(t.dtype).min, np.iinfo(t.dtype).max + 1) if t.scale else (-9, 10)
    return rng.integers(low, high, t.shape).astype(t.dtype)


def _make(recipe: Recipe, cases: Mapping[str, Callable[[Rng], Operator]], start: Tensor) -> Trial:
    rng = np.random.default_rng(recipe.seed)
    net = TfliteNet(rng)
    shape = (1, *(int(n) for n in rng.integers(3, 11, 2)), int(rng.integers(1, 8)))
    x = replace(start, shape=shape)
    net.input(x, _random(x, rng))
    steps: list[Callable[[TfliteNet], None]] = [joined(case) for case in cases.values()]
    for step in recipe.steps:
        net.rng = np.random.default_rng((recipe.seed, step))
        for _ in range(_TRIES):
            choice = steps if net.rng.random() < 0.5 else list(tflite_layers.RECIPES)
            if net.attempt(choice[int(net.rng.integers(len(choice)))]):
                break
    if not net.ops:
        raise UnfitError
    return _trial(recipe, net)


def _trial(recipe: Recipe, net: TfliteNet) -> Trial:
    outputs = net.loose_ends()
    content = net.content(outputs)
    given = [m.data for m in net.inputs]
    exact = [net.find(t).exact for t in outputs]
    models = [] if all(exact) else [net.noisy(outputs, seed) for seed in (1, 2)]
    try:
        right = litert(content, given, net.reference)
        others = [
            litert(each, [*noisy(dict(enumerate(given)), seed).values()], net.reference)
            for seed, each in enumerate(models, 1)
        ]
    except RuntimeError as fault:  # such as a division by what noise, or the whole network, makes zero
        raise RuntimeRefusalError(str(fault)) from None
    return Trial(
        recipe,
        frozenset(op.kind for op in net.ops),
        {f"in{i}": x for i, x in enumerate(given)},
        Truth(right, spread(right, others), exact),
        lambda: _read(content),
    )


def _read(content: bytes) -> Graph:
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        path = Path(folder, "net.tflite")
        path.write_bytes(content)
        return tflite_reader.convert(path, name="net")


def integers(recipe: Recipe) -> Trial:
    """int8 and int16 tensors: every integer is LiteRT's."""
    rng = np.random.default_rng((recipe.seed, 99))
    return _make(recipe, INTEGER, integer_cases.s8(rng, (1,)))


def reals(recipe: Recipe) -> Trial:
    return _make(recipe, real_cases.CASES, Tensor((1,)))
