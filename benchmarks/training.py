"""What quantization alone and quantization-aware training make of digits, keywords and a small transformer.

Needs the extras torch and dev. Each network is trained in floats, then quantized, and then trained on with
the integers of the device, from several random states. What of the training is kept is decided by validation
samples; accuracy is that of the simulator on test samples, which decide nothing. C is compared with it there,
to the bit.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

import edgekit.torch as ek
from benchmarks.results import table, write_section
from edgekit import api
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.passes.batches import batched
from edgekit.core.types import Array
from examples import common
from examples.digits import train as digits
from examples.keywords import speech
from examples.keywords import train as keywords

PAGE = Path(__file__).parent.parent / "docs" / "training.md"
FORMATS = ("int8", "int4")
_BATCH = 64
_CALIBRATION = 128
_IN_C = 200  # test samples on which C is compared with the simulator
_VALIDATION_SHARE = 0.2  # of the digits that are not for tests
_WORDS = {"train": 3300, "validation": 825, "test": 2200}
_NOTE = """\
Accuracy on test samples, which decide nothing, the mean of {states} random states from which each network
starts: 2,250 digits (450 images, each in five positions) and 2,200 words of other speakers. `quantized` is
`edgekit quantize` with its corrections. `trained` goes on from the float network in `edgekit.torch`, with
frozen batch normalization in the last third; of these epochs and `quantized`, it is what `ek.Best` keeps by
validation samples, 1,350 other digits or 825 other words. `float, trained on` is the same without
quantization. The gain is that of `trained` over `quantized`, with its standard error. C gave the numbers of
the simulator, to the bit, for {in_c} of the samples in each row and state.

In {kept} of {runs} trainings `quantized` was kept, as nothing was surely better: {names}.
Training is not behind by more than chance then, and promises no gain where quantization costs nothing.

The examples, of 6,300 and 22,500 weights, and the transformer, two encoder layers over the rows of a digit,
lose little by quantization alone. They learn from labels and the answers of the float network, at a tenth of
the rate of float training. The small networks, separable ones of 1,100 and 2,700 weights, were trained for a
short time, and lose more by 4 bits. They learn from labels alone, at a third of the rate; most of what they
gain is what more epochs bring to floats, too, and with 4 bits they stay about half a point behind floats
that were trained as long. On validation samples no other loss or rate, of those tried, was surely better,
nor was, for the small networks with 4 bits, batch normalization that is frozen earlier or never, or the mean
of the weights of the last steps.
"""


@dataclass(frozen=True)
class Data:
    """Samples to train on, to choose by, and to test on."""

    train: torch.Tensor
    labels: torch.Tensor
    validation: torch.Tensor
    right: torch.Tensor  # their labels
    test: Array
    wanted: Array


@dataclass(frozen=True)
class Task:
    """A network, its data, and how it learns: in how many epochs and at which rate, at most."""

    name: str
    data: Callable[[], Data]
    network: Callable[[], nn.Module]
    floats: tuple[int, float]
    integers: tuple[int, float]  # from there
    by_teacher: bool = True  # with integers, by the answers of the float network, too, not by labels alone


@cache
def _data(make: Callable[[], Data]) -> Data:
    """Of a task, once in each process."""
    return make()


def digit_images() -> Data:
    """Handwritten digits of 8 by 8 pixels, each in five positions."""
    known = load_digits()
    images = (known.images[:, None] / digits.WHITE).astype(np.float32)
    others, test, labels, wanted = _split(images, known.target.astype(np.int64), 0.25)
    train, validation, labels, right = _split(others, labels, _VALIDATION_SHARE)
    return _data_of(_shifted(train, labels), _shifted(validation, right), _shifted(test, wanted))


def _split(images: Array, labels: Array, share: float) -> list[Array]:
    """Images, those of a share of them, and the labels of both."""
    found: list[Array] = train_test_split(images, labels, test_size=share, random_state=1, stratify=labels)
    return found


def _data_of(train: tuple[Array, Array], validation: tuple[Array, Array], test: tuple[Array, Array]) -> Data:
    (x, y), (held_x, held_y) = (tuple(map(torch.from_numpy, pair)) for pair in (train, validation))
    return Data(x, y, held_x, held_y, *test)


def _shifted(images: Array, labels: Array) -> tuple[Array, Array]:
    several = digits.shifted(images)
    return several, np.tile(labels, len(several) // len(images))


def recorded_words() -> Data:
    """Synthetic words of the keyword example, each by another speaker."""
    known, labels = speech.recordings(_WORDS["train"] + _WORDS["validation"], seed=1)
    test, wanted = speech.recordings(_WORDS["test"], seed=2)
    x, at = speech.as_input(known), _WORDS["train"]
    return _data_of((x[:at], labels[:at]), (x[at:], labels[at:]), (speech.as_input(test), wanted))


def separable() -> nn.Module:
    """A stem and three depthwise-separable layers: 1,100 weights."""
    layers: list[nn.Module] = [nn.Conv2d(1, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU()]
    for inputs, outputs in pairwise((8, 8, 16, 16)):
        stride = outputs // inputs
        layers += [
            nn.Conv2d(inputs, inputs, 3, stride, padding=1, groups=inputs, bias=False),
            *(nn.BatchNorm2d(inputs), nn.ReLU()),
            nn.Conv2d(inputs, outputs, 1, bias=False),
            *(nn.BatchNorm2d(outputs), nn.ReLU()),
        ]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


def small_keywords() -> nn.Module:
    """That of the example with 16 channels in place of 64: 2,700 weights."""
    return keywords.network(16)


class Transformer(nn.Module):
    """Two encoder layers over the rows of a digit."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.rows = nn.Linear(8, width)
        self.places = nn.Parameter(torch.zeros(8, width))
        layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=0.1, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.head(self.encoder(self.rows(images[:, 0]) + self.places).mean(dim=1))
        return found


