"""PyTorch exports compute what torch computes: every operator, before and after its decompositions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.random_models import Dice
from support.tools import require_module
from support.torch_exports import check, kept, simulated

from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.onnx import reader as onnx_reader
from edgekit.converters.torch_export import file
from edgekit.converters.torch_export.arguments import argument
from edgekit.converters.torch_export.reader import convert
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify

FAMILIES = (
    *("arithmetic", "logic", "activations", "layers", "lines", "moves", "reductions", "products"),
    "sequences",
)


@pytest.fixture(scope="module")
def torch() -> Any:
    return require_module("torch")


@pytest.mark.parametrize("core", [False, True], ids=["training", "core"])
@pytest.mark.parametrize("name", FAMILIES)
def test_operators_compute_what_torch_computes(name: str, core: bool, torch: Any, tmp_path: Path) -> None:
    from support.torch_cases import FAMILIES as CASES
    from support.torch_cases import flat

    family = CASES[name]
    graph = convert(kept(f"family-{name}", family.module(), family.inputs, tmp_path, core))
    simple = simplify(graph)
    verify(simple)
    found = simulated(simple, family.inputs)
    faults = []
    for what, function in family.functions.items():
        with torch.no_grad():
            right = [y.numpy() for y in flat(function(*family.inputs))]
        for y, mine in zip(right, found[: len(right)], strict=True):
            del found[0]
            same = mine.dtype == y.dtype and mine.shape == y.shape
            if not (same and np.allclose(mine, y, rtol=1e-4, atol=1e-5)):
                faults.append(f"{what}: {mine.dtype}{mine.shape} for {y.dtype}{y.shape}\n{mine}\n{y}")
    assert not faults, "\n".join(faults)


_FACTORS = (0.3, 0.5, 0.7, 2 / 3, 0.9, 1.1, 1.2, 1.3, 1.5, 1.7, 2.0, 2.5, 3.0)
_RESIZES = {
    "nearest": ("nearest",) * 3,
    "exact": (None, "nearest-exact", None),
    "linear": ("linear", "bilinear", "trilinear"),
    "cubic": (None, "bicubic", None),
}


def resizes(torch: Any, count: int, plain: bool = False) -> tuple[Any, list[Any]]:
    """Interpolations by random factors and to random sizes, and an image for each. The older exporter to ONNX
    knows the plain ones only."""
    dice = Dice(2)
    kinds = [kind for kind in _RESIZES if not (plain and kind == "exact")]
    wanted: list[dict[str, Any]] = []
    images = []
    while len(wanted) < count:
        kind, n = dice.pick(*kinds), 2 if plain else dice.pick(1, 2, 3)
        if (mode := _RESIZES[kind][n - 1]) is None:
            continue
        size, factors = dice.rolls(n, 2, 11), [dice.pick(*_FACTORS) for _ in range(n)]
        how: dict[str, Any] = {"size": dice.rolls(n, 1, 15)} if dice.coin() else {"scale_factor": factors}
        if min(int(m * f) for m, f in zip(size, factors, strict=True)) < 1:
            continue
        if kind in ("linear", "cubic"):
            how["align_corners"] = dice.coin()
        if mode == "bilinear" and not plain and not dice.roll(0, 3):
            how["antialias"] = True
        wanted.append(how | {"mode": mode})
        images.append(torch.from_numpy(dice.normal(1, 2, *size)))

    class Resizes(torch.nn.Module):  # type: ignore[misc]  # torch is not typed here
        def forward(self, *images: Any) -> Any:
            from torch.nn.functional import interpolate

            return tuple(interpolate(x, **how) for x, how in zip(images, wanted, strict=True))

    return Resizes().eval(), images


def test_images_are_resized_as_torch_does(torch: Any, tmp_path: Path) -> None:
    check(*resizes(torch, 40), tmp_path / "net.pt2")


@pytest.mark.parametrize("dynamo", [False, True], ids=["torchscript", "dynamo"])
def test_images_are_resized_as_torch_does_when_it_exports_to_onnx(
    dynamo: bool, torch: Any, tmp_path: Path
) -> None:
    """As ONNX Runtime, which is nearly always as torch: never mind where it is not."""
    module, images = resizes(torch, 24, plain=True)
    upsample = torch.nn.Upsample(scale_factor=0.7, mode="bilinear", align_corners=True)

    class Both(torch.nn.Module):  # type: ignore[misc]  # torch is not typed here
        def forward(self, *images: Any) -> Any:
            return (upsample(images[0]), *module(*images[1:]))

    images = [images[0].repeat(1, 1, 2, 3)[:, :, :10, :11], *images]
    path = tmp_path / "net.onnx"
    with torch.no_grad():
        torch.onnx.export(Both().eval(), tuple(images), path, dynamo=dynamo, verbose=False)
        right = [y.numpy() for y in Both()(*images)]
    session = require_module("onnxruntime").InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [given.name for given in session.get_inputs()]
    runtime = session.run(None, {n: x.numpy() for n, x in zip(names, images, strict=True)})
    agreed = 0
    for mine, theirs, y in zip(simulated(onnx_reader.convert(path), images), runtime, right, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
        agreed += theirs.shape == y.shape and np.allclose(theirs, y, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(runtime[0], right[0], rtol=1e-4, atol=1e-5)
    assert agreed > 0.8 * len(right)


@pytest.mark.parametrize("name", ["mobilenet_v2", "unet"])
def test_plain_networks_have_no_transpose_but_at_their_ends(name: str, torch: Any, tmp_path: Path) -> None:
    from support import networks

    x = np.ascontiguousarray(networks.sample(name, seed=3)[:, :, :64, :64])
    path = kept(name, networks.network(name), [torch.from_numpy(x)], tmp_path)
    graph = simplify(convert(path))
    (found,) = simulate.run(graph, {graph.inputs[0]: x}).values()
    right = networks.expected(name, x)
    assert np.abs(found - right).max() <= 1e-5 * np.ptp(right)
    moves = [node for node in graph.nodes if type(node.op).__name__ == "Transpose"]
    assert all({*node.inputs, *node.outputs} & {*graph.inputs, *graph.outputs} for node in moves)


@pytest.mark.parametrize("core", [False, True], ids=["training", "core"])
def test_blocks_of_the_networks_of_torchvision(core: bool, torch: Any, tmp_path: Path) -> None:
    """One small block of each family of architectures, all of the same input."""
    from support.torch_blocks import BLOCKS, sample
    from support.torch_cases import Family

    family = Family((sample(),), BLOCKS)
    graph = simplify(convert(kept("torchvision", family.module(), family.inputs, tmp_path, core)))
    with torch.no_grad():
        right = family.module()(*family.inputs)
    for name, mine, y in zip(BLOCKS, simulated(graph, family.inputs), right, strict=True):
        assert np.abs(mine - y.numpy()).max() <= 1e-5 * np.ptp(y.numpy()), name


def test_archives_are_known_by_their_members() -> None:
    for names, known in (
        (("net/models/model.json",), True),
        (("serialized_exported_program.json",), True),  # of an older torch
        (("net/archive_format",), True),
        (("net/data.pkl", "net/version"), False),
        ((), False),
    ):
        assert file.is_program(frozenset(names)) == known


def test_names_stand_for_what_was_computed_before() -> None:
    for content, right in (
        ({"as_tensor": {"name": "a"}}, 1),
        ({"as_sym_ints": [{"as_name": "b"}, {"as_int": 3}]}, [2, 3]),
        ({"as_optional_tensor": {"as_tensor": {"name": "a"}}}, 1),
        ({"as_optional_tensors": [{"as_none": True}, {"as_tensor": {"name": "b"}}]}, [None, 2]),
    ):
        assert argument(Record.of(content, "node"), {"a": 1, "b": 2}) == right
    with pytest.raises(EdgeKitError, match="c is computed later or never"):
        argument(Record.of({"as_tensor": {"name": "c"}}, "node"), {"a": 1})
