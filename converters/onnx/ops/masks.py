"""What the reader makes of several nodes: see masked_assignment.py."""

from __future__ import annotations

from edgekit.converters.onnx.masked_assignment import DOMAIN as DOMAIN
from edgekit.converters.semantics.movement import cast, where
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType


def MaskedFill(x: Tensor, mask: Tensor, number: Tensor) -> Tensor:
    """The number where the mask, of the first dimensions of x, is not 0."""
    if mask.shape != x.shape[: mask.rank] or number.type.size != 1:
        raise EdgeKitError("E0401", f"a mask {mask.type} chooses among {x.type}")
    chosen = cast(mask, DType.BOOL).reshape(*mask.shape, *(1,) * (x.rank - mask.rank))
    return where(chosen, cast(number, x.dtype).reshape(*(1,) * x.rank), x)
