"""Measures how deep runs reach into a painted stack on emulated Cortex-M, beside the bound of a build."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TypeVar

from benchmarks.reliability.networks import Network, networks
from benchmarks.results import RELIABILITY, table, write_section
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.library_objects import compile_objects, measure
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.cost import bench
from edgekit.codegen.execution import runner
from edgekit.codegen.execution.driver import FLAGS
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.program import Program
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.target import Optimize, Target

T = TypeVar("T")
_PAINTED = 16384  # bytes
# Bytes that frames are aligned to, and that a run may leave unwritten, as padding, at its deepest point.
_ALIGNMENT = 8
_LIMIT = 1.10
_WIDER = """
Bounds are wider where the code contains calls that the shapes of the network never reach."""
# Paints all below its own frame, runs the model, and looks how far down the paint is gone: twice, as a byte
# of the model may be that of the paint.
_MAIN = f"""
__attribute__((noinline)) static uint32_t depth(uint8_t paint)
{{
    uint8_t *top;
    __asm volatile("mov %0, sp" : "=r"(top));
    for (volatile uint8_t *at = top - {_PAINTED}; at != top; at++)
        *at = paint;
    {{run}}
    volatile uint8_t *at = top - {_PAINTED};
    while (at != top && *at == paint)
        at++;
    return (uint32_t)(top - (uint8_t *)at);
}}
int main(void)
{{{{
    uint32_t found[2];
    prepare();
    found[0] = depth(0xA5);
    found[1] = depth(0x5A);
    fwrite(found, 4, 2, stdout);
    return 0;
}}}}
""".replace("{{run}}", "{run}")


@dataclass(frozen=True)
class Depth:
    """Bytes: what a build says, and what was seen."""

    network: str
    target: str
    optimize: Optimize
    bound: int
    measured: int

    @property
    def is_tight(self) -> bool:
        """Is the bound no less than what was seen, and at most 10 % or the padding of a frame above?"""
        return self.measured <= self.bound <= max(self.measured * _LIMIT, self.measured + _ALIGNMENT)


def depth(graph: Graph, target: Target, optimize: Optimize) -> tuple[int, int]:
    """The bound of the library of a graph, and how deep a run of it was."""
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        return _depth(fit(graph, target, optimize=optimize), Path(folder), optimize)


def _depth(program: Program, folder: Path, optimize: Optimize) -> tuple[int, int]:
    target, compiler = program.target, toolchain.find(program.target)
    files = generate(program, optimize)
    write(files, folder)
    objects = compile_objects(program, files, folder, compiler, optimize)
    sizes = measure(program, objects, folder, compiler)
    assert sizes is not None
    assert sizes.stack is not None, "the stack has a bound"
    main = _MAIN.replace("{run}", bench.statement(program)).replace("{{", "{").replace("}}", "}")
    text = chain(["#include <stdio.h>"], bench.setting(program), [main])
    (folder / "main.c").write_text("\n".join(text))
    flags = [*FLAGS, "-O1", *target.cflags, *runner.compile_flags(target)]
    compiler.run(
        [*flags, *objects, "main.c", "-o", "main", *runner.link_flags(target, compiler, folder)], folder
    )
    done = runner.run(target, folder / "main", [], seconds=600)
    assert done.code == 0, done.words
    return sizes.stack, max(int.from_bytes(done.out[i : i + 4], "little") for i in (0, 4))


def processors() -> list[str]:
    """The targets with Cortex-M that an emulator runs; boards are as their processors."""
    loaded = [targets.load(name) for name in targets.names()]
    return [x.name for x in loaded if x.startup == "cortex_m" and x.core == x.name]


def measured(
    names: Sequence[str],
    optimize: Sequence[Optimize],
    kept: Path | None,
    chosen: Sequence[Network],
    is_kept_only: bool = False,
) -> Iterator[Depth]:
    """All depths; those that a file holds from before are taken from it, new ones are added."""
    before = {(d.network, d.target, d.optimize): d for d in kept_in(kept, Depth)}
    for network in chosen:
        graph = cache(network.graph)
        for name in names:
            for goal in optimize:
                found = before.get((network.name, name, goal))
                if found is None and is_kept_only:
                    continue
                if found is None:
                    bound, seen = depth(graph(), targets.load(name), goal)
                    found = Depth(network.name, name, goal, bound, seen)
                    print(found, "" if found.is_tight else "NOT TIGHT", flush=True)
                    keep(kept, asdict(found))
                yield found


def kept_in(path: Path | None, kind: Callable[..., T]) -> list[T]:
    """What was measured before, a line each."""
    lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
    return [kind(**json.loads(line)) for line in lines]


def keep(path: Path | None, fields: Mapping[str, object]) -> None:
    if path:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(fields) + "\n")


def section(found: Sequence[Depth]) -> str:
    """The table of all networks in code for speed, and what is outside of the limits."""
    names = sorted({depth.target for depth in found})
    by_network: dict[str, dict[str, str]] = {}
    for one in found:
        if one.optimize == "speed":
            cell = f"{one.bound} / {one.measured}" + ("" if one.is_tight else " (!)")
            by_network.setdefault(one.network, {})[one.target] = cell
    rows = [[network, *(cells.get(name, "") for name in names)] for network, cells in by_network.items()]
    low = [one for one in found if one.bound < one.measured]
    wide = [one for one in found if not one.is_tight and one not in low]
    count = len({one.network for one in found})
    most = max(found, key=lambda one: one.bound / one.measured)
    return f"""\
Stack in bytes: the bound that `edgekit build` states, and the depth that a run reached in a painted stack
on an emulated board. {len(found):,} libraries, built with the first compiler of each target (zig cc), of
{count} networks. Painting detects only what was written: padding at the deepest point stays untouched, so
the bounds of small stacks may be {_ALIGNMENT} bytes above the measured depth, others at most 10 %.\
{_WIDER if wide else ""}

- below the measured depth: {len(low)} of {len(found):,}
- more than 10 % and {_ALIGNMENT} bytes above it: {len(wide)} of {len(found):,}{_named(wide)}
- the largest ratio: {most.bound / most.measured:.2f} ({most.bound} / {most.measured}, {most.network}, \
{most.target}, for {most.optimize})

{table(["network, code for speed", *names], rows)}
"""


def _named(found: Sequence[Depth]) -> str:
    each = [f"{one.network} on {one.target} for {one.optimize} {one.bound} / {one.measured}" for one in found]
    return ": " + "; ".join(each) if each else ""


def main() -> None:
    """Measure, print, and write docs/reliability.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", default=processors())
    parser.add_argument("--optimize", nargs="+", choices=("speed", "size"), default=("speed", "size"))
    parser.add_argument("--networks", nargs="+", metavar="NAME", help="some of them, without writing docs")
    parser.add_argument("--keep", type=Path, help="a file of results, to go on with after an interruption")
    parser.add_argument("--kept-only", action="store_true", help="measure nothing more: write what it holds")
    arguments = parser.parse_args()
    chosen = [x for x in networks() if not arguments.networks or x.name in arguments.networks]
    options = arguments.targets, arguments.optimize, arguments.keep, chosen, arguments.kept_only
    found = list(measured(*options))
    text = section(found)
    print(text)
    if not arguments.networks:
        write_section(
            "reliability.stack", "Stack: the bound against the measured depth", text, on=RELIABILITY
        )


if __name__ == "__main__":
    main()
