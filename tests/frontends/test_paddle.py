"""Programs of Paddle compute what Paddle computed of them, and what only some of them have is understood."""

from pathlib import Path

import numpy as np
import pytest
from support.exports import SAMPLES
from support.paddle_files import desc, desc_op, net, op, parameter, program, type_of, write
from support.recorded import names, unpacked

from edgekit.converters.paddle.reader import convert
from edgekit.converters.read import read
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

RECORDED = SAMPLES.parent / "recorded"
ARCHIVES = sorted(RECORDED.glob("paddle_*.zip"))


@pytest.mark.parametrize(
    ("archive", "name"), [pytest.param(a, n, id=f"{a.stem}: {n}") for a in ARCHIVES for n in names(a)]
)
def test_model_computes_what_paddle_did(archive: Path, name: str, tmp_path: Path) -> None:
    unpacked(archive, name, tmp_path).compare()


def test_both_forms_are_recorded() -> None:
    assert [a.stem for a in ARCHIVES] == ["paddle_old", "paddle_pir"]


def run(path: Path, *xs: Array) -> Array:
    graph = convert(path)
    (y,) = simulate.run(graph, dict(zip(graph.inputs, xs, strict=True))).values()
    return y


def rand(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_either_file_of_a_pair_is_converted() -> None:
    for folder, suffix in (("pir", "json"), ("oldir", "pdmodel")):
        pair = SAMPLES / "paddle" / folder
        by_parameters, by_program = (read(pair / f"net.{s}") for s in ("pdiparams", suffix))
        assert by_parameters.nodes == by_program.nodes


def test_files_may_have_the_names_of_paddle_1(tmp_path: Path) -> None:
    pair = SAMPLES / "paddle" / "oldir"
    (tmp_path / "__model__").write_bytes((pair / "net.pdmodel").read_bytes())
    with pytest.raises(EdgeKitError, match="__params__ belongs beside"):
        read(tmp_path / "__model__")
    (tmp_path / "__params__").write_bytes((pair / "net.pdiparams").read_bytes())
    assert read(tmp_path / "__model__").nodes == read(pair / "net.pdmodel").nodes


def test_open_sizes_are_bound(tmp_path: Path) -> None:
    open_type, text = type_of((-1, 3, -1)), type_of((-1, -1, -1))
    first = op("data", [], {1: open_type}, name="x")
    path = write(tmp_path, program(first, op("relu", [1], {2: text}), op("fetch", [2], {3: text}, name="y")))
    with pytest.raises(EdgeKitError) as caught:
        convert(path)
    assert caught.value.code == "E0302"
    assert "--shape x=" in caught.value.hint
    graph = convert(path, shapes={"x": (2, 3, 5)})
    assert [graph.type(name).shape for name in (*graph.inputs, *graph.outputs)] == [(2, 3, 5)] * 2


def test_images_with_channels_last(tmp_path: Path) -> None:
    x, w = rand(1, 5, 6, 3), rand(4, 3, 3, 3)
    conv = op(
        "conv2d",
        [1, 3],
        {2: type_of((1, 5, 6, 4))},
        strides=[1, 1],
        paddings=[1, 1],
        padding_algorithm="EXPLICIT",
        dilations=[1, 1],
        groups=1,
        data_format="NHWC",
    )
    text = net(x.shape, (1, 5, 6, 4), parameter(3, "w", w.shape), conv)
    wide = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
    expected = sum(wide[:, i : i + 5, j : j + 6] @ w[:, :, i, j].T for i in range(3) for j in range(3))
    np.testing.assert_allclose(run(write(tmp_path, text, {"w": w}), x), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("mode", "shape", "order"),
    [
        ("all", (1,), "NCHW"),
        ("channel", (3,), "NCHW"),
        ("channel", (4,), "NHWC"),
        ("element", (1, 3, 4), "NCHW"),
    ],
)
def test_slopes(mode: str, shape: tuple[int, ...], order: str, tmp_path: Path) -> None:
    x, slope = rand(1, 3, 4), rand(*shape)
    made = op("prelu", [1, 3], {2: type_of(x.shape)}, mode=mode, data_format=order)
    text = net(x.shape, x.shape, parameter(3, "a", shape), made)
    across = slope.reshape(3, 1) if (mode, order) == ("channel", "NCHW") else slope
    expected = np.where(x > 0, x, x * across)
    np.testing.assert_allclose(run(write(tmp_path, text, {"a": slope}), x), expected, rtol=1e-6)


def test_halves_round_to_even_in_newer_programs_only(tmp_path: Path) -> None:
    x = np.array([0.5, 1.5, -0.5, -2.5, 0.4], np.float32)
    kind = type_of(x.shape)
    newer = run(write(tmp_path, net(x.shape, x.shape, op("round", [1], {2: kind}, decimals=0))), x)
    np.testing.assert_array_equal(newer, [0, 2, 0, -2, 0])
    older = run(write(tmp_path, net(x.shape, x.shape, op("round", [1], {2: kind}))), x)
    np.testing.assert_array_equal(older, [1, 2, -1, -3, 0])


def test_older_operators_align_operands_at_an_axis(tmp_path: Path) -> None:
    x, y = rand(2, 3, 4), rand(3)
    made = op("elementwise_mul", [1, 3], {2: type_of(x.shape)}, axis=1)
    text = net(x.shape, x.shape, parameter(3, "y", (3,)), made)
    found = run(write(tmp_path, text, {"y": y}), x)
    np.testing.assert_allclose(found, x * y.reshape(3, 1), rtol=1e-6)


def test_quantized_programs_become_layers_on_integers(tmp_path: Path) -> None:
    for archive in ARCHIVES:
        model = unpacked(archive, "quantized", tmp_path / archive.stem)
        graph = simplify(read(model.path))
        layers = [n for n in graph.nodes if type(n.op).__name__ == "Conv2d"]
        assert [graph.type(n.inputs[0]).dtype.value for n in layers] == ["s8", "s8"]


def test_weights_have_a_scale_a_channel(tmp_path: Path) -> None:
    x, scales = rand(2, 3), np.abs(rand(4)) + 0.5
    w = np.round(rand(3, 4) * 50).clip(-127, 127).astype(np.float32)
    stated = type_of(w.shape)
    real = op("dequantize_linear", [3, 4], {5: stated}, quant_axis=1, bit_length=8, qmin=-128, qmax=127)
    given = [parameter(3, "w", w.shape), parameter(4, "scales", scales.shape)]
    made = op("matmul", [1, 5], {2: type_of((2, 4))}, transpose_x=False, transpose_y=False)
    text = net(x.shape, (2, 4), *given, real, made)
    found = run(write(tmp_path, text, {"w": w, "scales": scales}), x)
    np.testing.assert_allclose(found, x @ (w * scales / 127), rtol=1e-5, atol=1e-6)


def older(folder: Path, program: bytes) -> Path:
    (folder / "net.pdmodel").write_bytes(program)
    (folder / "net.pdiparams").write_bytes(b"")
    return folder / "net.pdmodel"


def test_a_variable_may_be_written_again(tmp_path: Path) -> None:
    x = rand(5)
    program = desc(
        {"x": x, "y": x},
        desc_op("feed", {"X": "feed"}, {"Out": "x"}),
        desc_op("exp", {"X": "x"}, {"Out": "y"}),
        desc_op("relu", {"X": "x"}, {"Out": "x"}),
        desc_op("elementwise_add", {"X": "x", "Y": "y"}, {"Out": "y"}),
        desc_op("fetch", {"X": "y"}, {"Out": "fetch"}),
    )
    found = run(older(tmp_path, program), x)
    np.testing.assert_allclose(found, np.maximum(x, 0) + np.exp(x), rtol=1e-5)


def test_numbers_have_a_dimension_where_the_program_says_so(tmp_path: Path) -> None:
    x, number = rand(5), np.zeros(1, np.float32)
    program = desc(
        {"x": x, "y": number},
        desc_op("feed", {"X": "feed"}, {"Out": "x"}),
        desc_op("reduce_sum", {"X": "x"}, {"Out": "y"}),
        desc_op("fetch", {"X": "y"}, {"Out": "fetch"}),
    )
    found = run(older(tmp_path, program), x)
    assert found.shape == (1,)
    np.testing.assert_allclose(found, [x.sum()], rtol=1e-5)


@pytest.mark.parametrize(
    "left",
    [{"fuse_brelu_threshold": 6.0}, {"fuse_brelu": False, "fuse_brelu_threshold": 6.0}, {"fuse_alpha": 0.5}],
)
def test_numbers_of_activations_that_are_not_fused_change_nothing(
    left: dict[str, float], tmp_path: Path
) -> None:
    """Passes of Paddle's engine leave them in what it saves."""
    x = rand(2, 3)

    def saved(**attributes: float) -> Path:
        steps = (
            desc_op("feed", {"X": "feed"}, {"Out": "x"}),
            desc_op("relu", {"X": "x"}, {"Out": "y"}, **attributes),
            desc_op("fetch", {"X": "y"}, {"Out": "fetch"}),
        )
        path = tmp_path / "net.pdmodel"
        path.write_bytes(desc({"x": x, "y": x}, *steps))
        path.with_suffix(".pdiparams").write_bytes(b"")
        return path

    assert np.array_equal(run(saved(**left), x), x.clip(0))
    with pytest.raises(EdgeKitError, match=r"E0203.*fuse_brelu"):
        convert(saved(**{**left, "fuse_brelu": True}))
