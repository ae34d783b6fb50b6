"""Functions of TensorFlow that use its operators one by one, as nets."""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from nets_tensorflow import RNG, Net, net, real, weights


def function(body: Callable[..., Any], *xs: np.ndarray) -> Net:
    return body, list(xs)


@net()
def arithmetic() -> Net:
    def body(x: Any, y: Any) -> Any:
        z = tf.abs(x) + 1.0
        made = [x + y, x - y, x * y, x / (y + 2), tf.maximum(x, y), tf.minimum(x, y), z**y, z**3.0]
        made += [tf.math.squared_difference(x, y), tf.math.divide_no_nan(x, tf.nn.relu(y)), x // y, x % y]
        made += [tf.math.xlogy(tf.nn.relu(x), z), tf.math.multiply_no_nan(x, tf.nn.relu(y)), tf.atan2(x, y)]
        made += [tf.add_n([x, y, z]), tf.clip_by_value(x, -0.3, 0.4), tf.math.xdivy(tf.nn.relu(x), z)]
        return tf.stack(made)

    return function(body, real(3, 4), real(3, 4))


@net()
def functions_of_one() -> Net:
    def body(x: Any) -> Any:
        z = tf.abs(x) + 0.1
        made = [
            f(x)
            for f in (tf.abs, tf.asin, tf.acos, tf.atan, tf.asinh, tf.sin, tf.cos, tf.tan, tf.sinh, tf.cosh)
        ]
        made += [
            f(x) for f in (tf.exp, tf.math.expm1, tf.floor, tf.math.ceil, tf.round, tf.math.rint, tf.sign)
        ]
        made += [f(x) for f in (tf.math.erf, tf.math.erfc, tf.square, tf.negative, tf.atanh, tf.math.tanh)]
        made += [f(z) for f in (tf.sqrt, tf.math.rsqrt, tf.math.log, tf.math.log1p, tf.math.reciprocal)]
        return tf.stack([*made, tf.acosh(z + 1)])

    return function(body, real(3, 5, low=-0.9, high=0.9))


@net()
def integers() -> Net:
    def body(x: Any, y: Any) -> Any:
        made = [
            x + y,
            x * y - x,
            x // y,
            x % y,
            tf.maximum(x, y),
            tf.abs(x),
            tf.sign(x),
            tf.math.floordiv(x, y),
        ]
        made += [
            tf.math.floormod(x, y),
            tf.cast(tf.cast(x, tf.float32) * 1.5, tf.int32),
            tf.truncatediv(x, y),
        ]
        return tf.stack(made), tf.cast(x, tf.int64), tf.cast(x > 0, tf.float32), tf.truncatemod(x, y)

    xs = [RNG.integers(-9, 9, (3, 4)).astype(np.int32), RNG.integers(1, 5, (3, 4)).astype(np.int32)]
    return function(body, *xs)


@net()
def comparisons() -> Net:
    def body(x: Any, y: Any) -> Any:
        made = [x < y, x <= y, x > y, x >= y, tf.equal(x, y), tf.not_equal(x, y)]
        logic = [made[0] & made[1], made[2] | made[5], ~made[4], tf.math.is_nan(x), tf.math.is_inf(x)]
        chosen = tf.where(x < y, x, y), tf.raw_ops.Select(condition=x[:, 0] < 0, x=x, y=y)
        return (
            *chosen,
            tf.stack([*made, *logic, tf.math.is_finite(x)]),
            tf.reduce_any(x < y),
            tf.reduce_all(x < 2),
        )

    return function(body, real(3, 4), real(3, 4))


@net()
def slices() -> Net:
    def body(x: Any) -> Any:
        made = (x[1], x[:, -1], x[..., 1:3], x[::2, ::-1], x[:, tf.newaxis, 1:], x[0, ..., tf.newaxis, :2])
        return (*made, tf.slice(x, [0, 1, 0], [2, -1, 3]), x[-2:, 1:-1, ::3], tf.reverse(x, [0, 2]))

    return function(body, real(3, 4, 5))


@net()
def splits() -> Net:
    def body(x: Any) -> Any:
        a, b = tf.split(x, 2, axis=1)
        c, d = tf.split(x, [1, 3], axis=1)
        e = tf.unstack(x, axis=2)
        return tf.concat([a, d, b, c], 1), tf.stack(e[::-1], 1), tf.stack([a, b], -1)

    return function(body, real(2, 4, 3))


@net()
def shapes() -> Net:
    def body(x: Any) -> Any:
        n = tf.shape(x)
        flat = tf.reshape(x, [n[0], n[1] * n[2]])
        wide = tf.broadcast_to(x[:, :1], [n[0], 3, n[2]])
        return (
            flat,
            wide,
            tf.transpose(x, [2, 0, 1]),
            tf.squeeze(x[:, :1], [1]),
            tf.fill(n[1:], 2.0),
            tf.zeros_like(x),
        )

    return function(body, real(2, 4, 3))


@net()
def borders() -> Net:
    def body(x: Any) -> Any:
        pads = [[0, 0], [1, 2], [2, 0]]
        made = tf.pad(x, pads), tf.pad(x, pads, constant_values=1.5), tf.pad(x, pads, "REFLECT")
        return (*made, tf.pad(x, pads, "SYMMETRIC"), tf.tile(x, [1, 2, 3]), tf.roll(x, [1, -1], [1, 2]))

    return function(body, real(2, 3, 4))


@net()
def blocks() -> Net:
    def body(x: Any) -> Any:
        a = tf.nn.space_to_depth(x, 2)
        b = tf.nn.depth_to_space(x, 2)
        c = tf.space_to_batch(x, [2, 2], [[1, 1], [0, 2]])
        return a, b, c, tf.batch_to_space(c, [2, 2], [[1, 1], [0, 2]])

    return function(body, real(1, 4, 6, 4))


@net()
def gathers() -> Net:
    def body(x: Any, i: Any) -> Any:
        made = tf.gather(x, i), tf.gather(x, i, axis=1), tf.gather(x, [[0, 2], [1, 1]], axis=-1)
        nd = tf.stack([i, i], 1)
        scattered = tf.scatter_nd(tf.expand_dims(i, 1), tf.ones([3, 2]), [5, 2])
        return (*made, tf.gather_nd(x, nd), scattered, tf.tensor_scatter_nd_update(x, nd, tf.zeros([3, 3])))

    return function(body, real(4, 4, 3), np.array([2, 0, 3], np.int32))


@net()
def batched_gathers() -> Net:
    def body(x: Any, i: Any) -> Any:
        return tf.gather(x, i, batch_dims=1), tf.gather(x, i, batch_dims=1, axis=2)

    return function(body, real(2, 4, 4), RNG.integers(0, 4, (2, 3)).astype(np.int32))


@net()
def places() -> Net:
    def body(x: Any, i: Any) -> Any:
        values, at = tf.math.top_k(x, 3)
        hot = tf.one_hot(i, 5), tf.one_hot(i, 5, 2.0, -1.0, axis=0)
        best = tf.argmax(x, 1), tf.argmin(x, 0, tf.int32)
        sums = tf.cumsum(x, 1), tf.cumsum(x, 0, exclusive=True, reverse=True), tf.math.cumprod(x, 1)
        return (
            values,
            at,
            *hot,
            *best,
            *sums,
            tf.linalg.band_part(x, 1, 2),
            tf.linspace(0.0, 1.0, 5) + x[:1, :5],
        )

    return function(body, real(4, 6), np.array([1, 4, 7], np.int32))


@net()
def reductions() -> Net:
    def body(x: Any) -> Any:
        made = (
            tf.reduce_sum(x, 1),
            tf.reduce_mean(x, [0, 2], keepdims=True),
            tf.reduce_max(x),
            tf.reduce_min(x, -1),
        )
        more = tf.reduce_prod(x, 1), tf.reduce_logsumexp(x, 2), tf.math.reduce_std(x, 1), tf.norm(x, axis=2)
        mean, variance = tf.nn.moments(x, [1])
        return (*made, *more, mean, variance, tf.nn.l2_normalize(x, 2), tf.nn.l2_loss(x))

    return function(body, real(2, 3, 4))


@net()
def products() -> Net:
    a, b = weights(4, 3), weights(2, 3, 5)

    def body(x: Any, y: Any) -> Any:
        made = (
            tf.matmul(x, a),
            tf.matmul(y, b),
            tf.matmul(x, x, transpose_b=True),
            tf.matmul(x, x, transpose_a=True),
        )
        return (
            *made,
            tf.einsum("bij,bjk->bki", y, b),
            tf.tensordot(y, a, [[2], [1]]),
            tf.matmul(y, y, transpose_b=True),
        )

    return function(body, real(2, 4), real(2, 4, 3))


@net()
def convolutions() -> Net:
    w, d, t = weights(3, 3, 4, 6), weights(3, 3, 4, 2), weights(3, 3, 5, 4)
    grouped = weights(3, 3, 2, 6)

    def body(x: Any) -> Any:
        made = tf.nn.conv2d(x, w, 2, "SAME"), tf.nn.conv2d(x, w, 1, [[0, 0], [2, 1], [0, 1], [0, 0]])
        deep = (
            tf.nn.depthwise_conv2d(x, d, [1, 2, 2, 1], "SAME"),
            tf.nn.depthwise_conv2d(x, d, [1] * 4, "VALID"),
        )
        turned = tf.nn.conv2d_transpose(x, t, [1, 15, 17, 5], 2, "VALID"), tf.nn.conv2d(x, grouped, 1, "SAME")
        more = tf.nn.bias_add(tf.nn.conv2d(x, w, [1, 2], "VALID", dilations=[2, 1]), tf.range(6.0))
        return (*made, *deep, *turned, more)

    return function(body, real(1, 7, 8, 4))


@net()
def pools() -> Net:
    def body(x: Any) -> Any:
        made = tf.nn.max_pool2d(x, 3, 2, "SAME"), tf.nn.avg_pool2d(x, [2, 3], [1, 2], "VALID")
        more = tf.nn.avg_pool2d(x, 3, 1, "SAME"), tf.nn.max_pool2d(x, 2, 1, [[0, 0], [1, 0], [0, 1], [0, 0]])
        return (*made, *more, tf.nn.lrn(x, 2, bias=1.5, alpha=0.2, beta=0.6))

    return function(body, real(1, 6, 7, 4))


@net()
def resizes() -> Net:
    def body(x: Any) -> Any:
        raw = tf.raw_ops
        made = [
            f(images=x, size=[9, 4], align_corners=corners, half_pixel_centers=half)
            for f in (raw.ResizeBilinear, raw.ResizeNearestNeighbor)
            for corners, half in ((False, False), (True, False), (False, True))
        ]
        return tf.concat(made, -1)

    return function(body, real(1, 5, 6, 2))


@net()
def half_floats() -> Net:
    def body(x: Any) -> Any:
        return tf.cast(tf.cast(x, tf.float16) * 2, tf.float32), tf.cast(
            tf.cast(x, tf.bfloat16) + 1, tf.float32
        )

    return function(body, real(3, 4))


@net()
def constants() -> Net:
    """Of every type, and such that repeat one number."""

    def body(x: Any) -> Any:
        made = [
            tf.constant(v, t)
            for t in (tf.float64, tf.int64, tf.int8, tf.uint8, tf.int16, tf.uint16)
            for v in (3,)
        ]
        made += [tf.constant(5, t) for t in (tf.uint32, tf.uint64, tf.half, tf.bfloat16)]
        total = tf.add_n([tf.cast(one, tf.float32) for one in made])
        flags = tf.constant([[True, False, True, True]])
        return x * total + tf.cast(flags, tf.float32) + tf.constant(0.5, shape=[3, 4]) + tf.range(0, 2, 0.5)

    return function(body, real(3, 4))


@net()
def older_operators() -> Net:
    """What newer functions of Python do not make."""
    raw = tf.raw_ops

    def body(x: Any) -> Any:
        flat = x[0, :, :, 0]
        made = [
            raw.ClipByValue(t=flat, clip_value_min=-0.5, clip_value_max=0.2),
            raw.Div(x=flat, y=flat + 2.0),
        ]
        made += [
            raw.EuclideanNorm(input=flat, axis=[0], keep_dims=True),
            raw.Gather(params=flat, indices=[2, 0]),
        ]
        made += [
            raw.BiasAddV1(value=flat, bias=[1.0, 2.0, 3.0, 4.0]),
            raw.Roll(input=flat, shift=[1], axis=[1]),
        ]
        made += [raw.OnesLike(x=flat) + raw.ZerosLike(x=flat), raw.Xdivy(x=tf.nn.relu(flat), y=flat)]
        made += [
            raw.Concat(concat_dim=1, values=[flat, flat]),
            raw.Snapshot(input=flat),
            raw.EnsureShape(input=flat, shape=[4, 4]),
        ]
        made += [raw.MaxPoolV2(input=x, ksize=[1, 2, 2, 1], strides=[1, 1, 2, 1], padding="SAME")]
        batches = raw.SpaceToBatch(input=x, paddings=[[1, 1], [0, 2]], block_size=2)
        made += [batches, raw.BatchToSpace(input=batches, crops=[[1, 1], [0, 2]], block_size=2)]
        sizes = tf.cast(raw.Size(input=x) + raw.Rank(input=x), tf.float32)
        where = [[0, 1], [2, 3], [0, 1]]
        made += [flat * sizes, raw.TensorScatterAdd(tensor=flat, indices=where, updates=[1.0, 2.0, 3.0])]
        order = raw.InvertPermutation(x=[2, 0, 1, 3])
        return (
            *made,
            tf.gather(flat, order),
            raw.TruncateMod(x=tf.cast(flat * 9, tf.int32), y=[3, 4, -2, 5]),
        )

    return function(body, real(1, 4, 4, 2))


@net()
def fused_norms() -> Net:
    """Batch normalization as older releases of Keras have it."""
    scale, offset, mean = ([round(v, 2) for v in RNG.uniform(0.5, 2, 4)] for _ in range(3))

    def body(x: Any) -> Any:
        settings = {
            "scale": scale,
            "offset": offset,
            "mean": mean,
            "variance": scale[::-1],
            "is_training": False,
        }
        made = [
            raw(x=x, epsilon=0.01, **settings)[0]
            for raw in (tf.raw_ops.FusedBatchNorm, tf.raw_ops.FusedBatchNormV2)
        ]
        return (*made, tf.nn.relu(tf.raw_ops.FusedBatchNormV3(x=x, **settings).y))

    return function(body, real(1, 3, 5, 4))


@net()
def fake_quantization() -> Net:
    """A convolution as training for integers leaves it, and other numbers of bits."""
    quantization, w = tf.quantization, weights(3, 3, 2, 4)

    def body(x: Any) -> Any:
        x = quantization.fake_quant_with_min_max_args(x, -1.1, 0.9)
        channels = quantization.fake_quant_with_min_max_vars_per_channel(
            w, [-1.0, -2.0, -0.5, -1.5], [1.0, 2.0, 0.5, 1.5], narrow_range=True
        )
        y = tf.nn.relu(tf.nn.conv2d(x, channels, 1, "SAME"))
        y = quantization.fake_quant_with_min_max_vars(y, 0.0, 8.0)
        return y, quantization.fake_quant_with_min_max_vars(y, -0.3, 5.0, num_bits=4, narrow_range=True)

    return function(body, real(1, 5, 5, 2))


@net()
def spectrogram() -> Net:
    def body(x: Any) -> Any:
        spectra = tf.signal.stft(x, frame_length=40, frame_step=16, fft_length=48)
        mel = tf.signal.linear_to_mel_weight_matrix(10, 25, 8000, 60.0, 3800.0)
        log_mel = tf.math.log(tf.tensordot(tf.abs(spectra), mel, 1) + 1e-3)
        return tf.signal.mfccs_from_log_mel_spectrograms(log_mel), tf.abs(spectra)

    return function(body, real(2, 130))


@net()
def complex_numbers() -> Net:
    def body(x: Any, y: Any) -> Any:
        z = tf.signal.rfft(x)
        turned = z * tf.exp(tf.complex(0.1 * tf.math.real(z), tf.ones_like(tf.math.imag(z))))
        made = [tf.math.conj(z) + turned, z - turned[:, ::-1], -turned, tf.cast(y, tf.complex64) * z]
        stacked = tf.reshape(tf.transpose(tf.stack(made), [1, 0, 2]), [2, -1])
        back = tf.signal.irfft(turned), tf.signal.irfft(z, [12]), tf.signal.irfft(z, [20])
        return tf.math.real(stacked), tf.math.imag(stacked), tf.abs(tf.square(z)), *back

    return function(body, real(2, 16), real(2, 9))
