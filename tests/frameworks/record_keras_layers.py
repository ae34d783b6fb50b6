"""Saves layers as JSON and weights beside, as Keras 2 and 3 do: record_keras_layers.py FOLDER.

The installed Keras 3 writes both forms of weights; pack.py makes recorded/keras_layers.zip of the folder.
"""

import sys
from pathlib import Path

import h5py
import keras
import numpy as np
from keras import layers
from keras.src.legacy.saving import legacy_h5_format


def net() -> keras.Model:
    """Convolutions, statistics, and a model in the model."""
    image = keras.Input((8, 8, 2), name="image")
    x = layers.Conv2D(4, 3, padding="same", name="conv")(image)
    x = layers.ReLU(name="act")(layers.BatchNormalization(name="norm")(x))
    x = layers.GlobalAveragePooling2D(name="mean")(x)
    head = keras.Sequential(
        [keras.Input((4,)), layers.Dense(5, "tanh", name="inner"), layers.Dense(3, name="last")]
    )
    made = keras.Model(image, head(x), name="small")
    rng = np.random.default_rng(0)
    for variable in made.weights:
        variable.assign(rng.uniform(0.2, 1, variable.shape).astype(np.float32))
    return made


def main(folder: Path) -> None:
    made = net()
    x = np.random.default_rng(1).normal(size=(1, 8, 8, 2)).astype(np.float32)
    for name in ("older", "newer", "whole"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "net.json").write_text(made.to_json())
        np.savez(folder / name / "io.npz", x0=x, y0=np.asarray(made(x)))
    with h5py.File(folder / "older" / "weights.h5", "w") as file:
        legacy_h5_format.save_weights_to_hdf5_group(file, made)
    made.save_weights(folder / "newer" / "net.weights.h5")
    made.save(folder / "whole" / "net.h5")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
