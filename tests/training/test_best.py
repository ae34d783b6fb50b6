"""Training keeps the graph that held-out samples show to be better than the start, surely."""

import pytest
import torch
from torch import nn

import edgekit.torch as ek
from edgekit import api
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph

X = torch.randn((40, 3), generator=torch.Generator().manual_seed(1))


def scaling(factor: float) -> Graph:
    """y = factor x"""
    layer = nn.Linear(3, 3, bias=False)
    with torch.no_grad():
        layer.weight.copy_(factor * torch.eye(3))
    return ek.convert(layer, (X[:1],))


def after(*gains: list[float] | float) -> list[bool]:
    """What is kept of graphs with these gains over the start, each for all samples or for all together."""
    scores = iter([0.0, *gains])
    best = ek.Best(scaling(1), X, lambda y: torch.tensor(next(scores)))
    return [best.offer(scaling(2)) for _ in gains]


def test_the_best_graph_is_kept() -> None:
    """The farther from 0 its results are, the worse."""
    graphs = [scaling(factor) for factor in (4, 2, 3, 1)]
    best = ek.Best(scaling(3), torch.split(X, 16), lambda y: -y.abs().sum(dim=1))
    assert [best.offer(graph) for graph in graphs] == [False, True, False, True]
    assert best.graph is graphs[-1]
    assert best.score == pytest.approx(-float(X.abs().sum()) / 40, rel=1e-6)


def test_of_equals_the_earlier_one_stays() -> None:
    start = scaling(1)
    best = ek.Best(start, X, lambda y: -y.abs().sum(dim=1))
    assert not best.offer(scaling(1))
    assert best.graph is start


def test_what_chance_explains_is_no_gain() -> None:
    """Of 40 samples: one that is right now is as likely as not one that others would show to be wrong."""
    by_chance = [1.0] * 3 + [-1.0] * 2 + [0.0] * 35  # a mean of 0.025 with a standard error of 0.056
    surely = [1.0] * 5 + [-1.0] + [0.0] * 34  # 0.1, 0.060
    assert after(by_chance, surely, by_chance) == [False, True, False]


def test_one_number_for_all_samples_is_compared_as_it_is() -> None:
    assert after(0.1, 0.1, 0.2, 0.15, float("nan")) == [True, False, True, False, False]


class StepsFirst(nn.Module):
    """Takes (steps, samples, features), and has two results."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.GRU(3, 4)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y, _ = self.cells(x)
        return y, y.abs()


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch.export of a layer of weights in a list
def test_scores_see_what_the_module_gives() -> None:
    torch.manual_seed(0)
    net = ek.prepare_qat(StepsFirst(), (torch.randn(5, 1, 3),), [torch.randn(5, 20, 3)]).eval()
    x = torch.randn(5, 300, 3)
    seen: list[tuple[torch.Tensor, ...]] = []

    def score(*outputs: torch.Tensor) -> torch.Tensor:
        seen.append(outputs)
        return outputs[1].mean(dim=(0, 2))

    best = ek.Best(net.convert(), [x], score)
    assert best.score == pytest.approx(float(seen[0][1].mean()))
    with torch.no_grad():
        assert all(torch.equal(a, b) for a, b in zip(seen[0], net(x), strict=True))


def test_it_takes_samples_to_judge_by() -> None:
    with pytest.raises(EdgeKitError, match="no samples to judge by") as found:
        ek.Best(scaling(1), [], lambda y: y.sum(dim=1))
    assert "hold some out" in found.value.hint


def test_training_is_never_behind_its_start_on_what_is_held_out() -> None:
    """Steps that are far too long make it worse: the start is kept."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 2)).eval()
    with torch.no_grad():
        labels = model(X).argmax(dim=1)
    quantized, _ = api.quantize_model(ek.convert(model, (X[:1],)), X.numpy(), calibrate="minmax")
    best = ek.Best(quantized, X, lambda y: y.argmax(dim=1) == labels)
    net = ek.prepare_qat(model, X[:1], X)
    optimizer = torch.optim.SGD(net.parameters(), lr=30.0)
    for _ in range(3):
        torch.autograd.backward(nn.functional.cross_entropy(net(X), labels))
        optimizer.step()
        best.offer(net.convert())
    assert best.graph is quantized
