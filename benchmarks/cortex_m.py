"""What int8 MLPerf Tiny networks cost on Cortex-M: instructions of one inference, code, memory.

Beside stand the figures of TFLite Micro with CMSIS-NN, counted in the same way on the same emulated board.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.results import table, write_section
from edgekit import target as targets
from edgekit.codegen.bench import bench
from edgekit.codegen.build import build
from edgekit.converters.from_tflite import convert
from edgekit.passes.simplify import simplify

MODELS = Path(__file__).parents[2] / "shared" / "models" / "mlperf_tiny"
TARGET = "cortex-m4"


@dataclass(frozen=True)
class Network:
    """A network, and what TFLite Micro needs for it."""

    title: str
    file: str
    instructions: float  # millions
    code: int  # bytes without weights
    arena: int


NETWORKS = (
    Network("image classification", "pretrainedResnet_quant", 29.86, 49_720, 54_996),
    Network("keyword spotting", "kws_ref_model", 7.70, 51_918, 22_820),
    Network("visual wake words", "vww_96_int8", 24.10, 51_918, 100_708),
    Network("anomaly detection", "ad01_int8", 0.583, 26_783, 2_580),
)

_HOW = """\
One inference on an emulated Cortex-M4, counted by a plugin of qemu-system-arm (board mps2-an386); compiled
by `{}` for speed. The compiled code gave the integers of the simulator, which are those of LiteRT's
reference kernels. Channels that cannot change a result are removed before: MACs are those that remain. Code
is without weights and the parameters of layers, which TFLM keeps in the model file, too; both arenas hold
input and output. TFLM is TFLite Micro 90b983c2 with CMSIS-NN 4ab83cc3, its core compiled for size and its
kernels with -O2 by arm-none-eabi-gcc 12.2.1."""


def row(network: Network) -> list[str]:
    """One network: ours, beside theirs."""
    graph = simplify(convert(MODELS / f"{network.file}.tflite"))
    target = targets.load(TARGET)
    counted = bench(graph, target).instructions
    assert counted is not None, "an emulator counts instructions"
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        report = build(graph, target, Path(folder) / "library", ports="arena", check=True)
    assert report.verification is not None
    assert report.verification.exact
    return [
        network.title,
        f"{report.macs / 1e6:.2f} M",
        f"{counted / 1e6:.2f} M",
        f"{network.instructions} M",
        f"{counted / report.macs:.2f}",
        f"{report.code_bytes:,}",
        f"{network.code:,}",
        f"{report.arena_bytes:,}",
        f"{network.arena:,}",
    ]


def main() -> None:
    """Measure, print, write docs/performance.md."""
    header = [
        "int8 network",
        "MACs",
        "instructions",
        "TFLM",
        "per MAC",
        "code, bytes",
        "TFLM",
        "arena, bytes",
        "TFLM",
    ]
    text = table(header, [row(network) for network in NETWORKS])
    text += "\n\n" + _HOW.format(targets.load(TARGET).compilers[0])
    write_section("cortex_m", "Instructions on Cortex-M", text)
    print(text)


if __name__ == "__main__":
    main()
