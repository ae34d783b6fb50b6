"""Bytes of the reference networks' libraries, and tests/sizes.toml, which says what they are."""

from __future__ import annotations

import platform
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from support.tools import ROOT, SHARED, require_shared

from edgekit import api
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.build import write
from edgekit.codegen.compilation.library_objects import compile_objects, measure
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import Program
from edgekit.core import target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.target import Optimize, Target

FILE = ROOT / "tests" / "sizes.toml"
COMMAND = "python scripts/sizes.py"
PLANNED = ("arena", "weights")  # in these no compiler has a part
COMPILED = ("code", "constants", "stack")

Row = Mapping[str, int]
Place = tuple[str, Optimize, str]  # target, what is optimized for, network

_MLPERF = SHARED / "models" / "mlperf_tiny"
_INT8 = "_int8"  # behind the name of an example: quantized by the ranges of its calib.npz
NETWORKS: Mapping[str, Path] = {
    **{name: ROOT / "examples" / name / f"{name}.onnx" for name in ("digits", "keywords", "anomaly")},
    f"digits{_INT8}": ROOT / "examples" / "digits" / "digits.onnx",
    **{
        name: _MLPERF / f"{name}.tflite"
        for name in ("pretrainedResnet_quant", "kws_ref_model", "vww_96_int8", "ad01_int8")
    },
}
TARGETS = (
    *("cortex-m0plus", "cortex-m4", "cortex-m55"),
    *("aarch64-dotprod", "riscv64-rvv", "host", "x86-64-avx2", "wasm32-simd"),
)
_FOR_SIZE = "digits_int8"  # all others are for speed only


def places() -> Iterator[Place]:
    """Everything that the file says something of."""
    for name in TARGETS:
        for network in NETWORKS:
            yield name, "speed", network
        yield name, "size", _FOR_SIZE


@cache
def graph(network: str) -> Graph:
    path = NETWORKS[network]
    found = api.convert(path)
    if path.stem + _INT8 == network:
        found, _ = api.quantize_model(found, path.with_name("calib.npz"), calibrate="minmax")
    return found


@cache
def program(place: Place) -> Program:
    name, optimize, network = place
    return fit(graph(network), target.load(name), optimize=optimize)


def need(network: str) -> None:
    """Skip the test where the file of a network is not here."""
    if NETWORKS[network].is_relative_to(SHARED):
        require_shared(str(NETWORKS[network].relative_to(SHARED)))


def planned(place: Place) -> Row:
    made = program(place)
    return {"arena": made.arena.size, "weights": made.weight_bytes}


def compiled(place: Place) -> Row:
    """`constants` are weights, parameters and tables; `stack` is the bound of a run."""
    name, optimize, _ = place
    made, compiler = program(place), toolchain.find(target.load(name))
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        files, folder = render(made, optimize), Path(scratch)
        write(files, folder)
        objects = compile_objects(made, files, folder, compiler, optimize)
        found = measure(made, objects, folder, compiler)
    assert found is not None
    assert found.stack is not None
    return {"code": found.code, "constants": found.constants, "stack": found.stack}


@cache
def compiler(name: str) -> str:
    """The version of a target's compiler, and for which processor where it is for this machine; empty where
    there is none."""
    try:
        of: Target = target.load(name)
        found = toolchain.find(of)
    except EdgeKitError:
        return ""
    done = subprocess.run([*found.argv, "--version"], capture_output=True, text=True, check=True)
    machine = f", {platform.machine()}" if of.runner == "native" else ""
    return done.stdout.splitlines()[0] + machine


def changes(place: Place, old: Row, new: Row) -> list[str]:
    """What rose and what fell, one line each."""
    name, optimize, network = place
    where = f"{network} on {name} for {optimize}"
    if not old:
        return [f"{where} is not in the file"]
    found = []
    for what in dict.fromkeys((*old, *new)):
        before, after = old.get(what), new.get(what)
        if before is None or after is None:
            how = "is not in the file" if before is None else "is in the file, and not measured"
        elif after == before:
            continue
        else:
            verb = "rose" if after > before else "fell"
            how = f"{verb} from {before:,} to {after:,} bytes ({after - before:+,}{_share(before, after)})"
        found.append(f"{where}: {what} {how}")
    return found


def _share(before: int, after: int) -> str:
    return f", {100 * (after - before) / before:+.1f} %" if before else ""


def advice(lines: list[str]) -> str:
    """What to do about changes."""
    if not lines:
        return ""
    both = "\n".join(lines)
    return (
        f"{both}\nA rise needs a reason in the commit that brings it; a fall is written down, too, so that\n"
        f"it stays. `{COMMAND}` writes tests/sizes.toml."
    )


def read(path: Path = FILE) -> tuple[dict[str, str], dict[Place, Row]]:
    """Versions of compilers by target, and rows."""
    return parsed(path.read_text(encoding="utf-8") if path.exists() else "")


def parsed(content: str) -> tuple[dict[str, str], dict[Place, Row]]:
    tables = tomllib.loads(content)
    compilers = tables.pop("compilers", {})
    rows = {
        (name, optimize, network): row
        for name, parts in tables.items()
        for optimize, networks in parts.items()
        for network, row in networks.items()
    }
    return compilers, rows


def text(compilers: Mapping[str, str], rows: Mapping[Place, Row]) -> str:
    """The file."""
    lines = [
        "# Bytes of reference networks' libraries. A change that raises or lowers one must edit this file:",
        f"# `{COMMAND}` writes it. Code, constants (weights, parameters, tables) and the bound of the",
        "# stack are those of these compilers; arena and weights are planned, without one.",
        "",
        "[compilers]",
        *(f'{name} = "{version}"' for name, version in compilers.items()),
    ]
    section = None
    for (name, optimize, network), row in rows.items():
        if section != (name, optimize):
            section = name, optimize
            lines += ["", f"[{name}.{optimize}]"]
        lines.append(f"{network} = {{ " + ", ".join(f"{what} = {row[what]}" for what in row) + " }")
    return "\n".join(lines) + "\n"
