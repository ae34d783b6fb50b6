"""Builds packages with awkward names of models, and with ports called as every word of all templates.

`names KIND...` takes some kinds alone. What fails is tried in halves, until the names are known.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from support.named_packages import KINDS, check, model, template_words, with_ports

from benchmarks.results import RELIABILITY, table, write_section
from edgekit.core.ir import Graph

# Keywords, functions of C, headers, modules, commands of build systems, devices, and packages in use.
_MODELS = """
3d abs abi all arena array async benchmark break build c cc class clean cmake com1 con console core data
detect digits ek edgekit endian errno events features for go help http import index install interface
internal jni json lambda lib m main math model module net network new nil null numpy object random read real
sched self signal std stdin stream string system test time type unix
"""
MODELS = _MODELS.split()


def failing(kind: str, names: Sequence[str], graphs: Callable[[Sequence[str]], Sequence[Graph]]) -> list[str]:
    """The names with which packages of a kind do not compile, or are wrong."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(kind, graphs(names), Path(folder))
        except AssertionError as error:
            if len(names) <= 2:
                print(f"{kind}: {' '.join(names)}: {str(error)[-1000:]}", file=sys.stderr)
                return list(names)
        else:
            return []
    half = len(names) // 4 * 2 or len(names) // 2  # an even number of ports
    return [*failing(kind, names[:half], graphs), *failing(kind, names[half:], graphs)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", default=KINDS)
    chosen = parser.parse_args().kinds
    words = template_words()
    ports = [*words, *words[1:], words[0]]  # each as an input and as an output
    rows = []
    for kind in chosen:
        models = failing(kind, MODELS, lambda names: [model(name) for name in names])
        wrong = failing(kind, ports, with_ports)
        rows.append([kind, " ".join(models) or "0", " ".join(sorted({*wrong})) or "0"])
        print(*rows[-1], file=sys.stderr, flush=True)
    text = f"""\
{len(MODELS)} names of models, among them keywords, functions of C, headers, modules and targets of build
systems, and {len(words):,} names of inputs and outputs, the words of all templates. Packages are compiled.
The library and packages of C++, Python, Rust, Go and npm run, of C# and Java the last one of each batch;
Swift is parsed, and modules of MicroPython and boards are checked by gcc for this machine. The columns list
what fails.

{table(["package", "models", "ports"], rows)}"""
    if tuple(chosen) == KINDS:
        write_section("reliability.names", "Names of models and ports", text, on=RELIABILITY)
    else:
        print(text)


if __name__ == "__main__":
    main()
