"""Operators of TFLite Micro's audio front end at random, and what goes into them: noise, tones, extremes."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.tflite_writer import Operator, Tensor, constant
from support.tools import require_module

from edgekit.core.types import Array

Rng = np.random.Generator
TYPES = {"int16": 7, "int32": 2, "float32": 0}  # of the schema


def packed(**values: Any) -> bytes:
    """Options as a FlexBuffer."""
    return bytes(require_module("flatbuffers.flexbuffers").Dumps(values))


def operator(kind: str, inputs: list[Tensor], outputs: list[Tensor], **values: Any) -> Operator:
    return Operator(kind, inputs, outputs, custom=packed(**values) if values else b"")


def audio(rng: Rng, shape: tuple[int, ...], dtype: str = "int16") -> Array:
    """Noise or a tone of any strength, the ends of the range, any numbers."""
    if dtype == "float32":
        return (rng.standard_normal(shape) * np.exp(rng.uniform(-9, 9))).astype(np.float32)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    strength = np.exp(rng.uniform(0, np.log(most)))
    x = (
        rng.standard_normal(shape) * strength,
        strength * np.sin(np.arange(np.prod(shape)).reshape(shape) * rng.uniform(0, 3)),
        rng.choice([least, least + 1, most], shape),
        rng.integers(least, most, shape, endpoint=True),
    )[rng.integers(4)]
    return np.rint(x).clip(least, most).astype(dtype)


def words(rng: Rng, shape: tuple[int, ...], dtype: str) -> Array:
    """Numbers of any size, as energies are."""
    bits = np.iinfo(dtype).bits
    found = [int(rng.integers(2**63)) * 2 >> int(rng.integers(bits)) for _ in range(int(np.prod(shape)))]
    found[: min(2, len(found))] = [2**bits - 1, 0][: len(found)]
    return np.array([v % 2**bits for v in found], dtype).reshape(shape)


def any_input(t: Tensor, rng: Rng) -> Array:
    return words(rng, t.shape, t.dtype) if t.dtype.startswith("u") else audio(rng, t.shape, t.dtype)


def window(rng: Rng) -> Operator:
    rows, n = int(rng.integers(1, 4)), int(rng.integers(1, 65))
    x, w = Tensor((rows, n), "int16"), constant(audio(rng, (n,)), "int16")
    return operator("SignalWindow", [x, w], [x], shift=int(rng.integers(0, 16)))


def fft_auto_scale(rng: Rng) -> Operator:
    x = Tensor((int(rng.integers(1, 40)),), "int16")
    return operator("SignalFftAutoScale", [x], [x, Tensor((), "int32")])


def _transform(rng: Rng) -> tuple[int, str, int]:
    lengths = (4, 6, 10, 16, 24, 30, 32, 48, 60, 90, 128, 250, 512)
    dtype = list(TYPES)[int(rng.integers(3))]
    return int(rng.choice(lengths)), dtype, int(rng.integers(1, 3))


def rfft(rng: Rng) -> Operator:
    length, dtype, rows = _transform(rng)
    x = Tensor((rows, int(rng.integers(1, length + 1))), dtype)
    y = Tensor((rows, length + 2), dtype)
    return operator("SignalRfft", [x], [y], T=TYPES[dtype], fft_length=length)


def irfft(rng: Rng) -> Operator:
    length, dtype, rows = _transform(rng)
    x, y = Tensor((rows, length + 2), dtype), Tensor((rows, length), dtype)
    return operator("SignalIrfft", [x], [y], T=TYPES[dtype], fft_length=length)


def energy(rng: Rng) -> Operator:
    n = int(rng.integers(1, 50))
    start, end = sorted(int(i) for i in rng.integers(0, n + 1, 2))
    x, y = Tensor((2 * n,), "int16"), Tensor((n,), "uint32")
    return operator("SignalEnergy", [x], [y], start_index=start, end_index=end)


def filter_bank(rng: Rng) -> Operator:
    n, channels = int(rng.integers(4, 60)), int(rng.integers(1, 9))
    starts = rng.integers(0, n, channels + 1)
    widths = np.array([rng.integers(0, min(n - s, 12) + 1) for s in starts])
    weights = [constant(audio(rng, (int(widths.sum()) + 1,)), "int16") for _ in range(2)]
    firsts = np.cumsum(widths) - widths
    bands = [constant(numbers, "int16") for numbers in (starts, firsts, widths)]
    x, y = Tensor((n,), "uint32"), Tensor((channels,), "uint64")
    return operator("SignalFilterBank", [x, *weights, *bands], [y], num_channels=channels)


def square_root(rng: Rng) -> Operator:
    n = int(rng.integers(1, 40))
    bits = constant(int(rng.integers(16)))
    x, y = Tensor((n,), "uint64"), Tensor((n,), "uint32")
    return operator("SignalFilterBankSquareRoot", [x, bits], [y])


def spectral_subtraction(rng: Rng) -> Operator:
    n, bits = int(rng.integers(1, 40)), int(rng.integers(8, 16))
    smoothing, other, remaining = (int(rng.integers(0, 2**bits)) for _ in range(3))
    x = Tensor((n,), "uint32")
    return operator(
        "SignalFilterBankSpectralSubtraction",
        [x],
        [x, Tensor((n,), "uint32")],
        smoothing=smoothing,
        one_minus_smoothing=2**bits - smoothing,
        alternate_smoothing=other,
        alternate_one_minus_smoothing=2**bits - other,
        smoothing_bits=int(rng.integers(0, 12)),
        min_signal_remaining=remaining,
        spectral_subtraction_bits=bits,
        clamping=bool(rng.integers(2)),
        num_channels=n,
    )


def pcan(rng: Rng) -> Operator:
    x, noise = (Tensor((40,), "uint32") for _ in range(2))
    gains = constant(rng.integers(-(2**13), 2**13, 125), "int16")
    return operator("SignalPCAN", [x, noise, gains], [x], snr_shift=int(rng.integers(0, 20)))


def log(rng: Rng) -> Operator:
    x, y = Tensor((300,), "uint32"), Tensor((300,), "int16")
    scale, bits = int(rng.integers(1, 1 << int(rng.integers(1, 20)))), int(rng.integers(0, 8))
    return operator("SignalFilterBankLog", [x], [y], output_scale=scale, input_correction_bits=bits)


def delay(rng: Rng) -> Operator:
    x = Tensor((int(rng.integers(1, 4)), int(rng.integers(1, 20))), "int16")
    return operator("SignalDelay", [x], [x], delay_length=int(rng.integers(0, 30)))


def _frames(rng: Rng) -> tuple[int, int, int, int]:
    step = int(rng.integers(1, 12))
    return int(rng.integers(1, 4)), int(rng.integers(1, 4)), step + int(rng.integers(0, 30)), step


def framer(rng: Rng) -> Operator:
    outer, count, size, step = _frames(rng)
    x, y = Tensor((outer, count * step), "int16"), Tensor((outer, count, size), "int16")
    options = {"frame_size": size, "frame_step": step, "prefill": bool(rng.integers(2))}
    return operator("SignalFramer", [x], [y, Tensor((), "bool")], **options)


def stacker(rng: Rng) -> Operator:
    channels, left, right = int(rng.integers(1, 6)), int(rng.integers(0, 4)), int(rng.integers(0, 3))
    frames = left + right + 1
    x, y = Tensor((channels,), "int16"), Tensor((channels * frames,), "int16")
    options = {"num_channels": channels, "stacker_left_context": left, "stacker_right_context": right}
    step = int(rng.integers(1, frames + 1))
    return operator("SignalStacker", [x], [y, Tensor((), "bool")], **options, stacker_step=step)


def overlap_add(rng: Rng) -> Operator:
    outer, count, size, step = _frames(rng)
    dtype = ("int16", "float32")[int(rng.integers(2))]
    x, y = Tensor((outer, count, size), dtype), Tensor((outer, count * step), dtype)
    return operator("SignalOverlapAdd", [x], [y], T=TYPES[dtype], frame_step=step)


KINDS = {
    "window": window,
    "fft_auto_scale": fft_auto_scale,
    "rfft": rfft,
    "irfft": irfft,
    "energy": energy,
    "filter_bank": filter_bank,
    "square_root": square_root,
    "spectral_subtraction": spectral_subtraction,
    "pcan": pcan,
    "log": log,
    "delay": delay,
    "framer": framer,
    "stacker": stacker,
    "overlap_add": overlap_add,
}
