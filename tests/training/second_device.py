"""Training on another device than the CPU, as test_devices.py runs it: integers and loops are the same."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.elsewhere import ELSEWHERE, TensorElsewhere
from torch import nn
from torch.nn import functional

import edgekit.torch as ek
from edgekit.core import simulate
from edgekit.core.ir import Graph, Source
from edgekit.torch import devices, qat

SAMPLES = 6
CLASSES = 4


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


class Image(nn.Module):
    """Convolutions with and without normalization, both kinds of pooling, a part, and functions."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU6())
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.pools = nn.Sequential(nn.MaxPool2d(2), nn.AvgPool2d(3, 1, 1, count_include_pad=False))
        self.up = nn.ConvTranspose2d(8, 8, 2, 2)
        self.head = nn.Linear(4, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        x = self.up(self.pools(functional.hardswish(x + self.depthwise(x))))
        y: torch.Tensor = self.head(x[:, 1:8:2].mean(dim=(2, 3)))
        return y


class Steps(nn.Module):
    """A recurrent layer."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.LSTM(5, 6, batch_first=True)
        self.head = nn.Linear(6, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.head(self.cells(x)[0][:, -1])
        return y


class Encoder(nn.Module):
    """Attention, norms and a learned start."""

    def __init__(self) -> None:
        super().__init__()
        self.places = nn.Parameter(drawn(7, 8, seed=3))
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, activation="gelu", batch_first=True)
        self.head = nn.Linear(8, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.head(self.layer(x + self.places).mean(dim=1))
        return y


NETWORKS: list[tuple[Callable[[], nn.Module], tuple[int, ...]]] = [
    (Image, (3, 8, 8)),
    (Steps, (4, 5)),
    (Encoder, (7, 8)),
]


def made(network: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    return network().eval()


def no_file(graph: Graph) -> Graph:
    """Without the checksum of what torch exported, which differs from time to time."""
    return replace(graph, source=Source())


def trained(net: ek.Qat, x: torch.Tensor) -> Graph:
    """A plain loop, with labels where x is."""
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    labels = (torch.arange(len(x)) % CLASSES).to(x.device)
    for step in range(4):
        if step == 2:
            net.freeze_batch_norms()
        optimizer.zero_grad()
        functional.cross_entropy(net(x), labels).backward()
        optimizer.step()
    return no_file(net.convert())


@pytest.mark.parametrize("target", ["int8", "int4", "bf16", "float32"])
@pytest.mark.parametrize(("network", "shape"), NETWORKS)
def test_integers_are_those_of_the_cpu(
    network: Callable[[], nn.Module], shape: tuple[int, ...], target: str
) -> None:
    x, given = drawn(SAMPLES, *shape), drawn(8, *shape, seed=1)
    plain = trained(ek.prepare_qat(made(network), (x[:1],), [given], target=target), x)
    there = [tensor.to(ELSEWHERE) for tensor in (x[:1], given, x)]
    model = made(network).to(ELSEWHERE)
    net = ek.prepare_qat(model, (there[0],), [there[1]], target=target)
    assert {tensor.device.type for tensor in net.parameters()} == {ELSEWHERE}
    assert net(there[2]).device.type == ELSEWHERE
    again = trained(ek.prepare_qat(model, (there[0],), [there[1]], target=target), there[2])
    assert again == plain
    net.eval()
    graph = net.convert()
    answers = net(there[2]).detach().cpu().numpy()
    for row, answer in zip(x.numpy(), answers, strict=True):
        (y,) = simulate.run(graph, {graph.inputs[0]: row[None]}).values()
        assert target == "float32" or np.array_equal(y.ravel(), answer)


def test_a_gpu_that_torch_has_is_used_and_loops_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert devices.training_device(made(Image)) == torch.device("cuda")
    assert devices.training_device(None) == torch.device("cuda")
    assert devices.training_device(made(Image).to(ELSEWHERE)).type == ELSEWHERE
    monkeypatch.undo()
    assert devices.training_device(made(Image)) == devices.CPU
    x = drawn(SAMPLES, 3, 8, 8)
    plain = trained(ek.prepare_qat(made(Image), (x[:1],), [x]), x)
    monkeypatch.setattr(qat, "training_device", lambda model: torch.device(ELSEWHERE))
    net = ek.prepare_qat(made(Image), (x[:1],), [x])
    assert isinstance(next(net.parameters()).data, TensorElsewhere)
    assert net(x).device == devices.CPU
    assert trained(ek.prepare_qat(made(Image), (x[:1],), [x]), x) == plain
    graph = ek.convert(made(Image), (x[:1],))
    assert isinstance(next(ek.prepare_qat(graph, (), [x]).parameters()).data, TensorElsewhere)


def test_models_on_a_device_are_converted_and_pruned_like_others() -> None:
    x = drawn(SAMPLES, 3, 8, 8)
    model = made(Image)
    there = deepcopy(model).to(ELSEWHERE)
    converted = (ek.convert(there, (x[:1].to(ELSEWHERE),)), ek.convert(model, (x[:1],)))
    assert no_file(converted[0]) == no_file(converted[1])
    small = ek.prune(model, (x[:1],), [x], ratio=0.5)
    found = ek.prune(there, (x[:1].to(ELSEWHERE),), [x.to(ELSEWHERE)], ratio=0.5)
    assert {tensor.device.type for tensor in found.module.parameters()} == {ELSEWHERE}
    for own, plain in zip(found.module.parameters(), small.module.parameters(), strict=True):
        assert torch.equal(own.detach().cpu(), plain.detach())
    masked = ek.prune(there, (x[:1].to(ELSEWHERE),), [x.to(ELSEWHERE)], ratio=0.5, apply=False)
    shrunk = masked.shrink(masked.mask(masked.module))
    assert {tensor.device.type for tensor in shrunk.parameters()} == {ELSEWHERE}
    assert [p.shape for p in shrunk.parameters()] == [p.shape for p in found.module.parameters()]
