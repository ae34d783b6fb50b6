"""Operators of the domain ai.onnx.ml that tensors can express."""

from __future__ import annotations

from edgekit.converters.onnx.ops.indexing import Gather
from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.logic import Less

DOMAIN = "ai.onnx.ml"


def ArrayFeatureExtractor(x: Tensor, index: Tensor) -> Tensor:
    count = index.type.size
    shape = (1, count) if x.rank == 1 else (*x.shape[:-1], count)
    return Gather(x, index.reshape(count), axis=-1).reshape(*shape)


def Binarizer(x: Tensor, *, threshold: float = 0.0) -> Tensor:
    return cast(x.like(threshold).apply(Less(), x), x.dtype)
