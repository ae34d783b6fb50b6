"""Small nets of Keras that use nearly all of its layers, each with inputs."""

from typing import Any

import keras
import numpy as np
from keras import layers, ops

RNG = np.random.default_rng(0)
Net = tuple[Any, list[np.ndarray]]


def rand(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def windows() -> Net:
    """Convolutions and poolings, with sizes that padding does not split evenly."""
    x = keras.Input((9, 8, 4), batch_size=2)
    found = []
    for padding in ("same", "valid"):
        for stride in (1, 2, 3):
            found += [
                layers.Conv2D(3, (3, 2), strides=stride, padding=padding, activation="relu")(x),
                layers.DepthwiseConv2D(3, strides=stride, padding=padding, depth_multiplier=2)(x),
                layers.SeparableConv2D(2, 2, strides=stride, padding=padding, use_bias=False)(x),
                layers.Conv2DTranspose(2, 4, strides=stride, padding=padding)(x),
                layers.Conv2DTranspose(2, 2, strides=stride, padding=padding, activation="elu")(x),
                layers.MaxPooling2D(3, strides=stride, padding=padding)(x),
                layers.AveragePooling2D((2, 3), strides=stride, padding=padding)(x),
            ]
    found.append(layers.Conv2D(4, 3, dilation_rate=2, groups=2, padding="same")(x))
    found += [layers.GlobalAveragePooling2D(keepdims=True)(x), layers.GlobalMaxPooling2D()(x)]
    return keras.Model(x, found), [rand(2, 9, 8, 4)]


def lines() -> Net:
    """Windows over one dimension and over three."""
    x, volume = keras.Input((7, 4), batch_size=2), keras.Input((4, 5, 6, 2), batch_size=2)
    found = [
        layers.Conv1D(3, 3, padding="causal", dilation_rate=2)(x),
        layers.Conv1D(3, 3, strides=2, padding="same")(x),
        layers.DepthwiseConv1D(3, strides=2, padding="same")(x),
        layers.SeparableConv1D(3, 3)(x),
        layers.Conv1DTranspose(3, 3, strides=2, padding="same")(x),
        layers.MaxPooling1D(2)(x),
        layers.AveragePooling1D(3, strides=2, padding="same")(x),
        layers.GlobalAveragePooling1D()(x),
        layers.ZeroPadding1D((1, 2))(x),
        layers.Cropping1D((1, 2))(x),
        layers.UpSampling1D(2)(x),
        layers.Conv3D(3, (2, 3, 2), strides=2, padding="same")(volume),
        layers.MaxPooling3D(2)(volume),
        layers.AveragePooling3D(2, padding="same")(volume),
        layers.ZeroPadding3D(1)(volume),
        layers.Cropping3D(1)(volume),
        layers.UpSampling3D(2)(volume),
    ]
    return keras.Model([x, volume], found), [rand(2, 7, 4), rand(2, 4, 5, 6, 2)]


def cells() -> Net:
    """Activations and normalizations."""
    x = keras.Input((5, 6, 4), batch_size=2)
    names = "relu6 leaky_relu hard_sigmoid log_sigmoid hard_tanh tanh_shrink softmax log_softmax softplus"
    names += " softsign soft_shrink hard_shrink elu celu selu gelu silu hard_silu mish exponential tanh"
    found = [layers.Activation(name)(x) for name in names.split()]
    found += [
        layers.ReLU(max_value=1.5, negative_slope=0.1)(x),
        layers.ReLU(max_value=1.5, threshold=0.3)(x),
        layers.LeakyReLU(0.2)(x),
        layers.PReLU(shared_axes=[1, 2])(x),
        layers.ELU(0.7)(x),
        layers.Softmax(axis=1)(x),
        layers.BatchNormalization()(x),
        layers.BatchNormalization(axis=1, scale=False)(x),
        layers.LayerNormalization()(x),
        layers.LayerNormalization(axis=[-2, -1], center=False)(x),
        layers.GroupNormalization(2)(x),
        layers.GroupNormalization(-1, axis=1)(x),
        layers.RMSNormalization()(x),
        layers.UnitNormalization()(x),
        layers.Rescaling([0.1, 0.2, 0.3, 0.4], offset=-1)(x),
        layers.Normalization(mean=[1.0, 2, 3, 4], variance=[0.1, 0.2, 0.3, 0.4])(x),
        layers.Normalization(mean=1.0, variance=2.0, axis=None, invert=True)(x),
        layers.Normalization()(x),
    ]
    return keras.Model(x, found), [rand(2, 5, 6, 4)]


def moves() -> Net:
    """Shapes, borders, joints, and what only training does."""
    x, y = keras.Input((6, 5, 4), batch_size=2), keras.Input((6, 5, 4), batch_size=2)
    flat = layers.Flatten()(x)
    rows, others = layers.Reshape((-1, 4))(x), layers.Reshape((10, 12))(y)
    found = [
        *(merge()([x, y]) for merge in (layers.Add, layers.Multiply, layers.Average, layers.Maximum)),
        *(merge()([x, y]) for merge in (layers.Minimum, layers.Subtract, layers.Concatenate)),
        layers.Concatenate(axis=1)([x, y]),
        layers.Dot(axes=(1, 2))([layers.Reshape((12, 10))(x), others]),
        layers.Permute((3, 1, 2))(x),
        layers.RepeatVector(2)(flat),
        layers.ZeroPadding2D(((1, 2), (3, 0)))(x),
        layers.Cropping2D(((1, 2), (3, 0)))(x),
        layers.CenterCrop(4, 3)(x),
        layers.UpSampling2D((2, 3))(x),
        layers.UpSampling2D((2, 3), interpolation="bilinear")(x),
        layers.Resizing(5, 9)(x),
        layers.GaussianNoise(0.1)(layers.Dropout(0.5)(layers.SpatialDropout1D(0.5)(rows))),
        layers.RandomFlip()(layers.RandomRotation(0.2)(x)),
        ops.relu(x) + ops.mean(y, axis=1, keepdims=True) / 2.0 - 3.0 * ops.sigmoid(y),
        ops.concatenate([x[:, 1:], ops.transpose(y, (0, 1, 2, 3))[:, :1]], axis=1),
        1.0 - ops.clip(x, -0.5, 0.5) * ops.gelu(y),
    ]
    return keras.Model([x, y], found), [rand(2, 6, 5, 4), rand(2, 6, 5, 4)]


def recurrent() -> Net:
    """Layers over time, in both directions, and with states."""
    x = keras.Input((5, 4), batch_size=2)
    found: list[Any] = []
    for layer in (layers.LSTM, layers.GRU, layers.SimpleRNN):
        found += [
            layer(3)(x),
            layer(3, return_sequences=True, go_backwards=True, use_bias=False)(x),
            layer(3, activation="relu")(x),
            layers.Bidirectional(layer(3, return_sequences=True))(x),
            layers.Bidirectional(layer(3), merge_mode="sum")(x),
        ]
        steps, *states = layer(3, return_sequences=True, return_state=True)(x)
        found += [*states, layer(3)(steps, initial_state=states)]
    found += [layers.GRU(3, reset_after=False)(x), layers.RNN(layers.LSTMCell(3))(x)]
    found.append(layers.TimeDistributed(layers.Dense(2, activation="tanh"))(x))
    return keras.Model(x, found), [rand(2, 5, 4)]


def attention() -> Net:
    """A table, heads of several kinds, and einsum."""
    ids, memory = keras.Input((5,), batch_size=2, dtype="int32"), keras.Input((3, 6), batch_size=2)
    x = layers.Embedding(10, 6)(ids)
    found = [
        layers.MultiHeadAttention(2, 3, value_dim=4)(x, memory),
        layers.MultiHeadAttention(2, 3, use_bias=False)(x, x, use_causal_mask=True),
        layers.MultiHeadAttention(2, 3)(x, memory, key=memory),
        layers.EinsumDense("abc,cde->abde", output_shape=(None, 3, 4), bias_axes="de")(x),
    ]
    given = [RNG.integers(0, 10, (2, 5)).astype(np.int32), rand(2, 3, 6)]
    return keras.Model([ids, memory], found), given


def nested() -> Net:
    """Models in models, and layers that are called several times."""
    x = keras.Input((6,), batch_size=2)
    shared = layers.Dense(6, activation="tanh")
    inner = keras.Input((6,))
    twice = keras.Model(inner, [layers.Dense(6)(inner) + 1, layers.BatchNormalization()(inner)])
    sequence = keras.Sequential([layers.Dense(6), layers.BatchNormalization(), layers.Dense(6)])
    a, b = twice(sequence(x))
    c, d = twice(shared(shared(a)))
    return keras.Model(x, [sequence(a) * b, shared(c), d]), [rand(2, 6)]


def masked() -> Net:
    """Steps that do not count, wherever these are: layers over time, attention, means."""
    x, ids = keras.Input((6, 4), batch_size=3), keras.Input((6,), batch_size=3, dtype="int32")
    first = keras.Input((3,), batch_size=3)
    y, words = layers.Masking(0.5)(x), layers.Embedding(10, 4, mask_zero=True)(ids)
    wide = layers.Dense(4, activation="tanh")(layers.Dropout(0.5)(y))
    found: list[Any] = [y]
    for layer in (layers.LSTM, layers.GRU, layers.SimpleRNN):
        steps, *states = layer(3, return_sequences=True, return_state=True)(words)
        found += [
            steps,
            *states,
            layer(3)(wide),
            layer(3, go_backwards=True)(steps),
            layer(3, return_sequences=True, go_backwards=True)(words),
            layer(3, return_sequences=True, activation="relu")(y),
            layers.Bidirectional(layer(3, return_sequences=True))(words),
            layers.Bidirectional(layer(3), merge_mode="sum")(wide),
            layer(3, return_sequences=True)(words, initial_state=states, mask=ids > 3),
            layer(3)(words, initial_state=[first] * len(states)),
            layer(3, zero_output_for_mask=True)(words),
        ]
    steps = layers.TimeDistributed(layers.Dense(4))(
        layers.RNN(layers.GRUCell(3), return_sequences=True)(words)
    )
    joint = layers.Concatenate(axis=1)([y, words])
    found += [
        layers.GlobalAveragePooling1D()(layers.LayerNormalization()(joint)),
        layers.GRU(3)(layers.Add()([y, steps])),
        layers.GRU(3)(layers.Concatenate()([y, x])),
        layers.GRU(3)(joint),
        layers.GRU(3)(layers.Conv1D(3, 3)(words)),
        layers.MultiHeadAttention(2, 3)(words, y),
        layers.GRU(3)(layers.MultiHeadAttention(2, 3, dropout=0.1)(wide, wide, use_causal_mask=True)),
    ]
    inner = keras.Sequential([layers.Dense(4), layers.LSTM(3, return_sequences=True), layers.GRU(2)])
    found.append(inner(layers.Embedding(10, 4, mask_zero=True)(ids)))
    steps = rand(3, 6, 4)
    steps[0, 2:4] = steps[1, :1] = steps[1, 4:] = steps[2] = 0.5
    steps[0, 0, 0] = 0.5
    words = np.array([[1, 2, 0, 0, 5, 0], [0, 0, 0, 0, 0, 0], [0, 7, 4, 9, 1, 2]], np.int32)
    return keras.Model([x, ids, first], found), [steps, words, rand(3, 3)]


NETS = {make.__name__: make for make in (windows, lines, cells, moves, recurrent, attention, nested, masked)}
