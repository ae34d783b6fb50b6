"""How a model is quantized: what users may choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from edgekit.core.errors import EdgeKitError
from edgekit.quantize.calibration.observe import RANGES
from edgekit.quantize.gate import Gate
from edgekit.quantize.integers.integer_io import KINDS, Io
from edgekit.quantize.mixed_precision.format_search import LADDER

AUTO = "auto"
METHODS = (AUTO, *RANGES)
WEIGHTS = {"int8": ("int8", "int4"), "bf16": ("bf16",), "f16": ("f16",)}
EFFORTS = ("normal", "high")
ACTIVATIONS = {"int8": ("int8", "int16"), "bf16": ("float32", "bf16"), "f16": ("float32", "f16")}


@dataclass(frozen=True)
class Settings:
    """How a model is quantized."""

    dtype: str = "int8"  # integers, or 16-bit floats: bf16, f16
    activations: str = ""  # int8 or int16; with 16-bit floats float32, or the same; empty: the first of these
    weights: str = ""  # int8 or int4 beside integers; empty: like dtype
    effort: str = "normal"  # high: weights are rounded for the sake of each layer's outputs
    calibrate: str = AUTO  # how ranges are chosen
    io: Io = "float"  # what inputs and outputs are
    gate: Gate = field(default_factory=Gate)
    formats: Sequence[str] = LADDER  # that layers may have where int8 does not pass the gate

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.calibrate, METHODS, "calibration"),
            (self.io, KINDS, "kind of inputs and outputs"),
            (self.dtype, tuple(ACTIVATIONS), "format"),
            (self.activations, ("", *ACTIVATIONS.get(self.dtype, ())), f"activations with {self.dtype}"),
            (self.weights, ("", *WEIGHTS.get(self.dtype, ())), f"format of weights with {self.dtype}"),
            (self.effort, EFFORTS, "effort"),
            *((name, LADDER, "format of layers") for name in self.formats),
        ):
            if value not in known:
                raise EdgeKitError(
                    "E0103", f"no such {what}: {value}", hint=f"one of {', '.join(filter(None, known))}"
                )


DEFAULT = Settings()
