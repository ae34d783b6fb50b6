"""Sequences of tensors: they exist during import only, where all that is asked of them is known."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.converters.tensor import Tensor


@dataclass(frozen=True)
class TensorList:
    items: tuple[Tensor, ...]


# What an ONNX name may stand for.
Edge = Tensor | TensorList
