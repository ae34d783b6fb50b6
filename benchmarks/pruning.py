"""What pruning saves on Cortex-M4 and what it costs, on two examples, without and with training afterwards.

Needs the extras torch, toolchain and dev, and qemu-system-arm. The training data of the examples are made or
loaded as their train.py does; what is compared in the end are int8 models on held-out data.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.nn import functional

import edgekit.torch as ek
from benchmarks.results import table, write_section
from edgekit import api, simulate
from edgekit.ir import Array, Graph
from edgekit.ops.softmax import Softmax
from edgekit.torch.batches import batched
from examples import common
from examples.digits import train as digits_example
from examples.keywords import train as keywords_example

ROOT = Path(__file__).parent.parent
TARGET = "cortex-m4"
_BATCH = 64
_NOTE = """\
Models in int8, compiled for Cortex-M4: flash, arena with inputs and outputs, and instructions of one
inference, counted in qemu-system-arm. Accuracy is that on {tests} held-out samples. `pruned` is without any
training: `edgekit prune --macs`, then `edgekit quantize`. `trained` goes on with {epochs} epochs of
distillation from the whole float network, in torch, then quantizes. The last column is the share saved of the
instructions by that of the multiplications. In the second table little is left of the networks: `after
pruning` is quantized as above, `trained so` by as many epochs of quantization-aware training from there, with
the same teacher.
"""
HARSH = 0.2  # of the multiplications: what quantization alone does not survive


@dataclass(frozen=True)
class Example:
    """A network of examples/, and the data to train and to test it on."""

    name: str
    graph: Graph
    train: Array
    test: Array
    labels: Array


def digits() -> Example:
    data = load_digits()
    images = (data.images[:, None] / digits_example.WHITE).astype(np.float32)
    train, test, _, labels = train_test_split(
        images, data.target, test_size=0.25, random_state=1, stratify=data.target
    )
    graph = api.convert(ROOT / "examples" / "digits" / "digits.onnx")
    return Example("digits", graph, digits_example.shifted(train), test, labels)


def keywords() -> Example:
    train, _ = keywords_example.recordings(3300, seed=1)
    test, labels = keywords_example.recordings(1100, seed=2)
    graph = api.convert(ROOT / "examples" / "keywords" / "keywords.onnx")
    as_input = keywords_example.as_input
    return Example("keywords", graph, as_input(train), as_input(test), labels)


def accuracy(graph: Graph, example: Example) -> float:
    """The share of the held-out samples that a graph has right."""
    many = batched(graph, len(example.test))
    (answers,) = simulate.run(many, {many.inputs[0]: example.test}).values()
    return float((answers.argmax(axis=1) == example.labels).mean())


def without_softmax(graph: Graph) -> Graph:
    """What goes into the softmax that ends a network: teachers and losses want that."""
    last = graph.producer(graph.outputs[0])
    assert last is not None
    assert isinstance(last.op, Softmax)
    return replace(
        graph,
        outputs=last.inputs,
        nodes=tuple(node for node in graph.nodes if node is not last),
        values={name: value for name, value in graph.values.items() if name not in last.outputs},
    )


def train(net: ek.Qat, teacher: ek.Qat, example: Example, epochs: int, rate: float) -> None:
    """Distillation, with a rate that falls to nothing."""
    x = torch.from_numpy(example.train)
    with torch.no_grad():
        wanted = torch.cat([teacher(part) for part in torch.split(x, 256)])
    optimizer = torch.optim.Adam(net.parameters(), lr=rate)
    steps = epochs * -(-len(x) // _BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for _ in range(epochs):
        for chosen in torch.split(torch.randperm(len(x)), _BATCH):
            optimizer.zero_grad()
            loss = functional.mse_loss(net(x[chosen]), wanted[chosen])
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()


def measured(graph: Graph, example: Example, calibration: Array) -> tuple[Graph, float]:
    """In int8, and its accuracy."""
    made, _ = api.quantize_model(graph, calibration, io="int8")
    quantized, _ = api.quantize_model(graph, calibration)
    return made, accuracy(quantized, example)


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
    def of(title: str, graph: Graph, right: float) -> Row:
        sizes = api.estimate(graph, target=TARGET, ports="arena")
        counted = api.bench(graph, target=TARGET).instructions
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


def compared(example: Example, epochs: int, tell: Callable[..., None]) -> tuple[list[list[str]], list[str]]:
    """Rows of the table, and one of the harsh setting."""
    generator = np.random.default_rng(0)
    calibration = example.train[generator.permutation(len(example.train))[:512]]
    float_graph = without_softmax(example.graph)
    teacher = ek.prepare_qat(float_graph, target="float32")
    whole = Row.of(f"{example.name}, whole", *measured(float_graph, example, calibration))
    rows = [whole]
    for share in (0.5, 0.3):
        small, _ = api.prune(
            float_graph, calibration, api.Pruning(macs=share), target=TARGET, tell=lambda step: None
        )
        rows.append(Row.of(f"{example.name}, pruned", *measured(small, example, calibration)))
        tell(rows[-1])
        net = ek.prepare_qat(small, target="float32")
        train(net, teacher, example, epochs, 2e-3)
        trained = net.convert()
        rows.append(Row.of(f"{example.name}, trained", *measured(trained, example, calibration)))
        tell(rows[-1])
    harsh, _ = api.prune(float_graph, calibration, api.Pruning(macs=HARSH), tell=lambda step: None)
    right = {}
    for bits in ("int8", "int4"):
        made, _ = api.quantize_model(harsh, calibration, weights=bits)
        right[bits, "after"] = accuracy(made, example)
        net = ek.prepare_qat(
            harsh, calibration=torch.split(torch.from_numpy(calibration[:64]), 1), target=bits
        )
        train(net, teacher, example, epochs, 2e-3)
        right[bits, "trained"] = accuracy(net.convert(), example)
        tell(right)
    words = [f"{example.name}, {HARSH:.0%} of the multiplications"]
    words += [f"{right[bits, way]:.2%}" for bits in ("int8", "int4") for way in ("after", "trained")]
    return [row.cells(whole) for row in rows], words


def main() -> None:
    """Prune, train, measure, write docs/performance.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--only", default="", help="digits or keywords")
    parser.add_argument("--dry", action="store_true", help="print only")
    arguments = parser.parse_args()
    common.seed_everything(1)
    rows: list[list[str]] = []
    harsh: list[Sequence[str]] = []
    tests = []
    for make in (digits, keywords):
        if arguments.only in make.__name__:
            example = make()
            tests.append(f"{len(example.test):,}")
            found, words = compared(example, arguments.epochs, lambda *x: print(*x, flush=True))
            rows += found
            harsh.append(words)
    head = ["int8", "MACs", "flash, bytes", "RAM, bytes", "instructions", "accuracy", "saved"]
    text = table(head, rows)
    more = ["accuracy", "int8, after pruning", "int8, trained so", "int4, after pruning", "int4, trained so"]
    text += "\n\n" + table(more, harsh)
    text += "\n\n" + _NOTE.format(tests=" and ".join(tests), epochs=arguments.epochs)
    print(text)
    if not arguments.dry:
        write_section("pruning", "Pruned on Cortex-M4", text.rstrip())


if __name__ == "__main__":
    main()
