"""Nets of TensorFlow with branches, loops and recurrent layers."""

from typing import Any

import numpy as np
import tensorflow as tf
from keras import layers
from nets_tensorflow import Net, model, net, real, weights
from nets_tensorflow_ops import function


def sequence(build: Any, size: int = 4) -> Net:
    return model((5, size), build), [real(1, 5, size)]


@net()
def lstm() -> Net:
    return sequence(lambda x: layers.LSTM(3)(layers.LSTM(6, return_sequences=True)(x)))


@net()
def gru() -> Net:
    return sequence(lambda x: layers.GRU(3)(layers.GRU(6, return_sequences=True)(x)))


@net()
def gru_before() -> Net:
    """Resets the state before the product."""
    return sequence(lambda x: layers.GRU(6, reset_after=False, return_sequences=True)(x))


@net()
def bidirectional() -> Net:
    def build(x: Any) -> Any:
        x = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
        return layers.Bidirectional(layers.GRU(2), merge_mode="sum")(x)

    return sequence(build)


@net()
def simple_rnn() -> Net:
    return sequence(
        lambda x: layers.SimpleRNN(4, return_sequences=True)(layers.TimeDistributed(layers.Dense(3))(x))
    )


@net()
def unrolled_lstm() -> Net:
    return sequence(lambda x: layers.LSTM(4, unroll=True)(x))


@net()
def convolutional_lstm() -> Net:
    def build(x: Any) -> Any:
        return layers.ConvLSTM2D(3, 3, padding="same")(x)

    return model((3, 5, 5, 2), build), [real(1, 3, 5, 5, 2)]


@net()
def branches() -> Net:
    def body(x: Any, i: Any) -> Any:
        y = tf.cond(tf.reduce_sum(x) > 0, lambda: x * 2.0, lambda: x - 1.0)
        cases = [lambda: tf.sin(x), lambda: tf.cos(x), lambda: tf.exp(x)]
        z = tf.switch_case(i, cases)
        return y, z, tf.cond(tf.constant(True), lambda: x, lambda: -x)

    return function(body, real(2, 3), np.int32(1))


@net()
def counted_loop() -> Net:
    w = weights(3, 3)

    def body(x: Any) -> Any:
        for _ in tf.range(40):
            x = tf.tanh(x @ w) + x
        return x

    return function(body, real(2, 3))


@net()
def gathered_rows() -> Net:
    """Results of a loop in a list."""

    def body(x: Any) -> Any:
        rows = tf.TensorArray(tf.float32, 4)
        total = tf.zeros([3])
        for i in tf.range(4):
            total += x[i]
            rows = rows.write(i, total)
        return rows.stack(), tf.map_fn(lambda row: tf.reduce_max(row) * row, x)

    return function(body, real(4, 3))
