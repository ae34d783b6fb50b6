"""Windows with random sizes, strides, holes, borders and groups, in the words of each reader."""

from collections.abc import Callable, Iterator

import numpy as np
from support.handler_cases import Case, case, of_torch
from support.random_attributes import Draw

from edgekit.core.types import Array

Found = Iterator[tuple[str, Case]]
Family = Callable[[Draw], Found]


def convolution(d: Draw) -> Found:
    n, groups = d.pick(1, 2, 2, 3), d.pick(1, 1, 2, 3)
    inputs, outputs = groups * d.pick(1, 2), groups * d.pick(1, 2, 3)
    kernel, stride, holes, pad = (d.numbers(n, low, high) for low, high in ((1, 3), (1, 3), (1, 2), (0, 2)))
    x, b = d.x(d.pick(1, 2), inputs, *d.numbers(n, 5, 8)), d.x(outputs)
    w = d.x(outputs, inputs // groups, *kernel)
    settings = {"stride": stride, "padding": pad, "dilation": holes, "groups": groups}
    expected = of_torch(f"conv{n}d", x, w, b, **settings)
    bare = of_torch(f"conv{n}d", x, w, **settings)
    yield (
        "mxnet",
        case(
            "Convolution",
            *(x, w, b),
            kernel=kernel,
            stride=stride,
            dilate=holes,
            pad=pad,
            num_group=groups,
            expected=expected,
        ),
    )
    if n == 2:
        yield (
            "caffe",
            case(
                "Convolution",
                *(x, w, b),
                num_output=outputs,
                group=groups,
                kernel_h=kernel[0],
                kernel_w=kernel[1],
                stride_h=stride[0],
                stride_w=stride[1],
                pad_h=pad[0],
                pad_w=pad[1],
                dilation=holes,
                expected=expected,
            ),
        )
        yield (
            "mindspore",
            case(
                "Conv2D",
                *(x, w),
                pad_mode="pad",
                pad_list=(pad[0], pad[0], pad[1], pad[1]),
                stride=d.either(stride, (1, 1, *stride)),
                dilation=d.either(holes, (1, 1, *holes)),
                group=groups,
                expected=bare,
            ),
        )
    if n > 1:
        yield (
            "paddle",
            case(
                f"conv{n}d",
                *(x, w, b),
                strides=stride,
                paddings=d.either(pad, tuple(p for p in pad for _ in "ab")),
                dilations=holes,
                groups=groups,
                expected=expected,
            ),
        )


def same_convolution(d: Draw) -> Found:
    """As large as x, with what is odd behind; strides divide it, rounded up."""
    kernel, size, stride = d.numbers(2, 1, 4), d.numbers(2, 4, 9), d.numbers(2, 1, 3)
    x, w = d.x(1, 2, *size), d.x(3, 2, *kernel)
    total = [max((-(-m // s) - 1) * s + k - m, 0) for m, s, k in zip(size, stride, kernel, strict=True)]
    border = ((0, 0), (0, 0), *((t // 2, t - t // 2) for t in total))
    wide = np.pad(x, border)
    expected = of_torch("conv2d", wide, w, stride=stride)
    yield "mindspore", case("Conv2D", x, w, pad_mode="same", stride=stride, expected=expected)
    yield "paddle", case("conv2d", x, w, padding_algorithm="SAME", strides=stride, expected=expected)
    lowest = np.pad(x, border, constant_values=-np.inf)
    most = of_torch("max_pool2d", lowest, kernel, stride)
    pool = {"kernel_size": (1, 1, *kernel), "strides": (1, 1, *stride), "pad_mode": "same"}
    yield "mindspore", case("MaxPool", x, **pool, expected=most)
    yield (
        "keras_layers",
        case(
            "MaxPooling2D",
            x,
            pool_size=kernel,
            strides=stride,
            padding="same",
            data_format="channels_first",
            expected=most,
        ),
    )
    there = np.pad(np.ones_like(x), border)

    def mean() -> Array:
        sums, counts = (of_torch("avg_pool2d", a, kernel, stride)() for a in (wide, there))
        return sums / counts

    yield "mindspore", case("AvgPool", x, pool["kernel_size"], pool["strides"], "same", expected=mean)
    yield (
        "keras_layers",
        case(
            "AveragePooling2D",
            x,
            pool_size=kernel,
            strides=stride,
            padding="same",
            data_format="channels_first",
            expected=mean,
        ),
    )


def transposed_convolution(d: Draw) -> Found:
    n, groups = d.pick(1, 2, 2), d.pick(1, 2, 3)
    inputs, outputs = groups * d.pick(1, 2), groups * d.pick(1, 2)
    kernel, stride, holes = (d.numbers(n, low, high) for low, high in ((2, 4), (1, 3), (1, 2)))
    pad = d.numbers(n, 0, 1)
    more = tuple(d.pick(*range(s)) for s in stride)
    x, w, b = d.x(1, inputs, *d.numbers(n, 3, 6)), d.x(inputs, outputs // groups, *kernel), d.x(outputs)

    def expected(more: tuple[int, ...], b: object) -> object:
        return of_torch(
            f"conv_transpose{n}d",
            *(x, w, b),
            stride=stride,
            padding=pad,
            output_padding=more,
            groups=groups,
            dilation=holes,
        )

    yield (
        "mxnet",
        case(
            "Deconvolution",
            *(x, w, b),
            kernel=kernel,
            stride=stride,
            dilate=holes,
            pad=pad,
            adj=more,
            num_group=groups,
            no_bias=False,
            expected=expected(more, b),
        ),
    )
    if n == 2:
        yield (
            "paddle",
            case(
                "conv2d_transpose",
                *(x, w),
                strides=stride,
                paddings=pad,
                output_padding=more,
                groups=groups,
                dilations=holes,
                expected=expected(more, None),
            ),
        )
        yield (
            "caffe",
            case(
                "Deconvolution",
                *(x, w, b),
                num_output=outputs,
                group=groups,
                kernel_size=kernel,
                stride=stride,
                pad=pad,
                dilation=holes,
                expected=expected((0, 0), b),
            ),
        )


def pooling(d: Draw) -> Found:
    n, is_max = d.pick(1, 2, 2, 3), d.coin()
    kernel, stride = d.numbers(n, 2, 4), d.numbers(n, 1, 3)
    pad = tuple(d.pick(*range(k // 2 + 1)) for k in kernel)
    x = d.x(2, 3, *d.numbers(n, 5, 9))
    counts, ceil = d.coin(), d.coin()
    name, words = ("max", {}) if is_max else ("avg", {"count_include_pad": counts})

    def expected(ceil: bool, **words: object) -> object:
        return of_torch(f"{name}_pool{n}d", x, kernel, stride, pad, ceil_mode=ceil, **words)

    yield (
        "mxnet",
        case(
            "Pooling",
            x,
            kernel=kernel,
            stride=stride,
            pad=pad,
            pool_type=name,
            count_include_pad=counts,
            expected=expected(False, **words),
        ),
    )
    if n > 1:
        yield (
            "paddle",
            case(
                f"pool{n}d",
                x,
                kernel,
                strides=stride,
                paddings=pad,
                ceil_mode=ceil and is_max and not any(pad),
                exclusive=not counts,
                pooling_type=name,
                expected=expected(ceil and is_max and not any(pad), **words),
            ),
        )


def resized(d: Draw) -> Found:
    """To a size; corners or centres of cells stay where they are."""
    x, size = d.x(2, 3, *d.numbers(2, 2, 6)), d.numbers(2, 2, 9)
    corners = d.coin()
    words = {"mode": "bilinear", "align_corners": corners}
    expected = of_torch("interpolate", x, size, **words)
    yield "mindspore", case("ResizeBilinearV2", x, size, corners, not corners, expected=expected)
    yield (
        "paddle",
        case(
            "bilinear_interp",
            x,
            size=size,
            align_corners=corners,
            align_mode=0,
            expected=expected,
        ),
    )
    yield (
        "mxnet",
        case(
            "BilinearResize2D",
            x,
            height=size[0],
            width=size[1],
            align_corners=corners,
            expected=expected,
        ),
    )
    if not corners:
        yield (
            "keras_layers",
            case(
                "Resizing",
                x,
                height=size[0],
                width=size[1],
                data_format="channels_first",
                expected=expected,
            ),
        )
        yield (
            "paddle",
            case(
                "nearest_interp",
                x,
                size=size,
                interp_method="nearest",
                align_corners=False,
                expected=of_torch("interpolate", x, size, mode="nearest"),
            ),
        )


def uneven_borders(d: Draw) -> Found:
    """Means that count another border on each side."""
    kernel, stride, sides = d.numbers(2, 2, 3), d.numbers(2, 1, 2), d.numbers(4, 0, 1)
    x = d.x(2, 3, *d.numbers(2, 4, 7))
    wide = np.pad(x, [(0, 0), (0, 0), sides[:2], sides[2:]])
    expected = of_torch("avg_pool2d", wide, kernel, stride)
    words = {"pooling_type": "avg", "exclusive": False}
    yield (
        "paddle",
        case("pool2d", x, kernel, strides=stride, paddings=sides, **words, expected=expected),
    )
    deep = of_torch("avg_pool3d", wide[:, :, None], (1, *kernel), (1, *stride))
    yield (
        "mindspore",
        case(
            "AvgPool3D",
            x[:, :, None],
            kernel_size=(1, 1, 1, *kernel),
            strides=(1, 1, 1, *stride),
            pad=(0, 0, *sides),
            pad_mode="pad",
            expected=deep,
        ),
    )


def fake_quantization(d: Draw) -> Found:
    """To a part of the integers of a type, around any zero point."""
    low, high = d.pick((-128, 127), (-127, 127), (0, 255), (0, 15), (-8, 7))
    scale, zero = d.pick(0.05, 0.25), d.pick(*range(low, high + 1))
    x = 4 * d.x(3, 5)
    settings = {"scale": scale, "zero_point": zero, "quant_min": low, "quant_max": high}
    yield (
        "torch",
        case(
            "fake_quantize_per_tensor_affine",
            x,
            **settings,
            expected=of_torch("fake_quantize_per_tensor_affine", x, *settings.values()),
        ),
    )


def adaptive_pooling(d: Draw) -> Found:
    """To any size, larger ones, too, where cells are in several windows."""
    x, size = d.x(2, 3, *d.numbers(2, 2, 6)), d.numbers(2, 1, 8)
    mean, most = (of_torch(f"adaptive_{kind}_pool2d", x, size) for kind in ("avg", "max"))
    yield "mxnet", case("AdaptiveAvgPooling2D", x, output_size=size, expected=mean)
    yield "mindspore", case("AdaptiveAvgPool2D", x, size, expected=mean)
    yield "mindspore", case("AdaptiveMaxPool2D", x, size, expected=most)
    for kind, expected in (("avg", mean), ("max", most)):
        words = {"adaptive": True, "pooling_type": kind}
        yield "paddle", case("pool2d", x, size, **words, expected=expected)


FAMILIES = (
    convolution,
    same_convolution,
    transposed_convolution,
    pooling,
    uneven_borders,
    adaptive_pooling,
    resized,
    fake_quantization,
)
