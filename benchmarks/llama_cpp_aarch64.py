"""Instructions of decoders on 64-bit ARM, and of llama.cpp, for each token: docs/performance.md.

The decoders are those of benchmarks.llama_cpp, on one thread. Both are counted in qemu-aarch64. llama.cpp is
compiled by zig from its sources (`--llama FOLDER`, such as vendor/llama.cpp of the sdist of
llama-cpp-python), for what the target has; `--keep FOLDER` holds what was compiled.
"""

from __future__ import annotations

import argparse
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.llama_cpp import FORMATS, PROMPT, SIZES, graphs, write_folder, write_gguf
from benchmarks.results import table, write_section
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.elf import symbols
from edgekit.codegen.cost import bench, counting
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.core import target as targets
from edgekit.core.ir import Graph

_HERE = Path(__file__).parent
_FEATURES = {"aarch64-dotprod": "v8_2a+dotprod", "aarch64-i8mm": "v8_6a+dotprod+i8mm"}
_PROCESSORS = {"aarch64-dotprod": "cortex-a76", "aarch64-i8mm": "max"}
_OPTIONS = (
    *("CMAKE_SYSTEM_NAME=Linux", "CMAKE_SYSTEM_PROCESSOR=aarch64", "CMAKE_BUILD_TYPE=Release"),
    *("GGML_NATIVE=OFF", "GGML_OPENMP=OFF", "BUILD_SHARED_LIBS=OFF"),
    *(f"LLAMA_BUILD_{part}=OFF" for part in ("COMMON", "TOOLS", "EXAMPLES", "TESTS", "SERVER")),
)
_WORDS = {"prefill": "p", "decode": "t"}
_MAIN = """\
#include "net.h"
static uint64_t arena[NET_ARENA_SIZE / 8 + 1];
static struct net_state state;
static int32_t tokens[{count}];
static float logits[NET_LOGITS_SIZE];
__attribute__((noinline)) void ek_begin(void) {{ __asm volatile("" ::: "memory"); }}
__attribute__((noinline)) void ek_end(void) {{ __asm volatile("" ::: "memory"); }}
int main(void)
{{
    const int32_t at = {at};
    for (int32_t i = 0; i < {count}; i++)
        tokens[i] = ((at + i) * 37 + 11) % 32000;
    net_reset(&state);
    ek_begin();
    net_run(tokens, &at, logits, &state, arena);
    ek_end();
    return 0;
}}
"""


def ours(graph: Graph, target_name: str, is_prompt: bool) -> float:
    """For each token."""
    target, count = targets.load(target_name), PROMPT if is_prompt else 1
    main = _MAIN.format(count=count, at=0 if is_prompt else PROMPT)
    with tempfile.TemporaryDirectory() as folder:
        made = bench.built(fit(graph, target), Path(folder), toolchain.find(target), "speed", main)
        return counting.count(target, made).total / count


def compiled(source: Path, target: str, folder: Path) -> Path:
    """A program that runs llama.cpp once."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, command in (("cc", "cc"), ("c++", "c++"), ("ar", "ar"), ("ranlib", "ranlib")):
        platform = f"-target aarch64-linux-musl -mcpu=generic+{_FEATURES[target]}"
        switches = f" {platform}" if name.startswith("c") else ""
        script = f"""#!/bin/bash
