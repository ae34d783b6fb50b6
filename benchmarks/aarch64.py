"""Instructions that the MLPerf Tiny networks take on 64-bit ARM, under its emulator: docs/performance.md."""

from pathlib import Path

from benchmarks.results import table, write_section
from edgekit import api

TARGETS = ("aarch64", "aarch64-dotprod", "aarch64-i8mm")
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

HEADER = ("network", *TARGETS)
_NOTE = """\
Instructions of one inference, counted in qemu-aarch64; in brackets for each multiplication and addition of
the network as it is compiled. `--optimize speed`, compiled by {by}. The results on int8 are those of the
simulator and of LiteRT's reference kernels, bit for bit.
"""


def main() -> None:
    rows: list[list[str]] = []
    compilers: dict[str, None] = {}
    for title, name in NETWORKS.items():
        row = [title]
        for target in TARGETS:
            found = api.bench(MODELS / f"{name}.tflite", target=target)
            compilers[found.compiler.split(" -")[0]] = None
            row.append(f"{found.instructions:,} ({found.instructions_per_mac:.3f})")
            print(title, target, row[-1], flush=True)
        rows.append(row)
    by = ", ".join(compilers)
    write_section("aarch64", "Instructions on 64-bit ARM", f"{_NOTE.format(by=by)}\n{table(HEADER, rows)}")


if __name__ == "__main__":
    main()
