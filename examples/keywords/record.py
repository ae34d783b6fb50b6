"""Record the words that the page in web/ plays: one second each, 16 bits at 8 kHz, by a new speaker."""

import wave
from pathlib import Path

import numpy as np

from examples.keywords.speech import RATE, Array, speak

WEB = Path(__file__).parent / "web"
SPOKEN = {"yes": 21, "stop": 22, "left": 23}  # word and the seed of its speaker
FULL_SCALE = 4.0  # the sound that 32768 stands for; features.js says it, too


def samples(word: str, seed: int) -> Array:
    """The sound as a recording holds it."""
    sound = speak(word, np.random.default_rng(seed))
    return np.clip(np.rint(sound / FULL_SCALE * 32768), -32768, 32767)


def main() -> None:
    """Write the recordings."""
    for word, seed in SPOKEN.items():
        with wave.open(str(WEB / f"{word}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(samples(word, seed).astype("<i2").tobytes())


if __name__ == "__main__":
    main()
