"""Training with the device's arithmetic: values to the bit, gradients, ranges that learn."""

import itertools
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from support.tools import ROOT, require, require_module
from torch import nn

import edgekit.torch as ek
from edgekit import api
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.batches import batched
from edgekit.torch.torch_ops import torch_op


class Block(nn.Module):
    """Everything that an image classifier has."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.pointwise = nn.Conv2d(8, 8, 1)
        self.pool = nn.MaxPool2d(2)
        self.act = nn.Hardswish()
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        x = x + self.pointwise(torch.relu(self.depthwise(x)))
        x = self.act(self.pool(x))
        y: torch.Tensor = self.head(x.mean(dim=(2, 3)))
        return y


def images(n: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn((n, 3, 8, 8), generator=generator)


@pytest.fixture
def block() -> nn.Module:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = Block()
    with torch.no_grad():
        for _ in range(8):  # statistics of batch normalization
            net(images(16))
    return net.eval()


def prepared(net: nn.Module, target: str = "int8") -> ek.Qat:
    return ek.prepare_qat(net, (images(1),), torch.split(images(32), 1), target=target)


def simulated(graph: Graph, x: torch.Tensor) -> Any:
    (name,) = graph.inputs
    return np.concatenate([simulate.run(graph, {name: row[None]})[graph.outputs[0]] for row in x.numpy()])


def answered(net: nn.Module, x: torch.Tensor) -> Any:
    """As the device answers."""
    net.eval()
    with torch.no_grad():
        answers = net(x).numpy()
    net.train()
    return answers


def trained(net: nn.Module, steps: int = 5) -> None:
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    for seed in range(steps):
        optimizer.zero_grad()
        x = images(16, seed)
        torch.autograd.backward(nn.functional.cross_entropy(net(x), (x.mean(dim=(1, 2, 3)) > 0).long()))
        optimizer.step()


@pytest.mark.parametrize("target", ["int8", "int4", "bf16", "f16"])
def test_the_module_and_the_graph_agree_to_the_bit(block: nn.Module, target: str) -> None:
    net = prepared(block, target)
    x = images(50, seed=9)
    for _ in range(2):
        answers = answered(net, x)
        assert np.array_equal(simulated(net.convert(), x), answers)
        trained(net)  # and after weights and ranges have moved


def test_c_agrees_as_well(block: nn.Module, tmp_path: Path) -> None:
    require("gcc")
    net = prepared(block)
    trained(net)
    graph = net.convert(io="int8")
    assert api.verify(graph).max_error == 0
    assert {graph.type(name).dtype.value for name in (*graph.inputs, *graph.outputs)} == {"s8"}


def test_training_moves_weights_and_ranges(block: nn.Module) -> None:
    net = prepared(block)
    before = {name: p.detach().clone() for name, p in net.named_parameters()}
    trained(net, steps=1)
    moved = {
        re.sub(r"\d", "N", name) for name, p in net.named_parameters() if not torch.equal(p, before[name])
    }
    of_layers = {f"layers.N.{what}" for what in ("weight", "bias", "clip", "norm.scale", "norm.shift")}
    assert moved == {"lows.N", "highs.N"} | of_layers


def test_training_lowers_the_loss(block: nn.Module) -> None:
    net = prepared(block, "int4")
    x = images(64, seed=5)
    wanted = (x.mean(dim=(1, 2, 3)) > 0).long()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(12):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), wanted)
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.8 * losses[0]


def test_without_quantization_it_is_the_float_model(block: nn.Module) -> None:
    net = prepared(block, "float32")
    x = images(8)
    assert np.allclose(answered(net, x), block(x).detach(), atol=1e-5)
    loss = net(x).square().sum()
    torch.autograd.backward(loss)
    assert all(p.grad is not None for p in net.layers.parameters() if p.requires_grad)


def test_gradients_are_those_of_the_float_model(block: nn.Module) -> None:
    """Of what torch computes by itself, through the statistics of a batch as well."""
    net = prepared(block, "float32")
    block.train()
    x = images(8)
    torch.autograd.backward(net(x).square().sum())
    torch.autograd.backward(block(x).square().sum())
    for name, wanted in block.named_parameters():
        found = [p.grad for p in net.parameters() if p.numel() == wanted.numel() and p.grad is not None]
        sums = [float(g.square().sum()) for g in found]
        assert wanted.grad is not None
        assert any(np.isclose(s, float(wanted.grad.square().sum()), rtol=1e-3, atol=1e-6) for s in sums), name


def test_distillation_is_least_where_both_agree() -> None:
    teacher = torch.randn(6, 10)
    same = ek.distillation(teacher.clone(), teacher)
    other = ek.distillation(torch.randn(6, 10), teacher)
    assert float(same) == pytest.approx(0, abs=1e-6)
    assert float(other) > 0.1


def test_convert_is_one_call(block: nn.Module) -> None:
    graph = ek.convert(block, (images(1),), name="block")
    x = images(3)
    with torch.no_grad():
        assert np.allclose(simulated(graph, x), block(x).numpy(), atol=1e-5)
    assert graph.name == "block"


def test_an_exported_program_is_taken_as_it_is(block: nn.Module) -> None:
    graph = ek.convert(torch.export.export(block, (images(1),)))
    assert np.allclose(simulated(graph, images(2)), block(images(2)).detach().numpy(), atol=1e-5)


@pytest.mark.filterwarnings("ignore")  # torchao's own
@pytest.mark.parametrize("is_qat", [False, True])
def test_a_model_that_pt2e_prepared_keeps_its_integers(is_qat: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    require_module("torchao")
    pt2e = import_module("torchao.quantization.pt2e.quantize_pt2e")
    rules = import_module("torchao.testing.pt2e._xnnpack_quantizer")
    skip_other_patterns(monkeypatch)
    torch.manual_seed(0)
    layers = (nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 4))
    model = nn.Sequential(*layers).train(is_qat)
    quantizer = rules.XNNPACKQuantizer()
    quantizer.set_global(rules.get_symmetric_quantization_config(is_per_channel=True, is_qat=is_qat))
    batch = {0: torch.export.Dim("batch", min=2)}
    program = torch.export.export(model, (images(4),), dynamic_shapes=(batch,)).module()
    prepared = (pt2e.prepare_qat_pt2e if is_qat else pt2e.prepare_pt2e)(program, quantizer)
    for seed in range(4):
        prepared(images(4, seed))
    graph = ek.convert(prepared, (images(4),))
    converted = pt2e.convert_pt2e(prepared)
    assert not any(graph.type(name).dtype.is_float for node in graph.nodes[1:-1] for name in node.outputs)
    x = images(4, 9)
    found = simulate.run(graph, {graph.inputs[0]: x.numpy()})[graph.outputs[0]]
    assert np.array_equal(found, converted(x).detach().numpy())
    assert set(ek.convert(converted, (x,)).values) == set(graph.values)


def skip_other_patterns(monkeypatch: pytest.MonkeyPatch) -> None:
    """pt2e exports 27 patterns of each of four kinds of convolution, for seconds: here is one of two
    dimensions, with a bias, quantized by channels."""
    patterns = import_module("torchao.quantization.pt2e.qat_utils")

    def for_two_dimensions(rewrite: Callable[..., Any]) -> Callable[..., Any]:
        def some(net: Any, convolution: Any, *arguments: Any, **options: Any) -> Any:
            wanted = convolution is nn.functional.conv2d
            return rewrite(net, convolution, *arguments, **options) if wanted else net

        return some

    def product(*options: Sequence[bool]) -> list[tuple[bool, ...]]:
        return [chosen for chosen in itertools.product(*options) if chosen[:2] == (True, True)]

    for name in ("_fuse_conv_bn_qat_helper", "_fold_conv_bn_qat_helper"):
        monkeypatch.setattr(patterns, name, for_two_dimensions(getattr(patterns, name)))
    monkeypatch.setattr(patterns, "itertools", SimpleNamespace(**{**vars(itertools), "product": product}))


class UNet(nn.Module):
    """Down, up by interpolation, and a skip connection between."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode
        self.before, self.below = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 6, 3, padding=1)
        self.after = nn.Conv2d(10, 2, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skip = self.before(x).relu()
        below = self.below(nn.functional.max_pool2d(skip, 2)).relu()
        up = nn.functional.interpolate(below, scale_factor=2, mode=self.mode)
        y: torch.Tensor = self.after(torch.cat([up, skip], dim=1))
        return y


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("target", ["int8", "int4", "f16"])
def test_a_u_net_learns_in_integers(mode: str, target: str) -> None:
    torch.manual_seed(0)
    net = prepared(UNet(mode).eval(), target)
    x = images(8, seed=9)
    wanted = x[:, :2].roll(1, dims=2)
    before = nn.functional.mse_loss(net(x), wanted).item()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for _ in range(20):
        optimizer.zero_grad()
        torch.autograd.backward(nn.functional.mse_loss(net(x), wanted))
        optimizer.step()
    assert nn.functional.mse_loss(net(x), wanted).item() < 0.8 * before
    assert np.array_equal(simulated(net.convert(), x), answered(net, x))


def test_what_mixes_samples_is_refused() -> None:
    class Mixed(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.transpose(0, 1)

    graph = ek.convert(Mixed(), (torch.zeros(1, 3),))
    with pytest.raises(EdgeKitError, match="does not count samples"):
        batched(graph, 4)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda net: ek.prepare_qat(net, (images(1),), [], target="int8"),
            "no samples to initialize the ranges",
        ),
        (lambda net: ek.prepare_qat(net, (images(1),), target="int2"), "unknown format int2"),
        (lambda net: prepared(net)(images(1), images(1)), "2 inputs"),
    ],
)
def test_mistakes_are_explained(block: nn.Module, make: Callable[[nn.Module], Any], said: str) -> None:
    with pytest.raises(EdgeKitError, match=said):
        make(block)


