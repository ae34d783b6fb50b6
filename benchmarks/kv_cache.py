"""What int8 caches cost a language model: the quality of its logits, and its perplexity, beside float caches.

    python -m benchmarks.kv_cache

The model of examples/manual reads texts of 256 tokens that its training left out, in the simulator.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import edgekit
from benchmarks.reliability.tokens import MODEL, POSITIONS, logits
from benchmarks.results import table, write_section
from edgekit.core.ir import Graph
from edgekit.core.types import Array
from edgekit.generation import tokenizer_of
from edgekit.quantize.measure import sqnr
from examples.manual.train import texts

FORMATS: dict[str, dict[str, Any]] = {
    "int8, `--activations float32`": {"dtype": "int8", "activations": "float32"},
    "int8, `--activations dynamic`": {"dtype": "int8", "activations": "dynamic"},
    "int4, `--activations dynamic`": {"dtype": "int4", "activations": "dynamic"},
    "int4, the same with `--strict-int8`": {"dtype": "int4", "activations": "dynamic", "strict_int8": True},
}
_TEXTS = 12

_NOTE = """\
The model of [examples/manual](../examples/manual/README.md) reads {count:,} tokens that its training
left out, in texts of {positions}; {positions} tokens that it was trained with are the calibration data.
With int4, matrices that are too noisy for 25 dB are int8, but not with `--strict-int8`
([ADR 0143](adr/0143-int8-for-noisy-matrices-of-int4.md)). Weights are all constants: {weights:,} B in
float32. Quality is signal to noise of the logits, and perplexity stands beside that of float32,
{perplexity:.3f}. Caches of a stream take {before:,} B in float32 and {after:,} B in
int8, {share:.0%}: its heads have {size} elements and a scale of 4 B; heads of 64 come to 27%.
([ADR 0138](adr/0138-int8-caches.md))"""


def split(graph: Graph) -> tuple[list[int], list[int]]:
    """The tokens that were trained with, and the last ones of all."""
    tokenizer = tokenizer_of(graph)
    ids = [i for text in texts() for i in (*tokenizer.prefix, *tokenizer.encode(text, special=False))]
    return ids[: -len(ids) // 20], ids[-len(ids) // 20 :]


def held_out(graph: Graph) -> list[list[int]]:
    """Texts of the same length that the model has not seen."""
    _, ids = split(graph)
    starts = range(0, len(ids) - POSITIONS, POSITIONS + 1)
    return [ids[i : i + POSITIONS + 1] for i in starts][:_TEXTS]


def steps(ids: list[int]) -> dict[str, Array]:
    """A text as samples."""
    tokens = np.array(ids, np.int32)[:, None]
    return {"token": tokens, "position": np.arange(len(ids), dtype=np.int32)[:, None]}


def perplexity(found: list[Array], read: list[list[int]]) -> float:
    loss = []
    for rows, ids in zip(found, read, strict=True):
        shifted = rows - rows.max(-1, keepdims=True)
        chosen = shifted[np.arange(len(rows)), ids[1:]]
        loss.append(np.log(np.exp(shifted).sum(-1)) - chosen)
    return float(np.exp(np.concatenate(loss).mean()))


def state_bytes(graph: Graph) -> int:
    return sum(state.initial.type.bytes for state in graph.states)


def main() -> None:
    graph = edgekit.convert(MODEL, dims={"positions": POSITIONS}, name="manual")
    read = held_out(graph)
    truth = [logits(graph, ids, None).astype(np.float64) for ids in read]
    trained, _ = split(graph)
    right, after, before, rows = perplexity(truth, read), 0, 0, []
    for name, options in FORMATS.items():
        row: list[str] = [name]
        for kv_cache in ("float32", "int8"):
            made, report = edgekit.quantize_model(
                graph, steps(trained[:POSITIONS]), kv_cache=kv_cache, **options
            )
            before = report.bytes_before
            row += [f"{report.bytes_after:,} B"] * (len(row) == 1)
            found = [logits(made, ids, None).astype(np.float64) for ids in read]
            after = state_bytes(made)
            row += [f"{sqnr(truth, found):.1f} dB", f"{perplexity(found, read) / right - 1:+.2%}"]
        rows.append(row)
        print(*row, flush=True)
    head = [
        "format",
        "weights",
        *(f"{c} caches, {what}" for c in ("float32", "int8") for what in ("quality", "perplexity")),
    ]
    note = _NOTE.format(
        count=sum(len(ids) - 1 for ids in read),
        positions=POSITIONS,
        perplexity=right,
        before=state_bytes(graph),
        weights=before,
        after=after,
        share=after / state_bytes(graph),
        size=graph.states[0].initial.type.shape[3],
    )
    write_section("kv_cache", "Caches of int8", f"{table(head, rows)}\n\n{note}")


if __name__ == "__main__":
    main()
