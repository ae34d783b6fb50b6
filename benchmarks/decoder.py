"""What a token of a Llama of 260,000 parameters takes on a Cortex-M: instructions for each MAC.

Instructions are those that QEMU executes. The token is the 64th of a text, so that attention reads 64 rows
of each cache. MACs are those of fully connected layers, and of attention for the rows that it reads. Weights
are random: what a layer takes does not depend on them. With --tokens 16, the last run reads 16 tokens of a
prompt (prefill) and gives the logits of the last one; figures are those of a token.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import table
from edgekit import api
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.cost import bench, counting
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.target import Target

FORMATS: dict[str, dict[str, Any]] = {
    "f32": {},
    "int8": {"dtype": "int8", "activations": "dynamic"},
    "int4": {"dtype": "int4", "activations": "dynamic"},
    "int8 caches": {"dtype": "int8", "activations": "dynamic", "kv_cache": "int8"},
}
_KINDS = ("dense", "attention", "quantize")  # what names of kernels hold
_POSITIONS = 64
_WIDTH, _HIDDEN, _LAYERS, _WORDS, _HEADS, _SHARED = 64, 172, 5, 512, 8, 4
_CONFIG = {
    "model_type": "llama",
    "vocab_size": _WORDS,
    "hidden_size": _WIDTH,
    "intermediate_size": _HIDDEN,
    "num_hidden_layers": _LAYERS,
    "num_attention_heads": _HEADS,
    "num_key_value_heads": _SHARED,
    "max_position_embeddings": _POSITIONS,
    "rms_norm_eps": 1e-05,
    "tie_word_embeddings": True,
}
_MAIN = """\
#include "net.h"
static uint64_t arena[NET_ARENA_SIZE / 8 + 1];
static struct net_state state;
static float logits[NET_LOGITS_SIZE];
__attribute__((noinline)) void ek_begin(void) {{ __asm volatile("" ::: "memory"); }}
__attribute__((noinline)) void ek_end(void) {{ __asm volatile("" ::: "memory"); }}
int main(void)
{{
    net_reset(&state);
    for (int32_t at = 0; at < {positions}; at += {tokens}) {{
        int32_t token[{tokens}];
        for (int32_t i = 0; i < {tokens}; i++)
            token[i] = ((at + i) * 37 + 11) % {words};
        if (at == {positions} - {tokens})
            ek_begin();
        net_run(token, &at, logits, &state, arena);
    }}
    ek_end();
    return 0;
}}
"""


def model(format: str, tokens: int = 1) -> Graph:
    """The decoder, with random weights in this format."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(_CONFIG))
        Path(folder, "model.safetensors").write_bytes(_safetensors(_shapes()))
        graph = api.convert(folder, name="net", dims={"tokens": tokens, "logits": 1})
    return api.quantize_model(graph, None, **FORMATS[format])[0] if FORMATS[format] else graph


def _shapes() -> dict[str, tuple[int, ...]]:
    shared = _SHARED * _WIDTH // _HEADS
    found: dict[str, tuple[int, ...]] = {
        "embed_tokens": (_WORDS, _WIDTH),
        "norm": (_WIDTH,),
    }
    for i in range(_LAYERS):
        found |= {f"layers.{i}.{norm}_layernorm": (_WIDTH,) for norm in ("input", "post_attention")}
        for name, outputs in (("q", _WIDTH), ("k", shared), ("v", shared), ("o", _WIDTH)):
            found[f"layers.{i}.self_attn.{name}_proj"] = (outputs, _WIDTH)
        found |= {f"layers.{i}.mlp.{name}_proj": (_HIDDEN, _WIDTH) for name in ("gate", "up")}
        found[f"layers.{i}.mlp.down_proj"] = (_WIDTH, _HIDDEN)
    return {f"model.{name}.weight": shape for name, shape in found.items()}


def _safetensors(shapes: dict[str, tuple[int, ...]]) -> bytes:
    """A file of random weights, and of norms around 1."""
    numbers, data, header = np.random.default_rng(1), b"", {}
    for name, shape in shapes.items():
        values = numbers.normal(size=shape) / 8 + (len(shape) == 1)
        raw = values.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def multiplications(graph: Graph) -> int:
    """Of fully connected layers, and of attention to all rows of the caches, which are full."""
    return sum(node.op.macs(*(graph.type(name) for name in node.inputs)) for node in graph.nodes)


def count(graph: Graph, target: Target) -> Counter[str]:
    """Instructions of the last run, by the name of the kernel; "" is all of them."""
    program, tokens = fit(graph, target), graph.type("token").shape[0]
    main = _MAIN.format(positions=_POSITIONS, words=_WORDS, tokens=tokens)
    with tempfile.TemporaryDirectory() as folder:
        made = bench.built(program, Path(folder), toolchain.find(target), "speed", main)
        marked = counting.entered(program, "speed")
        found = counting.count(target, made, marked)
    counts = Counter({"": found.total})
    for line, instructions in zip(program.lines, found.parts[-len(program.lines) :], strict=True):
        counts[line.kernel.function] += instructions
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="cortex-m7")
    parser.add_argument("--format", choices=FORMATS, action="append", help="all by default")
    parser.add_argument("--tokens", type=int, default=1, help="of a run: a divisor of 64")
    parser.add_argument("--kernels", action="store_true", help="list the kernels")
    options = parser.parse_args()
    target, rows, tokens = targets.load(options.target), [], options.tokens
    for format in options.format or FORMATS:
        graph = model(format, tokens)
        counts, macs = count(graph, target), multiplications(graph) / tokens
        counts = Counter({kernel: round(n / tokens) for kernel, n in counts.items()})
        total = counts.pop("")
        if options.kernels:
            for kernel, instructions in counts.most_common():
                print(f"{instructions:10,} {instructions / macs:6.3f}  {kernel}")
        kinds = {kind: sum(n for name, n in counts.items() if kind in name) for kind in _KINDS}
        kinds["rest"] = total - sum(kinds.values())
        shares = [f"{n / macs:.2f}" for n in kinds.values()]
        rows.append((format, f"{total:,}", f"{total / macs:.2f}", *shares))
    print(table(("weights", "instructions", "a MAC", *_KINDS, "rest"), rows))


if __name__ == "__main__":
    main()
