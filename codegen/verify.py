"""Runs a compiled library here and compares it with the simulator, value by value; arena misuse is caught too."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgekit import simulate
from edgekit.codegen import toolchain
from edgekit.codegen.literal import restored, stored
from edgekit.codegen.program import Program
from edgekit.codegen.render import Optimize, sources
from edgekit.codegen.selftest import tolerance
from edgekit.errors import EdgeKitError
from edgekit.ir import Array

_SECONDS = 300
_FLAGS = ("-std=c99", "-ffp-contract=off", "-fno-math-errno", "-I.")
_LEVEL = {"size": "-Os", "speed": "-O3"}
# Behind the arena, to see a write past its end; the arena itself is filled with it before each run.
_GUARD = 64


@dataclass(frozen=True)
class Verification:
    """The largest difference between compiled code and simulator, over `samples` random inputs."""

    samples: int
    max_error: float  # absolute, over all outputs
    relative_error: float  # of the output's largest value
    exact: bool


def verify(
    program: Program,
    files: Mapping[str, bytes],
    folder: Path,
    compiler: toolchain.Compiler,
    optimize: Optimize,
    samples: int = 3,
) -> Verification:
    """Compile the library in `folder` (where its files are) with a driver, run it on seeded inputs, compare."""
    runner = Runner(program, files, folder, compiler, optimize)
    worst = relative = 0.0
    exact = True
    for seed in range(samples):
        inputs = simulate.random_inputs(program.graph, seed)
        expected = simulate.run(program.graph, inputs)
        found = runner.run(inputs)
        for port in program.outputs:
            error, scale, same = compare(found[port.name], expected[port.name])
            exact &= same
            worst, relative = max(worst, error), max(relative, error / scale if scale else error)
            if error > tolerance(port.type.dtype, expected[port.name]):
                raise EdgeKitError(
                    "E0601",
                    f"the compiled code differs from the simulator by {error:.3g} in output {port.name}",
                    f"seed {seed}, compiler {compiler.name}",
                    "the library was not written; this is a fault of EdgeKit or of the compiler: please report it",
                )
    return Verification(samples, worst, relative, exact)


def compare(found: Array, expected: Array) -> tuple[float, float, bool]:
    """(largest difference, largest expected value, bitwise equal). NaN equals NaN, inf equals inf."""
    a, b = found.astype(np.float64), expected.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        difference = np.where(same, 0.0, np.abs(a - b))
    difference = np.where(np.isnan(difference), np.inf, difference)
    scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
    return float(difference.max(initial=0.0)), float(scale), bool(found.tobytes() == expected.tobytes())


class Runner:
    """A library compiled for this machine, behind a driver that reads inputs from stdin and writes outputs."""

    def __init__(
        self,
        program: Program,
        files: Mapping[str, bytes],
        folder: Path,
        compiler: toolchain.Compiler,
        optimize: Optimize,
        flags: Sequence[str] = (),
    ) -> None:
        self.program = program
        self.folder = folder
        (folder / "verify_main.c").write_text(_driver(program))
        names = [s for s in sources(files, optimize) if not s.endswith("_selftest.c")]
        flags = (*_FLAGS, _LEVEL[optimize], *program.target.cflags, *flags)
        compiler.run([*flags, *names, "verify_main.c", "-o", "verify_main"], folder)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs of the compiled code."""
        program = self.program
        data = b"".join(
            stored(np.ascontiguousarray(simulate.check_input(p.name, p.type, inputs))).tobytes() for p in program.inputs
        )
        try:
            done = subprocess.run([self.folder / "verify_main"], input=data, capture_output=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise EdgeKitError("E0602", f"{program.name} did not end in {_SECONDS} s") from None
        if done.returncode == 3:
            raise EdgeKitError("E0602", f"{program.name} wrote outside its arena or outputs", hint="please report it")
        if done.returncode:
            words = done.stderr.decode(errors="replace")[:2000]
            raise EdgeKitError("E0602", f"{program.name} crashed ({done.returncode})\n{words}", hint="please report it")
        outputs, at = {}, 0
        for port in program.outputs:
            size = port.type.bytes
            raw = np.frombuffer(done.stdout[at : at + size], stored(np.empty(0, port.type.dtype.numpy)).dtype)
            outputs[port.name] = restored(raw, port.type.dtype).reshape(port.type.shape)
            at += size
        return outputs


def _driver(program: Program) -> str:
    """A main that poisons arena and outputs, runs once, and checks the guards behind them."""
    p = program
    align = p.target.align
    text = [f'#include "{p.name}.h"', '#include "edgekit/types.h"', "#include <stdio.h>", "#include <string.h>"]
    if any(port.type.dtype.c.startswith("ek_") for port in (*p.inputs, *p.outputs)):
        text.append('#include "edgekit/half.h"')
    buffers = [(f"in_{port.c}", port.type.dtype.c, port.type.bytes) for port in p.inputs]
    buffers += [(f"out_{port.c}", port.type.dtype.c, port.type.bytes) for port in p.outputs]
    buffers += [("ram", "uint8_t", p.arena.size)]
    for name, _, size in buffers:
        text.append(f"static unsigned char {name}[{size + _GUARD}] __attribute__((aligned({max(align, 16)})));")
    text.append("static int guard(const unsigned char *p)\n{")
    text.append(f"    for (int i = 0; i < {_GUARD}; i++)\n        if (p[i] != 0xA5)\n            return 3;\n    return 0;\n}}")
    text.append("int main(void)\n{")
    text += [f"    memset({name}, 0xA5, sizeof {name});" for name, _, _ in buffers]
    text += [
        f"    if (fread(in_{port.c}, 1, {port.type.bytes}, stdin) != {port.type.bytes})\n        return 2;"
        for port in p.inputs
    ]
    arguments = [f"(const {port.type.dtype.c} *)(const void *)in_{port.c}" for port in p.inputs]
    arguments += [f"({port.type.dtype.c} *)(void *)out_{port.c}" for port in p.outputs]
    text.append(f"    {p.name}_run({', '.join([*arguments, 'ram'])});")
    text += [f"    if (guard({name} + {size}))\n        return 3;" for name, _, size in buffers]
    text += [f"    fwrite(out_{port.c}, 1, {port.type.bytes}, stdout);" for port in p.outputs]
    text += ["    return 0;", "}", ""]
    return "\n".join(text)
