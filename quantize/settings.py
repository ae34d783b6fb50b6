"""How a model is quantized: what users may choose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from edgekit.core import format_costs, number_formats, suggest
from edgekit.core.arguments import check_fields
from edgekit.core.errors import EdgeKitError
from edgekit.core.format_costs import FormatCosts
from edgekit.core.target import Target
from edgekit.quantize.calibration.observe import RANGES
from edgekit.quantize.calibration.search_budget import PASSES
from edgekit.quantize.gate import Gate
from edgekit.quantize.integers.integer_io import KINDS, Io
from edgekit.quantize.mixed_precision.format_search import LADDER

AUTO = "auto"
METHODS = (AUTO, *RANGES)
WEIGHTS = {"int8": ("int8", "int4"), "bf16": ("bf16",), "f16": ("f16",)}
MAX_GROUP = 1 << 16
LEAST_SQNR = 25.0  # dB at the worst output: below, layers get better formats
LEAST_WITH_ACCURACY = 20.0  # dB: less is worth a word where a gate asks for accuracy alone
EFFORTS = ("quick", "normal", "high")
KV_CACHES = ("float32", "int8")
ACTIVATIONS = {
    "int8": ("int8", "int16", "float32", "dynamic"),
    "bf16": ("float32", "bf16"),
    "f16": ("float32", "f16"),
}


@dataclass(frozen=True)
class Settings:
    """How a model is quantized."""

    dtype: str = "int8"  # integers, or 16-bit floats: bf16, f16
    # int8, int16, float32, or dynamic: int8 with a scale for each row, chosen in each run; with 16-bit floats
    # float32, or the same; empty: the first
    activations: str = ""
    weights: str = ""  # int8 or int4 beside integers; empty: like dtype
    # Weights in a row that share a scale, where activations are float32 or dynamic; 0: 32, or all of a row
    # where both sides are int8, which loses little
    group: int = 0
    kv_cache: str = ""  # int8: caches of decoders, with a scale for each row; empty: float32
    # quick: one method chooses all ranges; high: weights beside int8 or int16 are rounded for the sake of
    # layers' outputs, and the search for ranges goes on where it no longer pays
    effort: str = "normal"
    calibrate: str = AUTO  # how ranges are chosen
    passes: float = PASSES  # of floats over the data: how long `auto` may take, about
    io: Io = "float"  # what inputs and outputs are
    gate: Gate = field(default_factory=Gate)
    formats: Sequence[str] = LADDER  # that layers may have where int8 does not pass the gate
    target: str | Target = ""  # on which formats are to be fast: one of `edgekit targets`, or any
    strict_int8: bool = False  # without a gate, too noisy layers stay in int8 (or int4) all the same

    def __post_init__(self) -> None:
        if isinstance(self.io, str):  # other names of what its annotation lists
            object.__setattr__(self, "io", number_formats.among(self.io, KINDS))
        check_fields(self)
        if self.target:
            format_costs.load(self.target)  # or an error that there is no such target
        for name, value in self._canonical().items():
            object.__setattr__(self, name, value)
        if not 0 <= self.group <= MAX_GROUP:
            message = f"groups of {self.group} weights make no sense"
            raise EdgeKitError("E0103", message, hint="32 is usual; 16 to 128 are common")
        for value, known, what in (
            (self.calibrate, METHODS, "calibration"),
            (self.io, KINDS, "kind of inputs and outputs"),
            (self.dtype, (*ACTIVATIONS, "int16", "int4"), "format"),
            (self.activations, ("", *ACTIVATIONS.get(self.dtype, ())), f"activations with {self.dtype}"),
            (self.weights, ("", *WEIGHTS.get(self.dtype, ())), f"format of weights with {self.dtype}"),
            (self.kv_cache, ("", *KV_CACHES), "format of K/V caches"),
            (self.effort, EFFORTS, "effort"),
            *((name, LADDER, "format of layers") for name in self.formats),
        ):
            if value not in known:
                hint = suggest.hint(value, filter(None, known))
                if (other := number_formats.canonical(value)) in WEIGHTS and value == self.weights:
                    hint = f"the format of all layers is another setting: --dtype {other}. {hint}"
                raise EdgeKitError("E0103", f"unknown {what}: {value}", hint=hint)
        if self.has_int8_caches and self.dtype == "int8" and not self.is_groupwise:
            message = f"caches in int8 need activations in floats, not {self.activations or self.dtype}"
            hint = "--activations dynamic, or float32 for integers of weights and caches alone"
            raise EdgeKitError("E0103", message, hint=hint)

    def _canonical(self) -> dict[str, object]:
        """Formats by their one name. int16 stands for activations of 16 bits beside weights of 8, as that of
        other tools does, and int4 for weights of 4 bits beside activations of 8."""
        dtype, weights, activations = number_formats.canonical(self.dtype), self.weights, self.activations
        if dtype == "int16":
            dtype, activations = "int8", activations or "int16"
        if dtype == "int4":
            dtype, weights = "int8", weights or "int4"
        return {
            "dtype": dtype,
            "weights": number_formats.among(weights, WEIGHTS.get(dtype, ())),
            "activations": number_formats.among(activations, ACTIVATIONS.get(dtype, ())),
            "kv_cache": number_formats.among(self.kv_cache, KV_CACHES),
            "formats": tuple(number_formats.among(name, LADDER) for name in self.formats),
        }

    @property
    def costs(self) -> FormatCosts:
        """What layers take in each format."""
        return format_costs.load(self.target)

    @property
    def name(self) -> str:
        """What a file in these formats is called after: the format that was asked for."""
        return self.activations if self.activations == "int16" else self.weights or self.dtype

    @property
    def is_mixed_by_need(self) -> bool:
        """Do layers that are too noisy in int8 get better formats, though there is no gate?"""
        is_int8 = {self.dtype, self.weights or "int8", self.activations or "int8"} == {"int8"}
        return is_int8 and self.gate.is_open and not self.strict_int8

    @property
    def wanted_of_weights(self) -> float | None:
        """dB at the worst output, for which matrices of int4 become int8; None: they stay what they are."""
        if not self.is_groupwise or self.weights != "int4" or self.strict_int8:
            return None
        return LEAST_SQNR if self.gate.is_open else self.gate.min_sqnr

    @property
    def has_int16_outputs(self) -> bool:
        """May dense layers give 16 bits, of which outputs in floats are made?"""
        is_int8 = {self.dtype, self.activations or "int8"} == {"int8"}
        return is_int8 and self.io == "float" and not self.strict_int8

    @property
    def is_groupwise(self) -> bool:
        """Have groups of weights scales of their own? Ranges of activations are not calibrated then."""
        return self.dtype == "int8" and self.activations in ("float32", "dynamic")

    @property
    def is_calibrated(self) -> bool:
        """Are there integers on both sides, with ranges of activations that samples give?"""
        return self.dtype == "int8" and not self.is_groupwise

    @property
    def has_int8_caches(self) -> bool:
        """Are keys and values of earlier tokens kept as int8?"""
        return self.kv_cache == "int8"

    @property
    def weights_in_group(self) -> int:
        """How many weights of a row share a scale; those of a shorter row all do."""
        is_int8 = self.activations == "dynamic" and (self.weights or self.dtype) == "int8"
        return self.group or (MAX_GROUP if is_int8 else 32)

    @property
    def meaning(self) -> str:
        """The formats in words."""
        activations = self.activations or ACTIVATIONS[self.dtype][0]
        return f"weights in {self.weights or self.dtype}, activations in {activations}"


DEFAULT = Settings()
