"""Instructions that networks take on RISC-V, with vectors of all lengths and without: docs/performance.md."""

from benchmarks.aarch64 import MODELS, NETWORKS
from benchmarks.results import table, write_section
from edgekit import api
from edgekit.core import target as targets
from edgekit.core.target import Target, with_runner

LENGTHS = (128, 256, 512)

_NOTE = """\
Instructions of one inference, counted in qemu-riscv32 and qemu-riscv64; in parentheses per
multiply-accumulate of the compiled network. Built with `--optimize speed` and compiled by {by}. int8
results equal those of the simulator, bit for bit.

Columns of `riscv64-rvv` are one executable on emulated processors, whose vector registers have so many
bits. An instruction for eight registers counts as one, and takes longer than one for two: these are no
cycles. The weights of "keyword, f32" are int8 in the file; EdgeKit computes in f32. `riscv32` has no
floating point: there, functions compute floats with integers.
"""


def processors() -> dict[str, Target]:
    """The targets by their titles, those with vectors once for each length."""
    found = {name: targets.load(name) for name in ("riscv32", "riscv64")}
    vectors = targets.load("riscv64-rvv")
    for bits in LENGTHS:
        runner = vectors.runner.replace("vlen=256", f"vlen={bits}")
        assert f"vlen={bits}" in runner
        found[f"{vectors.name}, {bits} bits"] = with_runner(vectors, runner)
    return found


def main() -> None:
    rows: list[list[str]] = []
    compilers: dict[str, None] = {}
    for title, name in NETWORKS.items():
        row = [title]
        for processor, target in processors().items():
            found = api.bench(MODELS / f"{name}.tflite", target=target)
            compilers[found.compiler.split(" -")[0]] = None
            row.append(f"{found.instructions:,} ({found.instructions_per_mac:.3f})")
            print(title, processor, row[-1], flush=True)
        rows.append(row)
    note = _NOTE.format(by=", ".join(compilers))
    write_section("riscv", "Instructions on RISC-V", f"{note}\n{table(['network', *processors()], rows)}")


if __name__ == "__main__":
    main()