OPERATORS: list[Callable[[torch.Tensor], torch.Tensor]] = [
    lambda x: nn.functional.avg_pool2d(x, 3, 2, 1),
    lambda x: nn.functional.max_pool2d(x, 3, 2, 1),
    lambda x: nn.functional.conv_transpose2d(x, torch.ones(3, 2, 3, 3), torch.ones(2), 2, 1, 1),
    lambda x: nn.functional.pad(x, (1, 2, 0, 1), value=0.5),
    lambda x: torch.cat([x, x.sigmoid()], dim=1),
    lambda x: x[:, 1:, ::2, 1:7],
    lambda x: nn.functional.softmax(x, dim=-1),
    lambda x: nn.functional.layer_norm(x, (8,)),
    lambda x: x.flatten(2) @ x.flatten(2).transpose(1, 2),
    lambda x: nn.functional.gelu(x) + nn.functional.silu(x) * nn.functional.mish(x),
    lambda x: nn.functional.elu(x) - nn.functional.softplus(x) / (x.exp() + 1),
    lambda x: nn.functional.hardsigmoid(x) + nn.functional.leaky_relu(x, 0.2).tanh(),
    lambda x: x.clamp(-0.5, 0.7).abs().sqrt().amax(dim=2),
    lambda x: x.sum(dim=(1, 3)),
    lambda x: nn.functional.interpolate(x, scale_factor=2, mode="bilinear"),
    lambda x: nn.functional.interpolate(x, size=(13, 5), mode="bilinear", align_corners=True),
    lambda x: nn.functional.interpolate(x, size=(5, 11), mode="bicubic"),
    lambda x: nn.functional.interpolate(x, size=(3, 20), mode="nearest"),
]


