"""Operators of ATen that no exported net has."""

import numpy as np
from support.handler_cases import (
    COLUMN,
    IMAGE,
    MASK,
    PLACES,
    POSITIVE,
    ROWS,
    Known,
    X,
    Y,
    case,
    of_torch,
    rand,
    softmax,
)

from edgekit.converters.torch_export import ops

PACKAGE = ops
_places = PLACES.astype(np.int64)
_wide = rand(1, 2, 7, 9)
_heads = rand(2, 6, 4, 3)
_rank_two = np.array([[0, 1, 2, 1, 0]], np.int64)
_whole = np.array([3, 0, 1, 3, 3, 4, -1], np.float32)
_grouped, _groups, _offsets = rand(6, 4), rand(4, 4, 3), np.array([1, 1, 4, 5], np.int32)
_group_products = np.concatenate(
    [_grouped[:1] @ _groups[0], _grouped[1:4] @ _groups[2], _grouped[4:5] @ _groups[3], np.zeros((1, 3))]
).astype(np.float32)
CASES = (
    case("histc", X, bins=5, min=-1.5, max=1.0, expected=of_torch("histc", X, bins=5, min=-1.5, max=1.0)),
    case("histc", _whole, bins=4, min=0, max=3, expected=of_torch("histc", _whole, bins=4, min=0, max=3)),
    case("grouped_mm_fallback", _grouped, weight=_groups, offs=_offsets, expected=_group_products),
    case("rrelu", X, expected=np.where(X > 0, X, (0.125 + 1 / 3) / 2 * X)),
    case(
        "elu",
        X,
        alpha=0.5,
        scale=2.0,
        input_scale=3.0,
        expected=2 * np.where(X > 0, X, 0.5 * np.expm1(3 * X)),
    ),
    case("elu", X, alpha=0.5, scale=2.0, expected=2 * np.where(X > 0, X, 0.5 * np.expm1(X))),
    case("prelu_kernel", IMAGE, weight=COLUMN.reshape(4, 1, 1), expected=of_torch("prelu", IMAGE, COLUMN)),
    case("prelu", IMAGE, weight=COLUMN, expected=of_torch("prelu", IMAGE, COLUMN)),
    case("softsign", X, expected=of_torch("softsign", X)),
    case("safe_softmax", X, dim=1, expected=of_torch("softmax", X, 1)),
    case(
        "safe_softmax",
        np.where(MASK, X, np.float32(-np.inf)),
        dim=1,
        expected=np.where(MASK.any(1, keepdims=True), softmax(np.where(MASK, X, -1e9), 1), 0),
    ),
    case("feature_dropout", X, p=0.5, expected=X),
    case("alpha_dropout", X, p=0.5, expected=X),
    case("sub", X, other=Y, alpha=0.5, expected=of_torch("sub", X, Y, alpha=0.5)),
    case("rsub", X, other=Y, alpha=2, expected=of_torch("rsub", X, Y, alpha=2)),
    case("true_divide", X, other=POSITIVE, expected=X / POSITIVE),
    case(
        "divide", X, other=0.3, rounding_mode="floor", expected=of_torch("div", X, 0.3, rounding_mode="floor")
    ),
    case(
        "divide", X, other=0.3, rounding_mode="trunc", expected=of_torch("div", X, 0.3, rounding_mode="trunc")
    ),
    *(
        case("pow", POSITIVE, exponent=e, expected=of_torch("pow", POSITIVE, e))
        for e in (-2, -1, -0.5, -0.25, 0.25, 0.5, 1.5, 2, 3)
    ),
    case("sgn", X, expected=np.sign(X)),
    case("round", 3 * X, decimals=1, expected=of_torch("round", 3 * X, decimals=1)),
    case("round", PLACES, expected=PLACES),
    case("trunc", 3 * X, expected=np.trunc(3 * X)),
    case("fix", 3 * X, expected=np.trunc(3 * X)),
    case("trunc", PLACES, expected=PLACES),
    case("erfc", X, expected=of_torch("erfc", X)),
    case("acosh", 1 + POSITIVE, expected=np.arccosh(1 + POSITIVE)),
    case("clip", X, min=-0.5, max=0.25, expected=X.clip(-0.5, 0.25)),
    case("clamp_max", X, max=0.25, expected=np.minimum(X, np.float32(0.25))),
    case("clamp", X, max=-X, expected=np.minimum(X, -X)),
    case("clamp_min", X, min=0.25, expected=np.maximum(X, np.float32(0.25))),
    case("nan_to_num", np.array([np.nan, 1], np.float32), nan=3.0, expected=np.array([3, 1], np.float32)),
    case("take_along_dim", ROWS, indices=_places, dim=1, expected=np.take_along_axis(ROWS[:2], _places, 1)),
    case("tensor_split", ROWS, sections=2, dim=1, expected=[ROWS[:, :3], ROWS[:, 3:]]),
    case("tensor_split", ROWS, indices=(1, 4), dim=1, expected=[ROWS[:, :1], ROWS[:, 1:4], ROWS[:, 4:]]),
    case(
        "bilinear",
        ROWS,
        input2=rand(3, 4),
        weight=rand(2, 5, 4),
        bias=rand(2),
        expected=of_torch("bilinear", ROWS, rand(3, 4), rand(2, 5, 4), rand(2)),
    ),
    case("zeros_like", X, expected=np.zeros_like(X)),
    case("new_full", X, size=(2, 3), fill_value=2.5, expected=np.full((2, 3), 2.5, np.float32)),
    case("new_ones", X, size=(2,), expected=np.ones(2, np.float32)),
    case("zero", X, expected=np.zeros_like(X)),
    case(
        "index_put",
        ROWS,
        indices=[ROWS > 0],
        values=np.float32([2.5]),
        expected=np.where(ROWS > 0, np.float32(2.5), ROWS),
    ),
    case(
        "index_put",
        ROWS,
        indices=[ROWS > 0],
        values=np.float32([2.5]),
        accumulate=True,
        expected=np.where(ROWS > 0, ROWS + np.float32(2.5), ROWS),
    ),
    case(
        "index_put",
        ROWS,
        indices=[np.array([2, 0])],
        values=rand(2, 5),
        expected=np.stack([rand(2, 5)[1], ROWS[1], rand(2, 5)[0]]),
    ),
    case(
        "index_put",
        ROWS,
        indices=[np.array([2, 2])],
        values=np.ones((2, 5), np.float32),
        accumulate=True,
        expected=ROWS + np.array([[0], [0], [2]], np.float32),
    ),
    case(
        "index_put",
        ROWS,
        indices=[None, np.array([4, -5])],
        values=rand(3, 2),
        expected=np.concatenate([rand(3, 2)[:, 1:], ROWS[:, 1:4], rand(3, 2)[:, :1]], 1),
    ),
    case(
        "index_put",
        ROWS,
        indices=[None, np.array([1])],
        values=np.ones((1, 1, 1), np.float32),
        expected=np.where(np.arange(5) == 1, np.float32(1), ROWS),
    ),
    case(
        "index_put",
        ROWS,
        indices=[None, np.array([2, 2])],
        values=np.ones((3, 2), np.float32),
        accumulate=True,
        expected=ROWS + np.array([0, 0, 2, 0, 0], np.float32),
    ),
    case(
        "index_put",
        ROWS.reshape(3, 5, 1),
        indices=[np.array([0, 2]), None, np.array([0, 0])],
        values=np.zeros((2, 5), np.float32),
        expected=(ROWS * [[0], [1], [0]]).astype(np.float32).reshape(3, 5, 1),
    ),
    case(
        "index_copy",
        ROWS,
        dim=1,
        index=np.array([3, 0]),
        source=rand(3, 2),
        expected=np.concatenate([rand(3, 2)[:, 1:], ROWS[:, 1:3], rand(3, 2)[:, :1], ROWS[:, 4:]], 1),
    ),
    case(
        "scatter_reduce",
        ROWS,
        dim=0,
        index=_rank_two,
        src=rand(1, 5),
        reduce="amax",
        expected=of_torch("scatter_reduce", ROWS, 0, _rank_two, rand(1, 5), "amax"),
    ),
    case(
        "scatter_reduce",
        ROWS,
        dim=0,
        index=_rank_two,
        src=rand(1, 5),
        reduce="sum",
        expected=of_torch("scatter_reduce", ROWS, 0, _rank_two, rand(1, 5), "sum"),
    ),
    case("linear", X, weight=rand(5, 4), bias=rand(5), expected=X @ rand(5, 4).T + rand(5)),
    case("linear", X, weight=Known(rand(5, 4)), expected=X @ rand(5, 4).T),
    case(
        "scaled_dot_product_attention",
        _heads,
        key=rand(2, 2, 5, 3),
        value=rand(2, 2, 5, 3, seed=1),
        enable_gqa=True,
        expected=of_torch(
            "scaled_dot_product_attention",
            _heads,
            rand(2, 2, 5, 3),
            rand(2, 2, 5, 3, seed=1),
            enable_gqa=True,
        ),
    ),
    case(
        "scaled_dot_product_attention",
        X,
        key=Y,
        value=X,
        is_causal=False,
        scale=0.3,
        expected=of_torch("scaled_dot_product_attention", X, Y, X, scale=0.3),
    ),
    case(
        "scaled_dot_product_attention",
        X,
        key=Y,
        value=X,
        is_causal=True,
        expected=of_torch("scaled_dot_product_attention", X, Y, X, is_causal=True),
    ),
    case("logical_xor", MASK, other=X > 1, expected=MASK ^ (X > 1)),
    case("concat", [X, Y], dim=1, expected=np.concatenate([X, Y], 1)),
    case("split", ROWS, split_size=2, dim=1, expected=[ROWS[:, :2], ROWS[:, 2:4], ROWS[:, 4:]]),
    case("repeat_interleave", X, repeats=2, dim=1, expected=X.repeat(2, 1)),
    case("reflection_pad1d", X, padding=(2, 1), expected=of_torch("pad", X, (2, 1), "reflect")),
    case(
        "reflection_pad2d",
        _wide,
        padding=(2, 1, 0, 3),
        expected=of_torch("pad", _wide, (2, 1, 0, 3), "reflect"),
    ),
    case("replication_pad1d", X, padding=(2, 1), expected=of_torch("pad", X, (2, 1), "replicate")),
    case(
        "replication_pad2d",
        _wide,
        padding=(2, 1, 0, 3),
        expected=of_torch("pad", _wide, (2, 1, 0, 3), "replicate"),
    ),
    case("native_channel_shuffle", IMAGE, groups=2, expected=IMAGE[:, [0, 2, 1, 3]]),
    case("linalg_vector_norm", X, ord=3, dim=(1,), expected=(np.abs(X) ** 3).sum(1) ** (1 / 3)),
    case(
        "linalg_vector_norm",
        X,
        ord=float("inf"),
        dim=(1,),
        keepdim=True,
        expected=np.abs(X).max(1, keepdims=True),
    ),
    case("linalg_vector_norm", X, ord=float("-inf"), dim=(0, 2), expected=np.abs(X).min((0, 2))),
    case("norm", X, p=1, dim=(2,), expected=np.abs(X).sum(2)),
    case("linalg_norm", X, expected=np.linalg.norm(X.reshape(-1))),
    case("linalg_norm", X, ord=3, dim=[1], expected=np.linalg.norm(X, 3, 1)),
    *(
        case(
            "linalg_norm",
            X,
            ord=order,
            dim=[0, 2],
            keepdim=True,
            expected=np.linalg.norm(X, order, (0, 2), True),
        )
        for order in ("fro", 1, -1, float("inf"), float("-inf"))
    ),
    case(
        "rms_norm",
        X,
        normalized_shape=(3, 4),
        eps=0.5,
        expected=X / np.sqrt((X**2).mean((1, 2), keepdims=True) + 0.5),
    ),
    case(
        "fused_rms_norm",
        X,
        normalized_shape=(4,),
        weight=COLUMN,
        expected=of_torch("rms_norm", X, (4,), COLUMN),
    ),
    case("cumprod", X, dim=1, expected=X.cumprod(1)),
    case("swapdims", X, dim0=0, dim1=2, expected=X.swapaxes(0, 2)),
    case("mT", X, expected=X.swapaxes(1, 2)),
    case("broadcast_to", X[:, :1], size=(2, 5, 4), expected=np.broadcast_to(X[:, :1], (2, 5, 4))),
    case("view_as", X, other=rand(6, 4), expected=X.reshape(6, 4)),
    case("flatten", X, start_dim=1, expected=X.reshape(2, 12)),
    case(
        "grid_sampler_2d",
        _wide,
        grid=rand(1, 4, 5, 2) / 2,
        interpolation_mode=0,
        padding_mode=0,
        align_corners=False,
        expected=of_torch("grid_sample", _wide, rand(1, 4, 5, 2) / 2, align_corners=False),
    ),
    case(
        "grid_sampler_2d",
        _wide,
        grid=rand(1, 4, 5, 2),
        interpolation_mode=1,
        padding_mode=1,
        align_corners=True,
        expected=of_torch("grid_sample", _wide, rand(1, 4, 5, 2), "nearest", "border", True),
    ),
    *(
        case(kind, image, kernel_size=(3, 2), stride=(1, 2), padding=(1, 0), **more, expected=expected)
        for image in (IMAGE, IMAGE[0])
        for kind, more, expected in (
            ("max_pool2d", {}, of_torch("max_pool2d", image, (3, 2), (1, 2), (1, 0))),
            ("avg_pool2d", {}, of_torch("avg_pool2d", image, (3, 2), (1, 2), (1, 0))),
            (
                "avg_pool2d",
                {"count_include_pad": False},
                of_torch("avg_pool2d", image, (3, 2), (1, 2), (1, 0), count_include_pad=False),
            ),
            (
                "avg_pool2d",
                {"divisor_override": 4},
                of_torch("avg_pool2d", image, (3, 2), (1, 2), (1, 0), divisor_override=4),
            ),
            ("im2col", {"dilation": (1, 2)}, of_torch("unfold", image, (3, 2), (1, 2), (1, 0), (1, 2))),
        )
    ),
    *(
        case(kind, x, kernel_size=(2,), stride=(1,), padding=(1,), expected=of_torch(kind, x, 2, 1, 1))
        for x in (X, X[0])
        for kind in ("max_pool1d", "avg_pool1d")
    ),
    case("linear", COLUMN, weight=rand(5, 4), bias=rand(5), expected=rand(5, 4) @ COLUMN + rand(5)),
    case("linear", X, weight=COLUMN, expected=X @ COLUMN),
    case("linear", X, weight=COLUMN, bias=np.float32(2), expected=X @ COLUMN + 2),
    case("split", ROWS, split_size=(1, 4), dim=1, expected=[ROWS[:, :1], ROWS[:, 1:]]),
    case("take_along_dim", ROWS, indices=_places, expected=ROWS.reshape(-1)[_places.reshape(-1)]),
    case("repeat_interleave", X, repeats=3, expected=X.reshape(-1).repeat(3)),
    *(
        case("meshgrid", [rand(2), rand(3), rand(4)], indexing=order, expected=expected)
        for order in ("ij", "xy")
        for expected in [np.meshgrid(rand(2), rand(3), rand(4), indexing=order)]
    ),
    case("reshape_as", X, other=rand(4, 6), expected=X.reshape(4, 6)),
    case("type_as", 3 * X, other=PLACES, expected=(3 * X).astype(np.int32)),
    case("feature_alpha_dropout", X, p=0.5, expected=X),
    case(
        "scaled_dot_product_flash_attention_for_cpu",
        X,
        key=Y,
        value=X,
        is_causal=True,
        scale=0.3,
        expected=of_torch("scaled_dot_product_attention", X, Y, X, is_causal=True, scale=0.3),
    ),
    case(
        "scaled_dot_product_flash_attention_for_cpu",
        X,
        key=Y,
        value=X,
        attn_mask=rand(3, 3),
        expected=of_torch("scaled_dot_product_attention", X, Y, X, rand(3, 3)),
    ),
    case(
        "instance_norm",
        IMAGE,
        weight=COLUMN,
        bias=rand(4),
        running_mean=rand(4, seed=3),
        running_var=np.abs(rand(4)),
        use_input_stats=False,
        eps=0.25,
        expected=of_torch("batch_norm", IMAGE, rand(4, seed=3), np.abs(rand(4)), COLUMN, rand(4), eps=0.25),
    ),
    case(
        "rnn_relu_cell",
        ROWS,
        hx=rand(3, 2),
        w_ih=rand(2, 5),
        w_hh=rand(2, 2),
        b_ih=rand(2),
        b_hh=rand(2, seed=1),
        expected=of_torch(
            "rnn_relu_cell", ROWS, rand(3, 2), rand(2, 5), rand(2, 2), rand(2), rand(2, seed=1)
        ),
    ),
)
