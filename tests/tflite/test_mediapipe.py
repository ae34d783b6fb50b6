"""MediaPipe's operators, compared with the functions of torch for the same, in the simulator and in C."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.tflite_writer import Operator, Tensor, constant, model
from support.tools import require_module
from tflite.litert import converted, named
from tflite.signal_cases import packed

from edgekit.codegen.program import compile_graph
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array
from edgekit.onnx_backend import compile_programs

Rng = np.random.Generator
SAME, VALID = 1, 2
SEEDS = 12
COMPILED = 2


@dataclass(frozen=True)
class Case:
    op: Operator
    inputs: Sequence[Array]
    expected: Sequence[Array]


def floats(*shape: int) -> Tensor:
    return Tensor(shape)


def made(kind: str, inputs: Sequence[Array], expected: Sequence[Array], options: bytes) -> Case:
    """A case of an operator whose operands are all inputs."""
    entries, exits = ([Tensor(x.shape) for x in arrays] for arrays in (inputs, expected))
    return Case(Operator(kind, entries, exits, custom=options), inputs, expected)


def normal(rng: Rng, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def transposed_convolution(rng: Rng) -> Case:
    """SAME cuts the whole result: of the last kernel, (n - 1) % stride + 1 cells stay."""
    torch = require_module("torch")
    h, w, i, o, k_h, k_w, s_h, s_w = (int(v) for v in rng.integers(1, 5, 8))
    x, weights, bias = normal(rng, 1, h, w, i), normal(rng, o, k_h, k_w, i), normal(rng, o)
    whole = torch.nn.functional.conv_transpose2d(
        torch.from_numpy(x.transpose(0, 3, 1, 2).copy()),
        torch.from_numpy(weights.transpose(3, 0, 1, 2).copy()),
        torch.from_numpy(bias),
        stride=(s_h, s_w),
    )
    y = whole.numpy().transpose(0, 2, 3, 1)
    padding = int(rng.integers(1, 3))
    if padding == SAME:
        last = [min(k, (n - 1) % s + 1) for n, s, k in ((h, s_h, k_h), (w, s_w, k_w))]
        wanted = [(n - 1) * s + more for n, s, more in zip((h, w), (s_h, s_w), last, strict=True)]
        before = [(y.shape[1 + a] - wanted[a]) // 2 for a in (0, 1)]
        y = y[:, before[0] : before[0] + wanted[0], before[1] : before[1] + wanted[1]]
    options = struct.pack("<3i", padding, s_w, s_h)
    inputs = [floats(1, h, w, i), constant(weights, "float32"), constant(bias, "float32")]
    op = Operator("Convolution2DTransposeBias", inputs, [floats(*y.shape)], custom=options)
    return Case(op, [x], [y])


def _pool(rng: Rng) -> tuple[Array, Array, Array, int]:
    """An image, its maxima and where they are in the image, by torch."""
    torch = require_module("torch")
    k = int(rng.integers(1, 4))
    # Rounded, so that some maxima are there twice.
    x = np.rint(normal(rng, 2, k * int(rng.integers(1, 5)), k * int(rng.integers(1, 5)), 3) * 2)
    image = torch.from_numpy(x.transpose(0, 3, 1, 2).copy())
    y, places = torch.nn.functional.max_pool2d(image, k, return_indices=True)
    return x, *(a.numpy().transpose(0, 2, 3, 1) for a in (y, places)), k


def _in_window(places: Array, width: int, k: int) -> Array:
    """Places in the image as places in their windows."""
    return (places // width % k * k + places % width % k).astype(np.float32)


def argmax_pool(rng: Rng) -> Case:
    x, y, places, k = _pool(rng)
    cells = _in_window(places, x.shape[2], k) + np.float32(0.1)
    options = struct.pack("<6i", int(rng.integers(1, 3)), k, k, k, k, 0)
    return made("MaxPoolingWithArgmax2D", [x], [y, cells], options)


def argmax_pool_of_overlapping_windows(rng: Rng) -> Case:
    """Places count from the corner of the window, be it outside of the image."""
    torch = require_module("torch")
    size, kernel = rng.integers(5, 9, 2), rng.integers(2, 6, 2)
    strides, padding = rng.integers(1, kernel + 1), int(rng.integers(1, 3))
    x = normal(rng, 1, *size, 2)
    beyond = np.maximum((-(-size // strides) - 1) * strides + kernel - size, 0) * (padding == SAME)
    (top, left), (bottom, right) = beyond // 2, beyond - beyond // 2
    image = torch.from_numpy(x.transpose(0, 3, 1, 2).copy())
    framed = torch.nn.functional.pad(image, (left, right, top, bottom), value=-np.inf)
    windows = (tuple(map(int, numbers)) for numbers in (kernel, strides))
    y, at = torch.nn.functional.max_pool2d(framed, *windows, return_indices=True)
    y, at = (a.numpy().transpose(0, 2, 3, 1) for a in (y, at))
    rows = at // framed.shape[3] - strides[0] * np.arange(at.shape[1])[:, None, None]
    cells = rows * kernel[1] + at % framed.shape[3] - strides[1] * np.arange(at.shape[2])[:, None]
    options = struct.pack("<6i", padding, *strides[::-1], *kernel[::-1], 1)
    expected = [np.maximum(y, 0), cells.astype(np.float32) + np.float32(0.1)]
    return made("MaxPoolingWithArgmax2D", [x], expected, options)


def unpool(rng: Rng) -> Case:
    torch = require_module("torch")
    x, y, places, k = _pool(rng)
    values = [torch.from_numpy(a.transpose(0, 3, 1, 2).copy()) for a in (y, places)]
    whole = torch.nn.functional.max_unpool2d(*values, k, output_size=x.shape[1:3])
    cells = _in_window(places, x.shape[2], k) + np.float32(0.1)
    options = struct.pack("<6i", SAME, k, k, k, k, 0)
    return made("MaxUnpooling2D", [y, cells], [whole.numpy().transpose(0, 2, 3, 1)], options)


def _affine(rng: Rng) -> Array:
    matrix = np.eye(4, dtype=np.float32)
    matrix[:2, [0, 1, 3]] = normal(rng, 2, 3)
    return matrix


def landmarks(rng: Rng) -> Case:
    matrix, x = _affine(rng), normal(rng, 1, int(rng.integers(1, 9)), int(rng.integers(2, 4)))
    y = x.copy()
    y[..., :2] = x[..., :2] @ matrix[:2, :2].T + matrix[:2, 3]
    return made("TransformLandmarks", [x, matrix[None]], [y], b"" if len(y[0]) % 2 else packed(version=2))


def older_landmarks(rng: Rng) -> Case:
    d, scale = int(rng.integers(2, 4)), float(rng.uniform(0.5, 3))
    matrix, x = _affine(rng), normal(rng, 1, 1, 1, d * int(rng.integers(1, 9)))
    y = x.reshape(-1, d).copy()
    y[:, :2] = y[:, :2] @ matrix[:2, :2].T + matrix[:2, 3] * np.float32(scale)
    return made(
        "TransformLandmarks", [x, matrix[None]], [y.reshape(x.shape)], packed(dimensions=d, scale=scale)
    )


def _crop(rng: Rng, corner: float) -> tuple[Array, Array, Array, tuple[int, int]]:
    """An image, an affine matrix, and the crop by torch's grid_sample, 0 where a place is outside."""
    torch = require_module("torch")
    h, w, c = (int(v) for v in rng.integers(2, 9, 3))
    size = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    x, matrix = normal(rng, 1, h, w, c), np.eye(4, dtype=np.float32)
    matrix[:2, :2] = rng.uniform(-1, 1, (2, 2))
    matrix[:2, 3] = rng.uniform(0, (w - 1, h - 1))
    rows, columns = np.mgrid[: size[0], : size[1]] + corner
    at = (
        np.stack([columns, rows, np.zeros(size), np.ones(size)], -1) @ matrix[:2].T.astype(np.float64)
        - corner
    )
    grid = at / (w - 1, h - 1) * 2 - 1
    image = torch.from_numpy(x.transpose(0, 3, 1, 2).astype(np.float64))
    y = torch.nn.functional.grid_sample(image, torch.from_numpy(grid[None]), align_corners=True)
    inside = ((at >= 0) & (at <= (w - 1, h - 1))).all(-1)
    return (
        x,
        matrix[None],
        (y.numpy().transpose(0, 2, 3, 1) * inside[None, ..., None]).astype(np.float32),
        size,
    )


