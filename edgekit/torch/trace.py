"""Which parameters of a module the layers of its graph come from, number by number.

Names do not survive simplification, and layouts change. So the module is converted once with marks for
weights: numbers that all differ. Where they arrive, the weights belong. The structure that is found so holds
for any weights: nothing was left out because it happens to be 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from edgekit.core.ir import Graph, Node
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.types import Array
from edgekit.quantize.pruning.groups import with_constants
from edgekit.torch.batch_norm import Norm
from edgekit.torch.devices import on_cpu
from edgekit.torch.example_inputs import one_sample
from edgekit.torch.export import convert, exported

_LAYERS = {"aten::linear", "aten::conv1d", "aten::conv2d", "aten::conv_transpose1d", "aten::conv_transpose2d"}
_NORM = "aten::batch_norm"
_FIRST = np.uint32(0x3F800000)  # the bits of 1.0f: marks are the floats that follow
_MAX_MARKS = 2**26  # marks, the last of which is 256.0: far from overflow in sums


@dataclass(frozen=True)
class Source:
    """The parameters of one layer, by their full names; empty where it has none."""

    call: str  # the name of its node in the exported program
    weight: str
    bias: str
    norm: str  # the batch normalization of its result, and of no other
    scale: str = ""  # a parameter that multiplies its result, channel by channel (LayerScale)


@dataclass(frozen=True)
class Traced:
    """A graph of a module, and for its layers, by the names of their results, where weights come from.
    Weights and biases of these layers are those before batch normalization."""

    graph: Graph
    model: nn.Module
    program: torch.export.ExportedProgram
    inputs: tuple[torch.Tensor, ...]  # of one sample
    sources: Mapping[str, Source]
    places: Mapping[str, Array]  # of each weight within its parameter, flattened

    def weights(self, layer: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Weights and bias of a layer as the graph has them."""
        source, places = self.sources[layer], self.places[layer]
        w = self.model.get_parameter(source.weight).detach().reshape(-1)[torch.from_numpy(places)]
        b = self.model.get_parameter(source.bias).detach() if source.bias else torch.zeros(len(places))
        scale = self.scale(layer)
        return w * scale.reshape(-1, *[1] * (w.ndim - 1)), b * scale

    def scale(self, layer: str) -> torch.Tensor:
        """What each output of a layer is multiplied with in the module."""
        name = self.sources[layer].scale
        if not name:
            return torch.ones(len(self.places[layer]))
        return self.model.get_parameter(name).detach().reshape(-1)

    def real(self) -> Graph:
        """The graph with the weights of the module, batch normalization folded."""
        constants: dict[tuple[str, int], Array] = {}
        for layer in self.sources:
            w, b = self.weights(layer)
            if (like := self.norm(layer)) is not None:
                norm = Norm(like)
                w, b = norm.folded(w, b)
            constants |= {(layer, 1): w.detach().numpy(), (layer, 2): b.detach().numpy()}
        return with_constants(self.graph, constants)

    def norm(self, layer: str) -> _BatchNorm | None:
        """The batch normalization of the result of this layer, and of no other."""
        name = self.sources[layer].norm
        found = self.model.get_submodule(name) if name else None
        assert found is None or isinstance(found, _BatchNorm)
        return found


def traced(
    model: nn.Module,
    example_inputs: Sequence[torch.Tensor] | torch.Tensor,
    finish: Callable[[Graph], Graph],
) -> Traced:
    """Convert a module for one sample; `finish` brings the graph into its last form. A layer whose weights
    are mixed with other constants has no source, and its batch normalization, if any, is folded."""
    model = on_cpu(model)
    inputs = one_sample(model, example_inputs)
    program = exported(deepcopy(model), inputs)
    state: Mapping[str, torch.Tensor] = program.state_dict
    real = {name: tensor.detach().clone() for name, tensor in state.items()}
    sources = list(_sources(program, model))
    while True:
        marks = _Marks(real)
        for name, tensor in state.items():
            tensor.data.copy_(real[name])
        for source in sources:
            marks.put(source, state, model)
        graph = finish(convert(program))
        found = {node.outputs[0]: hit for node in graph.nodes if (hit := marks.find(graph, node))}
        known = {source.call for source, _ in found.values()}
        if len(known) == len(sources):
            for name, tensor in state.items():
                tensor.data.copy_(real[name])
            named = {layer: source for layer, (source, _) in found.items()}
            places = {layer: at for layer, (_, at) in found.items()}
            return Traced(graph, model, program, inputs, named, places)
        sources = [source for source in sources if source.call in known]


