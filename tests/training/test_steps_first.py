"""Samples behind the steps: recurrent layers and attention as PyTorch has them without batch_first."""

import numpy as np
import pytest
import torch
from torch import nn

import edgekit.torch as ek
from edgekit import EdgeKitError
from edgekit.core import simulate
from edgekit.core.passes.batches import sample_axes

STEPS, FEATURES, UNITS, CLASSES = 5, 4, 8, 3
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch.export of a layer of weights in a list


class Tagger(nn.Module):
    """A class for each step, (steps, samples, classes), or one for all, (samples, classes)."""

    def __init__(self, *, of_steps: bool) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.LSTM(FEATURES, UNITS)
        self.head = nn.Linear(UNITS, CLASSES)
        self.of_steps = of_steps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, _ = self.layer(x)
        return self.head(y if self.of_steps else y[-1])


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.encoder = nn.TransformerEncoderLayer(UNITS, 2, 2 * UNITS, dropout=0.0)
        self.inside, self.head = nn.Linear(FEATURES, UNITS), nn.Linear(UNITS, CLASSES)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(self.inside(x)))


MODELS = {
    "class of each step": (lambda: Tagger(of_steps=True), 1),
    "class of all steps": (lambda: Tagger(of_steps=False), 0),
    "attention": (Encoder, 1),
}


@pytest.fixture(params=MODELS)
def case(request: pytest.FixtureRequest) -> tuple[nn.Module, int]:
    """A model, and which dimension of its outputs counts samples."""
    make, axis = MODELS[request.param]
    return make(), axis


def batch(count: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(STEPS, count, FEATURES, generator=torch.Generator().manual_seed(seed))


def test_the_batch_is_found(case: tuple[nn.Module, int]) -> None:
    model, axis = case
    graph = ek.convert(model, (batch(1),))
    axes = sample_axes(graph)
    assert [axes[name] for name in (*graph.inputs, *graph.outputs)] == [1, axis]


def test_floats_and_gradients_are_those_of_torch(case: tuple[nn.Module, int]) -> None:
    model, _ = case
    net = ek.prepare_qat(model, (batch(1),), [batch(6)], target="float32").train()
    given = [batch(7, seed=2).requires_grad_() for _ in range(2)]
    ours, theirs = net(given[0]), model(given[1])
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    for y in (ours, theirs):
        y.square().sum().backward()
    torch.testing.assert_close(given[0].grad, given[1].grad, rtol=1e-4, atol=1e-5)


def test_int8_is_trained_and_is_what_the_device_computes(case: tuple[nn.Module, int]) -> None:
    model, axis = case
    net = ek.prepare_qat(model, (batch(1),), [batch(6), (batch(2, seed=3), torch.zeros(2))])
    x = batch(5, seed=4)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        losses.append((net(x) - 1).square().mean())
        losses[-1].backward()  # type: ignore[no-untyped-call]  # torch has no types here
        optimizer.step()
    assert losses[-1] < losses[0]
    with torch.no_grad():
        found = net.eval()(x).numpy()
    made = net.convert()
    (name,) = made.inputs
    alone = [simulate.run(made, {name: x[:, i : i + 1].numpy()})[made.outputs[0]] for i in range(5)]
    assert np.array_equal(found, np.concatenate(alone, axis))


def test_pruning_takes_such_batches() -> None:
    small = ek.prune(Encoder(), (batch(1),), [batch(9)], ratio=0.25).module
    assert small.encoder.linear1.weight.shape[0] < 2 * UNITS
    assert small(batch(3)).shape == (STEPS, 3, CLASSES)


def test_a_model_without_a_dimension_of_samples_is_refused() -> None:
    class Alone(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * 2

    graph = ek.convert(Alone(), (torch.zeros(3, 4),))
    with pytest.raises(EdgeKitError, match="does not count samples"):
        sample_axes(graph)
