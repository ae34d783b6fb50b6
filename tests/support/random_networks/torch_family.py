"""Random torch modules, exported by torch.export and torch.onnx, against torch itself."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import onnx
import torch
from support.random_models import Dice
from support.random_networks.judge import differences
from support.random_networks.onnx_net import run
from support.random_networks.torch_layers import RECIPES
from support.random_networks.torch_net import TorchNet
from support.random_networks.trial import Recipe, RuntimeRefusalError, Trial, Truth, UnfitError, spread
from support.torch_exports import exported
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from edgekit.converters.onnx import reader as onnx_reader
from edgekit.converters.torch_export import reader as torch_export_reader
from edgekit.core.ir import Graph

_TRIES = 6
_OPSETS = (13, 14, 16, 17, 18, 20)


def grown(recipe: Recipe) -> TorchNet:
    dice = Dice(recipe.seed)
    net = TorchNet(dice)
    for _ in range(dice.pick(1, 1, 2)):
        shape = dice.pick(
            (1, dice.roll(1, 8), dice.roll(3, 11), dice.roll(3, 11)),
            (1, dice.roll(1, 4), *dice.rolls(3, 3, 6)),
            (dice.roll(1, 2), dice.roll(1, 8), dice.roll(3, 9), dice.roll(3, 9)),
            (dice.roll(1, 3), dice.roll(2, 9), dice.roll(1, 9)),
            (dice.roll(1, 4), dice.roll(1, 17)),
        )
        net.input(torch.from_numpy(dice.normal(*shape)))
    for step in recipe.steps:
        net.dice = Dice(recipe.seed, step)
        for _ in range(_TRIES):
            if net.attempt(net.dice.pick(*RECIPES)):
                break
    if not net.steps:
        raise UnfitError
    return net


def _trial(recipe: Recipe, net: TorchNet, read: Any) -> Trial:
    outputs = net.loose_ends()
    module = net.module(outputs)
    with torch.no_grad():
        right = [y.numpy() for y in module(*net.inputs)]
        others = [[y.numpy() for y in module.noisy(net.inputs, seed)] for seed in (1, 2)]
    exact = [net.exact[i] for i in outputs]
    inputs = {f"x{i}": x.numpy() for i, x in enumerate(net.inputs)}
    return Trial(
        recipe, frozenset(net.what), inputs, Truth(right, spread(right, others), exact), lambda: read(module)
    )


def programs(recipe: Recipe) -> Trial:
    """By torch.export, with the operators of training or after run_decompositions(). What it cannot export is
    left out: shapes that depend on data, where it has to know them."""
    net = grown(recipe)
    core = bool(recipe.seed % 2)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch, for each recurrent layer
        try:
            path = exported(net.module(net.loose_ends()), net.inputs, Path(folder, "net.pt2"), core)
        except GuardOnDataDependentSymNode:
            raise UnfitError from None
        program = path.read_bytes()

    def read(_: torch.nn.Module) -> Graph:
        with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
            path = Path(folder, "net.pt2")
            path.write_bytes(program)
            return torch_export_reader.convert(path)

    return _trial(recipe, net, read)


@contextmanager
def _silent() -> Iterator[None]:
    """The exporter prints whole graphs from C++."""
    kept, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nothing)


def onnx_files(recipe: Recipe) -> Trial:
    """By torch.onnx's exporter of TorchScript. What it cannot export is left out, and what it exports wrong,
    so that ONNX Runtime refuses the file, or computes something else than torch."""
    net = grown(recipe)
    opset = Dice(recipe.seed, 77).pick(*_OPSETS)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "net.onnx")
        names = [f"x{i}" for i in range(len(net.inputs))]
        module = net.module(net.loose_ends())
        try:
            with torch.no_grad(), _silent():
                torch.onnx.export(
                    module,
                    tuple(net.inputs),
                    path,
                    input_names=names,
                    opset_version=opset,
                    dynamo=False,
                    verbose=False,
                )
        except (AssertionError, RuntimeError, ValueError, torch.onnx.errors.OnnxExporterError):
            raise UnfitError from None
        proto = onnx.load(path)
    trial = _trial(recipe, net, lambda _: onnx_reader.convert(proto))
    given = {value.name: trial.inputs[value.name] for value in proto.graph.input}
    if words := differences(trial, run(proto, [given])[0]):
        raise RuntimeRefusalError(f"torch.onnx exports something else: {words}")
    return trial
