"""Are the tokens of a language model the same on every target? Four texts of 250 tokens by examples/manual.

    python -m benchmarks.reliability.tokens [TARGET ...]

The simulator draws each text (temperature 0.7, a seed for each). Targets read the same tokens; a token is
another one where the sampler would have drawn another, or the most probable one differs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import edgekit
from benchmarks.results import RELIABILITY, table, write_section
from edgekit.core.ir import Graph
from edgekit.core.text.sampler import Sampler
from edgekit.core.types import Array
from edgekit.generation import continued, tokenizer_of

MODEL = Path(__file__).parents[2] / "examples" / "manual" / "model"
FORMATS: dict[str, dict[str, Any]] = {
    "int8": {"dtype": "int8", "activations": "dynamic"},
    "int4": {"dtype": "int4", "activations": "dynamic"},
    "int8 caches": {"dtype": "int8", "activations": "dynamic", "kv_cache": "int8"},
}
BEGINNINGS = ("The return statement", "A class definition", "Strings are", "The import system")
TARGETS = (
    *("host", "x86-64-avx2", "x86-64-avx512", "aarch64", "aarch64-dotprod", "aarch64-i8mm", "armv7-neon"),
    *("cortex-m4", "cortex-m7", "cortex-m55", "riscv64", "riscv64-rvv", "wasm32-simd", "wasm32-relaxed"),
    "opencl",
)
POSITIONS = 256

_NOTE = """\
Texts of {count} tokens in all, drawn by the simulator (temperature 0.7), by the language model of
[examples/manual](../examples/manual/README.md) with `--activations dynamic`, in int8 with
`--kv-cache int8`, too: how many of them the sampler would have drawn otherwise on a target, which read the
same text, and how often another token was the most probable one
([ADR 0136](adr/0136-the-same-tokens-on-every-target.md))."""


def texts(graph: Graph) -> list[tuple[list[int], int]]:
    """Ids of each text, and how many of them were given."""
    tokenizer, found = tokenizer_of(graph), []
    for seed, beginning in enumerate(BEGINNINGS):
        ids = [*tokenizer.prefix, *tokenizer.encode(beginning, special=False)]
        drawn = continued(graph, ids, Sampler(0.7, seed=seed), POSITIONS - len(ids))
        found.append(([*ids, *drawn], len(ids)))
    return found


def logits(graph: Graph, ids: Sequence[int], target: str | None) -> Array:
    tokens = np.array(ids, np.int32)[:-1, None]
    steps = {"token": tokens, "position": np.arange(len(tokens), dtype=np.int32)[:, None]}
    return edgekit.run(graph, steps, target=target, progress=lambda _: None)["logits"].reshape(
        len(tokens), -1
    )


def choices(found: Array, ids: Sequence[int], given: int, seed: int) -> tuple[Array, Array]:
    """The tokens that the sampler draws, and the most probable ones."""
    sampler = Sampler(0.7, seed=seed)
    drawn = [sampler.next(row, ids[: given + i], i) for i, row in enumerate(found[given - 1 :])]
    return np.array(drawn), found[given - 1 :].argmax(-1)


def main(wanted: Sequence[str]) -> None:
    rows: dict[str, list[str]] = {name: [name] for name in wanted or TARGETS}
    count = 0
    for kind, options in FORMATS.items():
        graph = edgekit.convert(MODEL, dims={"positions": POSITIONS}, name="manual")
        graph, _ = edgekit.quantize_model(graph, None, **options)
        written = texts(graph)
        count = sum(len(ids) - given for ids, given in written)
        expected = []
        for seed, (ids, given) in enumerate(written):
            expected.append(choices(logits(graph, ids, None), ids, given, seed))
            assert expected[-1][0].tolist() == list(ids[given:]), "the simulator draws the same again"
        for name in rows:
            others = [0, 0]
            for seed, (ids, given) in enumerate(written):
                found = choices(logits(graph, ids, name), ids, given, seed)
                for i in range(2):
                    others[i] += int((found[i] != expected[seed][i]).sum())
            rows[name] += [str(others[0]), str(others[1])]
            print(kind, name, *others, flush=True)
    head = ["target", *(f"{kind}, {what}" for kind in FORMATS for what in ("drawn", "most probable"))]
    if not wanted:
        text = f"{table(head, list(rows.values()))}\n\n{_NOTE.format(count=f'{count:,}')}"
        write_section("reliability.tokens", "The same tokens on every target", text, RELIABILITY)


if __name__ == "__main__":
    main(sys.argv[1:])
