"""Synthetic spoken words: phonemes to sound by additive formant synthesis, sound to MFCC features.

Only the spectrum below 4 kHz counts for the features, so the sound is made at 8 kHz. A word is a row of
segments. Each segment pulls the formants (the resonances of the mouth) towards its targets; voiced segments
sound at the harmonics of the pitch, fricatives and bursts are shaped noise. Every speaker has another mouth,
pitch and speed.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

RATE = 8000  # samples per second, and per word
HOP = 40  # samples between two values of a formant track
SCALE = 32  # the network sees feature / 32
HELD_OUT = 1100, 2  # recordings that training never sees, and their seed


@dataclass(frozen=True)
class Segment:
    """A piece of a phoneme: how long, where it resonates, how much of it is voice and noise."""

    ms: float
    formants: tuple[float, float, float]  # Hz
    voice: float = 0.0
    noise: float = 0.0
    centre: float = 0.0  # of the noise, Hz
    width: float = 0.0


def _vowel(f1: float, f2: float, f3: float, ms: float = 130) -> tuple[Segment, ...]:
    return (Segment(ms, (f1, f2, f3), voice=1.0),)


def _stop(f1: float, f2: float, f3: float, centre: float, width: float, voice: float) -> tuple[Segment, ...]:
    """Silence (or a hum, if voiced) while the mouth is shut, then a burst."""
    where = (f1, f2, f3)
    return Segment(55, where, voice), Segment(25, where, voice, noise=0.5, centre=centre, width=width)


PHONEMES: dict[str, tuple[Segment, ...]] = {
    "iy": _vowel(270, 2290, 3010),
    "ih": _vowel(390, 1990, 2550),
    "eh": _vowel(530, 1840, 2480),
    "ae": _vowel(660, 1720, 2410),
    "aa": _vowel(730, 1090, 2440),
    "ao": _vowel(570, 840, 2410),
    "uh": _vowel(440, 1020, 2240),
    "uw": _vowel(300, 870, 2240),
    "ah": _vowel(640, 1190, 2390),
    "er": _vowel(490, 1350, 1690),
    "y": _vowel(260, 2200, 3000, ms=60),
    "w": _vowel(290, 610, 2150, ms=60),
    "r": _vowel(310, 1060, 1380, ms=70),
    "l": _vowel(360, 1300, 2700, ms=70),
    "n": (Segment(80, (280, 1700, 2600), voice=0.4),),
    "m": (Segment(80, (280, 1000, 2200), voice=0.4),),
    "s": (Segment(120, (300, 1700, 2600), noise=0.5, centre=3900, width=900),),
    "sh": (Segment(120, (300, 1900, 2600), noise=0.5, centre=2700, width=700),),
    "f": (Segment(110, (300, 1100, 2300), noise=0.12, centre=2200, width=2500),),
    "p": _stop(300, 800, 2200, centre=800, width=900, voice=0.0),
    "t": _stop(300, 1700, 2600, centre=3600, width=1200, voice=0.0),
    "k": _stop(300, 1900, 2400, centre=1900, width=700, voice=0.0),
    "b": _stop(250, 800, 2200, centre=700, width=900, voice=0.12),
    "d": _stop(250, 1700, 2600, centre=3300, width=1200, voice=0.12),
    "g": _stop(250, 1900, 2400, centre=1800, width=700, voice=0.12),
}

KEYWORDS: dict[str, str] = {
    "yes": "y eh s",
    "no": "n ao uh",
    "up": "ah p",
    "down": "d aa uh n",
    "left": "l eh f t",
    "right": "r aa ih t",
    "on": "aa n",
    "off": "ao f",
    "stop": "s t aa p",
    "go": "g ao uh",
}
WORDS = [*KEYWORDS, "other"]  # the classes

_ONSETS = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "sh", "t", "w", "y", "s t", "k l", "b r"]
_CENTRES = ["iy", "ih", "eh", "ae", "aa", "ao", "uh", "uw", "ah", "er", "aa ih", "aa uh", "ao uh", "ao ih"]
_CODAS = ["", "b", "d", "f", "g", "k", "l", "m", "n", "p", "s", "sh", "t", "n t", "s t", "f t"]


def pronounce(word: str, generator: np.random.Generator) -> list[Segment]:
    """The segments of a keyword, or of phonemes with blanks between; "other" is any other syllable."""
    sounds = word if " " in word else KEYWORDS.get(word, "")
    while not sounds:
        parts = (generator.choice(_ONSETS), generator.choice(_CENTRES), generator.choice(_CODAS))
        invented = " ".join(parts).strip()
        sounds = "" if invented in KEYWORDS.values() else invented
    return [segment for name in sounds.split() for segment in PHONEMES[name]]


def speak(word: str, generator: np.random.Generator) -> Array:
    """One second of sound: the word said by a new speaker, somewhere in a noisy room."""
    segments = pronounce(word, generator)
    mouth, pitch = generator.uniform(0.85, 1.2), generator.uniform(90, 240)
    speed = generator.uniform(0.8, 1.4)
    steps = [max(1, round(s.ms / speed * generator.uniform(0.75, 1.3) * RATE / 1000 / HOP)) for s in segments]

    def track(values: Array) -> Array:
        """One row per HOP, glided as lips and tongue cannot jump."""
        held = np.repeat(values, steps, axis=0)
        edge = np.pad(held, ((4, 4), (0, 0)), mode="edge")
        return np.stack([np.convolve(column, np.full(9, 1 / 9), mode="valid") for column in edge.T], axis=1)

    formants = track(mouth * np.array([s.formants for s in segments]) * _jitter(generator, len(segments)))
    loudness = track(np.array([(s.voice, s.noise) for s in segments]))
    shape = np.repeat(np.array([(s.centre * mouth, s.width + 1) for s in segments]), steps, axis=0)
    spoken = _voice(formants, loudness[:, 0], pitch, generator) + _hiss(shape, loudness[:, 1], generator)

    sound = np.zeros(RATE)
    start = generator.integers(0, max(1, RATE - len(spoken)))
    sound[start : start + len(spoken)] = spoken[:RATE]
    loud = np.sqrt(np.mean(spoken**2))
    noisy: Array = sound + _room(generator) * loud * 10 ** -generator.uniform(0, 1.2)
    return noisy * generator.uniform(0.3, 1.0)


def _jitter(generator: np.random.Generator, segments: int) -> Array:
    return generator.normal(1, 0.05, size=(segments, 3))


def _voice(formants: Array, loudness: Array, pitch: float, generator: np.random.Generator) -> Array:
    """The harmonics of a falling pitch, each as loud as the resonances beneath it make it."""
    count = len(loudness)
    pitches = pitch * np.linspace(generator.uniform(0.95, 1.2), generator.uniform(0.75, 1.0), count)
    orders = np.arange(1, int(RATE / 2 / pitches.max()) + 1)
    frequency = pitches[:, None] * orders  # step, harmonic
    widths = np.array([80.0, 110.0, 170.0])
    gain = np.zeros_like(frequency)
    for formant, width, weight in zip(formants.T, widths, (1.0, 0.7, 0.4), strict=True):
        gain += weight / np.sqrt(1 + ((frequency - formant[:, None]) / width) ** 2)
    gain *= loudness[:, None] / orders**0.5
    phase = 2 * np.pi * np.cumsum(np.repeat(pitches, HOP)) / RATE
    phases = phase[:, None] * orders + generator.uniform(0, 2 * np.pi, len(orders))
    voice: Array = np.sum(np.sin(phases) * np.repeat(gain, HOP, axis=0), axis=1)
    return voice


def _hiss(shape: Array, loudness: Array, generator: np.random.Generator) -> Array:
    """White noise through a band that moves; frames overlap by half, so that nothing clicks."""
    count, size = len(loudness), 2 * HOP
    spectrum = np.fft.rfft(generator.normal(size=(count, size)), axis=1)
    frequency = np.fft.rfftfreq(size, 1 / RATE)
    band = np.exp(-0.5 * ((frequency - shape[:, :1]) / shape[:, 1:]) ** 2) * loudness[:, None]
    frames = np.fft.irfft(spectrum * band, axis=1) * np.hanning(size)
    hiss = np.zeros((count + 1) * HOP)
    for index, frame in enumerate(frames):
        hiss[index * HOP : index * HOP + size] += frame
    return hiss[: count * HOP]


def _room(generator: np.random.Generator) -> Array:
    """A second of background noise of power one, between white and rumbling."""
    spectrum = np.fft.rfft(generator.normal(size=RATE))
    spectrum /= np.maximum(np.arange(len(spectrum)), 50) ** generator.uniform(0, 1)
    noise = np.fft.irfft(spectrum)
    return np.asarray(noise / np.sqrt(np.mean(noise**2)))


FRAMES, COEFFICIENTS = 49, 10
_WINDOW, _STRIDE, _FFT, _BANDS = 240, 160, 256, 40  # 30 ms every 20 ms


def features(sound: Array) -> npt.NDArray[np.int8]:
    """49 frames of 10 mel cepstral coefficients in int8; the first, loudness, is scaled down to fit."""
    starts = _STRIDE * np.arange(FRAMES)
    frames = sound[starts[:, None] + np.arange(_WINDOW)] * np.hanning(_WINDOW)
    power = np.abs(np.fft.rfft(frames, _FFT, axis=1)) ** 2
    log_mel = np.log(power @ _mel_filters().T + 1e-3)
    order, band = np.arange(COEFFICIENTS)[:, None], np.arange(_BANDS)
    cosines = np.cos(np.pi * order * (band + 0.5) / _BANDS) * np.sqrt(2 / _BANDS)
    cepstrum: Array = log_mel @ cosines.T * np.where(order.T == 0, 1.5, 8.0)
    return np.clip(np.rint(cepstrum), -128, 127).astype(np.int8)


def _mel_filters() -> Array:
    """Triangles whose centres are evenly spaced in mel, 20 Hz to 4 kHz."""
    low, high = 1127 * np.log1p(np.array([20, 4000]) / 700)
    corners = 700 * np.expm1(np.linspace(low, high, _BANDS + 2) / 1127)
    frequency = np.fft.rfftfreq(_FFT, 1 / RATE)
    rise = (frequency - corners[:-2, None]) / (corners[1:-1] - corners[:-2])[:, None]
    fall = (corners[2:, None] - frequency) / (corners[2:] - corners[1:-1])[:, None]
    filters: Array = np.maximum(0, np.minimum(rise, fall))
    return filters


def recordings(count: int, seed: int) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int64]]:
    """Features [count, 1, 49, 10] and labels of words said by `count` different speakers."""
    generator = np.random.default_rng(seed)
    labels = np.arange(count) % len(WORDS)
    spoken = [features(speak(WORDS[label], generator)) for label in labels]
    return np.stack(spoken)[:, None], labels


def as_input(recorded: npt.NDArray[np.int8]) -> npt.NDArray[np.float32]:
    """What the network reads."""
    return recorded.astype(np.float32) / np.float32(SCALE)
