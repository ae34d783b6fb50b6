"""Operators of PaddlePaddle that no exported net has."""

import numpy as np
from support.handler_cases import (
    COLUMN,
    IMAGE,
    MASK,
    PLACES,
    ROWS,
    Case,
    Known,
    X,
    Y,
    case,
    of_torch,
    rand,
    slid,
)
from support.tools import require_module

from edgekit.converters.paddle import ops
from edgekit.core.types import Array, DType

PACKAGE = ops
_bits = np.array([[0, 1, 0], [1, 1, 0]], np.bool_)
_others = np.array([[0, 0, 1], [1, 0, 1]], np.bool_)
_weights = rand(4, 2, 3, 3)


def _of_several_lengths(mode: str) -> Case:
    """Two layers of two directions, as torch computes packed sequences."""
    gates, states = {"LSTM": (4, 2), "GRU": (3, 1), "RNN_TANH": (1, 1)}[mode]
    size, lengths, x = 3, np.array([2, 5, 1], np.int32), rand(5, 3, 4)
    pairs = [(gates * size, 4 if i < 2 else 2 * size) for i in range(4)]
    weights = [rand(*shape, seed=i) for i, pair in enumerate(pairs) for shape in (pair, (pair[0], size))]
    biases = [rand(gates * size, seed=i) for i in range(8)]

    def expected() -> list[Array]:
        torch = require_module("torch")
        kind = getattr(torch.nn, mode.removesuffix("_TANH"))
        net = kind(4, size, num_layers=2, bidirectional=True)
        for i, names in enumerate(net.all_weights):
            given = (*weights[2 * i : 2 * i + 2], *biases[2 * i : 2 * i + 2])
            for name, data in zip(names, given, strict=True):
                name.data = torch.from_numpy(data)
        packed = torch.nn.utils.rnn.pack_padded_sequence(
            torch.from_numpy(x), torch.from_numpy(lengths).long(), enforce_sorted=False
        )
        with torch.no_grad():
            y, last = net(packed)
        padded = torch.nn.utils.rnn.pad_packed_sequence(y)[0]
        return [each.numpy() for each in (padded, *(last if mode == "LSTM" else [last]))]

    return case(
        "rnn",
        x,
        [Known(np.zeros((4, 3, size), np.float32))] * states,
        [Known(one) for one in (*weights, *biases)],
        lengths,
        is_bidirec=True,
        input_size=4,
        hidden_size=size,
        num_layers=2,
        mode=mode,
        expected=expected,
    )


