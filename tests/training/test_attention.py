"""Attention as PyTorch computes it, steps first: quantization-aware training and pruning take it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from support.nets import Net
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import edgekit.torch as ek
from edgekit import EdgeKitError
from edgekit.core import simulate
from edgekit.core.ops.arithmetic import Mul
from edgekit.core.ops.gather import Gather
from edgekit.core.ops.reshape import Reshape
from edgekit.core.passes.batches import batched
from edgekit.core.types import DType, Type

STEPS, FEATURES, WIDTH, CLASSES = 5, 3, 8, 2


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(FEATURES, WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 2, batch_first=True)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        return self.head((x + self.attention(x, x, x, need_weights=False)[0]).mean(1))


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(FEATURES, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 2, 2 * WIDTH, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.embed(x))[:, -1])


@pytest.fixture(params=[Attention, Encoder])
def model(request: pytest.FixtureRequest) -> nn.Module:
    torch.manual_seed(0)
    made: Callable[[], nn.Module] = request.param
    return made()


@pytest.fixture
def loader() -> DataLoader[tuple[torch.Tensor, ...]]:
    """The sign of a mean is to be learned."""
    x = torch.randn(64, STEPS, FEATURES, generator=torch.Generator().manual_seed(1))
    return DataLoader(TensorDataset(x, (x.mean((1, 2)) > 0).long()), batch_size=16)


def example(loader: DataLoader[tuple[torch.Tensor, ...]]) -> tuple[torch.Tensor]:
    return (next(iter(loader))[0][:1],)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_it_learns_and_has_the_integers_of_the_device(
    model: nn.Module, loader: DataLoader[tuple[torch.Tensor, ...]]
) -> None:
    net = ek.prepare_qat(model, example(loader), loader)
    step = torch.optim.Adam(net.parameters(), 1e-2)
    losses = []
    for _ in range(10):
        for x, label in loader:
            loss = nn.functional.cross_entropy(net(x), label)
            step.zero_grad()
            loss.backward()
            step.step()
            losses.append(loss.item())
    assert np.mean(losses[-4:]) < 0.7 * np.mean(losses[:4])
    x = next(iter(loader))[0]
    with torch.no_grad():
        answers = net.eval()(x).numpy()
    graph = net.convert()
    for one, answer in zip(x, answers, strict=True):
        (found,) = simulate.run(graph, {graph.inputs[0]: one[None].numpy()}).values()
        assert np.array_equal(found[0], answer)


def test_it_is_pruned_with_labels_beside_the_samples(loader: DataLoader[tuple[torch.Tensor, ...]]) -> None:
    torch.manual_seed(0)
    small = ek.prune(Encoder(), example(loader), loader, ratio=0.25).module
    assert small.encoder.layers[0].linear1.weight.shape[0] < 2 * WIDTH
    assert small(example(loader)[0]).shape == (1, CLASSES)


def test_channels_of_attention_that_cannot_go_are_named(loader: DataLoader[tuple[torch.Tensor, ...]]) -> None:
    with pytest.raises(EdgeKitError, match="MultiheadAttention cannot lose channels"):
        ek.prune(Attention(), example(loader), loader, ratio=0.25)


def test_samples_in_front_are_those_one_by_one(model: nn.Module) -> None:
    graph = ek.convert(model, (torch.zeros(1, STEPS, FEATURES),))
    with pytest.raises(EdgeKitError, match="does not count samples"):
        batched(graph, 3)
    (name,) = graph.inputs
    samples = [simulate.random_inputs(graph, seed)[name] for seed in range(3)]
    many = simulate.run(batched(graph, 3, in_front=True), {name: np.concatenate(samples)})
    alone = [simulate.run(graph, {name: sample}) for sample in samples]
    for output in graph.outputs:
        expected = np.concatenate([found[output] for found in alone])
        np.testing.assert_allclose(many[output], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
def test_each_sample_in_front_reads_its_own_rows(axis: int) -> None:
    net = Net()
    x = net(Reshape((4, 3)), net.x(1, 4, 3))
    net.inputs.append(net.input("index", Type(DType.S32, (1, 4, 3))))
    index = net(Reshape((4, 3)), "index")
    graph = net.done(net(Mul(), net(Reshape((1, 4, 3)), net(Gather(axis), x, index)), 2.0))
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((5, 4, 3)).astype(np.float32)
    places = rng.integers(0, (4, 3)[axis], (5, 4, 3)).astype(np.int32)
    many = simulate.run(batched(graph, 5, in_front=True), {"x": rows, "index": places})[graph.outputs[0]]
    np.testing.assert_array_equal(many, 2 * np.take_along_axis(rows, places, axis + 1))


def test_a_loader_is_no_example(loader: DataLoader[tuple[torch.Tensor, ...]]) -> None:
    mistake: Any = loader
    with pytest.raises(EdgeKitError, match="example_inputs is a DataLoader"):
        ek.prepare_qat(Attention(), mistake)


def test_samples_that_depend_on_each_other_are_refused() -> None:
    class Sums(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.cumsum(0)

    with pytest.raises(EdgeKitError, match="cumsum of one sample depends on other samples"):
        ek.prepare_qat(Sums(), (torch.ones(1, 4),), [torch.ones(8, 4)])


def test_operators_of_several_results_are_refused_by_name() -> None:
    class Largest(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.topk(2)[0]

    with pytest.raises(EdgeKitError, match="TopK cannot be trained"):
        ek.prepare_qat(Largest(), (torch.ones(1, 4),), [torch.ones(8, 4)])
