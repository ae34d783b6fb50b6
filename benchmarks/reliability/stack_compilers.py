"""Compares the bound of the stack by gcc with that by zig, for the libraries of stack.py.

Who has no gcc when a library is built learns from this how much more its frames may take: targets have the
most of it as `gcc_stack`, and `build` states it.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from benchmarks.reliability.networks import Network, networks
from benchmarks.reliability.stack import keep, kept_in, processors
from benchmarks.results import RELIABILITY, table, write_section
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.library_objects import compile_objects, measure
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.target import Optimize

GOALS: tuple[Optimize, ...] = ("speed", "size")


@dataclass(frozen=True)
class Bounds:
    """Bytes of the stack that a run takes at most."""

    network: str
    target: str
    optimize: Optimize
    zig: int
    gcc: int

    @property
    def more(self) -> float:
        """That gcc takes, as a share."""
        return self.gcc / self.zig - 1


def bounds(graph: Graph, name: str, optimize: Optimize) -> list[int]:
    """By each compiler that is installed."""
    target, found = targets.load(name), []
    program = fit(graph, target, optimize=optimize)
    files = generate(program, optimize)
    for compiler in toolchain.installed(target):
        with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
            write(files, Path(folder))
            objects = compile_objects(program, files, Path(folder), compiler, optimize)
            sizes = measure(program, objects, Path(folder), compiler)
        assert sizes
        assert sizes.stack, "the stack has a bound"
        found.append(sizes.stack)
    return found


def known() -> list[str]:
    """Processors that both compilers know."""
    return [name for name in processors() if len([*toolchain.installed(targets.load(name))]) == 2]


def write_targets(found: Sequence[Bounds]) -> None:
    """Into the targets' files: percent of the stack by zig that gcc took at most."""
    for name, percent in dict(sorted((one.target, -(-100 * one.gcc // one.zig)) for one in found)).items():
        path = Path(__file__).parents[2] / "targets" / f"{name}.toml"
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(r"(?m)^gcc_stack = \d+", f"gcc_stack = {percent}", text), encoding="utf-8")


def measured(names: Sequence[str], kept: Path | None, chosen: Sequence[Network]) -> Iterator[Bounds]:
    """Those that a file holds from before are taken from it, new ones are added."""
    before = {(x.network, x.target, x.optimize): x for x in kept_in(kept, Bounds)}
    for network in chosen:
        graph = cache(network.graph)
        for name in names:
            for goal in GOALS:
                if found := before.get((network.name, name, goal)):
                    yield found
                    continue
                one = Bounds(network.name, name, goal, *bounds(graph(), name, goal))
                print(one, flush=True)
                keep(kept, asdict(one))
                yield one


def section(found: Sequence[Bounds]) -> str:
    """By target: how much more gcc takes."""
    rows = []
    for name in sorted({one.target for one in found}):
        shares = sorted(one.more for one in found if one.target == name)
        worst = max((one for one in found if one.target == name), key=lambda one: one.more)
        middle, most = shares[len(shares) // 2], shares[int(0.99 * (len(shares) - 1))]
        case = f"{worst.gcc} / {worst.zig} ({worst.network}, {worst.optimize})"
        rows.append([name, f"{len(shares)}", f"{middle:+.0%}", f"{most:+.0%}", f"{worst.more:+.0%}", case])
    bytes = max(one.gcc - one.zig for one in found)
    head = ("target", "libraries", "median", "99 of 100", "most", "gcc / zig")
    return f"""\
Bytes of stack that a run takes at most, by the frames of arm-none-eabi-gcc and of zig cc, for {len(found):,}
libraries: how much more gcc takes. Where no gcc is installed, `build` states the
`most`. The largest difference is {bytes:,} B.

{table(head, rows)}
"""


def main() -> None:
    """Measure, print, and write docs/reliability.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=known())
    parser.add_argument("--networks", nargs="+", metavar="NAME", help="some of them, without writing docs")
    parser.add_argument("--keep", type=Path, help="a file of results, to go on with after an interruption")
    arguments = parser.parse_args()
    chosen = [x for x in networks() if not arguments.networks or x.name in arguments.networks]
    found = [*measured(arguments.targets, arguments.keep, chosen)]
    text = section(found)
    print(text)
    if not arguments.networks:
        write_targets(found)
        write_section("reliability.stack_compilers", "Stack: gcc beside zig", text, on=RELIABILITY)


if __name__ == "__main__":
    main()
