"""What pruning saves on Cortex-M4 and what it costs, on two examples, without and with training afterwards.

Needs the extras torch, toolchain and dev, and qemu-system-arm. The networks are those of the examples, their
data are made or loaded as their train.py does; what is compared in the end are int8 models on held-out data.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold
from torch import nn

import edgekit.torch as ek
from benchmarks.results import table, write_section
from edgekit import api
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.passes.batches import batched
from edgekit.core.types import Array
from edgekit.quantize.integers.integer_io import bring_integers_out
from examples import common
from examples.digits import train as digits_example
from examples.keywords import speech
from examples.keywords import train as keywords_example

EXAMPLES = Path(__file__).parent.parent / "examples"
TARGET = "cortex-m4"
_BATCH = 64
_CALIBRATION = 128  # for int8
_LEFT = 0.55  # share of the instructions, without training
_RATE = 5e-3
_PARTS = 4  # of the digits: each is the test of a network trained on the others
_NOTE = """\
int8 models, compiled for Cortex-M4: flash, arena with inputs and outputs, and instructions of one
inference, counted in qemu-system-arm. Accuracy is measured on {tests} held-out samples; for digits, four
networks are trained, each on three quarters of the images and tested on the rest, and the other figures are
their means. `pruned` involves no training: `edgekit prune --instructions {left:.0%}`, then
`edgekit quantize`. `fine-tuned` is the torch module, pruned further by `edgekit.torch.prune`, trained for
{epochs} epochs by distillation from the whole network, without labels, then converted and quantized;
`untrained` is the same before training. The last column is the share of instructions saved divided by the
share of multiplications saved.
"""


@dataclass(frozen=True)
class Example:
    """A network of examples/, and the data to train and to test it on."""

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


def digits(part: int) -> Example:
    """All pictures but a part of them, which are for the test; the network is trained as the example's is."""
    data = load_digits()
    images = (data.images[:, None] / digits_example.WHITE).astype(np.float32)
    parts = StratifiedKFold(_PARTS, shuffle=True, random_state=1)
    train, test = list(parts.split(images, data.target))[part]
    model, shifted = digits_example.network(), digits_example.shifted(images[train])
    labels = torch.from_numpy(np.tile(data.target[train], len(shifted) // len(train)))
    common.fit(model, nn.CrossEntropyLoss(), torch.from_numpy(shifted), labels, epochs=12, rate=1e-2)
    return Example(model.eval(), shifted, images[test], data.target[test], len(shifted), 0.45)


def keywords(part: int) -> Example:
    train, _ = speech.recordings(6600, seed=1)
    test, labels = speech.recordings(4400, seed=2)
    model = common.restore(keywords_example.network(), EXAMPLES / "keywords" / "keywords.onnx")
    return Example(model, speech.as_input(train), speech.as_input(test), labels, 2048, 0.35)


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
    tests: int

    @staticmethod
    def of(title: str, graph: Graph, example: Example, calibration: Array) -> Row:
        """Of a float graph, once it is in int8."""
        quantized, _ = api.quantize_model(graph, calibration)
        right = accuracy(quantized, example)
        made = bring_integers_out(quantized, "int8")
        sizes = api.estimate(made, target=TARGET, ports="arena")
        counted = api.bench(made, target=TARGET).instructions
        assert counted is not None
        return Row(
            title, sizes.macs, sizes.flash_bytes, sizes.working_bytes, counted, right, len(example.test)
        )

    @staticmethod
    def mean(rows: Sequence[Row]) -> Row:
        """Of parts of the same data."""

        def of(kind: str) -> int:
            total: float = sum(getattr(row, kind) for row in rows)
            return round(total / len(rows))

        tests = sum(row.tests for row in rows)
        right = sum(row.accuracy * row.tests for row in rows)
        return Row(
            rows[0].title, of("macs"), of("flash"), of("ram"), of("instructions"), right / tests, tests
        )

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


def compared(make: Callable[[int], Example], part: int, epochs: int) -> list[Row]:
    """A row for each model."""
    common.seed_everything(1)
    torch.set_num_threads(1)
    example = make(part)
    chosen = example.train[np.random.default_rng(0).permutation(len(example.train))[: example.samples]]
    calibration = chosen[:_CALIBRATION]
    graph = ek.convert(example.model, example.first)
    rows = []

    def add(title: str, graph: Graph) -> None:
        rows.append(Row.of(f"{make.__name__}, {title}", graph, example, calibration))
        print(part, rows[-1], flush=True)

    add("whole", graph)
    add("pruned", api.prune(graph, chosen, api.Pruning(instructions=_LEFT), target=TARGET)[0])
    samples = torch.split(torch.from_numpy(chosen), 1)
    small = ek.prune(example.model, example.first, samples, instructions=example.left, target=TARGET).module
    add("untrained", ek.convert(small, example.first))
    train(small, example, epochs)
    add("fine-tuned", ek.convert(small, example.first))
    return rows


def main() -> None:
    """Prune, train, measure, write docs/performance.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--only", default="", help="digits or keywords: print only")
    parser.add_argument("--dry", action="store_true", help="print only")
    arguments = parser.parse_args()
    rows, tests = [], []
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        jobs = {
            make: [pool.submit(compared, make, part, arguments.epochs) for part in range(parts)]
            for make, parts in ((keywords, 1), (digits, _PARTS))
            if arguments.only in make.__name__
        }
        for parts in jobs.values():
            found = [Row.mean(same) for same in zip(*(job.result() for job in parts), strict=True)]
            rows += [row.cells(found[0]) for row in found]
            tests.append(f"{found[0].tests:,}")
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
