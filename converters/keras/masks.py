"""Masks of Keras, steps of sequences that count: layers make them, read them, or pass them on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce as fold
from typing import Any, TypeAlias

import numpy as np

from edgekit.converters.keras.layer import KerasLayer
from edgekit.converters.semantics.aten import reduce
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.logic import And, Equal, Not, Or

Mask: TypeAlias = "Tensor | None"
RECURRENT = ("LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional")
_READING = (*RECURRENT, "GlobalAveragePooling1D", "Softmax")
_MERGING = ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum")
_PASSING = """
    Activation ActivityRegularization AlphaDropout BatchNormalization Dense Dropout ELU
    GaussianDropout GaussianNoise GroupNormalization Identity LayerNormalization LeakyReLU
    MultiHeadAttention Normalization PReLU ReLU Rescaling SpatialDropout1D SpatialDropout2D
    SpatialDropout3D ThresholdedReLU TimeDistributed UnitNormalization
"""


@dataclass(frozen=True)
class MaskRules:
    """How a version of Keras treats masks; 0 is a program that treats them in other ways."""

    version: int

    def read(
        self, layer: KerasLayer, masks: Sequence[Any], named: Mapping[str, Any], options: Mapping[str, Any]
    ) -> dict[str, Any]:
        """What a layer is told of the masks of its operands, by position and by name, beside the options of
        the call."""
        if layer.is_operation:
            return {}
        if layer.kind == "MultiHeadAttention":
            found = dict(zip(("query", "value", "key"), masks, strict=False)) | dict(named)
            known = {f"{key}_mask": m for key, m in found.items() if isinstance(m, Tensor)}
            return {**known, "dropout": 0.0} if known and self.version < 3 else known
        mask = masks[0] if masks else None
        # From version 3 on, a mask is read where one argument alone is a tensor.
        is_alone = self.version < 3 or not options.get("initial_state")
        return {"mask": mask} if layer.kind in _READING and mask is not None and is_alone else {}

    def passed(
        self, layer: KerasLayer, operands: Sequence[Any], masks: Sequence[Any], results: Sequence[Tensor]
    ) -> tuple[Mask, ...]:
        """The masks of results."""
        if layer.is_operation:
            return (None,) * len(results)
        found = [self._mask(layer, operands, masks)] * (1 + _is_pair(layer))
        found += [None] * (len(results) - len(found))
        if self.version or not any(found):
            return tuple(found)
        raise EdgeKitError("E0205", "masks of this program are not supported", f"layer {layer.name}")

    def takes_away(self, layer: KerasLayer) -> bool:
        """Do its operands have no masks from then on?"""
        return self.version > 2 and layer.kind == "MultiHeadAttention"

    def _mask(self, layer: KerasLayer, operands: Sequence[Any], masks: Sequence[Any]) -> Mask:
        if layer.kind == "Masking":
            return steps_unlike(operands[0], layer.config.number("mask_value", 0.0))
        if layer.kind == "Embedding":
            return unlike(operands[0], 0) if layer.config.flag("mask_zero", False) else None
        if layer.kind in (*_MERGING, "Concatenate"):
            return self._joint(layer, *_beside(operands, masks))
        returns = layer.kind in _PASSING.split() or (layer.kind in RECURRENT and _returns_steps(layer))
        return masks[0] if returns and masks and isinstance(masks[0], Tensor) else None

    def _joint(self, layer: KerasLayer, xs: Sequence[Tensor], masks: Sequence[Mask]) -> Mask:
        """Of results that are merged: version 2 wants each of the masks, version 3 one of them."""
        known = [m for m in masks if m is not None]
        joint = Or() if self.version > 2 else And()
        if layer.kind != "Concatenate":
            is_known = known and (self.version < 3 or len(known) == len(masks))
            return fold(lambda a, b: a.apply(joint, b), known) if is_known else None
        if not known:
            return None
        every = [m or x.new(np.ones(x.shape[:-1], np.bool_)) for x, m in zip(xs, masks, strict=True)]
        axis = xs[0].axis(layer.config.integer("axis", -1))
        return concat(every, axis) if axis < xs[0].rank - 1 else fold(lambda a, b: a.apply(joint, b), every)


def unlike(x: Tensor, value: float) -> Tensor:
    return x.apply(Equal(), value).apply(Not())


def steps_unlike(x: Tensor, value: float) -> Tensor:
    """Where a cell of a step is something else."""
    return reduce.any(unlike(x, value), dim=-1)


def _is_pair(layer: KerasLayer) -> bool:
    """Two results for each step?"""
    return layer.kind == "Bidirectional" and layer.config.fields.get("merge_mode") is None


def _returns_steps(layer: KerasLayer) -> bool:
    inner = next(layer.inner()) if layer.kind == "Bidirectional" else layer
    return inner.config.flag("return_sequences", False)


def _beside(operands: Sequence[Any], masks: Sequence[Any]) -> tuple[list[Tensor], list[Mask]]:
    """Operands and their masks, given one by one or in a list."""
    pairs = [
        pair
        for x, m in zip(operands, masks, strict=True)
        for pair in (zip(x, m, strict=True) if isinstance(x, list | tuple) else [(x, m)])
    ]
    return [x for x, _ in pairs], [m for _, m in pairs]