def crop(rng: Rng) -> Case:
    x, matrix, y, size = _crop(rng, 0.5)
    options = packed(output_height=size[0], output_width=size[1])
    return made("TransformTensorBilinear", [x, matrix], [y], options)


def older_crop(rng: Rng) -> Case:
    x, matrix, y, size = _crop(rng, 0)
    return made("TransformTensor", [x, matrix], [y], packed(mode="bilinear", output_size=list(size)))


def _rotation(torch: Any, angle: Any) -> Any:
    c, s, zero, one = torch.cos(angle), torch.sin(angle), torch.zeros(()), torch.ones(())
    return torch.stack(
        [torch.stack([c, -s, zero]), torch.stack([s, c, zero]), torch.stack([zero, zero, one])]
    )


def _moved(torch: Any, x: Any, y: Any) -> Any:
    matrix = torch.eye(3, dtype=torch.float64)
    matrix[0, 2], matrix[1, 2] = x, y
    return matrix


def _framed(torch: Any, points: Any, numbers: Sequence[int], angle: Any) -> tuple[Any, Any]:
    """The extent of the box around points that are turned, and its middle, turned back."""
    chosen = points[list(numbers), :2] @ _rotation(torch, angle)[:2, :2].T
    high, low = chosen.max(0).values, chosen.min(0).values
    return high - low, _rotation(torch, -angle)[:2, :2] @ ((high + low) / 2)


