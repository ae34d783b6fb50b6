"""Weights in int8 and int4, rounded to the nearest and with --effort high: quality, accuracy, bytes.

Needs the extra `bench`, and the float MLPerf Tiny networks as TFLite files (--models). The data are those of
benchmarks.quantization.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.quantization import Network, networks
from benchmarks.results import table, write_section
from edgekit import api
from edgekit.converters.onnx.reader import convert
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

_EXAMPLES = Path(__file__).parent.parent / "examples"
_LABELLED = ("digits", "keywords")  # examples that name a class
_WAYS = [(weights, effort) for weights in ("int8", "int4") for effort in ("normal", "high")]
_TITLES = [weights + (", high" if effort == "high" else "") for weights, effort in _WAYS]
_NOTE = """\
Signal-to-noise ratio of the outputs, before a softmax, on samples held out of calibration; `high` is
--effort high. Activations are int8 everywhere. The columns in bytes count weights and biases: with
--weights int4 the smallest layers, a tenth of all weights, stay int8. On average --effort high gains
{int8:.1f} dB in int8 and {int4:.1f} dB in int4. The examples use their own data; the others use synthetic
images, sounds and spectra.
"""


@dataclass(frozen=True)
class Measured:
    """One way to quantize a network."""

    decibels: float
    bytes: int
    graph: Graph


def measured(graph: Graph, network: Network) -> list[Measured]:
    """All ways, in order."""
    truth = _outputs(graph, network.test)
    found = []
    for weights, effort in _WAYS:
        data = {network.input: np.concatenate(network.calibration)}
        made, report = api.quantize_model(graph, data, weights=weights, effort=effort)
        noise = np.square(_outputs(made, network.test) - truth).sum()
        decibels = 10 * math.log10(np.square(truth).sum() / noise)
        found.append(Measured(decibels, report.bytes_after, made))
    return found


def _outputs(graph: Graph, samples: Sequence[Array]) -> Array:
    (x,), (y,) = graph.inputs, graph.outputs
    return np.stack([simulate.run(graph, {x: sample})[y] for sample in samples]).astype(np.float64)


def accuracies(example: str, graphs: Sequence[Graph]) -> list[float]:
    """The shares of an example's test data that graphs name rightly."""
    with np.load(_EXAMPLES / example / "test.npz") as data:
        samples, labels = [x[None] for x in data["x"]], data["label"]
    answers = [_outputs(graph, samples).reshape(len(labels), -1).argmax(axis=1) for graph in graphs]
    return [float((answer == labels).mean()) for answer in answers]


def text(rows: Mapping[str, Sequence[Measured]], right: Mapping[str, Sequence[float]]) -> str:
    """The tables, and how they were measured."""
    quality = [
        [
            name,
            *(f"{way.decibels:.1f}" for way in found),
            *(f"{found[i].bytes:,}" for i in (0, 2)),
        ]
        for name, found in rows.items()
    ]
    accuracy = [[f"example {name}", *(f"{share:.1%}" for share in shares)] for name, shares in right.items()]
    gains = [
        sum(found[i + 1].decibels - found[i].decibels for found in rows.values()) / len(rows) for i in (0, 2)
    ]
    return "\n\n".join(
        [
            table(["weights, dB", *_TITLES, "int8, B", "int4, B"], quality),
            table(["accuracy", "float32", *_TITLES], accuracy),
            _NOTE.format(int8=gains[0], int4=gains[1]).rstrip(),
        ]
    )


def main() -> None:
    """Measure, print, write docs/performance.md."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--models", type=Path, required=True, help="folder of the MLPerf Tiny networks")
    arguments.add_argument("--dry", action="store_true", help="print only")
    options = arguments.parse_args()
    rows: dict[str, Sequence[Measured]] = {}
    right: dict[str, Sequence[float]] = {}
    for network in networks(options.models):
        shapes = {network.input: network.test[0].shape}
        graph = simplify(convert(network.model, shapes=shapes, name="network"))
        rows[network.name] = found = measured(graph, network)
        print(network.name, *(f"{way.decibels:.1f}" for way in found), flush=True)
        example = network.name.removeprefix("example ")
        if example in _LABELLED:
            right[example] = accuracies(example, [graph, *(way.graph for way in found)])
            print(example, right[example], flush=True)
    result = text(rows, right)
    print(result)
    if not options.dry:
        write_section("int4", "Weights in int8 and int4", result)


if __name__ == "__main__":
    main()
