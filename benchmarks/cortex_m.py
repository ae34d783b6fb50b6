"""What int8 MLPerf Tiny networks cost on Cortex-M: instructions of one inference, code, memory.

Beside stand figures of TFLite Micro with CMSIS-NN, counted in the same way on the same emulated board.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.results import table, write_section
from edgekit.codegen.compilation.build import build
from edgekit.codegen.cost.bench import bench
from edgekit.converters.tflite.reader import convert
from edgekit.core import target as targets
from edgekit.core.passes.simplify import simplify

MODELS = Path(__file__).parents[2] / "shared" / "models" / "mlperf_tiny"


@dataclass(frozen=True)
class Network:
    """A network, and what TFLite Micro needs for it."""

    title: str
    file: str
    millions: dict[str, float]  # of instructions, by target
    code: int  # bytes without weights, on Cortex-M4
    arena: int


@dataclass(frozen=True)
class Core:
    """A processor, and the board that shows it."""

    title: str
    target: str
    board: str


CORES = (
    Core("Cortex-M4", "cortex-m4", "mps2-an386"),
    Core("Cortex-M55", "cortex-m55", "mps3-an547"),
    Core("Cortex-M3", "cortex-m3", "mps2-an385"),
    Core("Cortex-M0+", "cortex-m0plus", "mps2-an385"),
)
M4, M55 = "cortex-m4", "cortex-m55"
MOST_GROWTH = 4.0  # of weights: whatever takes fewest instructions
_GROWTHS = {"--weight-growth 1": 1.0, "default": 0.0, "--weight-growth 4": MOST_GROWTH}
NETWORKS = (
    Network("image classification", "pretrainedResnet_quant", {M4: 29.86, M55: 4.91}, 49_720, 54_996),
    Network("keyword spotting", "kws_ref_model", {M4: 7.70, M55: 1.82}, 51_918, 22_820),
    Network("visual wake words", "vww_96_int8", {M4: 24.10, M55: 6.56}, 51_918, 100_708),
    Network("anomaly detection", "ad01_int8", {M4: 0.583, M55: 0.285}, 26_783, 2_580),
)

_CORE = "{}, board {} of qemu-system-arm; compiled by `{}` for speed:\n\n{}"
_WEIGHTS = """\
The fastest kernels on Cortex-M4 read 8-bit weights stored in 16 bits, or at the points of Winograd's
algorithm. By default weights may grow by a quarter for that, in layers in which a byte saves an instruction
and more, the most first. With
`--weight-growth 1` they do not grow, with `--weight-growth 4` all layers take the fewest instructions; flash
is code and constants:

{}"""
_HOW = """\
Instructions of one inference on an emulated board, counted by a plugin of the emulator. The compiled code
gave the same integers as the simulator and LiteRT's reference kernels. Channels that cannot change a result
are removed beforehand: the MACs are those that remain. Flash is code, weights and layer parameters: of TFLM,
its code and the model file. TFLM's code was measured for Cortex-M4 only, and it was not compiled for
Cortex-M3 and M0+. Both arenas include input and output. Code for Cortex-M0+ runs on an emulated Cortex-M3.
TFLM is TFLite Micro 90b983c2 with CMSIS-NN 4ab83cc3, its core compiled for size and its kernels with -O2 by
arm-none-eabi-gcc 12.2.1."""


def row(network: Network, core: Core) -> list[str]:
    """One network: ours, beside theirs."""
    model = MODELS / f"{network.file}.tflite"
    graph = simplify(convert(model))
    target = targets.load(core.target)
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
        f"{network.millions[core.target]} M" if core.target in network.millions else "-",
        f"{counted / report.macs:.2f}",
        f"{report.flash_bytes:,}",
        f"{network.code + model.stat().st_size:,}" if core.target == M4 else "-",
        f"{report.code_bytes:,}",
        f"{network.code:,}" if core.target == M4 else "-",
        f"{report.arena_bytes:,}",
        f"{network.arena:,}",
    ]


def weights_row(network: Network) -> list[str]:
    """One network on Cortex-M4 with the least weights, by default, and with the largest."""
    graph, target = simplify(convert(MODELS / f"{network.file}.tflite")), targets.load(M4)
    cells = [network.title]
    for growth in _GROWTHS.values():
        grown = replace(target, weight_growth=growth)
        counted = bench(graph, grown).instructions
        assert counted is not None, "an emulator counts instructions"
        with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
            report = build(graph, grown, Path(folder) / "library", check=False)
        cells += [f"{report.flash_bytes:,}", f"{counted / 1e6:.3g} M"]
    return cells


def main() -> None:
    """Measure, print, write docs/performance.md."""
    header = [
        "int8 network",
        "MACs",
        "instructions",
        "TFLM",
        "per MAC",
        "flash, bytes",
        "TFLM",
        "code, bytes",
        "TFLM",
        "arena, bytes",
        "TFLM",
    ]
    texts = []
    for core in CORES:
        rows = table(header, [row(network, core) for network in NETWORKS])
        texts.append(_CORE.format(core.title, core.board, targets.load(core.target).compilers[0], rows))
    header = ["int8 network", *(word for way in _GROWTHS for word in (f"flash, {way}", "instructions"))]
    texts.append(_WEIGHTS.format(table(header, [weights_row(network) for network in NETWORKS])))
    text = "\n\n".join([*texts, _HOW])
    write_section("cortex_m", "Instructions on Cortex-M", text)
    print(text)


if __name__ == "__main__":
    main()
