"""Example inputs as loops have them: a tensor or a tuple, a sample or a batch, whichever dimension counts."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

import edgekit.torch as ek
from edgekit.torch.example_inputs import one_sample

STEPS, FEATURES, SAMPLES = 5, 4, 6
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # torch.export of a layer of weights in a list


class Reader(nn.Module):
    """All states of a recurrent layer: those of the first step need no other steps."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.GRU(FEATURES, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)[0]


class Together(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x - x.mean()


class Sum(nn.Module):
    """Of a picture and a vector, with a name."""

    def forward(self, picture: torch.Tensor, vector: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"sum": picture.mean((1, 2, 3))[:, None] + vector}


def images() -> nn.Module:
    layers = (nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Dropout(), nn.Flatten(), nn.Linear(72, 3))
    return nn.Sequential(*layers).train()


def encoder() -> nn.Module:
    return nn.TransformerEncoderLayer(FEATURES, 2, 8)


def names() -> nn.Module:
    return nn.Sequential(nn.Embedding(7, 3), nn.Flatten(), nn.Linear(3 * STEPS, 2))


@pytest.mark.parametrize(
    ("make", "shape", "found"),
    [
        (images, (SAMPLES, 1, 8, 8), (1, 1, 8, 8)),  # a channel counts no samples
        (images, (1, 1, 8, 8), (1, 1, 8, 8)),
        (Reader, (STEPS, SAMPLES, FEATURES), (STEPS, 1, FEATURES)),
        (Reader, (STEPS, 1, FEATURES), (STEPS, 1, FEATURES)),
        (encoder, (STEPS, SAMPLES, FEATURES), (STEPS, 1, FEATURES)),
        (encoder, (STEPS, 1, FEATURES), (STEPS, 1, FEATURES)),
        (Together, (SAMPLES, FEATURES), (SAMPLES, FEATURES)),  # no dimension counts samples
        (lambda: nn.Linear(FEATURES, 3), (0, FEATURES), (0, FEATURES)),
    ],
)
@pytest.mark.parametrize("numbers", [torch.zeros, torch.randn])
def test_one_sample_is_found(
    make: Callable[[], nn.Module],
    shape: tuple[int, ...],
    found: tuple[int, ...],
    numbers: Callable[[tuple[int, ...]], torch.Tensor],
) -> None:
    torch.manual_seed(0)
    model = make()
    (x,) = one_sample(model, numbers(shape))
    assert x.shape == found
    assert model.training  # as it was


def test_samples_of_several_inputs_and_of_integers() -> None:
    torch.manual_seed(0)
    given = (torch.randn(SAMPLES, 1, 2, 3), torch.randn(SAMPLES, FEATURES))
    assert [x.shape for x in one_sample(Sum(), given)] == [(1, 1, 2, 3), (1, FEATURES)]
    (index,) = one_sample(names(), torch.arange(SAMPLES * STEPS).reshape(SAMPLES, STEPS) % 7)
    assert index.shape == (1, STEPS)


def test_a_batch_is_enough_to_train_and_to_prune() -> None:
    torch.manual_seed(0)
    model, x = images(), torch.randn(SAMPLES, 1, 8, 8)
    net = ek.prepare_qat(model, x, x)
    assert net.graph.type(net.graph.inputs[0]).shape == (1, 1, 8, 8)
    assert net.eval()(x).shape == (SAMPLES, 3)
    assert ek.prune(model, x, x, ratio=0.5).module(x).shape == (SAMPLES, 3)
    graph = ek.convert(model, x)  # as it is
    assert graph.type(graph.inputs[0]).shape == (SAMPLES, 1, 8, 8)
