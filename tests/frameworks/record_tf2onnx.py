"""Saves nets of Keras as tf2onnx writes them, and what Keras computes: record_tf2onnx.py FOLDER.

Recurrent layers are loops there, but for those of Keras 2 without masks.
tf2onnx 1.17 wrote what the tests read.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import tf2onnx
import tf_keras

RNG = np.random.default_rng(0)
L, L2 = keras.layers, tf_keras.layers
Net = tuple[Any, np.ndarray]


def rows(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def words() -> np.ndarray:
    return np.array([[1, 2, 0, 0, 5, 0], [0, 0, 0, 0, 0, 0], [0, 7, 4, 9, 1, 2]], np.int32)


def _embedded(*layers: Any) -> Any:
    given = keras.Input((6,), batch_size=3, dtype="int32")
    return keras.Sequential([given, L.Embedding(10, 4, mask_zero=True), *layers])


def one_sequence() -> Net:
    """A batch of one, which tf2onnx squeezes."""
    return keras.Sequential([keras.Input((8, 4), batch_size=1), L.LSTM(3)]), rows(1, 8, 4)


def both_kinds() -> Net:
    net = [keras.Input((8, 4), batch_size=3), L.GRU(3, return_sequences=True), L.LSTM(5)]
    return keras.Sequential(net), rows(3, 8, 4)


def both_directions() -> Net:
    """Of 32 steps, twice."""
    layers = [L.Bidirectional(L.LSTM(4, return_sequences=True)) for _ in range(2)]
    return keras.Sequential([keras.Input((32, 4), batch_size=1), *layers, L.Dense(5)]), rows(1, 32, 4)


def masked() -> Net:
    return _embedded(L.LSTM(3, return_sequences=True), L.GRU(3)), words()


def masked_directions() -> Net:
    """Results of masked steps are 0."""
    return _embedded(L.Bidirectional(L.GRU(3, return_sequences=True)), L.Bidirectional(L.LSTM(2))), words()


def older_masked() -> Net:
    given = tf_keras.Input((6,), batch_size=3, dtype="int32")
    layers = [given, L2.Embedding(10, 4, mask_zero=True), L2.LSTM(3, return_sequences=True), L2.GRU(3)]
    return tf_keras.Sequential(layers), words()


def simple() -> Net:
    return keras.Sequential([keras.Input((6, 4), batch_size=2), L.SimpleRNN(3)]), rows(2, 6, 4)


def record(folder: Path, make: Callable[[], Net]) -> None:
    net, x = make()
    for weight in net.weights:
        weight.assign(RNG.normal(0, 0.5, weight.shape))
    given = [tf.TensorSpec(x.shape, x.dtype, name="x")]
    traced = tf.function(lambda x: net(x, training=False), input_signature=given)
    (folder / make.__name__).mkdir(parents=True, exist_ok=True)
    path = folder / make.__name__ / "net.onnx"
    tf2onnx.convert.from_function(traced, input_signature=given, opset=15, output_path=str(path))
    np.savez(folder / make.__name__ / "io.npz", x0=x, y0=np.asarray(net(x, training=False)))


if __name__ == "__main__":
    for chosen in (
        one_sequence,
        both_kinds,
        both_directions,
        masked,
        masked_directions,
        older_masked,
        simple,
    ):
        record(Path(sys.argv[1]), chosen)
        keras.backend.clear_session()
