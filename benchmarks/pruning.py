"""What pruning saves on Cortex-M4 and what it costs, on two examples, without and with training afterwards.

Needs the extras torch, toolchain and dev, and qemu-system-arm. The networks are those of the examples, their
data are made or loaded as their train.py does; what is compared in the end are int8 models on held-out data.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

import edgekit.torch as ek
from benchmarks.results import table, write_section
from edgekit import api, simulate
from edgekit.ir import Array, Graph
from edgekit.passes.batches import batched
from edgekit.quantize.io import bring_integers_out
from examples import common
from examples.digits import train as digits_example
from examples.keywords import train as keywords_example

EXAMPLES = Path(__file__).parent.parent / "examples"
TARGET = "cortex-m4"
_BATCH = 64
_CALIBRATION = 128  # for int8
_LEFT = 0.55  # share of the instructions, without training
_RATE = 5e-3
_NOTE = """\
Models in int8, compiled for Cortex-M4: flash, arena with inputs and outputs, and instructions of one
inference, counted in qemu-system-arm. Accuracy is that on {tests} held-out samples. `pruned` is without any
training: `edgekit prune --instructions {left:.0%}`, then `edgekit quantize`. `fine-tuned` is the torch
module, pruned further by `edgekit.torch.prune` and trained for {epochs} epochs with the answers of the whole
network and without labels, then converted and quantized; `untrained` is the same before training. The last
column is the share saved of the instructions by that of the multiplications.
"""


@dataclass(frozen=True)
class Example:
    """A network of examples/, and the data to train and to test it on."""

    name: str
    model: nn.Module
    train: Array
    test: Array
    labels: Array
    samples: int  # for pruning
    left: float  # share of the instructions, with training afterwards

    @property
    def first(self) -> tuple[torch.Tensor]:
        """A batch of one."""
        return (torch.from_numpy(self.train[:1]),)


def digits() -> Example:
    data = load_digits()
    images = (data.images[:, None] / digits_example.WHITE).astype(np.float32)
    train, test, _, labels = train_test_split(
        images, data.target, test_size=0.25, random_state=1, stratify=data.target
    )
    model = common.restore(digits_example.network(), EXAMPLES / "digits" / "digits.onnx")
    shifted = digits_example.shifted(train)
    return Example("digits", model, shifted, test, labels, len(shifted), 0.45)


def keywords() -> Example:
    train, _ = keywords_example.recordings(3300, seed=1)
    test, labels = keywords_example.recordings(1100, seed=2)
    model = common.restore(keywords_example.network(), EXAMPLES / "keywords" / "keywords.onnx")
    as_input = keywords_example.as_input
    return Example("keywords", model, as_input(train), as_input(test), labels, 512, 0.35)


def accuracy(graph: Graph, example: Example) -> float:
    """The share of the held-out samples that a graph has right."""
    many = batched(graph, len(example.test))
    (answers,) = simulate.run(many, {many.inputs[0]: example.test}).values()
    return float((answers.argmax(axis=1) == example.labels).mean())


def train(model: nn.Module, example: Example, epochs: int) -> None:
    """Without labels: the whole network is the teacher. The rate rises once and falls to nothing."""
    x = torch.from_numpy(example.train)
    with torch.no_grad():
        wanted = torch.cat([example.model.eval()(part) for part in torch.split(x, 256)])
    optimizer = torch.optim.AdamW(model.parameters(), lr=_RATE)
    steps = epochs * -(-len(x) // _BATCH)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=_RATE, total_steps=steps)
    model.train()
    for _ in range(epochs):
        for chosen in torch.split(torch.randperm(len(x)), _BATCH):
            optimizer.zero_grad()
            torch.autograd.backward(ek.distillation(model(x[chosen]), wanted[chosen]))
            optimizer.step()
            schedule.step()
    model.eval()


@dataclass(frozen=True)
class Row:
    """A model on the target."""

    title: str
    macs: int
    flash: int
    ram: int
    instructions: int
    accuracy: float

    @staticmethod
    def of(title: str, graph: Graph, example: Example, calibration: Array) -> Row:
        """Of a float graph, once it is in int8."""
        quantized, _ = api.quantize_model(graph, calibration)
        right = accuracy(quantized, example)
        made = bring_integers_out(quantized, "int8")
        sizes = api.estimate(made, target=TARGET, ports="arena")
        counted = api.bench(made, target=TARGET).instructions
        assert counted is not None
        return Row(title, sizes.macs, sizes.flash_bytes, sizes.working_bytes, counted, right)

    def cells(self, whole: Row) -> list[str]:
        macs, counted = self.macs / whole.macs, self.instructions / whole.instructions
        saving = f"{(1 - counted) / (1 - macs):.0%}" if macs < 1 else ""
        return [
            self.title,
            f"{self.macs:,} ({macs:.0%})",
            f"{self.flash:,}",
            f"{self.ram:,}",
            f"{self.instructions:,} ({counted:.0%})",
            f"{self.accuracy:.2%}",
            saving,
        ]


def compared(make: Callable[[], Example], epochs: int) -> tuple[int, list[list[str]]]:
    """The number of tests, and the rows of the table."""
    common.seed_everything(1)
    example = make()
    chosen = example.train[np.random.default_rng(0).permutation(len(example.train))[: example.samples]]
    calibration = chosen[:_CALIBRATION]
    graph = ek.convert(example.model, example.first)
    rows = []

    def add(title: str, graph: Graph) -> None:
        rows.append(Row.of(f"{example.name}, {title}", graph, example, calibration))
        print(rows[-1], flush=True)

    add("whole", graph)
    add("pruned", api.prune(graph, chosen, api.Pruning(instructions=_LEFT), target=TARGET)[0])
    samples = torch.split(torch.from_numpy(chosen), 1)
    small = ek.prune(example.model, example.first, samples, instructions=example.left, target=TARGET).module
    add("untrained", ek.convert(small, example.first))
    train(small, example, epochs)
    add("fine-tuned", ek.convert(small, example.first))
    return len(example.test), [row.cells(rows[0]) for row in rows]


def main() -> None:
    """Prune, train, measure, write docs/performance.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--only", default="", help="digits or keywords: print only")
    parser.add_argument("--dry", action="store_true", help="print only")
    arguments = parser.parse_args()
    wanted = [make for make in (digits, keywords) if arguments.only in make.__name__]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = list(pool.map(compared, wanted, [arguments.epochs] * len(wanted)))
    rows = [cells for _, some in found for cells in some]
    tests = [f"{count:,}" for count, _ in found]
    head = ["int8", "MACs", "flash, bytes", "RAM, bytes", "instructions", "accuracy", "saved"]
    text = (
        table(head, rows)
        + "\n\n"
        + _NOTE.format(tests=" and ".join(tests), epochs=arguments.epochs, left=_LEFT)
    )
    print(text)
    if not (arguments.dry or arguments.only):
        write_section("pruning", "Pruned on Cortex-M4", text.rstrip())


if __name__ == "__main__":
    main()
