"""Instructions that networks take on 64-bit ARM, under its emulator, and LiteRT's: docs/performance.md."""

import tempfile
from pathlib import Path

from benchmarks import aarch64_peers
from benchmarks.results import table, write_section
from edgekit import api
from edgekit.core import target as targets
from edgekit.core.target import Target, with_runner

NETWORKS = {
    "image classification, int8": "pretrainedResnet_quant",
    "keyword, int8": "kws_ref_model",
    "visual wake words, int8": "vww_96_int8",
    "anomaly, int8": "ad01_int8",
    "image classification, f32": "pretrainedResnet",
    "keyword, f32": "kws_ref_model_float32",
    "visual wake words, f32": "vww_96_float",
    "anomaly, f32": "ad01_fp32",
}
MODELS = Path(__file__).parents[2] / "shared" / "models" / "mlperf_tiny"
LENGTHS = (128, 256, 512)

_NOTE = """\
Instructions of one inference, counted in qemu-aarch64; in parentheses per multiply-accumulate of the
compiled network. Built with `--optimize speed` and compiled by {by}. int8 results equal those of the
simulator and of LiteRT's reference kernels, bit for bit.

Each target is compared with {litert}, with XNNPACK and one thread, on an emulated processor that has the
instructions of the target. The weights of "keyword, f32" are int8 in the file: LiteRT quantizes its
activations at run time, EdgeKit computes in f32.

Columns of `aarch64-sme` are one executable on emulated processors, whose registers have so many bits in
streaming mode. An outer product counts as one instruction, whatever their length. Networks of few products
stay with the kernels of `aarch64-i8mm`.
"""


def longer() -> dict[str, Target]:
    """The target with registers of all lengths, by its titles."""
    target = targets.load("aarch64-sme")
    found = {}
    for bits in LENGTHS:
        runner = target.runner.replace("vector-length=64", f"vector-length={bits // 8}")
        assert f"vector-length={bits // 8}" in runner
        found[f"{target.name}, {bits} bits"] = with_runner(target, runner)
    return found


def main() -> None:
    rows: list[list[str]] = []
    compilers: dict[str, None] = {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        aarch64_peers.fetch(folder)
        for title, name in NETWORKS.items():
            model = MODELS / f"{name}.tflite"
            row = [title]
            for target in aarch64_peers.PROCESSORS:
                found = api.bench(model, target=target)
                compilers[found.compiler.split(" -")[0]] = None
                theirs = aarch64_peers.instructions(folder, target, model)
                row += [f"{found.instructions:,} ({found.instructions_per_mac:.3f})", f"{theirs:,}"]
                print(title, target, *row[-2:], flush=True)
            for processor, wider in longer().items():
                found = api.bench(model, target=wider)
                row.append(f"{found.instructions:,} ({found.instructions_per_mac:.3f})")
                print(title, processor, row[-1], flush=True)
            rows.append(row)
    header = ["network"]
    for target, processor in aarch64_peers.PROCESSORS.items():
        header += [target, f"LiteRT, {processor}"]
    header += longer()
    note = _NOTE.format(by=", ".join(compilers), litert=aarch64_peers.RELEASE.replace("==", " "))
    write_section("aarch64", "Instructions on 64-bit ARM", f"{note}\n{table(header, rows)}")


if __name__ == "__main__":
    main()
