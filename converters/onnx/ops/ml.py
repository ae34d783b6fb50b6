"""Operators of the domain ai.onnx.ml that tensors can express."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.converters.onnx.ops.indexing import Gather
from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.core.ops.logic import Less
from edgekit.core.reasons import OperandError
from edgekit.core.types import DType

DOMAIN = "ai.onnx.ml"


def ArrayFeatureExtractor(x: Tensor, index: Tensor) -> Tensor:
    count = index.type.size
    shape = (1, count) if x.rank == 1 else (*x.shape[:-1], count)
    return Gather(x, index.reshape(count), axis=-1).reshape(*shape)


def Binarizer(x: Tensor, *, threshold: float = 0.0) -> Tensor:
    return cast(x.like(threshold).apply(Less(), x), x.dtype)


def Scaler(
    x: Tensor, *, offset: Sequence[float] | None = None, scale: Sequence[float] | None = None
) -> Tensor:
    """(x - offset) * scale, each one number or as many as there are features."""
    x = cast(x, DType.F32)
    return (x - _by_feature(x, "offset", offset or [0])) * _by_feature(x, "scale", scale or [1])


def _by_feature(x: Tensor, name: str, numbers: Sequence[float]) -> Tensor:
    if len(numbers) > 1 and x.shape[-1:] != (len(numbers),):
        raise OperandError(f"{len(numbers)} numbers of {name} are not for {x.type}")
    return x.like(np.array(numbers))
