"""Batch normalization in training: statistics that move, then stay, folded to the bit; and traced weights."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from support.tools import ROOT, require
from torch import nn

import edgekit.torch as ek
from edgekit import api
from edgekit.core import simulate
from edgekit.core.passes.batches import batched
from edgekit.quantize.preparation.prepare import prepare
from edgekit.torch.batch_norm import Norm
from edgekit.torch.layers import TrainedLayer
from edgekit.torch.trace import traced


def images(n: int, seed: int = 0) -> torch.Tensor:
    return torch.randn((n, 3, 8, 8), generator=torch.Generator().manual_seed(seed))


def network() -> nn.Sequential:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, bias=False),
        nn.BatchNorm2d(6),
        nn.ReLU(),
        nn.Conv2d(6, 6, 3, groups=6),
        nn.BatchNorm2d(6, momentum=None),
        nn.ReLU6(),
        nn.Flatten(),
        nn.Linear(96, 5),
        nn.BatchNorm1d(5, affine=False),
    )


def norms(net: ek.Qat) -> list[Norm]:
    return [module for module in net.modules() if isinstance(module, Norm)]


def layers(net: ek.Qat) -> list[TrainedLayer]:
    return [module for module in net.modules() if isinstance(module, TrainedLayer)]


def steps(net: ek.Qat, count: int, rate: float = 3e-3) -> None:
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    for seed in range(count):
        optimizer.zero_grad()
        x = images(16, seed)
        torch.autograd.backward(nn.functional.cross_entropy(net(x), (x.mean(dim=(1, 2, 3)) > 0).long()))
        optimizer.step()


def same_as_graph(net: ek.Qat, x: torch.Tensor) -> bool:
    graph = batched(net.convert(), len(x))
    (found,) = simulate.run(graph, {graph.inputs[0]: x.numpy()}).values()
    with torch.no_grad():
        return np.array_equal(found, net(x).numpy())


def test_statistics_move_as_those_of_the_module_itself() -> None:
    model = network()
    net = ek.prepare_qat(model, (images(1),), target="float32")
    model.train()
    for seed in range(3):
        x = images(16, seed)
        assert torch.allclose(net(x), model(x), atol=1e-5)
    own = [module for module in model.modules() if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d)]
    for found, wanted in zip(norms(net), own, strict=True):
        assert wanted.running_mean is not None
        assert wanted.running_var is not None
        assert torch.allclose(found.running_mean, wanted.running_mean, atol=1e-5)
        assert torch.allclose(found.running_var, wanted.running_var, rtol=1e-4)
    model.eval()
    net.eval()
    assert torch.allclose(net(images(5)), model(images(5)), atol=1e-4)


@pytest.mark.parametrize("target", ["int8", "int4", "bf16"])
def test_once_frozen_training_computes_what_the_device_does(target: str) -> None:
    net = ek.prepare_qat(network(), (images(1),), torch.split(images(16), 1), target=target)
    steps(net, 3)
    net.freeze_batch_norms()
    before = [(norm.running_mean.clone(), norm.scale.detach().clone()) for norm in norms(net)]
    steps(net, 2)
    assert net.training
    assert same_as_graph(net, images(20, 9))
    for norm, (mean, scale) in zip(norms(net), before, strict=True):
        assert torch.equal(norm.running_mean, mean)
        assert norm.scale.requires_grad != torch.equal(norm.scale, scale)


def test_live_training_is_near_what_the_device_computes() -> None:
    """The statistics of a batch are those of a device that has seen nothing else."""
    net = ek.prepare_qat(network(), (images(1),), torch.split(images(64), 1))
    x = images(256)
    for norm in norms(net):
        norm.momentum = 1.0
    with torch.no_grad():
        live = net(x).numpy()
        net.eval()
        assert np.abs(net(x).numpy() - live).mean() < 0.05 * np.abs(live).mean()


def test_evaluation_goes_by_statistics_of_the_weights_of_now() -> None:
    """Each step of these changes integers of 4 bits: running statistics are of many weights that were."""
    net = ek.prepare_qat(network(), (images(1),), torch.split(images(16), 1), target="int4")
    x = images(16)
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-2)
    for _ in range(5):
        optimizer.zero_grad()
        torch.autograd.backward(net(x).square().mean())
        optimizer.step()
    graph = net.convert()
    taken = [(norm.running_mean.clone(), norm.running_var.clone()) for norm in norms(net)]
    with torch.no_grad():
        for norm in norms(net):
            norm.momentum = 1.0
        net(x)
    for norm, (mean, variance) in zip(norms(net), taken, strict=True):
        assert torch.allclose(norm.running_mean, mean, atol=1e-5)
        assert torch.allclose(norm.running_var, variance, rtol=1e-4)
    assert same_as_graph(net.eval(), x)
    assert graph.values.keys() == net.convert().values.keys()


def test_a_bias_before_a_normalization_stays() -> None:
    """It takes no part in training, and noise for gradients becomes steps with Adam."""
    net = ek.prepare_qat(network(), (images(1),), torch.split(images(16), 1))
    before = [layer.bias.clone() for layer in layers(net)]
    steps(net, 2)
    net.freeze_batch_norms()
    steps(net, 2)
    assert all(torch.equal(layer.bias, bias) for layer, bias in zip(layers(net), before, strict=True))


def test_weights_that_are_cut_off_count_for_the_scale_behind() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4)).eval()
    net = ek.prepare_qat(model, (images(1),), torch.split(images(16), 1), target="int4")
    net.freeze_batch_norms()
    (layer,) = layers(net)
    assert layer.clip is not None
    with torch.no_grad():
        layer.clip.mul_(0.3)
    x = images(64, 3)
    y = net(x)
    torch.autograd.backward(y.mean())
    (norm,) = norms(net)
    wanted = (y.detach().mean(dim=(0, 2, 3)) - norm.folded(layer.weight, layer.bias)[1]) / 4
    assert norm.scale.grad is not None
    assert torch.allclose(norm.scale.grad, wanted, rtol=0.1, atol=1e-3)


def test_a_scale_of_zero_can_grow() -> None:
    model = network()
    with torch.no_grad():
        model.get_parameter("1.weight")[2] = 0
        model.get_parameter("1.bias")[2] = 0.5
    net = ek.prepare_qat(model, (images(1),), torch.split(images(16), 1))
    assert same_as_graph(net.eval(), images(4))
    steps(net.train(), 2)
    assert norms(net)[0].scale[2] != 0
    assert same_as_graph(net.eval(), images(4))


class PreActivation(nn.Module):
    """A normalization behind no layer, one behind a layer that two read, and one whose layer runs twice."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.between, self.twice = (nn.BatchNorm2d(3) for _ in range(3))
        self.conv, self.shared = nn.Conv2d(3, 3, 1), nn.Conv2d(3, 3, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(torch.relu(self.first(x)))
        return self.twice(self.shared(torch.relu(self.between(y)) + y) + self.shared(x))  # type: ignore[no-any-return]


def test_other_normalizations_keep_their_statistics() -> None:
    model = PreActivation()
    with torch.no_grad():
        for seed in range(5):
            model(images(8, seed) * 2 + 1)
    model.eval()
    net = ek.prepare_qat(model, (images(1),), torch.split(images(16), 1))
    assert not norms(net)
    assert same_as_graph(net, images(4))
    exact = ek.prepare_qat(model, (images(1),), target="float32")
    assert torch.allclose(exact(images(4)), model(images(4)), atol=1e-4)


LAYERS: dict[str, Callable[[], tuple[nn.Module, tuple[int, ...]]]] = {
    "conv1d": lambda: (nn.Sequential(nn.Conv1d(4, 6, 3, groups=2), nn.BatchNorm1d(6)), (1, 4, 9)),
    "conv2d": lambda: (
        nn.Sequential(nn.Conv2d(4, 6, 3, padding="same"), nn.BatchNorm2d(6)),
        (1, 4, 5, 6),
    ),
    "transposed": lambda: (nn.Sequential(nn.ConvTranspose2d(4, 6, 3, 2), nn.BatchNorm2d(6)), (1, 4, 5, 5)),
    "groups": lambda: (
        nn.Sequential(nn.ConvTranspose2d(4, 6, 2, groups=2, bias=False), nn.BatchNorm2d(6)),
        (1, 4, 3, 3),
    ),
    "flat": lambda: (nn.Sequential(nn.Flatten(), nn.Linear(60, 6), nn.BatchNorm1d(6)), (1, 3, 4, 5)),
    "single": lambda: (
        nn.Sequential(nn.Conv2d(6, 6, 1, groups=6, bias=False), nn.BatchNorm2d(6)),
        (1, 6, 2, 2),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_traced_to_their_parameters(name: str) -> None:
    layer, shape = LAYERS[name]()
    model = nn.Sequential(nn.ReLU(), layer, nn.ReLU())
    with torch.no_grad():
        model(torch.rand(16, *shape[1:]))
    found = traced(model, (torch.zeros(shape),), prepare)
    (source,) = found.sources.values()
    assert source.norm
    net = ek.prepare_qat(model, (torch.zeros(shape),), target="float32").eval()
    x = torch.randn(7, *shape[1:])
    assert torch.allclose(net(x), model.eval()(x), atol=1e-5)


def test_weights_that_take_up_constants_have_no_source() -> None:
    class Normalized(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.norm, self.head = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Conv2d(4, 2, 1)
            self.conv = nn.Conv2d(4, 4, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.head(self.norm(self.conv(self.first(x).relu() * 5)).relu())
            return y

    model = Normalized().eval()
    sources = traced(model, (images(1),), prepare).sources.values()
    assert [source.weight for source in sources] == ["first.weight", "head.weight"]
    net = ek.prepare_qat(model, (images(1),), target="float32")
    assert torch.allclose(net(images(3)), model(images(3)), atol=1e-5)


def test_module_simulator_and_c_agree_on_ten_thousand_digits() -> None:
    """Those of the example: dimmed, noisy, and through a network that went through all of training."""
    require("gcc")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    with np.load(ROOT / "examples" / "digits" / "test.npz") as file:
        known, labels = torch.from_numpy(file["x"]), torch.from_numpy(file["label"]).long()
    model = nn.Sequential(
        *(
            nn.Conv2d(1, 12, 3, padding=1, bias=False),
            nn.BatchNorm2d(12, momentum=0.5),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ),
        *(
            nn.Conv2d(12, 16, 3, padding=1, bias=False),
            nn.BatchNorm2d(16, momentum=0.5),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ),
        *(nn.Flatten(), nn.Linear(64, 10)),
    )

    def train(net: nn.Module, count: int) -> None:
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
        for step in range(count):
            optimizer.zero_grad()
            x, wanted = known[step % 3 :: 3], labels[step % 3 :: 3]
            torch.autograd.backward(nn.functional.cross_entropy(net(x), wanted))
            optimizer.step()

    train(model, 20)
    net = ek.prepare_qat(model, (known[:1],), torch.split(known[:16], 1))
    train(net, 3)
    net.freeze_batch_norms()
    train(net, 2)
    rng = np.random.default_rng(1)
    dim = known.numpy()[rng.integers(len(known), size=10_000)] * rng.uniform(0.3, 1.2, (10_000, 1, 1, 1))
    x = (dim + rng.normal(0, 0.05, dim.shape)).astype(np.float32).reshape(10, 1000, 1, 8, 8)
    with torch.no_grad():
        answers = np.stack([net(part).numpy() for part in torch.from_numpy(x)])
    graph = batched(net.convert(), 1000)
    simulated = [simulate.run(graph, {graph.inputs[0]: part})[graph.outputs[0]] for part in x]
    assert np.array_equal(np.stack(simulated), answers)
    assert np.array_equal(api.run(graph, x, target="host")[graph.outputs[0]], answers)
    assert len(np.unique(answers.argmax(axis=2))) == 10  # it has learned something
