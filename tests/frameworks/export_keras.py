"""Exports the shared net with the installed Keras: export_keras.py FOLDER."""

import sys
from pathlib import Path

import keras
from keras import layers

sys.path.insert(0, str(Path(__file__).resolve().parent))

from net import EPSILON, weights  # the path comes first


def shared_net() -> keras.Model:
    """The net with its weights; the full layer was trained on C H W."""
    x = keras.Input((16, 16, 3), batch_size=1, name="x")
    y = layers.Conv2D(8, 3, padding="same", name="conv")(x)
    y = layers.ReLU()(layers.BatchNormalization(epsilon=EPSILON, name="bn")(y))
    y = layers.Flatten()(layers.MaxPooling2D(2)(y))
    net = keras.Model(x, layers.Dense(10, name="fc")(y))
    given = weights()
    full = given["fc/W"].reshape(10, 8, 8, 8).transpose(2, 3, 1, 0).reshape(512, 10)
    net.get_layer("conv").set_weights([given["conv/W"].transpose(2, 3, 1, 0), given["conv/b"]])
    net.get_layer("bn").set_weights([given[f"bn/{n}"] for n in ("gamma", "beta", "avg_mean", "avg_var")])
    net.get_layer("fc").set_weights([full, given["fc/b"]])
    return net


def export(folder: Path) -> None:
    """As an archive of Keras 3, and as HDF5."""
    folder.mkdir(parents=True, exist_ok=True)
    net = shared_net()
    net.save(folder / "net.keras")
    net.save(folder / "net.h5")


if __name__ == "__main__":
    export(Path(sys.argv[1]))