def _as_4x4(matrix: Array) -> Array:
    y = np.eye(4)
    y[:2, [0, 1, 3]] = matrix[:2]
    return y[None].astype(np.float32)


def transform_matrix(rng: Rng) -> Case:
    torch = require_module("torch")
    torch.set_default_dtype(torch.float64)
    try:
        n = int(rng.integers(4, 12))
        x, numbers = normal(rng, 1, n, 3), [int(v) for v in rng.integers(0, n, 5)]
        points, target_angle = torch.from_numpy(x[0].astype(np.float64)), float(rng.uniform(-3, 3))
        height, width = (int(v) for v in rng.integers(2, 40, 2))
        scales = [float(np.float32(v)) for v in rng.uniform(0.5, 2, 2)]
        line = points[2] - points[1]
        angle = target_angle - torch.atan2(line[1], line[0])
        extent, middle = _framed(torch, points, numbers, angle)
        scale = torch.diag(
            torch.stack([extent[0] * scales[0] / width, extent[1] * scales[1] / height, torch.ones(())])
        )
        turn = _moved(torch, *middle) @ _rotation(torch, -angle)
        y = turn @ scale @ _moved(torch, -width / 2, -height / 2)
    finally:
        torch.set_default_dtype(torch.float32)
    options = packed(
        subset_idxs=numbers,
        left_rotation_idx=1,
        right_rotation_idx=2,
        target_rotation_radians=target_angle,
        output_height=height,
        output_width=width,
        scale_x=scales[0],
        scale_y=scales[1],
    )
    return made("Landmarks2TransformMatrix", [x], [_as_4x4(y.numpy())], options)


