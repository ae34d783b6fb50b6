"""Random layers that are counted: formats of inputs, weights and results, a rule of rounding, families."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks import calibration_decoders as decoders
from benchmarks import calibration_layers as layers
from edgekit.core.types import DType

_S4, _S8, _S16, _F32 = DType.S4, DType.S8, DType.S16, DType.F32
Plan = tuple[tuple[DType, DType, DType], str, tuple[layers.Family, ...]]
PLANS: Sequence[Plan] = (
    ((_S8, _S8, _S8), "E", layers.LAYERS + layers.OTHERS + layers.INTEGERS),
    ((_S8, _S8, _S8), "tfl", layers.LAYERS + layers.OTHERS + layers.INTEGERS),
    ((_S8, _S4, _S8), "E", layers.LAYERS),
    (
        (_S16, _S8, _S16),
        "E",
        layers.LAYERS + layers.INTEGERS + (layers.joined, layers.moved, layers.pool, layers.pair),
    ),
    ((_S16, _S8, _S8), "E", layers.LAYERS),
    ((_S8, _S8, _S16), "E", layers.LAYERS),
    ((_F32, _F32, _F32), "E", layers.LAYERS + layers.OTHERS + layers.FLOATS),
    ((_F32, DType.BF16, _F32), "E", (*layers.LAYERS, layers.residual)),
    ((_F32, DType.F16, _F32), "E", (*layers.LAYERS, layers.residual)),
    # What networks have most of.
    ((_S8, _S8, _S8), "E", layers.COMMON),
    ((_S8, _S8, _S8), "tfl", layers.COMMON),
    ((_S8, _S8, _S8), "E", (layers.recurrent,)),
    ((_F32, _F32, _F32), "E", (layers.recurrent,)),
    # Weights of which blocks are zero.
    ((_S8, _S8, _S8), "E", layers.PRUNED),
    ((_S8, _S8, _S8), "tfl", layers.PRUNED),
    # Decoders.
    ((_F32, _F32, _F32), "E", decoders.DECODERS),
    ((_F32, _F32, _F32), "E", decoders.ROWS),
    # What is quantized in each run as a whole, and weights of int8 in layers of floats.
    ((_F32, _F32, _F32), "E", (*decoders.RUNS, layers.recurrent_with_relu)),
    ((_F32, _S8, _F32), "E", layers.LAYERS),
    ((_F32, _F32, _F32), "E", layers.SPECIAL),
    ((_F32, DType.BF16, _F32), "E", layers.SPECIAL[:-1]),
    ((_F32, DType.F16, _F32), "E", layers.SPECIAL[:-1]),
    # What few networks have.
    ((_S8, _S8, _S8), "E", layers.RARE),
    ((_S8, _S8, _S8), "tfl", layers.RARE),
    ((_F32, _F32, _F32), "E", decoders.OTHER_SCALES),
)
