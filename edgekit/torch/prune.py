"""Pruning of a torch module: what EdgeKit takes out of its graph is taken out of the module.

The result is a module of the same class with smaller layers, or, to prune little by little, the same module
with masks; both compute the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules.dropout import _DropoutNd

from edgekit.codegen.execution import processor
from edgekit.core.arguments import checked
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.types import Array
from edgekit.deprecation import renamed_keyword
from edgekit.quantize.pruning.groups import Network
from edgekit.quantize.pruning.plan import Pruned, Pruning, PruningPlan
from edgekit.samples.batches import arrays_of
from edgekit.torch.batch_norm import Norm, take_anew
from edgekit.torch.devices import device_of, on_cpu
from edgekit.torch.example_inputs import random_like
from edgekit.torch.module_pruning import cut, lost_channels
from edgekit.torch.trace import Source, Traced, traced
from edgekit.tuning.costs import layer_costs, liked_multiple

Tensor = torch.Tensor
_CLOSE = 1e-3  # of the largest result: the order of additions is another
_MAX_SEEN = 1024  # samples for statistics


@dataclass(frozen=True)
class PrunedModule:
    """A module that was pruned, and how to do the same to others of its structure."""

    module: nn.Module  # with smaller layers; with masks where these were asked for
    masks: Mapping[str, Tensor]  # the weights that stay, by the full names of parameters
    report: Pruned
    program: torch.export.ExportedProgram
    layers: Mapping[str, tuple[Source, Tensor]]  # by the names of calls, with their outputs that stay
    inputs: tuple[Tensor, ...]

    @checked
    def mask(self, model: nn.Module) -> nn.Module:
        """Set to zero, in place, what is pruned: after each step of an optimizer."""
        parameters = dict(model.named_parameters())
        for name, mask in self.masks.items():
            if name not in parameters or parameters[name].shape != mask.shape:
                message = f"{type(model).__name__} has no parameter {name} of the shape {list(mask.shape)}"
                hint = "a model of the structure that was pruned, with all its channels"
                raise EdgeKitError("E0108", message, hint=hint)
        with torch.no_grad():
            for name, mask in self.masks.items():
                parameter = parameters[name]
                parameter.mul_(mask.to(parameter.device))
        return model

    @checked
    def shrink(self, model: nn.Module) -> nn.Module:
        """A copy without the channels that are not read behind the masks."""
        device, model = device_of(model), on_cpu(model)
        masked, small = self.mask(deepcopy(model)), deepcopy(model)
        kept = lost_channels(self.program, self.inputs, self.layers)
        for name, (inputs, outputs) in kept.items():
            cut(small.get_submodule(name), name, inputs, outputs)
        hint = "let forward() take sizes from its tensors: x.flatten(1), not x.view(-1, 96)"
        try:
            pairs = zip(_results(small, self.inputs), _results(masked, self.inputs), strict=True)
            is_same = all(_is_close(*pair) for pair in pairs)
        except (RuntimeError, ValueError, IndexError, AssertionError) as fault:
            message = f"{type(model).__name__} does not run with fewer channels"
            raise EdgeKitError("E0205", message, hint=hint) from fault
        if not is_same:
            message = f"{type(model).__name__} computes something else with fewer channels"
            raise EdgeKitError("E0205", message, hint=hint)
        return small.to(device)


@renamed_keyword("tell", "progress")
@checked
def prune(
    model: nn.Module,
    example_inputs: Sequence[Tensor] | Tensor,
    calibration: Iterable[Any] = (),
    *,
    ratio: float | None = None,
    macs: float | None = None,
    weights: float | None = None,
    instructions: float | None = None,
    criterion: str = "",
    target: str = "host",
    fit: bool = True,
    apply: bool = True,
    progress: Callable[[str], None] = lambda step: None,
) -> PrunedModule:
    """A smaller copy of a module, as `edgekit prune` makes a smaller graph: without a share of the channels
    (`ratio`), or with a share of the multiplications (`macs`), of the `weights` or of the `instructions` of
    `target` left. `example_inputs` are a batch; `calibration` gives samples, such batches or tuples of
    them: they show which channels matter, and what is left makes up for those that are gone (`fit`). Numbers
    of channels suit `target`. `apply=False` keeps all shapes and sets weights to zero, to be pruned further,
    or to be shrunk later. In training mode the copy starts as what it is in evaluation: batch normalization
    has the statistics of the samples, and nn.Dropout drops nothing."""
    wanted = Pruning(ratio, macs, weights, instructions, criterion=criterion, fit=fit)
    on = processor.load(target)
    device, model = device_of(model), on_cpu(model)
    found = traced(model, example_inputs, lambda graph: graph)
    real = found.real()
    wanted = replace(wanted, liked=1 if ratio is not None else liked_multiple(real, on))
    samples = arrays_of(found.graph, calibration)
    plan = PruningPlan.of(real, samples, criterion, progress, costs=layer_costs(on))
    plan = replace(plan, network=_followed(plan.network, found.sources))
    counts = plan.counts(wanted)
    gone = plan.masks(counts)
    masks = _masks(found, plan.network.unread(gone))
    can_fit = fit and all(name in found.sources for name in plan.network.mixers)
    graph = plan.masked(counts, fit=can_fit, progress=progress)
    changed = deepcopy(model)
    if can_fit and plan.fitting:
        _put(changed, found, plan.network, graph)
    report = plan.report(plan.network.simplified(graph), counts)
    layers = _layers(found, plan.network, gone)
    made = PrunedModule(changed, masks, report, found.program, layers, found.inputs)
    made.mask(changed)
    _let_train(changed, [tuple(sample[name] for name in found.graph.inputs) for sample in samples])
    return replace(made, module=(made.shrink(changed) if apply else changed).to(device))


def _let_train(model: nn.Module, samples: Sequence[tuple[Array, ...]]) -> None:
    """Training goes on from where pruning ended, in place. What kept a large network from learning by heart
    keeps a small one from learning."""
    take_anew(model, samples[:_MAX_SEEN])
    for module in model.modules():
        if isinstance(module, _DropoutNd):
            module.p = 0.0


def _followed(network: Network, sources: Mapping[str, Source]) -> Network:
    """The network without the groups of channels that a layer makes or reads whose weights are not those of a
    layer of the module, or that a buffer holds: what goes has to go out of the module, too."""
    held = [state.input for state in network.whole.states]
    unknown: dict[str, None] = {}
    groups = []
    for group in network.groups:
        lost = [name for name, _ in (*network.readers(group), *network.writers(group)) if name not in sources]
        lost += [name for name in held if name in group.cells]
        unknown |= dict.fromkeys(lost)
        groups += [group] * (not lost)
    if unknown and not groups:
        where = ", ".join(dict.fromkeys(network.graph.origin(name) or name for name in unknown))
        message = f"channels of {where} cannot be followed to an nn.Conv or nn.Linear of its own"
        hint = "edgekit.prune(edgekit.torch.convert(model, example_inputs), samples) prunes the graph instead"
        raise EdgeKitError("E0205", message, hint=hint)
    return replace(network, groups=tuple(groups))


def _masks(found: Traced, unread: Mapping[str, Array]) -> dict[str, Tensor]:
    """The weights that stay, as parameters have them."""
    masks = {}
    for layer, off in unread.items():
        source = found.sources.get(layer)
        if source is None:
            hint = "its weights must be those of an nn.Conv or nn.Linear, and not mixed with other constants"
            raise EdgeKitError("E0205", f"{layer} cannot be followed to a parameter", hint=hint)
        weight = found.model.get_parameter(source.weight)
        mask = torch.ones(weight.numel())
        mask[torch.from_numpy(found.places[layer][..., off].reshape(-1))] = 0
        masks[source.weight] = mask.reshape(weight.shape)
    return masks


def _layers(found: Traced, network: Network, gone: Mapping[str, Array]) -> dict[str, tuple[Source, Tensor]]:
    """All layers with the outputs that stay."""
    stays = {layer: np.ones(len(found.places[layer]), np.bool_) for layer in found.sources}
    for group in network.groups:
        for layer, outputs in network.writers(group):
            if layer in stays and group.name in gone:
                stays[layer][outputs[gone[group.name]].reshape(-1)] = False
    return {
        found.sources[layer].call: (found.sources[layer], torch.from_numpy(s)) for layer, s in stays.items()
    }


def _put(model: nn.Module, found: Traced, network: Network, graph: Graph) -> None:
    """Weights and biases of the graph into the module: the other way through batch normalization."""
    for layer, source in found.sources.items():
        (_, old), (weights, new) = (_constants(g, layer) for g in (network.graph, graph))
        w, shift = torch.from_numpy(weights.copy()), torch.from_numpy(new - old)
        like = found.norm(layer)
        factor = found.scale(layer) if like is None else Norm(like).factor().detach()
        factor = torch.where(factor == 0, torch.inf, factor)  # what is multiplied with 0 stays
        owner: Any = model.get_submodule(source.weight.rpartition(".")[0])
        with torch.no_grad():
            flat = model.get_parameter(source.weight).view(-1)
            places = torch.from_numpy(found.places[layer])
            made = w / factor.reshape(-1, *[1] * (w.ndim - 1))
            is_kept = torch.isinf(factor).reshape(-1, *[1] * (w.ndim - 1))
            flat[places] = torch.where(is_kept, flat[places], made)
            if like is not None and like.affine:
                model.get_parameter(f"{source.norm}.bias").add_(shift)
            elif shift.any():
                if source.bias:
                    model.get_parameter(source.bias).add_(shift / factor)
                else:
                    owner.bias = nn.Parameter(shift / factor)


def _constants(graph: Graph, layer: str) -> tuple[Array, Array]:
    """Weights and bias of a layer."""
    node = graph.producer(layer)
    assert node is not None
    w, b = (graph.data(name) for name in node.inputs[1:3])
    assert w is not None
    assert b is not None
    return w, b


def _results(model: nn.Module, inputs: Sequence[Tensor]) -> list[Tensor]:
    """In evaluation mode, for random numbers."""
    with torch.no_grad():
        results = deepcopy(model).eval()(*random_like(inputs))
    return list(results) if isinstance(results, tuple | list) else [results]


def _is_close(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and bool((a - b).abs().max() <= _CLOSE * b.abs().max().clamp(min=1e-6))
