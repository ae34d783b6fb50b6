"""Recurrent layers as PyTorch has them, samples first: quantization-aware training takes them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import edgekit.torch as ek
from edgekit import EdgeKitError
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.passes.batches import batched
from edgekit.torch.layers import TrainedRecurrent

STEPS, FEATURES, UNITS, CLASSES = 4, 3, 8, 2
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch.export of a layer of weights in a list


class Reader(nn.Module):
    """What a recurrent layer made of the last step, or its last state, tells the class."""

    def __init__(self, layer: type[nn.RNNBase], *, by_state: bool = False, **options: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = layer(FEATURES, UNITS, batch_first=True, **options)
        self.by_state = by_state
        self.head = nn.Linear(UNITS * (2 if self.layer.bidirectional else 1), CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, states = self.layer(x)
        return self.head(states[-1] if self.by_state else y[:, -1])


MODELS: dict[str, Callable[[], nn.Module]] = {
    "lstm": lambda: Reader(nn.LSTM),
    "two lstms, both ways": lambda: Reader(nn.LSTM, num_layers=2, bidirectional=True),
    "gru": lambda: Reader(nn.GRU),
    "gru, last state": lambda: Reader(nn.GRU, by_state=True),
    "rnn of tanh": lambda: Reader(nn.RNN),
    "rnn of relu": lambda: Reader(nn.RNN, nonlinearity="relu"),
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> nn.Module:
    return MODELS[request.param]()


@pytest.fixture
def loader() -> DataLoader[tuple[torch.Tensor, ...]]:
    """The sign of a mean is to be learned."""
    x = torch.randn(64, STEPS, FEATURES, generator=torch.Generator().manual_seed(1))
    return DataLoader(TensorDataset(x, (x.mean((1, 2)) > 0).long()), batch_size=16)


def one(loader: DataLoader[tuple[torch.Tensor, ...]]) -> tuple[torch.Tensor]:
    return (next(iter(loader))[0][:1],)


def trained(net: ek.Qat, loader: DataLoader[tuple[torch.Tensor, ...]], epochs: int) -> list[float]:
    step = torch.optim.Adam(net.parameters(), 2e-2)
    losses = []
    for _ in range(epochs):
        for x, label in loader:
            loss = nn.functional.cross_entropy(net(x), label)
            step.zero_grad()
            loss.backward()
            step.step()
            losses.append(loss.item())
    return losses


def answers(graph: Graph, x: torch.Tensor) -> np.ndarray[Any, Any]:
    """One sample after the other."""
    found = [simulate.run(graph, {graph.inputs[0]: sample[None].numpy()}) for sample in x]
    return np.concatenate([outputs[graph.outputs[0]] for outputs in found])


def test_it_learns_and_has_the_integers_of_the_device(
    model: nn.Module, loader: DataLoader[tuple[torch.Tensor, ...]]
) -> None:
    net = ek.prepare_qat(model, one(loader), loader)
    losses = trained(net, loader, 5)
    assert np.mean(losses[-4:]) < 0.7 * np.mean(losses[:4])
    x = next(iter(loader))[0]
    graph = net.convert()
    assert any(t.dtype.value == "s8" and t.rank == 3 for t in (graph.type(n.outputs[0]) for n in graph.nodes))
    with torch.no_grad():
        assert np.array_equal(net.eval()(x).numpy(), answers(graph, x))


@pytest.mark.parametrize("target", ["int4", "bf16", "float32"])
def test_other_formats(target: str, loader: DataLoader[tuple[torch.Tensor, ...]]) -> None:
    net = ek.prepare_qat(MODELS["gru"](), one(loader), loader, target=target)
    trained(net, loader, 1)
    x = next(iter(loader))[0]
    with torch.no_grad():
        found = net.eval()(x).numpy()
    np.testing.assert_allclose(found, answers(net.convert(), x), rtol=0, atol=1e-6)


def test_gradients_are_those_of_torch(model: nn.Module, loader: DataLoader[tuple[torch.Tensor, ...]]) -> None:
    x = next(iter(loader))[0]
    net = ek.prepare_qat(model, one(loader), target="float32").train()
    given = [x.clone().requires_grad_() for _ in range(2)]
    ours, theirs = net(given[0]), model(given[1])
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    for y in (ours, theirs):
        y.square().sum().backward()
    torch.testing.assert_close(given[0].grad, given[1].grad, rtol=1e-4, atol=1e-5)
    of_states = [p.grad for name, p in model.named_parameters() if "weight_hh" in name]
    recurrent = [layer for layer in net.layers if isinstance(layer, TrainedRecurrent)]
    # EdgeKit has the gates in another order.
    expected, found = (
        torch.cat([gradient.flatten() for gradient in gradients]).sort()[0]
        for gradients in (of_states, [layer.weights[0].grad for layer in recurrent])
    )
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_samples_in_front_are_those_one_by_one(model: nn.Module) -> None:
    graph = ek.convert(model, (torch.zeros(1, STEPS, FEATURES),))
    with pytest.raises(EdgeKitError, match="does not count samples"):
        batched(graph, 3)
    (name,) = graph.inputs
    samples = [simulate.random_inputs(graph, seed)[name] for seed in range(3)]
    (many,) = simulate.run(batched(graph, 3, in_front=True), {name: np.concatenate(samples)}).values()
    alone = answers(graph, torch.from_numpy(np.concatenate(samples)))
    np.testing.assert_allclose(many, alone, rtol=1e-5, atol=1e-6)