def older_transform_matrix(rng: Rng) -> Case:
    """From cells of the crop to -1 to 1, to the box, to -1 to 1 of the range, to cells of the image."""
    torch = require_module("torch")
    torch.set_default_dtype(torch.float64)
    try:
        n, reach = int(rng.integers(4, 12)), 192
        x, numbers = normal(rng, 1, 1, 1, 3 * n) * 50, [int(v) for v in rng.integers(0, n, 4)]
        points = torch.from_numpy(x.reshape(n, 3).astype(np.float64))
        (h, w), (to_h, to_w), larger = (120, 160), (24, 32), 1.25
        line = points[3] - points[0]
        angle = -torch.atan(line[1] / line[0])
        extent, middle = _framed(torch, points, numbers, angle)

        def scaled(a: Any, b: Any) -> Any:
            return torch.diag(torch.stack([torch.as_tensor(v, dtype=torch.float64) for v in (a, b, 1.0)]))

        relative = _moved(torch, -1.0, -1.0) @ scaled(2 / (to_w - 1), 2 / (to_h - 1))
        box = scaled(*(extent * larger / reach))
        placed = _moved(torch, *(middle / reach * 2 - 1)) @ _rotation(torch, -angle)
        absolute = scaled((w - 1) / 2, (h - 1) / 2) @ _moved(torch, 1.0, 1.0)
        y = absolute @ placed @ box @ relative
    finally:
        torch.set_default_dtype(torch.float32)
    options = packed(
        dimensions=3,
        landmarks_range=reach,
        left_rotation_idx=0,
        right_rotation_idx=3,
        bbox_size_multiplier=larger,
        input_hw=[h, w],
        output_hw=[to_h, to_w],
        subset=numbers,
    )
    return made("Landmarks2TransformMatrix", [x], [_as_4x4(y.numpy())], options)


KINDS: dict[str, Callable[[Rng], Case]] = {
    f.__name__: f
    for f in (
        transposed_convolution,
        argmax_pool,
        argmax_pool_of_overlapping_windows,
        unpool,
        landmarks,
        older_landmarks,
        crop,
        older_crop,
        transform_matrix,
        older_transform_matrix,
    )
}


def assert_alike(found: Sequence[Array], case: Case, what: str) -> None:
    for a, b in zip(found, case.expected, strict=True):
        assert (a.shape, a.dtype) == (b.shape, np.float32), what
        scale = max(1.0, float(np.abs(b).max(initial=0)))
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5 * scale, err_msg=what)


@pytest.mark.parametrize("kind", KINDS)
def test_simulator_agrees_with_torch(kind: str, tmp_path: Path) -> None:
    filled = 0
    for seed in range(SEEDS):
        case = KINDS[kind](np.random.default_rng(seed))
        graph = converted(model(case.op), tmp_path, f"{kind}_{seed}")
        verify(graph)
        found = list(simulate.run(graph, named(graph, case.inputs)).values())
        assert_alike(found, case, f"{kind}, seed {seed}")
        filled += all(np.count_nonzero(y) for y in case.expected)
    assert filled > SEEDS // 3


def test_c_agrees_with_torch(tmp_path: Path) -> None:
    cases, graphs, programs = {}, {}, {}
    for kind, make in KINDS.items():
        for seed in range(COMPILED):
            case = make(np.random.default_rng(seed))
            graph = simplify(converted(model(case.op), tmp_path, f"{kind}_{seed}"))
            cases[graph.name], graphs[graph.name] = case, graph
            programs[graph.name] = compile_graph(graph, target.load("host"))
    driver, errors = compile_programs(list(programs.values()), tmp_path, "size")
    assert not errors, next(iter(errors.values()))
    for name, case in cases.items():
        found = driver.run(programs[name], named(graphs[name], case.inputs))
        assert_alike(list(found.values()), case, name)


IMAGE, MATRIX = floats(1, 4, 4, 2), floats(1, 4, 4)
POINTS = floats(1, 6, 3)
ANGLE: dict[str, Any] = {
    "subset_idxs": [0, 5],
    "left_rotation_idx": 0,
    "right_rotation_idx": 1,
    "target_rotation_radians": 0.0,
    "output_height": 8,
    "output_width": 8,
    "scale_x": 1.0,
    "scale_y": 1.0,
}

