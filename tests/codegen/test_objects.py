"""What a linker sees of a library: code and constants, no variables, nothing missing but memcpy, memset."""

import re
import subprocess
from collections import defaultdict
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from support.generated import C99, Libraries, compiled
from support.tools import require

from edgekit.codegen.compilation.objects import section_sizes
from edgekit.codegen.verification.verify import LEVEL
from edgekit.core.target import Optimize

BARE = (*C99, "-ffreestanding", "-nostdlib", "-I.")
BOTH = pytest.mark.parametrize("optimize", ["size", "speed"])
COMPILER = pytest.mark.parametrize("compiler", ["gcc", "clang"])


def library(models: Libraries, optimize: Optimize, compiler: str, folder: Path, *flags: str) -> Path:
    """All models as one object file."""
    names = [name for name in models.sources(optimize) if not name.endswith("_selftest.c")]
    paths = [str(models.folder[optimize] / name) for name in names]
    flags = (*BARE, f"-I{models.folder[optimize]}", LEVEL[optimize], *flags)
    compiled(folder, compiler, *flags, "-c", *paths)
    compiled(folder, compiler, "-nostdlib", "-r", *(f"{Path(name).stem}.o" for name in names), "-o", "all.o")
    return folder / "all.o"


def undefined(path: Path) -> set[str]:
    command = [require("nm"), "--undefined-only", "--format=posix", path]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in listing.splitlines()}


@COMPILER
@BOTH
def test_models_need_nothing_and_change_nothing(
    models: Libraries, optimize: Optimize, compiler: str, tmp_path: Path
) -> None:
    path = library(models, optimize, compiler, tmp_path)
    assert undefined(path) <= {"memcpy", "memset"}
    code, constants, writable = section_sizes([path])
    assert writable == 0
    assert min(code, constants) > 0


@COMPILER
def test_no_kernel_needs_more(kernels: Libraries, compiler: str, tmp_path: Path) -> None:
    folder = kernels.folder["size"]
    flags = (*BARE, LEVEL["size"], "-c", "kernels.c", "-o", str(tmp_path / "kernels.o"))
    compiled(folder, compiler, *flags)
    assert undefined(tmp_path / "kernels.o") <= {"memcpy", "memset"}
    assert section_sizes([tmp_path / "kernels.o"])[2] == 0


def test_nothing_calls_itself(kernels: Libraries, tmp_path: Path) -> None:
    """Not even over others: the graph of calls has no circle, and no call goes through a pointer."""
    folder = kernels.folder["size"]
    flags = (*BARE, "-O0", "-fcallgraph-info", "-c", "kernels.c", "-o", str(tmp_path / "kernels.o"))
    compiled(folder, "gcc", *flags)
    calls = defaultdict(set)
    text = (tmp_path / "kernels.ci").read_text()
    for caller, callee in re.findall(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"', text):
        calls[caller].add(callee)
    assert len(calls) > 100
    assert "__indirect_call" not in text
    TopologicalSorter(calls).prepare()  # raises CycleError where there is one


@BOTH
def test_only_two_system_headers_are_included(kernels: Libraries, optimize: Optimize) -> None:
    folder = kernels.folder[optimize]
    texts = [path.read_text() for path in (*folder.rglob("*.c"), *folder.rglob("*.h"))]
    included = {name for text in texts for name in re.findall(r"#\s*include\s*<(.*?)>", text)}
    assert included == {"stdint.h", "string.h"}


def test_all_symbols_of_a_library_carry_its_name_or_ours(models: Libraries, tmp_path: Path) -> None:
    path = library(models, "size", "gcc", tmp_path)
    command = [require("nm"), "--defined-only", "--extern-only", "--format=posix", path]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    prefixes = ("ek_", *(f"{program.name}_" for program in models.programs))
    assert all(line.startswith(prefixes) for line in listing.splitlines())
    assert {f"{program.name}_run" for program in models.programs} <= {
        line.split()[0] for line in listing.splitlines()
    }
