"""The shared net for those who export it anew: a convolution, batch norm, relu, max pool, a full layer."""

from pathlib import Path

import numpy as np

SAMPLES = Path(__file__).resolve().parents[1] / "frontends" / "samples"
EPSILON = 1e-5  # of the batch norm


def weights() -> dict[str, np.ndarray]:
    """`conv/W` (O I H W), `conv/b`, `bn/gamma`, `bn/beta`, `bn/avg_mean`, `bn/avg_var`, `fc/W` (outputs,
    inputs) and `fc/b`, for images of N C H W."""
    with np.load(SAMPLES / "chainer" / "weights.npz") as stored:
        return {name: stored[name] for name in stored.files}


def recorded() -> tuple[np.ndarray, np.ndarray]:
    """An image, N C H W, and what the net says of it."""
    with np.load(SAMPLES / "torch" / "io.npz") as stored:
        return stored["x"], stored["y"]