REFUSED = {
    "E0401 options of 8 bytes": Operator("MaxPoolingWithArgmax2D", [IMAGE], [IMAGE, IMAGE], custom=bytes(8)),
    "E0401 padding 0 is unknown": Operator(
        "MaxPoolingWithArgmax2D", [IMAGE], [IMAGE, IMAGE], custom=bytes(24)
    ),
    "E0401 windows of 0 x 2": Operator(
        "MaxPoolingWithArgmax2D", [IMAGE], [IMAGE, IMAGE], custom=struct.pack("<6i", SAME, 2, 2, 2, 0, 0)
    ),
    "E0203 MaxUnpooling2D of 2 x 2 at other strides": Operator(
        "MaxUnpooling2D", [IMAGE, IMAGE], [IMAGE], custom=struct.pack("<6i", SAME, 1, 1, 2, 2, 0)
    ),
    "E0401 MaxUnpooling2D of f32[1,4,4,2] with places f32[1,4,4,1]": Operator(
        "MaxUnpooling2D", [IMAGE, floats(1, 4, 4, 1)], [IMAGE], custom=struct.pack("<6i", SAME, 2, 2, 2, 2, 0)
    ),
    "E0401 a transposed convolution": Operator(
        "Convolution2DTransposeBias",
        [IMAGE, floats(3, 2, 2, 2), floats(2)],
        [IMAGE],
        custom=struct.pack("<3i", SAME, 2, 2),
    ),
    "E0401 a matrix f32[1,4,3]": Operator(
        "TransformLandmarks", [POINTS, floats(1, 4, 3)], [POINTS], custom=b""
    ),
    "E0401 landmarks f32[1,6,4] of 4 coordinates": Operator(
        "TransformLandmarks", [floats(1, 6, 4), MATRIX], [floats(1, 6, 4)], custom=packed(version=2)
    ),
    "E0401 the option output_width, a number, is missing": Operator(
        "TransformTensorBilinear", [IMAGE, MATRIX], [IMAGE], custom=packed(output_height=4)
    ),
    "E0401 a crop of [0, 4]": Operator(
        "TransformTensorBilinear", [IMAGE, MATRIX], [IMAGE], custom=packed(output_height=0, output_width=4)
    ),
    **{
        f"E0401 a crop of {size} from {image}": Operator(
            "TransformTensor", [floats(*shape), MATRIX], [IMAGE], custom=packed(output_size=size)
        )
        for size, image, shape in (
            ([4, 4], "f32[4,4,2]", (4, 4, 2)),
            ([4, 4], "f32[2,4,4,2]", (2, 4, 4, 2)),
            ([4, 4, 4], "f32[1,4,4,2]", (1, 4, 4, 2)),
            ([4, 4], "f32[1,4,0,2]", (1, 4, 0, 2)),
        )
    },
    "E0203 another way than bilinear": Operator(
        "TransformTensor", [IMAGE, MATRIX], [IMAGE], custom=packed(mode="nearest", output_size=[4, 4])
    ),
    "E0401 landmarks [6] of 6": Operator(
        "Landmarks2TransformMatrix", [POINTS], [MATRIX], custom=packed(**{**ANGLE, "right_rotation_idx": 6})
    ),
    "E0401 a list of whole numbers": Operator(
        "Landmarks2TransformMatrix", [POINTS], [MATRIX], custom=packed(**{**ANGLE, "subset_idxs": 3})
    ),
    "E0401 landmarks [] of 6": Operator(
        "Landmarks2TransformMatrix", [POINTS], [MATRIX], custom=packed(**{**ANGLE, "subset_idxs": []})
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_options_that_make_no_sense_are_refused(message: str, tmp_path: Path) -> None:
    code, words = message.split(" ", 1)
    with pytest.raises(EdgeKitError) as refused:
        converted(model(REFUSED[message]), tmp_path, "net")
    assert refused.value.code == code
    assert words in str(refused.value)


def test_landmarks_that_coincide_are_taken_as_level(tmp_path: Path) -> None:
    """atan2(0, 0) is 0."""
    op = Operator("Landmarks2TransformMatrix", [POINTS], [MATRIX], custom=packed(**ANGLE))
    points = np.zeros((1, 6, 3), np.float32)
    points[0, 5] = 4, 8, 0
    graph = converted(model(op), tmp_path, "net")
    (y,) = simulate.run(graph, named(graph, [points])).values()
    np.testing.assert_allclose(y[0, :2], [[0.5, 0, 0, 0], [0, 1, 0, 0]], atol=1e-6)
