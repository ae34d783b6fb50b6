"""Embeddings and normalizations of a network learn, with the integers of the device."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import edgekit.torch as ek
from edgekit import api
from edgekit.core import simulate

WORDS, STEPS, WIDTH, CLASSES = 11, 5, 8, 3
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch.export of a layer of weights in a list


class Norms(nn.Module):
    """Two normalizations of one width, whose factors and shifts start as equal constants."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), nn.RMSNorm(WIDTH, eps=1e-5)])
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        x = self.words(index)
        for norm in self.norms:
            x = norm(x).tanh()
        return self.head(x.mean(1))


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layer = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, index: torch.Tensor) -> torch.Tensor:
        return self.head(self.layer(self.words(index))[0][:, -1])


@pytest.fixture(params=[Norms, Reader])
def model(request: pytest.FixtureRequest) -> nn.Module:
    torch.manual_seed(0)
    made: Callable[[], nn.Module] = request.param
    return made()


def words(count: int, seed: int = 1) -> torch.Tensor:
    return torch.randint(WORDS, (count, STEPS), generator=torch.Generator().manual_seed(seed))


def simulated(net: ek.Qat, index: torch.Tensor) -> Any:
    graph = net.convert()
    answers = [simulate.run(graph, {graph.inputs[0]: row[None]}) for row in index.numpy()]
    return np.concatenate([answer[graph.outputs[0]] for answer in answers])


@pytest.mark.parametrize("target", ["int8", "int4"])
def test_they_learn_and_have_the_integers_of_the_device(model: nn.Module, target: str) -> None:
    net = ek.prepare_qat(model, words(1), words(32), target=target)
    before = {name: p.detach().clone() for name, p in net.named_parameters() if "operands" in name}
    step = torch.optim.Adam(net.parameters(), 1e-2)
    losses = []
    for _ in range(12):
        index = words(32)
        loss = nn.functional.cross_entropy(net(index), index[:, -1] % CLASSES)
        step.zero_grad()
        loss.backward()
        step.step()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]
    moved = dict(net.named_parameters())
    assert before
    assert not any(torch.equal(moved[name], values) for name, values in before.items())
    index = words(20, seed=2)
    with torch.no_grad():
        assert np.array_equal(net.eval()(index).numpy(), simulated(net, index))
    assert api.verify(net.convert()).max_error == 0


def test_gradients_are_those_of_torch() -> None:
    torch.manual_seed(0)
    model = Norms()
    with torch.no_grad():
        for norm in model.norms:
            norm.weight.copy_(torch.rand(WIDTH) + 0.5)
    net, index = ek.prepare_qat(model, words(1), target="float32"), words(6)
    assert torch.allclose(net(index), model(index), atol=1e-5)
    torch.autograd.backward(net(index).square().sum())
    torch.autograd.backward(model(index).square().sum())
    found = {tuple(p.shape): [] for p in net.parameters()}
    for p in net.parameters():
        found[tuple(p.shape)].append(p.grad)
    for name, wanted in model.named_parameters():
        close = [
            g is not None and torch.allclose(g, wanted.grad, 1e-3, 1e-5) for g in found[tuple(wanted.shape)]
        ]
        assert any(close), name


def test_integers_in_a_table_do_not_learn() -> None:
    class Chosen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", torch.arange(WORDS) % 4)
            self.words = nn.Embedding(4, WIDTH)

        def forward(self, index: torch.Tensor) -> torch.Tensor:
            return self.words(self.table[index]).sum(1)

    net = ek.prepare_qat(Chosen(), words(1), words(8))
    assert [p.shape for name, p in net.named_parameters() if "operands" in name] == [(4, WIDTH)]
    with torch.no_grad():
        assert np.array_equal(net.eval()(words(8)).numpy(), simulated(net, words(8)))