def _sources(program: torch.export.ExportedProgram, model: nn.Module) -> Iterator[Source]:
    """Layers whose parameters have no other reader."""
    signature = program.graph_signature
    parameters = signature.inputs_to_parameters

    def own(node: Any, names: Mapping[str, str]) -> str:
        """The full name of a parameter that is used once; empty where there is none."""
        return names.get(node.name, "") if isinstance(node, torch.fx.Node) and len(node.users) == 1 else ""

    total = 0
    for call in program.graph.nodes:
        if _operator(call) not in _LAYERS:
            continue
        bias = call.args[2] if len(call.args) > 2 else None
        weight_name, bias_name = own(call.args[1], parameters), own(bias, parameters)
        if not weight_name or (bias is not None and not bias_name):
            continue
        weight = model.get_parameter(weight_name)
        total += weight.numel() + weight.shape[0] * weight.shape[1]
        if weight.dtype is not torch.float32 or total > _MAX_MARKS:
            continue
        norm = ""
        users = list(call.users)
        if len(users) == 1 and _operator(users[0]) == _NORM and users[0].args[0] is call:
            mean = own(users[0].args[3], signature.inputs_to_buffers)
            norm = mean.rpartition(".")[0] if mean else ""
            if norm and not isinstance(model.get_submodule(norm), _BatchNorm):
                norm = ""
        scale = "" if norm else own(_scale(call), parameters)
        yield Source(call.name, weight_name, bias_name, norm, scale)


def _scale(call: Any) -> Any:
    """What the result of a layer is multiplied with, if that is a number for each channel."""
    axis = call.meta["val"].ndim - 1 if _operator(call) == "aten::linear" else 1
    count = call.meta["val"].shape[axis]
    while len(call.users) == 1:
        (user,) = call.users
        if _operator(user) == "aten::permute" and user.args[0] is call:
            axis, call = [n % user.meta["val"].ndim for n in user.args[1]].index(axis), user
            continue
        others = [x for x in user.args if x is not call]
        if _operator(user) != "aten::mul" or len(others) != 1 or not isinstance(others[0], torch.fx.Node):
            return None
        shape = others[0].meta["val"].shape
        ndim = user.meta["val"].ndim
        wanted = [count if n == axis else 1 for n in range(ndim)]
        return others[0] if [1] * (ndim - len(shape)) + list(shape) == wanted else None
    return None


def _operator(node: torch.fx.Node) -> str:
    schema = getattr(node.target, "_schema", None)
    return schema.name if node.op == "call_function" and schema is not None else ""


class _Marks:
    """Numbers that are put in the place of parameters, and found again."""

    def __init__(self, real: Mapping[str, torch.Tensor]) -> None:
        self.real = real
        self.count = 0
        self.starts: list[int] = []
        self.placed: list[tuple[Source, tuple[int, ...], Array]] = []

    def put(self, source: Source, state: Mapping[str, torch.Tensor], model: nn.Module) -> None:
        """Mark a layer, and make its batch normalization and its scale do nothing."""
        weight = state[source.weight]
        shape = tuple(weight.shape)
        self.starts.append(self.count)
        marks = self._next(weight.numel()).reshape(shape)
        # A filter of one sign could be proven to leave nothing for a ReLU to do.
        signs = 1 - 2 * (np.indices(shape).sum(axis=0) % 2)
        weight.data.copy_(torch.from_numpy(marks * signs.astype(np.float32)))
        expected = np.zeros(0, np.float32)
        shift = source.bias
        if source.scale:
            state[source.scale].data.fill_(1.0)
        if source.norm:
            norm = model.get_submodule(source.norm)
            assert isinstance(norm, _BatchNorm)
            state[f"{source.norm}.running_mean"].data.zero_()
            state[f"{source.norm}.running_var"].data.fill_(1.0).sub_(norm.eps)
            if norm.affine:
                state[f"{source.norm}.weight"].data.fill_(1.0)
                state[f"{source.norm}.bias"].data.zero_()
                shift = shift or f"{source.norm}.bias"
        if shift:
            expected = self._next(state[shift].numel())
            state[shift].data.copy_(torch.from_numpy(expected))
        self.placed.append((source, shape, expected))

    def find(self, graph: Graph, node: Node) -> tuple[Source, Array] | None:
        """The source of a layer and the places of its weights, if its constants are marks alone."""
        if not isinstance(node.op, Linear):
            return None
        w, b = (graph.data(name) for name in node.inputs[1:3])
        if w is None or b is None or w.dtype != np.float32 or not w.size:
            return None
        numbers = np.abs(w).view(np.uint32).astype(np.int64) - int(_FIRST)
        at = int(np.searchsorted(self.starts, numbers.flat[0], side="right")) - 1
        if at < 0:
            return None
        source, shape, expected = self.placed[at]
        places = numbers - self.starts[at]
        if not np.array_equal(np.sort(places, axis=None), np.arange(np.prod(shape))):
            return None
        if not np.array_equal(b, expected if expected.size else np.zeros_like(b)):
            return None
        if not np.array_equal(_outputs(node.op, places, shape), np.arange(len(w))):
            return None
        return source, places

    def _next(self, n: int) -> Array:
        bits = np.arange(self.count, self.count + n, dtype=np.uint32) + _FIRST
        self.count += n
        return bits.view(np.float32)


def _outputs(op: Linear, places: Array, shape: tuple[int, ...]) -> Array:
    """Of each output of a layer, which it is in torch; -1 where that is not one."""
    index = np.unravel_index(places.reshape(len(places), -1), shape)
    of = index[0]
    if isinstance(op, ConvTranspose2d):  # torch has inputs first, and the outputs of one group behind them
        of = index[0] // (shape[0] // op.groups) * shape[1] + index[1]
    return np.where((of == of[:, :1]).all(axis=1), of[:, 0], -1)
