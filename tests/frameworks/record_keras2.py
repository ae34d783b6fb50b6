"""Saves nets with Keras 2 (tf_keras), as HDF5, and what it computes: record_keras2.py FOLDER."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tf_keras
from tf_keras import layers

Net = tuple[Any, list[np.ndarray]]
RNG = np.random.default_rng(0)


def rand(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def older() -> Net:
    """Layers that are called twice, a model in a model, and weights that older files name otherwise."""
    x = tf_keras.Input((5, 4), batch_size=2)
    shared = layers.Dense(4, activation="tanh")
    y = shared(shared(x))
    y = tf_keras.Sequential([layers.Dense(4), layers.BatchNormalization(), layers.Dense(4)])(y)
    y = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(y)
    y = layers.LeakyReLU(0.1)(y)
    y = layers.MultiHeadAttention(2, 3)(y, y)
    y = layers.Conv1D(3, 3, padding="same")(y)
    return tf_keras.Model(x, layers.Add()([y, y])), [rand(2, 5, 4)]


def older_masked() -> Net:
    """Masks, which are joined and read in other ways than by version 3."""
    x, ids = tf_keras.Input((6, 4), batch_size=3), tf_keras.Input((6,), batch_size=3, dtype="int32")
    y, words = layers.Masking()(x), layers.Embedding(10, 4, mask_zero=True)(ids)
    steps, *states = layers.LSTM(3, return_sequences=True, return_state=True)(words)
    attention = layers.MultiHeadAttention(2, 3, dropout=0.1)(words, y)
    found = [
        steps,
        *states,
        layers.LSTM(3, return_sequences=True)(y, initial_state=states),
        layers.Bidirectional(layers.GRU(3, return_sequences=True), merge_mode="ave")(y),
        layers.GRU(3)(layers.Add()([y, words])),
        layers.GRU(3)(layers.Add()([x, words])),
        layers.GRU(3)(layers.Concatenate()([y, words])),
        layers.GRU(3)(layers.Concatenate(axis=1)([y, words])),
        layers.SimpleRNN(3)(attention),
        attention,
        layers.SimpleRNN(3)(words),
    ]
    given = rand(3, 6, 4)
    given[0, 2:4] = given[1, :1] = given[1, 4:] = given[2] = 0
    indices = np.array([[1, 2, 0, 0, 5, 0], [0, 0, 0, 0, 0, 0], [0, 7, 4, 9, 1, 2]], np.int32)
    return tf_keras.Model([x, ids], found), [given, indices]


def record(folder: Path, make: Callable[[], Net]) -> None:
    net, xs = make()
    for weight in net.weights:
        if "variance" not in weight.name:
            weight.assign(RNG.normal(0, 0.3, weight.shape))
    (folder / make.__name__).mkdir(parents=True, exist_ok=True)
    net.save(folder / make.__name__ / "net.h5")
    results = net(xs if len(xs) > 1 else xs[0], training=False)
    ys = [np.asarray(y) for y in (results if isinstance(results, list) else [results])]
    arrays = {f"x{i}": x for i, x in enumerate(xs)} | {f"y{i}": y for i, y in enumerate(ys)}
    np.savez(folder / make.__name__ / "io.npz", **arrays)


if __name__ == "__main__":
    for chosen in (older, older_masked):
        record(Path(sys.argv[1]), chosen)