words=() # zig names processors by -mcpu alone
for word in "$@"; do [[ $word == -march=* ]] || words+=("$word"); done
exec {sys.executable} -m ziglang {command}{switches} "${{words[@]}}"
"""
        (folder / name).write_text(script)
        (folder / name).chmod(0o755)
    tools = {"C_COMPILER": "cc", "CXX_COMPILER": "c++", "AR": "ar", "RANLIB": "ranlib"}
    options = [*_OPTIONS, *(f"CMAKE_{name}={folder / tool}" for name, tool in tools.items())]
    architecture = "armv8.6-a+i8mm" if "i8mm" in target else "armv8.2-a+dotprod"
    options.append(f"GGML_CPU_ARM_ARCH={architecture}")
    made = folder / "made"
    if not (made / "src" / "libllama.a").exists():
        _call("cmake", "-G", "Ninja", "-B", made, *(f"-D{option}" for option in options), source)
        _call("ninja", "-C", made, "llama")
    includes = [f"-I{source / name}" for name in ("include", "ggml/include")]
    libraries = [made / "src" / "libllama.a"]
    libraries += [made / "ggml" / "src" / f"libggml{name}.a" for name in ("", "-cpu", "-base")]
    main: list[str | Path] = ["-x", "c", _HERE / "llama_cpp_once.c", "-x", "none"]
    _call(folder / "c++", *includes, "-O2", "-static", *main, *libraries, "-o", folder / "run")
    return folder / "run"


def theirs(program: Path, model: Path, target: str, what: str, plugin: Path) -> float:
    """For each token."""
    at = symbols(program.read_bytes())
    counter = f"{plugin},start={at['ek_begin']:#x},stop={at['ek_end']:#x}"
    emulator = ("qemu-aarch64", "-cpu", _PROCESSORS[target], "-plugin", counter)
    said = _call(*emulator, program, model, _WORDS[what])
    found = re.search(r"instructions (\d+)", said)
    assert found, said
    return int(found[1]) / (PROMPT if what == "prefill" else 1)


def _call(*command: str | Path) -> str:
    """What a program says on standard error."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stderr


def rows(options: argparse.Namespace, folder: Path) -> Iterator[tuple[tuple[str, ...], float]]:
    plugin = folder / "plugin.so"
    source = _HERE.parent / "runtime_c" / "bare" / "instructions.c"
    _call("gcc", "-O2", "-shared", "-fPIC", "-fvisibility=hidden", source, "-o", plugin)
    programs = {
        t: compiled(options.llama, t, (options.keep or folder) / t) for t in options.target or _FEATURES
    }
    for name in options.size or SIZES:
        write_folder(SIZES[name], folder)
        for format in FORMATS:
            decode, prompt = graphs(format, folder)
            write_gguf(SIZES[name], format, folder / "model.gguf")
            for target, program in programs.items():
                for what, graph in (("prefill", prompt), ("decode", decode)):
                    own = ours(graph, target, what == "prefill")
                    other = theirs(program, folder / "model.gguf", target, what, plugin)
                    title = f"{name}, {format}, {target}, {what}"
                    yield (title, f"{own:,.0f}", f"{other:,.0f}", f"{other / own:.2f}"), other / own


_NOTE = """\
Instructions for each token, counted in qemu-aarch64, on one thread: of a run of {prompt} tokens (prefill) and
of the next one (decode). zig compiles both for the target, llama.cpp with the options
`{options}`.
Geometric mean of the ratios, theirs to ours: {mean:.2f}. A count of instructions is no time: it leaves out
waiting for memory.

{table}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--llama", type=Path, required=True)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--size", choices=SIZES, action="append", help="all by default")
    parser.add_argument("--target", choices=_FEATURES, action="append", help="all by default")
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    found, ratios = [], []
    with tempfile.TemporaryDirectory() as folder:
        for row, ratio in rows(options, Path(folder)):
            print(*row, sep=" | ", flush=True)
            found.append(row)
            ratios.append(ratio)
    text = table(("model", "EdgeKit", "llama.cpp", "ratio"), found)
    print(text)
    if options.write_docs:
        mean = math.prod(ratios) ** (1 / len(ratios))
        note = _NOTE.format(prompt=PROMPT, options=" ".join(_OPTIONS[2:5]), mean=mean, table=text)
        write_section("llama_cpp_aarch64", "Decoders on 64-bit ARM against llama.cpp", note)


if __name__ == "__main__":
    main()