TASKS = (
    Task("digits", digit_images, digits.network, (12, 1e-2), (6, 1e-3)),
    Task("keywords", recorded_words, keywords.network, (12, 5e-3), (4, 5e-4)),
    Task("transformer", digit_images, Transformer, (12, 3e-3), (6, 3e-4)),
    Task("small digits", digit_images, separable, (6, 1e-2), (12, 3e-3), by_teacher=False),
    Task("small keywords", recorded_words, small_keywords, (10, 1e-2), (8, 3e-3), by_teacher=False),
)


def accuracy(graph: Graph, known: Data) -> float:
    """The share of the test that a graph has right."""
    many = batched(graph, len(known.test), in_front=True)
    (answers,) = simulate.run(many, {many.inputs[0]: known.test}).values()
    return float((answers.argmax(axis=1) == known.wanted).mean())


def trained(
    model: nn.Module, start: Graph, known: Data, calibration: Array, target: str, task: Task, seed: int = 1
) -> Graph:
    """Quantization-aware training; batch normalization is frozen for the last third, of whose epochs the best
    is kept, or the start where none is better."""
    common.seed_everything(seed)
    epochs, rate = task.integers
    net = ek.prepare_qat(model, known.train[:1], calibration, target=target)
    best = ek.Best(start, known.validation, lambda y: y.argmax(dim=1) == known.right)
    with torch.no_grad():
        answers = model(known.train)
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    steps = epochs * -(-len(known.train) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=steps)
    for epoch in range(epochs):
        is_last_third = epoch >= epochs - epochs // 3
        if is_last_third:
            net.freeze_batch_norms()
        for chosen in torch.split(torch.randperm(len(known.train)), _BATCH):
            optimizer.zero_grad()
            y = net(known.train[chosen])
            loss = nn.functional.cross_entropy(y, known.labels[chosen])
            if task.by_teacher:
                loss = loss + ek.distillation(y, answers[chosen])
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
        if is_last_third:
            best.offer(net.convert())
    return best.graph


@dataclass(frozen=True)
class Run:
    """What became of a network from one random state: shares that are right."""

    network: str
    weights: str
    seed: int
    real: float
    quantized: float
    as_long: float  # in floats, trained for as many epochs as with integers
    trained: float
    is_start: bool  # what is kept is what was quantized


def runs_of(task: Task, seed: int) -> list[Run]:
    """Train in floats, then see what each format costs, and what training wins back."""
    known = _data(task.data)
    common.seed_everything(seed)
    model = task.network()
    epochs, rate = task.floats
    common.fit(model, nn.CrossEntropyLoss(), known.train, known.labels, epochs=epochs, rate=rate)
    graph = ek.convert(model, (known.train[:1],))
    calibration = known.train[torch.randperm(len(known.train))[:_CALIBRATION]].numpy()
    as_long = accuracy(trained(model, graph, known, calibration, "float32", task, seed), known)
    found = []
    for target in FORMATS:
        quantized, _ = api.quantize_model(graph, calibration, weights=target)
        made = trained(model, quantized, known, calibration, target, task, seed)
        different = api.verify(made, inputs=known.test[:_IN_C]).max_error
        assert different == 0, f"C differs from the simulator by {different:g}"
        real, plain, learned = (accuracy(g, known) for g in (graph, quantized, made))
        found.append(Run(task.name, target, seed, real, plain, as_long, learned, made is quantized))
        print(found[-1], flush=True)
    return found


def cells(runs: Sequence[Run]) -> list[str]:
    """A row of the table: means, and what training gains with its standard error."""
    gains = [100 * (run.trained - run.quantized) for run in runs]
    error = stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else 0.0
    columns = ("real", "quantized", "as_long", "trained")
    shares = (mean(getattr(run, name) for run in runs) for name in columns)
    return [
        f"{runs[0].network}, {runs[0].weights}",
        *(f"{share:.2%}" for share in shares),
        f"{mean(gains):+.2f} ± {error:.2f}",
    ]


def note(runs: Sequence[Run], states: int) -> str:
    """What the table shows, and how."""
    kept = Counter(run.network for run in runs if run.is_start)
    names = ", ".join(f"{count} of {name}" for name, count in kept.items())
    return _NOTE.format(states=states, in_c=_IN_C, kept=kept.total(), runs=len(runs), names=names)


def main() -> None:
    """Train, quantize, train on, write docs/training.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--states", type=int, default=3, help="random states from which each network starts")
    parser.add_argument("--only", default="", help="networks that have this in their name")
    parser.add_argument("--jobs", type=int, default=2, help="networks that train at once")
    parser.add_argument("--dry", action="store_true", help="print only")
    arguments = parser.parse_args()
    tasks = [task for task in TASKS if arguments.only in task.name]
    each = [(task, seed) for task in tasks for seed in range(1, arguments.states + 1)]
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:
        runs = [run for found in pool.starmap(runs_of, each, chunksize=1) for run in found]
    rows = [
        cells([run for run in runs if (run.network, run.weights) == (task.name, target)])
        for task in tasks
        for target in FORMATS
    ]
    head = ["network, weights", "float", "quantized", "float, trained on", "trained", "gain, points"]
    text = table(head, rows)
    text += "\n\n" + note(runs, arguments.states)
    print(text)
    if not arguments.dry:
        write_section("training", "Quantized and trained", text.rstrip(), PAGE)


if __name__ == "__main__":
    main()
