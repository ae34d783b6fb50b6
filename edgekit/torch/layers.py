"""Layers that learn: weights, biases, clips (the largest weights that are kept), and batch normalization."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import torch
from torch import nn

from edgekit.core.arguments import array
from edgekit.core.ir import Graph, Node
from edgekit.core.ops import Op
from edgekit.core.ops._linear import Linear
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.layer_norm import LayerNorm, RmsNorm
from edgekit.core.ops.recurrent import Recurrent
from edgekit.core.passes.match import with_fields
from edgekit.core.types import Array, DType, Quant, Value
from edgekit.quantize.rounding.integer_weights import LIMITS, finished_scale, weight_quant
from edgekit.torch.batch_norm import Norm
from edgekit.torch.devices import tensor
from edgekit.torch.fake_quantize import apply_exact, apply_fake_quant
from edgekit.torch.recurrent import unrolled
from edgekit.torch.torch_ops import torch_op
from edgekit.torch.trace import Traced

Tensor = torch.Tensor
_NARROW = {DType.BF16: torch.bfloat16, DType.F16: torch.float16}


class TrainedLayer(nn.Module):
    """Its weights are those before batch normalization is folded. Scales go by outputs: weights are the same
    integers before and after."""

    def __init__(
        self,
        weight: nn.Parameter,
        bias: nn.Parameter,
        clip: nn.Parameter | None,
        norm: Norm | None,
        dtype: DType,
    ) -> None:
        super().__init__()
        if norm is not None:  # its shift learns; of a bias before it, Adam would make steps of noise
            bias.requires_grad_(False)
        self.weight, self.bias, self.clip, self.norm, self.dtype = weight, bias, clip, norm, dtype

    def forward(self, op: Linear, args: Sequence[Tensor], is_live: bool) -> tuple[Tensor, ...]:
        """With weights as the device has them; if it is live, normalized by the statistics of x."""
        x = args[0]
        if self.norm is None or not is_live:
            return (torch_op(op, x, *self._faked()),)
        open_op = with_fields(op, lo=-np.inf, hi=np.inf)
        y = torch_op(open_op, x, self._fake(self.weight), self.bias)
        normalized: Tensor = self.norm(y)
        return (normalized.clamp(op.lo, op.hi),)

    def constants(self) -> tuple[Tensor, ...]:
        """Weights and bias as the graph holds them."""
        return self.folded()[:2]

    def folded(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """Weights, bias and clips with batch normalization in them."""
        if self.norm is None:
            return self.weight, self.bias, self.clip
        w, b = self.norm.folded(self.weight, self.bias)
        return w, b, None if self.clip is None else self.clip * self.norm.factor().abs()

    def integers(self) -> tuple[Array, Quant]:
        """Weights as integers, with a scale for each output."""
        w, _, clip = self.folded()
        assert clip is not None
        return _integers(w, clip, self.dtype)

    def _faked(self) -> tuple[Tensor, Tensor]:
        """Weights and bias as the device has them, with gradients."""
        if self.norm is None:
            return self._fake(self.weight), self.bias
        if self.clip is None:  # floats are rounded once they are folded
            w, b, _ = self.folded()
            return self._fake(w), b
        # Integers are the same before, and what is cut off there counts in full for the normalization.
        return self.norm.folded(self._fake(self.weight), self.bias)

    def _fake(self, w: Tensor) -> Tensor:
        """These weights rounded."""
        if self.clip is not None:
            integers, quant = _integers(w, self.clip, self.dtype)
            real = _reals(integers, quant, w)
            limit = _per_output(self.clip, w)
            return apply_fake_quant(w, real, -limit, limit)
        narrow = _NARROW.get(self.dtype)
        return w if narrow is None else apply_exact(w, w.detach().to(narrow).float())


class TrainedRecurrent(nn.Module):
    """The weights of the state, and the bias of a GRU beside them. Their integers go by the largest weight of
    each gate, as after training; those of other layers can be of 4 bits or floats of 16, these cannot."""

    norm = None

    def __init__(self, constants: Sequence[nn.Parameter], dtype: DType) -> None:
        super().__init__()
        self.weights = nn.ParameterList(constants)
        self.is_integer = dtype.is_integer

    def forward(self, op: Recurrent, args: Sequence[Tensor], is_live: bool) -> tuple[Tensor, ...]:
        x, _, *others = args
        r, *biases = self.weights
        states = others[: len(op.states)]
        return unrolled(op, x, self._fake(r), *states, *biases)

    def constants(self) -> tuple[Tensor, ...]:
        """Weights and bias as the graph holds them."""
        return tuple(self.weights)

    def _fake(self, r: Tensor) -> Tensor:
        if not self.is_integer:
            return r
        integers, quant = weight_quant(array(r))
        real = _reals(integers, quant, r)
        return apply_exact(r, real)


class TrainedOperands(nn.Module):
    """Constants that are no weights of integers of their own: factors and shifts of normalizations, and the
    rows of an embedding, which are rounded as its result is."""

    norm = None

    def __init__(self, constants: Sequence[nn.Parameter], is_table: bool) -> None:
        super().__init__()
        self.operands = nn.ParameterList(constants)
        self.is_table = is_table

    def forward(self, op: Op, args: Sequence[Tensor], is_live: bool) -> tuple[Tensor, ...]:
        x, index, *_ = args
        if self.is_table:
            return (torch_op(op, self.operands[0], index),)
        return (torch_op(op, x, *self.operands),)

    def constants(self) -> tuple[Tensor, ...]:
        """As the graph holds them."""
        return tuple(self.operands)


Learning: TypeAlias = TrainedLayer | TrainedRecurrent | TrainedOperands


def first_clip(weight: Tensor, dtype: DType) -> nn.Parameter | None:
    """The largest weights of each output that are not cut off at first; none where nothing is cut off."""
    if not dtype.is_integer:
        return None
    _, quant = weight_quant(array(weight), bits=dtype.bits)
    return nn.Parameter(torch.tensor(quant.scale) * LIMITS[dtype])


def _integers(weights: Tensor, clip: Tensor, dtype: DType) -> tuple[Array, Quant]:
    w = array(weights).astype(np.float64)
    limit = LIMITS[dtype]
    scale = finished_scale(np.maximum(array(clip).astype(np.float64), 0.0) / limit)
    integers = np.rint(w / scale.reshape(-1, *[1] * (w.ndim - 1))).clip(-limit, limit)
    held = integers.astype(dtype.numpy)
    held.flags.writeable = False
    return held, Quant(tuple(float(s) for s in scale), (0,) * len(scale), 0)


def _reals(integers: Array, quant: Quant, like: Tensor) -> Tensor:
    """The numbers that integers stand for, beside a tensor."""
    scale = np.asarray(quant.scale, np.float32).reshape(-1, *[1] * (like.ndim - 1))
    return tensor(integers.astype(np.float32) * scale, like)


def _per_output(x: Tensor, w: Tensor) -> Tensor:
    return x.reshape(-1, *[1] * (w.ndim - 1))


def learned(node: Node) -> tuple[str, ...]:
    """The operands of a layer that learn where they are constant: weights first. None of other operators."""
    return tuple(node.inputs[i] for i in _places(node))


def _places(node: Node) -> Sequence[int]:
    """Of the operands that learn."""
    match node.op:
        case Linear():
            return 1, 2
        case Recurrent():
            return 1, *range(2 + len(node.op.states), len(node.inputs))
        case LayerNorm() | RmsNorm():
            return range(1, len(node.inputs))
        case Gather():
            return (0,)
    return ()


def trained_layers(graph: Graph, dtype: DType, origin: Traced | None) -> dict[tuple[str, ...], Learning]:
    """The layers with constant weights, by the names of these. What several have in common they learn
    together."""
    parameters: dict[str, nn.Parameter] = {}
    clips: dict[str, nn.Parameter | None] = {}
    layers: dict[tuple[str, ...], Learning] = {}
    for node in graph.nodes:
        if not _has_weights(graph, node):
            continue
        out, names = node.outputs[0], learned(node)
        constants = [torch.tensor(np.asarray(graph.data(name), np.float32)) for name in names]
        norm = None
        if origin and out in origin.sources:
            like, constants = origin.norm(out), list(origin.weights(out))
            norm = Norm(like) if like else None
        for name, data in zip(names, constants, strict=True):
            parameters.setdefault(name, nn.Parameter(data))
        own = [parameters[name] for name in names]
        if isinstance(node.op, Recurrent):
            layers[names] = TrainedRecurrent(own, dtype)
            continue
        if not isinstance(node.op, Linear):
            layers[names] = TrainedOperands(own, isinstance(node.op, Gather))
            continue
        weight, bias = own
        if names[0] not in clips:
            clips[names[0]] = first_clip(weight, dtype)
        layers[names] = TrainedLayer(weight, bias, clips[names[0]], norm, dtype)
    return layers


def with_own_biases(graph: Graph) -> Graph:
    """Biases that happen to be equal, 0 above all, learn independently; so do factors of normalizations."""
    values: dict[str, Value] = dict(graph.values)
    nodes = []
    for node in graph.nodes:
        if _has_weights(graph, node):
            inputs = list(node.inputs)
            is_norm = isinstance(node.op, LayerNorm | RmsNorm)
            for i in _places(node)[0 if is_norm else 1 :]:
                if len(graph.users(inputs[i])) > 1 or inputs.count(inputs[i]) > 1:
                    name = f"{node.outputs[0]}/{i}"
                    values[name], inputs[i] = values[inputs[i]], name
            node = replace(node, inputs=tuple(inputs))
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes), values=values)


def _has_weights(graph: Graph, node: Node) -> bool:
    names = learned(node)
    return bool(names) and all(
        graph.data(name) is not None and graph.type(name).dtype.is_float for name in names
    )
