"""A module without the channels that are not read: its layers are cut in place.

Which channels of its input a layer has lost is seen by a run in which all that is gone is NaN: whatever
carries channels carries that, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd

from edgekit.core.errors import EdgeKitError
from edgekit.torch.trace import Source

Tensor = torch.Tensor
_HINT = (
    "layers must be nn.Conv, nn.Linear and nn.BatchNorm modules that run once; edgekit prune needs no modules"
)


def lost_channels(
    program: torch.export.ExportedProgram,
    inputs: Sequence[Tensor],
    layers: Mapping[str, tuple[Source, Tensor]],
) -> dict[str, tuple[Tensor, Tensor]]:
    """Of each module that has channels, by its name: which it keeps of its inputs and of its outputs.
    `layers` are by the names of their calls, with those of their outputs that stay."""
    run = _Run(program, layers)
    signature, given = program.graph_signature, iter(inputs)
    values = []
    for spec in signature.input_specs:
        if spec.kind is torch.export.graph_signature.InputKind.USER_INPUT:
            values.append(next(given))
        else:
            target = str(spec.target)
            values.append(
                program.state_dict[target] if target in program.state_dict else program.constants[target]
            )
    with torch.no_grad():
        run.run(*values)
    return run.kept


class _Run(torch.fx.Interpreter):
    """A run with NaN in all that is gone."""

    def __init__(
        self, program: torch.export.ExportedProgram, layers: Mapping[str, tuple[Source, Tensor]]
    ) -> None:
        super().__init__(program.graph_module)
        signature = program.graph_signature
        self.names = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
        self.layers = layers
        self.kept: dict[str, tuple[Tensor, Tensor]] = {}

    def run_node(self, n: torch.fx.Node) -> Any:
        if n.op != "call_function" or not n.args or not isinstance(n.args[0], torch.fx.Node):
            return super().run_node(n)
        x = self.env[n.args[0]]
        if n.name in self.layers:
            source, outputs = self.layers[n.name]
            axis = x.ndim - 1 if "linear" in str(n.target) else 1
            self._note(source.weight, _not_lost(x, axis), outputs)
            self.env[n.args[0]] = torch.nan_to_num(x)
            y = super().run_node(n)
            self.env[n.args[0]] = x
            axis = y.ndim - 1 if "linear" in str(n.target) else 1
            return y.masked_fill(~outputs.reshape(-1, *[1] * (y.ndim - 1 - axis)), torch.nan)
        for operand in n.all_input_nodes[1:]:
            if operand.name in self.names and x.ndim > 1:
                stays = _not_lost(x, 1)
                self._note(self.names[operand.name], stays, stays)
        return super().run_node(n)

    def _note(self, parameter: str, inputs: Tensor, outputs: Tensor) -> None:
        owner = parameter.rpartition(".")[0]
        before = self.kept.setdefault(owner, (inputs, outputs))
        if not all(torch.equal(a, b) for a, b in zip(before, (inputs, outputs), strict=True)):
            raise EdgeKitError("E0205", f"{owner} runs twice, on different channels", hint=_HINT)


def _not_lost(x: Tensor, axis: int) -> Tensor:
    """Which channels hold something."""
    if not x.is_floating_point():
        return torch.ones(x.shape[axis], dtype=torch.bool)
    return ~torch.isnan(x).any(dim=[i for i in range(x.ndim) if i != axis])


def cut(module: nn.Module, name: str, inputs: Tensor, outputs: Tensor) -> None:
    """Cut a module to the channels in these masks, in place."""
    if inputs.all() and outputs.all():
        return
    match module:
        case _ConvNd():
            _cut_conv(module, inputs, outputs)
        case nn.Linear():
            _keep(module, "weight", outputs, inputs)
            _keep(module, "bias", outputs)
            module.in_features, module.out_features = int(inputs.sum()), int(outputs.sum())
        case _NormBase():
            for of in ("weight", "bias", "running_mean", "running_var"):
                _keep(module, of, inputs)
            module.num_features = int(inputs.sum())
        case nn.PReLU():
            if module.num_parameters > 1:
                _keep(module, "weight", inputs)
                module.num_parameters = int(inputs.sum())
        case _:
            kind = type(module).__name__
            raise EdgeKitError("E0205", f"{kind} cannot lose channels", name, _HINT)


def _cut_conv(module: _ConvNd, inputs: Tensor, outputs: Tensor) -> None:
    groups = module.groups
    is_depthwise = groups > 1 and module.in_channels == groups
    if is_depthwise:
        within = torch.ones(1, dtype=torch.bool)
        module.groups = int(inputs.sum())
    else:  # groups stay of one size: each loses what is in the same places
        within = inputs.reshape(groups, -1)[0]
    if isinstance(module, _ConvTransposeNd):  # inputs first, and the outputs of one group behind them
        places = outputs.reshape(groups, -1)
        _keep(module, "weight", inputs, places.any(dim=0))
    else:
        _keep(module, "weight", outputs, within)
    _keep(module, "bias", outputs)
    module.in_channels, module.out_channels = int(inputs.sum()), int(outputs.sum())


def _keep(module: nn.Module, name: str, *masks: Tensor) -> None:
    """Of a parameter or a buffer, if there is one, what is in a mask of each of its first dimensions."""
    old = getattr(module, name)
    if old is None:
        return
    new = old.detach()
    for axis, mask in enumerate(masks):
        new = new.index_select(axis, torch.nonzero(mask).reshape(-1))
    if isinstance(old, nn.Parameter):
        setattr(module, name, nn.Parameter(new.clone(), requires_grad=old.requires_grad))
    else:
        module.register_buffer(name, new.clone())
