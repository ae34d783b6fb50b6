"""Saves nets with the installed Keras, and what it computes: record_keras.py FOLDER [NAME ...].

Without names these are the small nets of nets_keras.py; `keras.applications` has the others.
"""

import sys
from pathlib import Path
from typing import Any

import keras
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from nets_keras import NETS, RNG, Net  # the path comes first

_SIZE = (96, 96, 3)


def record(folder: Path, name: str) -> None:
    """The model, and its inputs and outputs in io.npz."""
    net, xs = made(name)
    settle(net)
    (folder / name).mkdir(parents=True, exist_ok=True)
    net.save(folder / name / "net.keras")
    # What a layer computes may differ from its weights until these are loaded.
    net = keras.models.load_model(folder / name / "net.keras")
    results = net(xs if len(xs) > 1 else xs[0], training=False)
    ys = [np.asarray(y) for y in (results if isinstance(results, list) else [results])]
    arrays = {f"x{i}": x for i, x in enumerate(xs)} | {f"y{i}": y for i, y in enumerate(ys)}
    np.savez(folder / name / "io.npz", **arrays)


def made(name: str) -> Net:
    if name in NETS:
        return NETS[name]()
    image = RNG.uniform(-1, 1, (1, *_SIZE)).astype(np.float32)
    return getattr(keras.applications, name)(input_shape=_SIZE, weights=None), [image]


def settle(net: Any) -> None:
    """Weights as training leaves them: no scale is 1, no offset and no mean is 0."""
    for weight in net.weights:
        kind = weight.path.split("/")[-1]
        if kind in ("gamma", "variance", "moving_variance"):
            weight.assign(RNG.uniform(0.5, 1.5, weight.shape))
        elif kind in ("beta", "bias", "mean", "moving_mean", "alpha"):
            weight.assign(RNG.normal(0, 0.1, weight.shape))


if __name__ == "__main__":
    for chosen in sys.argv[2:] or NETS:
        record(Path(sys.argv[1]), chosen)
        keras.backend.clear_session()
