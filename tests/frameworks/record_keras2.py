"""Saves a net with Keras 2 (tf_keras), as HDF5, and what it computes: record_keras2.py FOLDER."""

import os
import sys
from pathlib import Path

os.environ["TF_USE_LEGACY_KERAS"] = "1"

import numpy as np
import tf_keras
from tf_keras import layers


def record(folder: Path) -> None:
    """Layers that are called twice, a model in a model, and weights that older files name otherwise."""
    random = np.random.default_rng(0)
    x = tf_keras.Input((5, 4), batch_size=2)
    shared = layers.Dense(4, activation="tanh")
    y = shared(shared(x))
    y = tf_keras.Sequential([layers.Dense(4), layers.BatchNormalization(), layers.Dense(4)])(y)
    y = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(y)
    y = layers.LeakyReLU(0.1)(y)
    y = layers.MultiHeadAttention(2, 3)(y, y)
    y = layers.Conv1D(3, 3, padding="same")(y)
    net = tf_keras.Model(x, layers.Add()([y, y]))
    for weight in net.weights:
        if "variance" not in weight.name:
            weight.assign(random.normal(0, 0.3, weight.shape))
    (folder / "older").mkdir(parents=True, exist_ok=True)
    net.save(folder / "older" / "net.h5")
    given = random.standard_normal((2, 5, 4)).astype(np.float32)
    np.savez(folder / "older" / "io.npz", x0=given, y0=np.asarray(net(given, training=False)))


if __name__ == "__main__":
    record(Path(sys.argv[1]))