CASES = (
    *map(_of_several_lengths, ("LSTM", "GRU", "RNN_TANH")),
    case("stanh", X, expected=1.7159 * np.tanh(0.67 * X)),
    case(
        "hard_swish",
        4 * X,
        threshold=4.0,
        scale=5.0,
        offset=2.0,
        expected=4 * X * np.clip(4 * X + 2, 0, 4) / 5,
    ),
    case("leaky_relu", X, expected=np.where(X > 0, X, 0.02 * X)),
    case(
        "round", np.array([-1.5, -0.5, 0.5, 2.5], np.float32), expected=np.array([-2, -1, 1, 3], np.float32)
    ),
    case(
        "round",
        np.array([-1.5, -0.5, 0.5, 2.5], np.float32),
        decimals=0,
        expected=np.array([-2, 0, 0, 2], np.float32),
    ),
    case("elementwise_add", IMAGE, COLUMN, axis=1, expected=IMAGE + COLUMN.reshape(4, 1, 1)),
    case(
        "full_with_tensor",
        Known(np.array(2.5, np.float32)),
        (2, 3),
        expected=np.full((2, 3), 2.5, np.float32),
    ),
    case("fill_zeros_like", X, expected=np.zeros_like(X)),
    case("full_batch_size_like", X, shape=[-1, 5], value=1.5, expected=np.full((2, 5), 1.5, np.float32)),
    case(
        "full_batch_size_like",
        X,
        shape=[5, -1],
        value=1.5,
        input_dim_idx=1,
        output_dim_idx=1,
        expected=np.full((5, 3), 1.5, np.float32),
    ),
    case("eye", num_rows=2, num_columns=3, expected=np.eye(2, 3, dtype=np.float32)),
    case("eye", num_rows=2, expected=np.eye(2, dtype=np.float32)),
    case("embedding", PLACES, Known(ROWS), expected=ROWS[PLACES]),
    case(
        "embedding",
        PLACES,
        Known(ROWS),
        padding_idx=1,
        expected=np.where((PLACES == 1)[..., None], 0, ROWS[PLACES]),
    ),
    case(
        "scatter_nd_add",
        ROWS,
        np.array([[0], [2]], np.int32),
        np.ones((2, 5), np.float32),
        expected=ROWS + np.array([[1], [0], [1]], np.float32),
    ),
    case(
        "put_along_axis",
        ROWS,
        np.array([[1, 4]]),
        np.ones((1, 2), np.float32),
        axis=1,
        reduce="add",
        expected=ROWS + np.array([[0, 1, 0, 0, 1], [0] * 5, [0] * 5], np.float32),
    ),
    case(
        "conv2d_transpose",
        IMAGE,
        _weights,
        strides=(2, 2),
        paddings=(1, 1),
        output_padding=(1, 0),
        expected=of_torch("conv_transpose2d", IMAGE, _weights, stride=2, padding=1, output_padding=(1, 0)),
    ),
    case(
        "conv3d",
        rand(1, 2, 4, 5, 3),
        rand(3, 2, 2, 2, 2),
        expected=of_torch("conv3d", rand(1, 2, 4, 5, 3), rand(3, 2, 2, 2, 2)),
    ),
    case(
        "max_pool2d_with_index",
        IMAGE,
        kernel_size=(2, 3),
        global_pooling=True,
        paddings=(1, 1),
        expected=[
            IMAGE.max((2, 3), keepdims=True),
            IMAGE.reshape(2, 4, 1, 18).argmax(3).reshape(2, 4, 1, 1).astype(np.int32),
        ],
    ),
    case(
        "pool3d", rand(1, 2, 4, 5, 3), [2, 2, 2], expected=of_torch("max_pool3d", rand(1, 2, 4, 5, 3), 2, 1)
    ),
    case("mul", X, rand(12, 5), expected=X.reshape(2, 12) @ rand(12, 5)),
    case("mul", X, rand(4, 5), x_num_col_dims=2, expected=X @ rand(4, 5)),
    case("linear", X, rand(4, 5), expected=X @ rand(4, 5)),
    case("linear", X, Known(rand(4, 5)), Known(rand(5)), expected=X @ rand(4, 5) + rand(5)),
    case("matmul", X, Y, transpose_y=True, alpha=0.5, expected=0.5 * X @ Y.swapaxes(1, 2)),
    case("not_equal", PLACES, PLACES.T.copy(), expected=PLACES != PLACES.T),
    case("greater_equal", PLACES, PLACES.T.copy(), expected=PLACES >= PLACES.T),
    case("less_equal", PLACES, PLACES.T.copy(), expected=PLACES <= PLACES.T),
    case("logical_and", _bits, _others, expected=_bits & _others),
    case("logical_or", _bits, _others, expected=_bits | _others),
    case("logical_xor", _bits, _others, expected=_bits ^ _others),
    case("logical_not", _bits, expected=~_bits),
    case("isnan", np.array([np.nan, 1, np.inf], np.float32), expected=np.array([True, False, False])),
    case("isinf", np.array([np.nan, 1, -np.inf], np.float32), expected=np.array([False, False, True])),
    case("masked_fill", X, MASK, Known(np.array(7.0, np.float32)), expected=np.where(MASK, np.float32(7), X)),
    case("unstack", X, axis=1, expected=[X[:, i] for i in range(3)]),
    case("crop", X, (1, -1, 2), (1, 1, 0), expected=X[1:2, 1:, :2]),
    case(
        "pad2d",
        IMAGE,
        paddings=(1, 0, 2, 3),
        pad_value=0.5,
        expected=np.pad(IMAGE, ((0, 0), (0, 0), (1, 0), (2, 3)), constant_values=0.5),
    ),
    case(
        "pad2d",
        IMAGE,
        paddings=(1, 0, 2, 3),
        mode="reflect",
        data_format="NHWC",
        expected=np.pad(IMAGE, ((0, 0), (1, 0), (2, 3), (0, 0)), "reflect"),
    ),
    case("pad", ROWS, paddings=(1, 0, 2, 3), expected=np.pad(ROWS, ((1, 0), (2, 3)))),
    case(
        "pad",
        ROWS,
        paddings=(1, 0, 2, 3),
        pad_value=2.0,
        pad_from_left_axis=False,
        expected=np.pad(ROWS, ((2, 3), (1, 0)), constant_values=2),
    ),
    case(
        "pixel_unshuffle",
        rand(2, 1, 4, 6),
        downscale_factor=2,
        expected=of_torch("pixel_unshuffle", rand(2, 1, 4, 6), 2),
    ),
    case("shuffle_channel", IMAGE, group=2, expected=IMAGE[:, [0, 2, 1, 3]]),
    case(
        "space_to_depth",
        rand(2, 1, 4, 6),
        blocksize=2,
        expected=of_torch("pixel_unshuffle", rand(2, 1, 4, 6), 2),
    ),
    case("tril_triu", ROWS, expected=np.triu(ROWS)),
    case("tril_triu", ROWS, lower=True, diagonal=1, expected=np.tril(ROWS, 1)),
    case(
        "unfold",
        IMAGE,
        kernel_sizes=(2, 3),
        strides=(1, 2),
        paddings=(0, 1),
        dilations=(1, 2),
        expected=of_torch("unfold", IMAGE, (2, 3), dilation=(1, 2), padding=(0, 1), stride=(1, 2)),
    ),
    case("norm", X, axis=1, expected=X / np.sqrt((X**2).sum(1, keepdims=True) + 1e-10)),
    case(
        "lrn", IMAGE, n=3, k=1.5, alpha=0.1, beta=0.6, expected=IMAGE * (1.5 + 0.1 * slid(IMAGE, 3)) ** -0.6
    ),
    case(
        "affine_channel",
        IMAGE,
        COLUMN,
        rand(4),
        expected=IMAGE * COLUMN.reshape(4, 1, 1) + rand(4).reshape(4, 1, 1),
    ),
    case("affine_channel", X, COLUMN, rand(4), data_layout="NHWC", expected=X * COLUMN + rand(4)),
    case("rms_norm", X, expected=X / np.sqrt((X**2).mean(-1, keepdims=True) + 1e-5)),
    case("flatten2", X, axis=2, expected=[X.reshape(6, 4)]),
    case("expand_as", X[:, :1], X, expected=np.broadcast_to(X[:, :1], X.shape)),
    case("reduce_sum", X, expected=X.sum(0)),
    case("reduce_mean", X, dim=[1, -1], keep_dim=True, expected=X.mean((1, 2), keepdims=True)),
    case("reduce_max", X, reduce_all=True, expected=X.max()),
    case("reduce_min", X, out_dtype=DType.S32, dim=[2], expected=X.min(2).astype(np.int32)),
    case("max", X, [1], keepdim=True, expected=X.max(1, keepdims=True)),
    case("frobenius_norm", X, expected=np.sqrt((X**2).sum(0))),
    case(
        "bilinear_interp_v2",
        IMAGE,
        out_h=5,
        out_w=7,
        expected=of_torch("interpolate", IMAGE, (5, 7), mode="bilinear", align_corners=True),
    ),
    case(
        "bicubic_interp_v2",
        IMAGE,
        out_h=6,
        out_w=9,
        interp_method="bicubic",
        align_corners=False,
        expected=of_torch("interpolate", IMAGE, (6, 9), mode="bicubic"),
    ),
)
