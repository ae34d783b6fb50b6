"""A plugin of pytest for a copy of the repository whose kernels record branches: collects what tests took.

It changes what every test uses to compile and to run. Programs write the array of outcomes behind their
results; jumps of assembly are seen by benchmarks/executed.c, the plugin of QEMU. The file that COVER_TO names
gets what each target took.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import struct
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchmarks.reliability.c_branches import SECTION, scopes
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.elf import sections
from edgekit.codegen.execution import runner
from edgekit.core import target as targets
from edgekit.core.target import Target

SIZE = int(os.environ["COVER_SIZE"])
_FUNCTION = re.compile(r"\bek_\w+?__(\w+)\(")
_INCLUDE = re.compile(r'^#include "([\w./]+)"', re.MULTILINE)
_WORD = re.compile(r"\b\w+\b")
_NUMBER = re.compile(r"COVER_\((\d+), |\.long (\d+)\\n\.popsection")
MAIN = 2**32 - 1  # where a number says which jump it is: linkers strip names
_MAIN = r"""
#if defined(__arm__) && !defined(__linux__)
__asm(".pushsection .cover\n.long main\n.long 0xffffffff\n.popsection");
#endif

int main(int argc, char **argv)
{
    const int code = cover_main(argc, argv);
    if (code == 0)
        fwrite(cover_hits, 1, sizeof cover_hits, stdout);
    return code;
}
"""


@dataclass
class Record:
    """What programs of a target took, and what they are made of."""

    isa: tuple[str, ...]
    hits: bytearray = field(default_factory=lambda: bytearray(SIZE))
    sites: dict[str, set[int]] = field(default_factory=dict)  # by instruction set
    programs: int = 0

    def take(self, hits: bytes) -> None:
        """At 3 n that condition n was false, then that it was true, and that it was no constant."""
        assert len(hits) == SIZE
        for i, hit in enumerate(hits):
            if hit:
                self.hits[i] = 1


RECORDS: dict[str, Record] = {}
_LIBRARIES: list[ctypes.CDLL] = []
_compile, _run, _load = toolchain.Compiler.run, runner.run, ctypes.CDLL


def record(target: Target) -> Record:
    return RECORDS.setdefault(target.name, Record(target.isa))


def compiled(self: toolchain.Compiler, arguments: Sequence[str], folder: Path) -> str:
    """Whatever is compiled may warn; a driver hands out the array of outcomes. Optimizers would take many
    minutes for tiles of vectors between which outcomes are stored: they do less."""
    driver = Path(folder) / "driver.c"
    if "driver.c" in arguments:
        text = driver.read_text(encoding="utf-8")
        driver.write_text(text.replace("int main(", "static int cover_main(", 1) + _MAIN, encoding="utf-8")
    less = ["-O1" if word in ("-O2", "-O3") else word for word in arguments]
    kernels = Path(folder) / "kernels.c"  # those that layers share
    layers = [] if kernels.exists() and kernels.stat().st_size else ["-DCOVER_LAYERS"]
    return _compile(self, [*less, *layers, "-w"], folder)


def ran(
    target: Target,
    executable: Path,
    arguments: Sequence[str],
    data: bytes = b"",
    seconds: float = 300,
    name: str = "",
) -> runner.FinishedProcess:
    """A run, without the array behind its output."""
    mine = record(target)
    mine.programs += 1
    for isa, numbers in of_sets(executable.parent).items():
        mine.sites.setdefault(isa, set()).update(numbers)
    with tempfile.TemporaryDirectory(prefix="edgekit-") as scratch:
        to = Path(scratch, "executed")
        marked = jumps(executable) if target.board else {}
        if marked:
            start = next(address for address, found in marked.items() if MAIN in found)
            words = f"{plugin()},start={start:#x},to={to}"
            target = targets.with_runner(target, f"{target.runner} -plugin {words}")
        done = _run(target, executable, arguments, data, 10 * seconds, name)
        for line in to.read_text().splitlines() if marked else ():
            address, count, jumped = line.split()
            for number in {*marked.get(int(address, 16), ())} - {MAIN}:
                mine.hits[3 * number] |= int(count) > int(jumped)
                mine.hits[3 * number + 1] |= int(jumped) > 0
                mine.hits[3 * number + 2] = 1
    if done.code == 0 and len(done.out) >= SIZE:
        mine.take(done.out[-SIZE:])
        return runner.FinishedProcess(done.code, done.out[:-SIZE], done.words)
    return done


def jumps(executable: Path) -> Mapping[int, Sequence[int]]:
    """The numbers of the jumps at each address."""
    data = executable.read_bytes()
    found: dict[int, list[int]] = {}
    for section in sections(data):
        if section.name == SECTION:
            pairs = data[section.offset : section.offset + section.size]
            for address, number in struct.iter_unpack("<II", pairs):
                found.setdefault(address & ~1, []).append(number)
    return found


def of_sets(folder: Path) -> Mapping[str, set[int]]:
    """The sites in the kernels of each instruction set in a folder of generated C, and in what they call."""
    found: dict[str, set[int]] = {}
    for path in (folder / "edgekit").glob("*.c"):
        text = path.read_text(encoding="utf-8")
        defined = _FUNCTION.search(text)
        if defined:
            found.setdefault(defined[1], set()).update(numbers(text), called(text, included(path)))
    return found


def called(text: str, headers: Iterable[Path]) -> set[int]:
    """The sites in functions and macros of headers that a text names, or that these name. What macros make
    names for counts as named."""
    scopes = [scope for path in sorted(headers) for scope in scopes_of(path.read_text(encoding="utf-8"))]
    words = {*_WORD.findall(text)}
    found: set[int] = set()
    size = -1
    while size < len(words):
        size = len(words)
        for name, inside, sites in scopes:
            if name in words or not name.startswith("ek_"):
                words |= inside
                found |= sites
    return found


@cache
def scopes_of(text: str) -> Sequence[tuple[str, frozenset[str], frozenset[int]]]:
    """Functions and macros: their names, the words in them, and their sites."""
    return [
        (name, frozenset(_WORD.findall(text[start:end])), frozenset(numbers(text[start:end])))
        for name, start, end in scopes(text)
    ]


def included(path: Path) -> set[Path]:
    queue, seen = [path], set[Path]()
    while queue:
        at = queue.pop()
        for name in _INCLUDE.findall(at.read_text(encoding="utf-8")):
            header = at.parent / Path(name).name
            if header not in seen and header.exists():
                seen.add(header)
                queue.append(header)
    return seen


def numbers(text: str) -> set[int]:
    return {int(a or b) for a, b in _NUMBER.findall(text)}


@cache
def plugin() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="edgekit-"))
    source = Path(__file__).parent.parent / "executed.c"
    flags = ["-O2", "-shared", "-fPIC", "-fvisibility=hidden", str(source), "-o", "executed.so"]
    _compile(toolchain.find(targets.load("host")), flags, folder)
    return folder / "executed.so"


class Loaded(ctypes.CDLL):
    """Kernels that a test calls in its own process."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        _LIBRARIES.append(self)


def pytest_configure(config: pytest.Config) -> None:
    toolchain.Compiler.run = compiled  # type: ignore[method-assign]  # for every test
    runner.run = ran
    ctypes.CDLL = Loaded  # type: ignore[misc]  # for every test


def pytest_sessionfinish(session: pytest.Session) -> None:
    for library in _LIBRARIES:
        try:
            hits = (ctypes.c_ubyte * SIZE).in_dll(library, "cover_hits")
        except ValueError:
            continue
        record(targets.load("host")).take(bytes(hits))
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    Path(os.environ["COVER_TO"] + worker).write_text(json.dumps([*written()]), encoding="utf-8")


def written() -> Iterator[Mapping[str, object]]:
    for name, found in RECORDS.items():
        sites = {isa: sorted(numbers) for isa, numbers in found.sites.items()}
        hits = [i for i, hit in enumerate(found.hits) if hit]
        yield {"target": name, "isa": found.isa, "programs": found.programs, "hits": hits, "sites": sites}
