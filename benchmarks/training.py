"""What quantization alone and quantization-aware training make of networks for handwritten digits.

Needs the extras torch and dev. Each network is trained in floats, then quantized, and then trained on with
the integers of the device. Accuracy is that of the simulator, which C equals.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

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
from examples.digits import train as example

PAGE = Path(__file__).parent.parent / "docs" / "training.md"
_BATCH = 64
_CALIBRATION = 128
_NOTE = """\
Accuracy on {tests:,} images: the 450 held-out ones, each in five positions. `quantized` is `edgekit
quantize` with its corrections; `trained` goes on from the float network for {epochs} epochs in
`edgekit.torch`, with frozen batch normalization in the last third. The harsh setting are weights of 4 bits in
a separable network of 1,100 weights that was trained for 6 epochs: quantization alone costs more than a
point there. Such a network is not at its best yet; in floats it would gain from more epochs, too.
"""


@dataclass(frozen=True)
class Data:
    """Digits to train and to test on."""

    train: torch.Tensor
    labels: torch.Tensor
    test: Array
    wanted: Array


def data() -> Data:
    digits = load_digits()
    images = (digits.images[:, None] / example.WHITE).astype(np.float32)
    train, test, labels, wanted = train_test_split(
        images, digits.target.astype(np.int64), test_size=0.25, random_state=1, stratify=digits.target
    )
    several = len(example.shifted(test)) // len(test)
    return Data(
        torch.from_numpy(example.shifted(train)),
        torch.from_numpy(np.tile(labels, several)),
        example.shifted(test),
        np.tile(wanted, several),
    )


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


def accuracy(graph: Graph, known: Data) -> float:
    """The share of the test that a graph has right."""
    many = batched(graph, len(known.test))
    (answers,) = simulate.run(many, {many.inputs[0]: known.test}).values()
    return float((answers.argmax(axis=1) == known.wanted).mean())


def trained(model: nn.Module, known: Data, calibration: Array, target: str, epochs: int) -> Graph:
    """Quantization-aware training; batch normalization is frozen for the last third."""
    common.seed_everything(1)
    net = ek.prepare_qat(
        model, (known.train[:1],), torch.split(torch.from_numpy(calibration), 1), target=target
    )
    optimizer = torch.optim.Adam(net.parameters())
    steps = epochs * -(-len(known.train) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps)
    for epoch in range(epochs):
        if epoch >= epochs - epochs // 3:
            net.freeze_batch_norms()
        for chosen in torch.split(torch.randperm(len(known.train)), _BATCH):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(known.train[chosen]), known.labels[chosen])
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
    return net.convert()


@dataclass(frozen=True)
class Row:
    """Shares that are right."""

    network: str
    target: str
    real: float
    quantized: float
    trained: float

    def cells(self) -> list[str]:
        return [
            f"{self.network}, {self.target}",
            *(f"{x:.2%}" for x in (self.real, self.quantized, self.trained)),
        ]


def compared(
    name: str, make: Callable[[], nn.Module], known: Data, targets: Sequence[str], first: int, epochs: int
) -> list[Row]:
    """Train in floats for `first` epochs, then see what each format costs."""
    common.seed_everything(1)
    model = make()
    common.fit(model, nn.CrossEntropyLoss(), known.train, known.labels, epochs=first, rate=1e-2)
    graph = ek.convert(model, (known.train[:1],))
    calibration = known.train[torch.randperm(len(known.train))[:_CALIBRATION]].numpy()
    rows = []
    for target in targets:
        quantized, _ = api.quantize_model(graph, calibration, weights=target)
        made = trained(model, known, calibration, target, epochs)
        shares = (accuracy(g, known) for g in (graph, quantized, made))
        rows.append(Row(name, target, *shares))
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    """Train, quantize, train on, write docs/training.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--dry", action="store_true", help="print only")
    arguments = parser.parse_args()
    known = data()
    nets = (("the example", example.network, ("int8",), 12), ("separable", separable, ("int8", "int4"), 6))
    rows = [
        row.cells()
        for name, make, targets, first in nets
        for row in compared(name, make, known, targets, first, arguments.epochs)
    ]
    text = table(["weights", "float", "quantized", "trained"], rows)
    text += "\n\n" + _NOTE.format(tests=len(known.test), epochs=arguments.epochs)
    print(text)
    if not arguments.dry:
        write_section("training", "Quantized and trained", text.rstrip(), PAGE)


if __name__ == "__main__":
    main()
