"""Small nets of TensorFlow: what each computes, and its inputs."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers

RNG = np.random.default_rng(1)
Net = tuple[Any, list[np.ndarray]]  # a model of Keras or a function, and its inputs
NETS: dict[str, Callable[[], Net]] = {}
DYNAMIC: set[str] = set()  # nets whose batch stays open


def net(*, is_dynamic: bool = False) -> Callable[[Callable[[], Net]], Callable[[], Net]]:
    def added(make: Callable[[], Net]) -> Callable[[], Net]:
        NETS[make.__name__] = make
        if is_dynamic:
            DYNAMIC.add(make.__name__)
        return make

    return added


def real(*shape: int, low: float = -1, high: float = 1) -> np.ndarray:
    return RNG.uniform(low, high, shape).astype(np.float32)


def weights(*shape: int) -> tf.Variable:
    """Of few bits, so that archives stay small."""
    return tf.Variable(np.round(RNG.normal(0, 8, shape)).astype(np.float32) / 16)


def settle(model: Any) -> None:
    """Weights as training leaves them, and of few bits: no scale is 1, no offset and no mean is 0."""
    for weight in model.weights:
        kind = weight.path.split("/")[-1]
        if kind in ("gamma", "variance", "moving_variance"):
            weight.assign(np.round(RNG.uniform(8, 24, weight.shape)) / 16)
        elif "seed" not in kind and kind != "count":
            fan = max(int(np.prod(weight.shape[:-1])), 1)
            weight.assign(np.round(RNG.normal(0, 6, weight.shape)) / (16 * max(round(fan**0.5 / 3), 1)))


def model(shape: tuple[int, ...], build: Callable[[Any], Any], **options: Any) -> Any:
    x = keras.Input(shape, **options)
    return keras.Model(x, build(x))


def image(build: Callable[[Any], Any], size: int = 12, channels: int = 3) -> Net:
    return model((size, size, channels), build), [real(1, size, size, channels)]


# Networks of Keras


def unit(x: Any, filters: int, kernel: int = 3, **options: Any) -> Any:
    x = layers.Conv2D(filters, kernel, padding="same", use_bias=False, **options)(x)
    return layers.ReLU(6.0)(layers.BatchNormalization()(x))


@net(is_dynamic=True)
def dense() -> Net:
    stack = [
        layers.Dense(8, "relu"),
        layers.Dense(6, "tanh"),
        layers.Dropout(0.2),
        layers.Dense(3, "softmax"),
    ]
    return keras.Sequential([keras.Input((5,)), *stack]), [real(1, 5)]


@net(is_dynamic=True)
def mobilenet_v1() -> Net:
    def build(x: Any) -> Any:
        x = unit(x, 8, strides=2)
        for filters, strides in ((8, 1), (12, 2), (12, 1)):
            x = layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(x)
            x = unit(layers.ReLU(6.0)(layers.BatchNormalization()(x)), filters, 1)
        return layers.Dense(5, "softmax")(layers.GlobalAveragePooling2D()(x))

    return image(build, 16)


@net(is_dynamic=True)
def mobilenet_v2() -> Net:
    def block(x: Any, filters: int, strides: int) -> Any:
        y = unit(x, 3 * x.shape[-1], 1)
        y = layers.ZeroPadding2D(((0, 1), (0, 1)))(y) if strides == 2 else y
        y = layers.DepthwiseConv2D(3, strides=strides, padding="valid" if strides == 2 else "same")(y)
        y = layers.BatchNormalization()(
            layers.Conv2D(filters, 1)(layers.ReLU(6.0)(layers.BatchNormalization()(y)))
        )
        return layers.Add()([x, y]) if strides == 1 and x.shape[-1] == filters else y

    def build(x: Any) -> Any:
        x = unit(x, 6, strides=2)
        for filters, strides in ((6, 1), (8, 2), (8, 1)):
            x = block(x, filters, strides)
        return layers.Dense(4)(layers.GlobalAveragePooling2D()(unit(x, 16, 1)))

    return image(build, 16)


@net()
def mobilenet_v3() -> Net:
    """Squeeze and excitation, hard sigmoids and hard swishes."""

    def build(x: Any) -> Any:
        x = layers.Activation("hard_swish")(layers.Conv2D(8, 3, strides=2, padding="same")(x))
        y = layers.DepthwiseConv2D(5, padding="same", activation="hard_swish")(x)
        s = layers.GlobalAveragePooling2D(keepdims=True)(y)
        s = layers.Conv2D(8, 1, activation="hard_sigmoid")(layers.Conv2D(4, 1, activation="relu")(s))
        return layers.Add()([x, layers.Conv2D(8, 1)(layers.Multiply()([y, s]))])

    return image(build)


@net()
def efficientnet() -> Net:
    def build(x: Any) -> Any:
        x = layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 0.5])(layers.Rescaling(0.5)(x))
        x = layers.Activation("swish")(
            layers.BatchNormalization()(layers.Conv2D(8, 3, strides=2, padding="same")(x))
        )
        s = layers.Reshape((1, 1, 8))(layers.GlobalAveragePooling2D()(x))
        s = layers.Conv2D(8, 1, activation="sigmoid")(layers.Conv2D(2, 1, activation="swish")(s))
        return layers.Conv2D(6, 1)(layers.Multiply()([x, s]))

    return image(build)


@net(is_dynamic=True)
def resnet() -> Net:
    def build(x: Any) -> Any:
        x = layers.MaxPooling2D(3, 2)(layers.ZeroPadding2D(1)(unit(x, 8)))
        y = layers.BatchNormalization()(layers.Conv2D(8, 3, padding="same")(unit(x, 8)))
        x = layers.ReLU()(layers.Add()([x, y]))
        y = layers.Conv2D(12, 3, strides=2, padding="same")(x)
        x = layers.ReLU()(layers.Add()([layers.Conv2D(12, 1, strides=2)(x), y]))
        return layers.Dense(4, "softmax")(layers.Flatten()(x))

    return image(build)


@net()
def densenet() -> Net:
    def build(x: Any) -> Any:
        for _ in range(3):
            x = layers.Concatenate()(
                [x, layers.Conv2D(4, 3, padding="same")(layers.ReLU()(layers.BatchNormalization()(x)))]
            )
        return layers.AveragePooling2D(2)(layers.Conv2D(6, 1)(x))

    return image(build)


@net()
def inception() -> Net:
    def build(x: Any) -> Any:
        parts = [unit(x, 4, 1), unit(unit(x, 3, 1), 4, (1, 5)), unit(x, 4, (5, 1))]
        parts.append(unit(layers.AveragePooling2D(3, 1, padding="same")(x), 4, 1))
        return layers.MaxPooling2D(3, 2, padding="same")(layers.Concatenate()(parts))

    return image(build)


@net(is_dynamic=True)
def unet() -> Net:
    def build(x: Any) -> Any:
        a = unit(x, 6)
        b = unit(layers.MaxPooling2D()(a), 8)
        c = layers.Conv2DTranspose(6, 3, strides=2, padding="same", activation="relu")(b)
        d = layers.UpSampling2D(interpolation="bilinear")(b)
        e = layers.UpSampling2D()(b)
        return layers.Conv2D(2, 1, activation="sigmoid")(layers.Concatenate()([a, c, d, e]))

    return image(build)


@net()
def dilated() -> Net:
    def build(x: Any) -> Any:
        y = layers.Conv2D(6, 3, dilation_rate=2, padding="same")(x)
        z = layers.DepthwiseConv2D(3, dilation_rate=2, padding="same", depth_multiplier=2)(x)
        return layers.SeparableConv2D(4, 3)(layers.Add()([y, z]))

    return image(build)


@net(is_dynamic=True)
def lines() -> Net:
    def build(x: Any) -> Any:
        x = layers.Conv1D(8, 3, padding="causal", dilation_rate=2, activation="elu")(x)
        x = layers.MaxPooling1D()(layers.LayerNormalization()(x))
        x = layers.SeparableConv1D(6, 3, activation="selu")(x)
        x = layers.Conv1DTranspose(5, 4, strides=2, padding="same")(x)
        return layers.GlobalMaxPooling1D()(layers.AveragePooling1D(3, 1, padding="same")(x))

    return model((16, 3), build), [real(1, 16, 3)]


@net()
def volumes() -> Net:
    def build(x: Any) -> Any:
        x = layers.MaxPooling3D(2)(layers.Conv3D(4, 3, padding="same", activation="relu")(x))
        return layers.AveragePooling3D(2)(layers.Conv3DTranspose(3, 2, strides=2)(x))

    return model((4, 6, 6, 2), build), [real(1, 4, 6, 6, 2)]


@net(is_dynamic=True)
def transformer() -> Net:
    def build(x: Any) -> Any:
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(2, 4)(y, y)])
        y = layers.Dense(16, "gelu")(layers.LayerNormalization()(x))
        return layers.Add()([x, layers.Dense(8)(y)])

    return model((6, 8), build), [real(1, 6, 8)]


@net()
def causal_attention() -> Net:
    def build(x: Any) -> Any:
        return layers.MultiHeadAttention(2, 3)(x, x, use_causal_mask=True)

    return model((5, 6), build, batch_size=1), [real(1, 5, 6)]


@net(is_dynamic=True)
def words() -> Net:
    def build(x: Any) -> Any:
        return layers.Dense(3)(layers.GlobalAveragePooling1D()(layers.Embedding(20, 6)(x)))

    return model((7,), build, dtype="int32"), [RNG.integers(0, 20, (1, 7)).astype(np.int32)]


@net()
def activations() -> Net:
    names = ["elu", "exponential", "gelu", "hard_sigmoid", "hard_swish", "leaky_relu", "log_softmax", "mish"]
    names += ["relu6", "selu", "sigmoid", "softplus", "softsign", "swish", "tanh", "softmax"]

    def build(x: Any) -> Any:
        made = [layers.Dense(4, name)(x) for name in names]
        return layers.Concatenate()(
            [*made, layers.PReLU()(x), layers.ReLU(2.0, 0.1, 0.3)(x), layers.ELU(0.5)(x)]
        )

    return model((6,), build), [real(1, 6, low=-3, high=3)]


@net()
def norms() -> Net:
    def build(x: Any) -> Any:
        a = layers.GroupNormalization(2)(x)
        b = layers.UnitNormalization()(x)
        c = layers.BatchNormalization(axis=1)(x)
        return layers.Concatenate()([a, b, c, layers.LayerNormalization(axis=[1, 2])(x)])

    return image(build, 6, 4)


@net()
def moves() -> Net:
    def build(x: Any) -> Any:
        a = layers.Permute((3, 1, 2))(layers.Cropping2D(((1, 0), (2, 1)))(x))
        b = layers.Reshape((8, -1))(layers.ZeroPadding2D(((1, 0), (2, 1)))(x))
        c = layers.RepeatVector(3)(layers.Flatten()(x))
        return a, layers.Dot((2, 2))([b, b]), layers.GlobalMaxPooling1D()(c)

    return image(build, 7, 4)


@net()
def merges() -> Net:
    x, y = keras.Input((5,), name="left"), keras.Input((5,), name="right")
    kinds = (layers.Add, layers.Subtract, layers.Multiply, layers.Average, layers.Maximum, layers.Minimum)
    made = keras.Model([x, y], [kind()([x, y]) for kind in kinds])
    return made, [real(1, 5), real(1, 5)]
