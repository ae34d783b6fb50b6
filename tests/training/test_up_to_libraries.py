"""Networks that once were refused, from training and pruning to a compiled library that is verified."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from support.tools import require
from torch import nn

import edgekit
import edgekit.torch as ek
from edgekit.core.ir import Graph
from edgekit.quantize.pruning import adjust


class UNet(nn.Module):
    """Down, up again, and what was before beside that."""

    def __init__(self, up: nn.Module) -> None:
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.deep = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 12, 3, padding=1), nn.ReLU())
        self.up, self.head = up, nn.Conv2d(20, 2, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        down = self.down(x)
        y: torch.Tensor = self.head(torch.cat([self.up(self.deep(down)), down], dim=1))
        return y


class ConvNeXt(nn.Module):
    """A block with a LayerScale."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.spread = nn.Conv2d(1, 8, 4, 4), nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.block = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 24), nn.GELU(), nn.Linear(24, 8))
        self.scale, self.head = nn.Parameter(torch.full((8,), 0.3)), nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        y = self.scale * self.block(self.spread(x).permute(0, 2, 3, 1))
        z: torch.Tensor = self.head((x + y.permute(0, 3, 1, 2)).mean((2, 3)))
        return z


class Recurrent(nn.Module):
    """Layers in front of a GRU, of which that next to it has to stay in a module."""

    def __init__(self) -> None:
        super().__init__()
        self.front = nn.Sequential(nn.Linear(16, 24), nn.ReLU(), nn.Linear(24, 8), nn.ReLU())
        self.cells, self.head = nn.GRU(8, 6, batch_first=True), nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.head(self.cells(self.front(x[:, 0]))[0][:, -1])
        return y


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "nearest": lambda: UNet(nn.Upsample(scale_factor=2)),
    "bilinear": lambda: UNet(nn.Upsample(scale_factor=2, mode="bilinear")),
    "transposed": lambda: UNet(nn.ConvTranspose2d(12, 12, 2, 2)),
    "ConvNeXt": ConvNeXt,
    "GRU": Recurrent,
}


def made(name: str) -> tuple[nn.Module, torch.Tensor]:
    torch.manual_seed(0)
    return NETWORKS[name]().eval(), torch.randn(24, 1, 16, 16)


def built(graph: Graph, folder: Path) -> edgekit.Verification:
    require("gcc")
    report = edgekit.build(graph, folder / "out")
    assert report.verification is not None
    return report.verification


@pytest.mark.parametrize("name", NETWORKS)
def test_training_ends_in_a_library(name: str, tmp_path: Path) -> None:
    model, x = made(name)
    net = ek.prepare_qat(model, x[:1], [x])
    optimizer = torch.optim.Adam(net.parameters(), 1e-3)
    with torch.no_grad():
        wanted = model(x)
    for _ in range(2):
        optimizer.zero_grad()
        (net.train()(x) - wanted).square().mean().backward()
        optimizer.step()
    graph = net.eval().convert()
    with torch.no_grad():
        torch.testing.assert_close(
            net(x[:4]), torch.from_numpy(edgekit.run(graph, x[:4].numpy())[graph.outputs[0]]), rtol=0, atol=0
        )
    assert built(graph, tmp_path).exact


@pytest.mark.parametrize("name", NETWORKS)
def test_pruned_modules_end_in_libraries(name: str, tmp_path: Path) -> None:
    model, x = made(name)
    found = ek.prune(model, x[:1], [x], ratio=0.25)
    assert found.report.macs < found.report.macs_before
    graph = ek.convert(found.module, x[:1])
    built(graph, tmp_path)


@pytest.mark.parametrize("name", NETWORKS)
def test_pruned_graphs_are_adjusted_as_a_whole(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, x = made(name)
    used, descended = [], adjust._descended

    def seen(*arguments: object) -> object:
        used.append(name)
        return descended(*arguments)  # type: ignore[arg-type]  # its own

    monkeypatch.setattr(adjust, "_descended", seen)
    graph, report = edgekit.prune(ek.convert(model, x[:1]), x.numpy(), edgekit.Pruning(ratio=0.25))
    assert report.macs < report.macs_before
    assert used == ([] if name == "GRU" else [name])  # recurrent layers have no gradients in numpy
    built(graph, tmp_path)
