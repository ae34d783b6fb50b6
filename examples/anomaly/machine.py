"""Synthetic sound of a fan, sound or faulty, and the log-mel features of a piece of it."""

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Fault = Literal["bearing", "rubbing", "loose", "whine"]
FAULTS: tuple[Fault, ...] = get_args(Fault)

RATE = 8000
FRAMES, BANDS = 5, 64
_WINDOW, _STRIDE = 512, 256  # 64 ms every 32 ms
_SAMPLES = _WINDOW + (FRAMES - 1) * _STRIDE


def record(fault: Fault | None, generator: np.random.Generator) -> Array:
    """160 ms of the fan at some speed and load, perhaps with a fault of some strength."""
    seconds = np.arange(_SAMPLES) / RATE
    turns = generator.uniform(28, 32) * seconds + generator.uniform()  # of the rotor
    load = generator.uniform(0.5, 1.5)
    sound = load * _air(generator) + 0.3 * np.sin(2 * np.pi * 100 * seconds + generator.uniform(0, 6))
    for order in range(1, 13):
        loud = 0.5 / order + (0.6 * load if order % 7 == 0 else 0)  # seven blades
        sound += loud * np.sin(2 * np.pi * (order * turns + generator.uniform()))
    if fault is not None:
        sound += generator.uniform(0.1, 0.6) * _faulty(fault, turns, seconds, generator)
    return np.asarray(generator.uniform(0.7, 1.4) * sound)


def _faulty(fault: Fault, turns: Array, seconds: Array, generator: np.random.Generator) -> Array:
    match fault:
        case "bearing":  # a ball runs over a chip, several times a turn, and the housing rings
            since = (3.57 * turns) % 1 / (3.57 * 30)
            return np.asarray(0.8 * np.exp(-since / 0.002) * np.sin(2 * np.pi * 3100 * since))
        case "rubbing":  # a blade touches the housing, once a turn
            return np.asarray(
                1.1 * _band(generator, 1500, 400) * np.maximum(0, np.sin(2 * np.pi * turns)) ** 8
            )
        case "loose":  # the rotor bounces every second turn
            halves = [np.sin(2 * np.pi * order / 2 * turns) for order in range(1, 40, 2)]
            return np.asarray(0.12 * np.sum(halves, axis=0))
        case "whine":
            return np.sin(2 * np.pi * generator.uniform(2000, 2600) * seconds)


def _air(generator: np.random.Generator) -> Array:
    """Flow noise, stronger where the housing resonates."""
    white = 0.05 * generator.normal(size=_SAMPLES)
    return white + 0.4 * _band(generator, 800, 200) + 0.25 * _band(generator, 1900, 300)


def _band(generator: np.random.Generator, centre: float, width: float) -> Array:
    """Noise of power one around a frequency."""
    spectrum = np.fft.rfft(generator.normal(size=_SAMPLES))
    frequency = np.fft.rfftfreq(_SAMPLES, 1 / RATE)
    noise = np.fft.irfft(spectrum * np.exp(-0.5 * ((frequency - centre) / width) ** 2), _SAMPLES)
    return np.asarray(noise / np.sqrt(np.mean(noise**2)))


def features(sound: Array) -> npt.NDArray[np.int8]:
    """Five frames of 64 mel bands, one after the other, in half decibels."""
    starts = _STRIDE * np.arange(FRAMES)
    frames = sound[starts[:, None] + np.arange(_WINDOW)] * np.hanning(_WINDOW)
    power = np.abs(np.fft.rfft(frames, axis=1)) ** 2
    decibels: Array = 10 * np.log10(power @ _mel_filters().T + 1e-3)
    return np.clip(np.rint(2 * decibels), -128, 127).astype(np.int8).ravel()


def _mel_filters() -> Array:
    """Triangles that are evenly spaced in mel up to 4 kHz and at least two FFT bins wide."""
    corners = 700 * np.expm1(np.linspace(0, 1127 * np.log1p(4000 / 700), BANDS + 2) / 1127)
    half = np.maximum(np.diff(corners), 2 * RATE / _WINDOW)
    frequency = np.fft.rfftfreq(_WINDOW, 1 / RATE)
    centre = corners[1:-1, None]
    rise, fall = (frequency - centre) / half[:-1, None], (centre - frequency) / half[1:, None]
    filters: Array = np.maximum(0, 1 + np.minimum(rise, fall))
    return filters
