"""PyTorch programs beyond single operators: changes in place, states, dynamic sizes, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.exports import SAMPLES
from support.tools import ROOT, require_module
from support.torch_exports import check, exported, simulated

from edgekit.converters.torch_export.reader import convert
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify


@pytest.fixture(scope="module")
def torch() -> Any:
    return require_module("torch")


# In place


def changed_in_slices(torch: Any, x: Any) -> Any:
    """What Swin does to make its mask, and more."""
    y = x.clone()
    y[:, 1:3] = 0
    y[:, 0].add_(x[:, 1])
    view = y.view(-1, 2)
    y.mul_(2)
    column = y.transpose(0, 1).select(0, 2)
    column.copy_(x[:, 3])
    mask = torch.zeros(4)
    mask[1:].fill_(3)
    mask[::2] = 1
    return view.sum(1) + 0, y + mask, column.relu_()


@pytest.mark.parametrize("core", [False, True], ids=["training", "core"])
def test_what_is_changed_in_place_is_changed_for_all(core: bool, torch: Any, tmp_path: Path) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]  # torch is not there for mypy
        def forward(self, x: Any) -> Any:
            return changed_in_slices(torch, x)

    check(Net(), [torch.randn(3, 4)], tmp_path / "net.pt2", core=core)


def test_activations_in_place(torch: Any, tmp_path: Path) -> None:
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(inplace=True), nn.Hardswish(inplace=True), nn.Flatten())
    check(net.eval(), [torch.randn(1, 3, 8, 8)], tmp_path / "net.pt2")


def test_unknown_view_that_is_read_later_is_refused(torch: Any, tmp_path: Path) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]  # torch is not there for mypy
        def forward(self, x: Any) -> Any:
            y = x.clone()
            y.unfold(0, 2, 2).add_(1)
            return y

    with pytest.raises(EdgeKitError, match="shares its memory") as caught:
        convert(exported(Net(), [torch.randn(4)], tmp_path / "net.pt2"))
    assert "run_decompositions" in caught.value.hint


# Buffers


@pytest.mark.parametrize("core", [False, True], ids=["training", "core"])
def test_buffers_that_a_run_changes_are_states(core: bool, torch: Any, tmp_path: Path) -> None:
    class Counter(torch.nn.Module):  # type: ignore[misc]  # torch is not there for mypy
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.ones(3))
            self.register_buffer("kept", torch.full((3,), 2.0))

        def forward(self, x: Any) -> Any:
            self.total.add_(x)
            return self.total * self.kept

    graph = simplify(convert(exported(Counter(), [torch.zeros(3)], tmp_path / "net.pt2", core)))
    verify(graph)
    (state,) = graph.states
    assert state.initial.data is not None
    assert state.initial.data.tolist() == [1, 1, 1]
    session = simulate.Session(graph)
    x = np.asarray([1, 2, 3], np.float32)
    assert [session.run({"x": x})[graph.outputs[0]].tolist() for _ in range(2)] == [[4, 6, 8], [6, 10, 14]]


def test_buffer_may_have_the_name_of_an_input(torch: Any, tmp_path: Path) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]  # torch is not there for mypy
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("x", torch.randn(3))
            self.register_buffer("y", torch.randn(3))

        def forward(self, x: Any, y: Any) -> Any:
            self.y.add_(y)
            return x * self.x + self.y

    graph = check(Net(), [torch.randn(3), torch.zeros(3)], tmp_path / "net.pt2")
    assert graph.inputs == ("x", "y")


# Sizes


def test_dynamic_sizes_are_bound(torch: Any, tmp_path: Path) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]  # torch is not there for mypy
        def forward(self, x: Any) -> Any:
            n, length, width = x.shape
            y = x.reshape(n, length * width)[:, : (length * width) // 2]
            return y.sum() / (length + 1) + torch.arange(length).sum() + torch.zeros(n, length - 1).sum()

    dim = torch.export.Dim
    shapes = {"x": {0: dim("n"), 1: dim("length", min=3, max=50)}}
    path = exported(Net(), [torch.randn(3, 7, 4)], tmp_path / "net.pt2", dynamic_shapes=shapes)
    with pytest.raises(EdgeKitError, match=r"dynamic shape \[s\d+,s\d+,4\]") as caught:
        convert(path)
    assert caught.value.code == "E0302"
    assert re.fullmatch(r"bind it: --dim s\d+=N", caught.value.hint)
    x = torch.randn(2, 5, 4)
    graph = convert(path, shapes={"x": (2, 5, 4)})
    np.testing.assert_allclose(simulated(graph, [x])[0], Net()(x).numpy(), rtol=1e-5)
    assert graph.values["x"].type.shape == (2, 5, 4)
    with pytest.raises(EdgeKitError, match="size 51 of input x is outside of") as caught:
        convert(path, shapes={"x": (2, 51, 4)})
    assert caught.value.code == "E0103"
    with pytest.raises(EdgeKitError, match="does not fit input x"):
        convert(path, shapes={"x": (2, 5, 5)})
    with pytest.raises(EdgeKitError, match="no input named y, which --shape names"):
        convert(path, shapes={"x": (2, 5, 4), "y": (1,)})


def test_equal_sizes_must_be_bound_alike(torch: Any, tmp_path: Path) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]  # torch is not there for mypy
        def forward(self, x: Any, y: Any) -> Any:
            return x + y

    n = torch.export.Dim("n")
    path = exported(
        Net(), [torch.ones(3, 3)] * 2, tmp_path / "n.pt2", dynamic_shapes={"x": {1: n}, "y": {1: n}}
    )
    assert convert(path, shapes={"x": (3, 9), "y": (3, 9)}).nodes
    with pytest.raises(EdgeKitError, match="is 9 in another input, and 8 in y"):
        convert(path, shapes={"x": (3, 9), "y": (3, 8)})


# Programs


def test_parts_without_gradients_run_as_if_they_stood_there(torch: Any, tmp_path: Path) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]  # torch is not there for mypy
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 3)

        def forward(self, x: Any) -> Any:
            with torch.no_grad():
                y = torch.relu(self.layer(x))
            with torch.enable_grad():
                y = y * 2
            return y + x

    check(Net(), [torch.randn(2, 3)], tmp_path / "net.pt2")


def test_inputs_and_outputs_of_any_structure(torch: Any, tmp_path: Path) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]  # torch is not there for mypy
        def forward(self, pair: Any, *, scale: float, more: Any) -> Any:
            return {"sum": pair[0] + pair[1] * scale, "same": pair[0], "more": [more["z"].int()]}

    x, y, z = (torch.randn(2, 3) for _ in range(3))
    program = torch.export.export(Net(), ((x, y),), {"scale": 0.5, "more": {"z": z}})
    torch.export.save(program, tmp_path / "net.pt2")
    graph = convert(tmp_path / "net.pt2")
    found = simulated(graph, [x, y, z])
    assert len(graph.inputs) == len(graph.outputs) == 3
    for mine, right in zip(found, [x + y * 0.5, x, z.int()], strict=True):
        np.testing.assert_allclose(mine, right.numpy(), rtol=1e-6)


def test_recurrent_layer_is_one_operator_before_decomposition(torch: Any, tmp_path: Path) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]  # torch is not there for mypy
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(10, 8, batch_first=True)
            self.gru = torch.nn.GRU(8, 6, batch_first=True)
            self.out = torch.nn.Linear(6, 4)

        def forward(self, x: Any) -> Any:
            y, _ = self.gru(self.lstm(x)[0])
            return self.out(y[:, -1])

    graph = check(Net().eval(), [torch.randn(1, 49, 10)], tmp_path / "net.pt2")
    names = [type(node.op).__name__ for node in graph.nodes]
    assert [name for name in names if name in ("Lstm", "Gru")] == ["Lstm", "Gru"]
    assert len(names) < 20


def test_weights_of_all_types_and_shared_ones(torch: Any, tmp_path: Path) -> None:
    types = [
        torch.float16,
        torch.bfloat16,
        torch.float64,
        torch.int8,
        torch.uint8,
        torch.int16,
        torch.int32,
        torch.bool,
    ]

    class Net(torch.nn.Module):  # type: ignore[misc]  # torch is not there for mypy
        def __init__(self) -> None:
            super().__init__()
            whole = torch.randn(4, 6)
            self.a, self.b = torch.nn.Parameter(whole), torch.nn.Parameter(whole[1:, ::2].T)
            for i, dtype in enumerate(types):
                self.register_buffer(
                    f"t{i}", (torch.arange(6) - (0 if dtype == torch.uint8 else 2)).to(dtype)
                )
            self.register_buffer("nothing", torch.zeros(0, 6))

        def forward(self, x: Any) -> Any:
            made = [getattr(self, f"t{i}").to(torch.float32) for i in range(len(types))]
            y = torch.cat([x, self.nothing]) + sum(made)
            return y @ self.a.T, (self.b @ x[:, :3].T)

    check(Net(), [torch.randn(2, 6)], tmp_path / "net.pt2")


def test_half_precision(torch: Any, tmp_path: Path) -> None:
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 4, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(144, 5)
    )
    graph = simplify(
        convert(exported(net.half().eval(), [torch.randn(1, 3, 8, 8).half()], tmp_path / "net.pt2"))
    )
    verify(graph)
    x = torch.randn(1, 3, 8, 8).half()
    with torch.no_grad():
        np.testing.assert_allclose(simulated(graph, [x])[0], net(x).numpy(), atol=4e-3)


def test_all_unsupported_operators_are_named_at_once(torch: Any, tmp_path: Path) -> None:
    class Net(torch.nn.Module):  # type: ignore[misc]  # torch is not there for mypy
        def forward(self, x: Any) -> Any:
            return torch.linalg.inv(x) + torch.special.i0(x) + torch.relu(x)

    with pytest.raises(EdgeKitError) as caught:
        convert(exported(Net(), [torch.eye(3)], tmp_path / "net.pt2"))
    errors = [caught.value, *caught.value.also]
    assert [e.code for e in errors] == ["E0201"] * 2
    assert ["linalg_inv" in errors[0].message, "i0" in errors[1].message] == [True, True]
    assert all(e.where.startswith("node ") and e.hint for e in errors)


def test_training_mode_is_refused(torch: Any, tmp_path: Path) -> None:
    net = torch.nn.Sequential(torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.Dropout())
    with pytest.raises(EdgeKitError) as caught:
        convert(exported(net.train(), [torch.randn(1, 1, 8, 8)], tmp_path / "net.pt2"))
    assert "model.eval()" in caught.value.hint


# Quantization


@pytest.mark.parametrize("core", [False, True], ids=["training", "core"])
@pytest.mark.parametrize(("low", "high", "zero"), [(-128, 127, 3), (0, 255, 100)])
def test_fake_quantization_becomes_integer_layers(
    core: bool, low: int, high: int, zero: int, torch: Any, tmp_path: Path
) -> None:
    """What is left of training with quantization in mind: every layer between two grids."""
    tensor, channel = torch.fake_quantize_per_tensor_affine, torch.fake_quantize_per_channel_affine

    class Net(torch.nn.Module):  # type: ignore[misc]  # torch is not there for mypy
        def __init__(self) -> None:
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 4, 3, bias=False)
            self.register_buffer("scale", self.conv.weight.detach().abs().amax((1, 2, 3)) / 127)
            self.register_buffer("zero", torch.zeros(4, dtype=torch.int32))

        def forward(self, x: Any) -> Any:
            x = tensor(x, 0.05, zero, low, high)
            w = channel(self.conv.weight, self.scale, self.zero, 0, -127, 127)
            return tensor(torch.relu(torch.nn.functional.conv2d(x, w)), 0.04, low, low, high)

    x = torch.randn(1, 3, 8, 8)
    net = Net().eval()
    graph = simplify(convert(exported(net, [x], tmp_path / "net.pt2", core)))
    verify(graph)
    (layer,) = [node for node in graph.nodes if type(node.op).__name__ == "Conv2d"]
    assert {graph.values[name].type.dtype.value for name in layer.inputs[:2]} == {"s8"}
    (found,) = simulated(graph, [x])
    with torch.no_grad():
        assert np.abs(found - net(x).numpy()).max() <= 0.04 * 1.001


def test_the_installed_torch_exports_the_shared_net_as_ever(torch: Any, tmp_path: Path) -> None:
    """The other frameworks are asked by hand: see tests/frameworks."""
    scripts = ROOT / "tests" / "frameworks"
    for script in ("export_torch.py", "compare.py"):
        done = subprocess.run([sys.executable, scripts / script, tmp_path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert done.stdout.count("PyTorch, the same graph") == 3


def test_programs_without_a_list_of_constants_have_none(torch: Any, tmp_path: Path) -> None:
    """As long as no pickle is in its place."""

    class Net(torch.nn.Module):  # type: ignore[misc]  # torch is not there for mypy
        def forward(self, x: Any) -> Any:
            return x * 2

    path = exported(Net(), [torch.randn(3)], tmp_path / "net.pt2")
    left = tmp_path / "less.pt2"
    with zipfile.ZipFile(path) as whole, zipfile.ZipFile(left, "w") as less:
        for info in whole.infolist():
            if "constants_config" not in info.filename:
                less.writestr(info, whole.read(info))
    assert len(convert(left).nodes) == 1


def test_the_main_model_of_an_archive_is_read(tmp_path: Path) -> None:
    """Others may be beside it; of several without a main one, none is."""
    net = SAMPLES / "torch" / "net.pt2"
    with zipfile.ZipFile(net) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(tmp_path / "net.pt2", "w") as archive:
        for name, data in {"net/models/draft.json": b"{}", **content}.items():
            archive.writestr(name, data)
    assert convert(tmp_path / "net.pt2").nodes == convert(net).nodes
