"""TFLite Micro's audio front end: windows, Fourier transforms, filter banks, frames of a stream."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import cast, pad, part, where
from edgekit.converters.tensor import Tensor, concat
from edgekit.converters.tflite.layer import TfliteLayer
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.audio import FftAutoScale, SpectrumEnergy, Window
from edgekit.core.ops.fft import Fft, IrfftMerge, RfftSplit
from edgekit.core.ops.filter_bank import FilterBank, FilterBankLog, Pcan, RoundedSqrt, SpectralSubtraction
from edgekit.core.ops.logic import Less, LessOrEqual, ShiftRight
from edgekit.core.types import DType

CUSTOM = "TFLite Micro"
MAX_FRAMES = 1024  # of one run: each is cut out on its own


def SignalWindow(layer: TfliteLayer, x: Tensor, weights: Tensor) -> Tensor:
    size = weights.type.size
    if not size or x.type.size % size:
        raise EdgeKitError("E0401", f"{x.type} is not made of windows of {size} samples")
    rows = x.reshape(x.type.size // size, size)
    shift = np.int16(np.clip(layer.option("shift"), 0, 31))
    return rows.apply(Window(), weights.reshape(size), x.new(np.array(shift), "shift")).reshape(*x.shape)


def SignalFftAutoScale(layer: TfliteLayer, x: Tensor) -> tuple[Tensor, ...]:
    return x.apply_all(FftAutoScale())


def SignalRfft(layer: TfliteLayer, x: Tensor) -> Tensor:
    return x.apply(Fft(_points(layer))).apply(RfftSplit())


def SignalIrfft(layer: TfliteLayer, x: Tensor) -> Tensor:
    points = _points(layer)
    if not x.rank or x.shape[-1] != 2 * points + 2:
        raise EdgeKitError("E0401", f"{points + 1} frequencies are pairs of a number, not {x.type}")
    y = x.apply(IrfftMerge()).apply(Fft(points, inverse=True))
    return y / (2.0 * points) if y.dtype.is_float else y


def _points(layer: TfliteLayer) -> int:
    length = layer.option("fft_length")
    if length % 2:
        raise EdgeKitError("E0401", f"a real transform has an even length, not {length}")
    return length // 2


def SignalEnergy(layer: TfliteLayer, x: Tensor) -> Tensor:
    return x.apply(SpectrumEnergy(layer.option("start_index"), layer.option("end_index")))


def SignalFilterBank(
    layer: TfliteLayer,
    x: Tensor,
    weights: Tensor,
    unweights: Tensor,
    starts: Tensor,
    weight_starts: Tensor,
    widths: Tensor,
) -> Tensor:
    bands = [t.ints("the bands of SignalFilterBank") for t in (starts, weight_starts, widths)]
    count = layer.option("num_channels") + 1
    if any(len(numbers) < count for numbers in bands):
        raise EdgeKitError("E0401", f"{count - 1} channels need {count} bands")
    return x.apply(FilterBank(*(numbers[:count] for numbers in bands)), weights, unweights)


def SignalFilterBankSquareRoot(layer: TfliteLayer, x: Tensor, scale_bits: Tensor) -> Tensor:
    return x.apply(RoundedSqrt()).apply(ShiftRight(), cast(scale_bits, DType.U32))


def SignalFilterBankSpectralSubtraction(layer: TfliteLayer, x: Tensor) -> tuple[Tensor, Tensor]:
    op = SpectralSubtraction(
        smoothing=layer.option("smoothing"),
        one_minus_smoothing=layer.option("one_minus_smoothing"),
        alternate_smoothing=layer.option("alternate_smoothing"),
        alternate_one_minus_smoothing=layer.option("alternate_one_minus_smoothing"),
        smoothing_bits=layer.option("smoothing_bits"),
        min_signal_remaining=layer.option("min_signal_remaining"),
        bits=layer.option("spectral_subtraction_bits"),
        clamping=bool(layer.option("clamping")),
    )
    before = layer.state(x, "noise_estimate", np.zeros(x.shape, np.uint32))
    estimate, y = x.apply_all(op, before)
    layer.write(before, estimate)
    return y, estimate


def SignalPCAN(layer: TfliteLayer, x: Tensor, noise: Tensor, gains: Tensor) -> Tensor:
    return x.apply(Pcan(layer.option("snr_shift")), noise, gains)


def SignalFilterBankLog(layer: TfliteLayer, x: Tensor) -> Tensor:
    return x.apply(FilterBankLog(layer.option("output_scale"), layer.option("input_correction_bits")))


def SignalDelay(layer: TfliteLayer, x: Tensor) -> Tensor:
    """The samples of so long ago."""
    length, axis = layer.option("delay_length"), x.axis(-1)
    x.builder.afford((*x.shape[:-1], max(length, 0)))
    if length < 0:
        raise EdgeKitError("E0401", f"a delay of {length} samples")
    if not length:
        return x
    before = layer.state(x, "delay", np.zeros((*x.shape[:-1], length), x.dtype.numpy))
    stream = concat([before, x], axis)
    layer.write(before, part(stream, axis, x.shape[axis], length))
    return part(stream, axis, 0, x.shape[axis])


def SignalFramer(layer: TfliteLayer, x: Tensor) -> tuple[Tensor, Tensor]:
    """Frames that overlap, and whether all of them are full. Without `prefill` the first ones are not, and
    all begin where the oldest sample of so many steps is that a frame fits."""
    size, step, axis = layer.option("frame_size"), layer.option("frame_step"), x.axis(-1)
    count = _frames(x, size, step)
    ahead = (size if layer.option("prefill") else -(-size // step) * step) - step
    x.builder.afford((*x.shape[:-1], count, size))
    stream = _with_past(layer, x, ahead)
    frames = [part(stream, axis, i * step, size) for i in range(count)]
    y = concat([f.reshape(*x.shape[:-1], 1, size) for f in frames], axis)
    if ahead == size - step and layer.option("prefill"):
        return y, x.new(np.array(True), "valid")
    steps = ahead // step
    seen = layer.state(x, "frames_seen", np.array(0, np.int32))
    layer.write(seen, (seen + count).min(steps))
    return y, seen.like(np.int32(steps)).apply(LessOrEqual(), seen)


def _frames(x: Tensor, size: int, step: int) -> int:
    """How many frames a run gives."""
    if step < 1 or size < step or not x.shape[-1] or x.shape[-1] % step:
        raise EdgeKitError("E0401", f"frames of {size} samples every {step} of {x.type}")
    count = x.shape[-1] // step
    if count > MAX_FRAMES:
        raise EdgeKitError(
            "E0205", f"{count} frames in a run", hint=f"fix the input at {MAX_FRAMES} steps or fewer"
        )
    return count


def _with_past(layer: TfliteLayer, x: Tensor, length: int) -> Tensor:
    """x behind the samples before it."""
    if not length:
        return x
    axis = x.rank - 1
    before = layer.state(x, "samples", np.zeros((*x.shape[:-1], length), x.dtype.numpy))
    stream = concat([before, x], axis)
    layer.write(before, part(stream, axis, x.shape[axis], length))
    return stream


def SignalStacker(layer: TfliteLayer, x: Tensor) -> tuple[Tensor, Tensor]:
    """Frames side by side, and whether they count: once all of the context is there, every so many runs. What
    is missing on the left is the first frame."""
    channels, step = layer.option("num_channels"), layer.option("stacker_step")
    left, right = layer.option("stacker_left_context"), layer.option("stacker_right_context")
    frames = left + right + 1
    if min(left, right) < 0 or not 1 <= step <= frames or x.shape != (channels,):
        raise EdgeKitError("E0401", f"{left} + 1 + {right} frames every {step} of {x.type}")
    x.builder.afford((frames, channels))
    # How many frames wait; below 0 before the first run.
    waiting = layer.state(x, "frames_waiting", np.array(-1, np.int32))
    is_first = waiting.apply(Less(), 0)
    now = where(is_first, waiting.like(np.int32(left)), waiting) + 1
    is_full = waiting.like(np.int32(frames)).apply(LessOrEqual(), now)
    layer.write(waiting, where(is_full, now - step, now))
    if frames == 1:
        return x, is_full
    before = layer.state(x, "frames", np.zeros((frames - 1) * channels, x.dtype.numpy))
    past = where(is_first, concat([x] * (frames - 1), 0), before)
    stack = concat([past, x], 0)
    layer.write(before, part(stack, 0, channels, (frames - 1) * channels))
    return stack, is_full


def SignalOverlapAdd(layer: TfliteLayer, x: Tensor) -> Tensor:
    """A stream from frames that overlap: sums, saturated as each frame comes."""
    step, axis = layer.option("frame_step"), x.axis(-1)
    if x.rank < 2 or not 1 <= step <= x.shape[-1] or not 0 < x.shape[-2] <= MAX_FRAMES:
        raise EdgeKitError("E0401", f"overlapping frames every {step} samples of {x.type}")
    *outer, count, size = x.shape
    tail = layer.state(x, "overlap", np.zeros((*outer, size - step), x.dtype.numpy)) if size > step else None
    last, made = tail, []
    for i in range(count):
        frame = part(x, axis - 1, i, 1).reshape(*outer, size)
        if last is not None:
            frame = _sum(frame, pad(last, (0,) * last.rank, (0,) * len(outer) + (step,), "constant"))
            last = part(frame, frame.rank - 1, step, size - step)
        made.append(part(frame, frame.rank - 1, 0, step))
    if tail is not None and last is not None:
        layer.write(tail, last)
    return concat(made, len(outer))


def _sum(a: Tensor, b: Tensor) -> Tensor:
    if a.dtype.is_float:
        return a + b
    return cast((cast(a, DType.S32) + cast(b, DType.S32)).clip(-(2**15), 2**15 - 1), a.dtype)
