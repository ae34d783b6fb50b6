"""Prefill and decode in one library against two libraries: flash, and instructions a token of a prompt.

The model is that of examples/manual. Instructions are those that QEMU executes for a Cortex-M7, of a prompt
from the first position on, and flash is code and constants.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.results import table
from edgekit import api
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.cost import bench, counting
from edgekit.codegen.entries import with_entries
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.core import target as targets
from edgekit.core.ir import Graph

_MODEL = Path(__file__).parent.parent / "examples" / "manual" / "model"
_FORMATS: Mapping[str, dict[str, Any]] = {
    "f32": {},
    "int8, dynamic": {"dtype": "int8", "activations": "dynamic"},
    "int4, dynamic": {"dtype": "int4", "activations": "dynamic"},
}
_PROMPT = 64
_CHUNKS = (4, 16, 32)
_ALL_LOGITS = 16  # tokens of a prefill that gives the logits of each

_MAIN = """\
#include "{name}.h"
#include "{name}_prefill.h"
static uint64_t arena[{guard}_ARENA_SIZE / 8 + 1];
static struct {name}_state state;
static int32_t tokens[{prompt}];
static float logits[{guard}_PREFILL_LOGITS_SIZE];
__attribute__((noinline)) void ek_begin(void) {{ __asm volatile("" ::: "memory"); }}
__attribute__((noinline)) void ek_end(void) {{ __asm volatile("" ::: "memory"); }}
int main(void)
{{
    for (int32_t i = 0; i < {prompt}; i++)
        tokens[i] = (i * 37 + 11) % {words};
    {name}_reset(&state);
    ek_begin();
    for (int32_t at = 0; at < {prompt}; at += {chunk})
        {run}(tokens + at, &at, logits, &state, arena);
    ek_end();
    return 0;
}}
"""


def _model(tokens: int, format: str, logits: int = 1) -> Graph:
    dims = {"tokens": tokens, "positions": 256, "logits": logits}
    graph = api.convert(_MODEL, dims=dims, wide_weights=True, name="net")
    return api.quantize_model(graph, None, **_FORMATS[format])[0] if _FORMATS[format] else graph


def _instructions(decode: Graph, prefill: Graph, chunk: int, run: str) -> float:
    """For each token of the prompt."""
    target = targets.load("cortex-m7")
    program = with_entries(fit(decode, target), {"prefill": prefill})
    words = decode.type("logits").shape[1]
    main = _MAIN.format(name="net", guard="NET", prompt=_PROMPT, words=words, chunk=chunk, run=run)
    with tempfile.TemporaryDirectory() as folder:
        made = bench.built(program, Path(folder), toolchain.find(target), "speed", main)
        return counting.count(target, made).total / _PROMPT


def _flash(graph: Graph, optimize: Any, **entries: Graph) -> int:
    with tempfile.TemporaryDirectory() as folder:
        found = api.build(
            graph, Path(folder, "net"), target="cortex-m7", optimize=optimize, entries=entries, verify=False
        )
    assert found.flash_bytes is not None
    return found.flash_bytes


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    speeds: list[tuple[str, ...]] = []
    sizes: list[tuple[str, ...]] = []
    for format in _FORMATS:
        decode, prefills = _model(1, format), {n: _model(n, format) for n in _CHUNKS}
        alone = _instructions(decode, prefills[16], 1, "net_run")
        counts = [_instructions(decode, prefills[n], n, "net_prefill_run") for n in _CHUNKS]
        counts.append(
            _instructions(decode, _model(_ALL_LOGITS, format, _ALL_LOGITS), _ALL_LOGITS, "net_prefill_run")
        )
        speeds.append((format, f"{alone:,.0f}", *(f"{n:,.0f} ({n / alone:.0%})" for n in counts)))
        for optimize in ("size", "speed"):
            two = sum(_flash(graph, optimize) for graph in (decode, prefills[16]))
            one = _flash(decode, optimize, prefill=prefills[16])
            sizes.append((format, optimize, f"{two:,}", f"{one:,}", f"{one / two:.0%}"))
    print(f"Instructions for each token of a prompt of {_PROMPT}:\n")
    print(
        table(
            ("weights", "decode", *(f"prefill of {n}" for n in _CHUNKS), f"of {_ALL_LOGITS}, all logits"),
            speeds,
        )
    )
    print("\nFlash of decode and prefill of 16, B:\n")
    print(table(("weights", "optimize", "two libraries", "one", ""), sizes))


if __name__ == "__main__":
    main()
