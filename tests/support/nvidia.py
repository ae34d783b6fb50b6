"""What NVIDIA's assembler makes of GPU kernels, without a device: registers, spills, and the order of loads.

clang compiles OpenCL to PTX with the functions of libclc, ptxas that to machine code, and nvdisasm prints it.
All of them come with the packages of the extra `dev`, on Linux.
"""

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from support.tools import missing

from edgekit.codegen.gpu.opencl import Entry, program
from edgekit.codegen.gpu.use import GpuCall

ARCHITECTURE = "sm_90"  # of the device in docs/performance.md
_LIBCLC = "nvptx64--nvidiacl.bc"
_FOLDERS = ("/usr/lib/clc", "/usr/share/clc", "/usr/lib64/clc")
_OPENCL = ("-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header")
_PTX = ("-target", "nvptx64--nvidiacl", "-O3", "-S")
_LINE = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9_]+)([.\w]*)(.*?);")
_LABEL = re.compile(r"^(\.L_\w+):", re.MULTILINE)


@dataclass(frozen=True)
class Compiled:
    """A kernel as machine code."""

    registers: int  # of an item
    spilled: int  # bytes that it stores and loads for the lack of them
    loop: tuple[tuple[str, int], ...]  # runs of loads and products in the loop with most products


def compiled(use: GpuCall, folder: Path) -> Compiled:
    """Of a kernel with the constants of a use."""
    clang, library, ptxas, nvdisasm = _tools()
    source, ptx, binary = folder / "kernel.cl", folder / "kernel.ptx", folder / "kernel.cubin"
    source.write_text(program([Entry("timed", use.kernel, use.values)]))
    words = [*_OPENCL, *_PTX, "-Xclang", "-mlink-bitcode-file", "-Xclang", library]
    subprocess.run([clang, *words, str(source), "-o", str(ptx)], check=True, capture_output=True)
    assembly = [ptxas, "-v", f"-arch={ARCHITECTURE}", str(ptx), "-o", str(binary)]
    said = subprocess.run(assembly, check=True, capture_output=True, text=True).stderr
    text = subprocess.run([nvdisasm, "-c", str(binary)], check=True, capture_output=True, text=True).stdout
    spills = re.findall(r"(\d+) bytes spill", said)
    assert spills, said
    return Compiled(int(re.findall(r"Used (\d+) registers", said)[0]), sum(map(int, spills)), _hottest(text))


def _hottest(text: str) -> tuple[tuple[str, int], ...]:
    """Of all loops, which end by a jump back to a label, the one with most products."""
    labels = {m[1]: m.start() for m in _LABEL.finditer(text)}
    loops = [
        text[labels[name] : m.end()]
        for m in _LINE.finditer(text)
        if m[1] == "BRA" and (name := _target(m[3])) in labels and labels[name] < m.start()
    ]
    bodies = [tuple(_runs(body)) for body in loops if not _LABEL.search(body[1:])]
    return max(bodies, key=lambda runs: sum(n for kind, n in runs if kind == "product"), default=())


def _target(operands: str) -> str:
    found = re.search(r"\.L_\w+", operands)
    return found[0] if found else ""


def _runs(body: str) -> Iterator[tuple[str, int]]:
    kinds = (_kind(m[1]) for m in _LINE.finditer(body))
    for kind, same in groupby(kind for kind in kinds if kind):
        yield kind, len(list(same))


def _kind(opcode: str) -> str:
    if opcode == "LDG":
        return "load"
    return "product" if opcode == "FFMA" else ""


@cache
def _tools() -> tuple[str, str, str, str]:
    clang = shutil.which("clang") or missing("clang", "Debian: clang")
    places = [Path(folder) / _LIBCLC for folder in _FOLDERS]
    library = next((str(p) for p in places if p.exists()), "") or missing("libclc", "Debian: libclc-14")
    return clang, library, _program("ptxas", "cuda-nvcc-cu12"), _program("nvdisasm", "cuda-nvdisasm")


def _program(name: str, package: str) -> str:
    """A program of a package of Python, or of CUDA."""
    spec = importlib.util.find_spec("nvidia")
    folders = spec.submodule_search_locations if spec else None
    found = [str(path) for folder in folders or () for path in sorted(Path(folder).glob(f"*/bin/{name}"))]
    return (found or [shutil.which(name) or ""])[0] or missing(name, f"pip install nvidia-{package}")
