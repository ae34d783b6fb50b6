"""Pruning of modules: smaller layers compute what masks leave, and go on to be trained."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

import edgekit
import edgekit.torch as ek
from edgekit.core.errors import EdgeKitError
from edgekit.quantize.pruning.plan import macs


def images(n: int, seed: int = 0, channels: int = 3) -> torch.Tensor:
    return torch.randn((n, channels, 8, 8), generator=torch.Generator().manual_seed(seed))


def warm(model: nn.Module, x: torch.Tensor) -> nn.Module:
    """With statistics and scales of its own."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    model.train()
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d | nn.BatchNorm1d):
                module.weight.uniform_(-1, 2)
                module.bias.uniform_(-1, 1)
        for _ in range(4):
            model(x)
    return model.eval()


class Residual(nn.Module):
    """Sums, a depthwise layer, a concatenation, a pre-activation, and a flattening."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.PReLU(8))
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.pointwise = nn.Conv2d(8, 8, 1, bias=False)
        self.between = nn.BatchNorm2d(8)
        self.left, self.right = nn.Conv2d(8, 6, 3, groups=2), nn.Conv2d(8, 4, 3)
        self.norm = nn.BatchNorm2d(10)
        self.pad = nn.ZeroPad2d((0, 1, 0, 1))
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout(0.5)
        self.hidden, self.head = nn.Linear(90, 12), nn.Linear(12, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        x = x + self.pointwise(torch.sigmoid(self.depthwise(x)))
        x = functional.hardswish(self.between(x))
        x = self.pool(self.pad(self.norm(torch.cat([self.left(x), self.right(x)], dim=1)).relu()))
        y: torch.Tensor = self.head(self.drop(self.hidden(x.flatten(1)).relu()))
        return y


class Upwards(nn.Module):
    """Transposed convolutions, one in groups, and layers of one dimension."""

    def __init__(self) -> None:
        super().__init__()
        self.up = nn.Sequential(nn.ConvTranspose2d(3, 8, 2, 2), nn.BatchNorm2d(8), nn.ReLU())
        self.across = nn.ConvTranspose2d(8, 6, 3, groups=2)
        self.along, self.end = nn.Conv1d(6, 8, 3), nn.Conv1d(8, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.across(self.up(x)).relu().mean(dim=3)
        y: torch.Tensor = self.end(self.along(x).relu())
        return y


@pytest.mark.parametrize(("make", "samples"), [(Residual, 24), (Residual, 0), (Upwards, 24)])
def test_a_smaller_module_computes_what_masks_leave(make: type[nn.Module], samples: int) -> None:
    model = warm(make(), images(32))
    before = {name: x.clone() for name, x in model.state_dict().items()}
    given = torch.split(images(samples), 1) if samples else ()
    found = ek.prune(model, (images(1),), given, macs=0.5, apply=False)
    masked, small = found.module, found.shrink(found.module)
    assert type(small) is make
    x = images(16, seed=5)
    assert torch.allclose(small(x), masked(x), atol=1e-4)
    assert all(p.shape == before[name].shape for name, p in masked.named_parameters() if name in before)
    assert sum(p.numel() for p in small.parameters()) < 0.8 * sum(p.numel() for p in model.parameters())
    assert found.report.macs <= 0.5 * found.report.macs_before
    assert macs(ek.convert(small, (images(1),))) == found.report.macs
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_fits_come_back_to_the_module() -> None:
    """What is left makes up for what is gone: in the module as in the graph."""
    model = warm(Residual(), images(32))
    x = images(64, seed=7)
    off = []
    for fit in (False, True):
        samples = torch.split(images(64, seed=3), 1)
        small = ek.prune(model, (images(1),), samples, ratio=0.5, fit=fit, criterion="l2")
        with torch.no_grad():
            off.append(float((small.module(x) - model(x)).square().mean()))
    assert off[1] < 0.6 * off[0]


@pytest.mark.parametrize("apply", [True, False])
def test_training_starts_where_pruning_ended(apply: bool) -> None:
    """Norms by the statistics of a batch compute what they do by those that the module has; no noise."""
    model = warm(Residual(), images(32))
    x = images(64, seed=3)
    small = ek.prune(model, (images(1),), torch.split(x, 1), macs=0.5, apply=apply).module.eval()
    with torch.no_grad():
        answers = small(x)
        assert torch.allclose(small.train()(x), answers, atol=1e-3)


def test_it_goes_on_to_be_trained_and_converted() -> None:
    model = warm(Residual(), images(32))
    small = ek.prune(model, (images(1),), ratio=0.5).module.train()
    optimizer = torch.optim.Adam(small.parameters(), lr=1e-3)
    for seed in range(3):
        optimizer.zero_grad()
        torch.autograd.backward(small(images(8, seed)).square().mean())
        optimizer.step()
    found = ek.convert(small, (images(1),))
    assert macs(found) < 0.4 * macs(ek.convert(model, (images(1),)))
    net = ek.prepare_qat(small, (images(1),), torch.split(images(8), 1)).eval()
    assert macs(net.convert()) < 1.1 * macs(found)


def test_masks_grow_step_by_step() -> None:
    """What was pruned stays pruned, and in the end all of it goes."""
    model = warm(Residual(), images(32))
    sizes = []
    for ratio in (0.25, 0.5):
        found = ek.prune(model, (images(1),), ratio=ratio, apply=False)
        model = found.module.train()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        torch.autograd.backward(model(images(8)).square().mean())
        optimizer.step()
        found.mask(model)
        assert all(not model.get_parameter(n)[mask == 0].any() for n, mask in found.masks.items())
        sizes.append({name: int((mask == 0).sum()) for name, mask in found.masks.items()})
    assert all(sizes[1][name] > size for name, size in sizes[0].items())
    small = found.shrink(model)
    assert torch.allclose(small.eval()(images(4)), model.eval()(images(4)), atol=1e-4)


class FixedSize(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 8, 8), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.head(self.conv(x).relu().view(-1, 8))
        return y


class Scaled(nn.Module):
    """A parameter of its own, of as many channels."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 2, 1)
        self.scale = nn.Parameter(torch.rand(8, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.head(torch.sigmoid(torch.tanh(self.conv(x)) + self.scale))
        return y


class LayerScales(nn.Module):
    """Blocks as ConvNeXt has them: behind each a factor for each channel, here in two layouts."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.head = nn.Conv2d(3, 8, 2, 2), nn.Linear(8, 4)
        self.up, self.down = nn.Linear(8, 24), nn.Linear(24, 8)
        self.wide, self.narrow = nn.Conv2d(8, 24, 1), nn.Conv2d(24, 8, 1)
        self.first = nn.Parameter(torch.linspace(-1.5, 2.0, 8).reshape(8, 1, 1))
        self.second = nn.Parameter(torch.linspace(2.0, 0.5, 8).reshape(8, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        y = self.down(functional.gelu(self.up(x.permute(0, 2, 3, 1))))
        x = x + self.first * y.permute(0, 3, 1, 2)
        x = x + self.narrow(self.wide(x).relu()) * self.second
        z: torch.Tensor = self.head(x.mean(dim=(2, 3)))
        return z


@pytest.mark.parametrize("fit", [False, True])
def test_layer_scale_stays_a_parameter(fit: bool) -> None:
    """The smaller module computes what the smaller graph of the same model does: a fit changes weights
    in front of a factor, too."""
    torch.manual_seed(0)
    model, x = LayerScales().eval(), images(24)
    calibration = torch.split(x, 1)
    found = ek.prune(model, (x[:1],), calibration, macs=0.6, fit=fit)
    small = found.module
    assert isinstance(small, LayerScales)
    assert torch.equal(small.first, model.first)
    assert max(small.up.out_features, small.wide.out_channels) < 24
    wanted = edgekit.Pruning(macs=0.6, fit=fit)
    graph, report = edgekit.prune(ek.convert(model, (x[:1],)), x.numpy()[:, None], wanted)
    inner = [group.after for group in report.groups if group.before == 24]
    assert inner == [small.up.out_features, small.wide.out_channels]
    expected = edgekit.run(graph, x.numpy()[:, None])[graph.outputs[0]].reshape(len(x), -1)
    with torch.no_grad():
        assert np.allclose(small(x).numpy(), expected, atol=1e-4)


def test_a_recurrent_network_is_refused_with_a_way_out() -> None:
    class Steps(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gru, self.head = nn.GRU(4, 8, batch_first=True), nn.Linear(8, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.head(self.gru(x)[0][:, -1])
            return y

    with pytest.raises(EdgeKitError, match="no channel of model can be pruned") as fault:
        ek.prune(Steps().eval(), (torch.zeros(1, 5, 4),), ratio=0.5)
    assert "a smaller hidden size" in fault.value.hint
    assert "edgekit quantize" in fault.value.hint


def test_what_a_buffer_holds_stays() -> None:
    class Streaming(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.head = nn.Linear(6, 16), nn.Linear(48, 4)
            self.register_buffer("old", torch.zeros(1, 32))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            window = torch.cat([self.old, self.first(x).relu()], 1)
            self.old.copy_(window[:, 16:])
            y: torch.Tensor = self.head(window)
            return y

    with pytest.raises(EdgeKitError, match=r"channels of .*old cannot be followed") as fault:
        ek.prune(Streaming().eval(), (torch.zeros(1, 6),), ratio=0.5)
    assert "prunes the graph instead" in fault.value.hint


class Repeated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.conv, self.head = nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 1), nn.Conv2d(8, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor = self.head(self.conv(self.conv(self.first(x)).relu()).relu())
        return y


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (FixedSize, "does not run with fewer"),
        (Scaled, "Scaled cannot lose channels"),
        (Repeated, "cannot be followed"),
    ],
)
def test_what_cannot_shrink_is_refused(make: type[nn.Module], said: str) -> None:
    with pytest.raises(EdgeKitError, match=said) as fault:
        ek.prune(make(), (images(1),), ratio=0.5)
    assert fault.value.hint
    assert fault.value.code == "E0205"