@pytest.mark.parametrize("number", range(len(OPERATORS)))
def test_twins_compute_what_operators_mean(number: int) -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return OPERATORS[number](x)

    graph = ek.convert(Model(), (images(1),))
    many = batched(graph, 4)
    values = simulate.run_all(many, {many.inputs[0]: images(4).numpy()})
    for node in many.nodes:
        args = [torch.from_numpy(np.array(values[name])) for name in node.inputs]
        made = torch_op(node.op, *args).numpy()
        assert np.allclose(made, values[node.outputs[0]], atol=1e-4), type(node.op).__name__


def test_digits_on_ten_thousand_inputs() -> None:
    """Shifted, dimmed and noisy digits: the module and the simulator agree on every integer."""
    graph = api.convert(ROOT / "examples" / "digits" / "digits.onnx")
    with np.load(ROOT / "examples" / "digits" / "calib.npz") as file:
        known = file["x"]
    net = ek.prepare_qat(graph, calibration=[torch.from_numpy(x[None]) for x in known[:32]])
    rng = np.random.default_rng(1)
    x = known[rng.integers(len(known), size=10_000)] * rng.uniform(0.3, 1.2, (10_000, 1, 1, 1))
    x = (x + rng.normal(0, 0.05, x.shape)).astype(np.float32)
    with torch.no_grad():
        answers = np.concatenate([net(part).numpy() for part in torch.split(torch.from_numpy(x), 1000)])
    made = batched(net.convert(), 1000)
    for i in range(0, len(x), 1000):
        (found,) = simulate.run(made, {made.inputs[0]: x[i : i + 1000]}).values()
        assert np.array_equal(found, answers[i : i + 1000])
