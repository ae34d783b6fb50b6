"""Decoders against llama.cpp: tokens a second of a prompt (prefill) and of a text (decode), in turns.

Llamas of 15 and of 110 million parameters with random weights, of 8 bits (Q8_0) and of 4 (Q4_0). Both have
the same weights; with 4 bits, the table of embeddings, which is the last layer as well, has 8 in both. A
prompt has 64 tokens in one run, and 32 tokens follow. Needs the packages llama-cpp-python, compiled for this
processor (CMAKE_ARGS=-DGGML_NATIVE=ON), and gguf; `--without` measures EdgeKit alone.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import busy, machine, table, write_section
from edgekit import api
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.library_objects import library_sources
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.entries import with_entries
from edgekit.codegen.execution.driver import FLAGS
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.printing.render import render
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.types import Array

PROMPT, TEXT = 64, 32
POSITIONS = PROMPT + TEXT
FORMATS: Mapping[str, dict[str, Any]] = {
    "Q8_0": {"dtype": "int8", "activations": "dynamic"},
    "Q4_0": {"dtype": "int4", "activations": "dynamic"},
}
Run = Callable[[], list[float]]  # seconds of the prompt, and of each token of the text


@dataclass(frozen=True)
class Size:
    """A decoder's sizes, as the tiny Llamas that were trained on stories have them."""

    width: int
    hidden: int
    layers: int
    heads: int
    words: int = 32_000

    def shapes(self) -> Iterator[tuple[str, str, tuple[int, ...]]]:
        """Tensors, as transformers and as GGUF name them."""
        width, hidden = self.width, self.hidden
        yield "model.embed_tokens.weight", "token_embd.weight", (self.words, width)
        yield "model.norm.weight", "output_norm.weight", (width,)
        for i in range(self.layers):
            own, other = f"model.layers.{i}.", f"blk.{i}."
            yield f"{own}input_layernorm.weight", f"{other}attn_norm.weight", (width,)
            yield f"{own}post_attention_layernorm.weight", f"{other}ffn_norm.weight", (width,)
            for name, gguf in (("q", "q"), ("k", "k"), ("v", "v"), ("o", "output")):
                yield f"{own}self_attn.{name}_proj.weight", f"{other}attn_{gguf}.weight", (width, width)
            for name in ("gate", "up"):
                yield f"{own}mlp.{name}_proj.weight", f"{other}ffn_{name}.weight", (hidden, width)
            yield f"{own}mlp.down_proj.weight", f"{other}ffn_down.weight", (width, hidden)

    def weights(self) -> Iterator[tuple[str, str, Array]]:
        numbers = np.random.default_rng(1)
        for name, gguf, shape in self.shapes():
            values = numbers.standard_normal(shape, np.float32) / np.float32(math.sqrt(self.width))
            yield name, gguf, values + np.float32(1) if len(shape) == 1 else values


SIZES = {"15 M": Size(288, 768, 6, 6), "110 M": Size(768, 2048, 12, 12)}


def write_folder(size: Size, folder: Path) -> None:
    """config.json and model.safetensors."""
    config = {
        "model_type": "llama",
        "vocab_size": size.words,
        "hidden_size": size.width,
        "intermediate_size": size.hidden,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.heads,
        "max_position_embeddings": POSITIONS,
        "rms_norm_eps": 1e-05,
        "tie_word_embeddings": True,
    }
    (folder / "config.json").write_text(json.dumps(config))
    header, at = {}, 0
    for name, _, shape in size.shapes():
        end = at + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(header).encode()
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, _, values in size.weights():
            file.write(values.tobytes())


def write_gguf(
    size: Size, format: str, path: Path, vocabulary: tuple[list[str], list[str]] | None = None
) -> None:
    """The decoder as llama.cpp reads it; `vocabulary` are tokens and merges of a byte-level BPE."""
    import gguf

    file = gguf.GGUFWriter(path, "llama")
    file.add_context_length(POSITIONS)
    file.add_embedding_length(size.width)
    file.add_block_count(size.layers)
    file.add_feed_forward_length(size.hidden)
    file.add_head_count(size.heads)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_rope_dimension_count(size.width // size.heads)
    file.add_vocab_size(size.words)
    if vocabulary:
        file.add_tokenizer_model("gpt2")
        file.add_tokenizer_pre("gpt-2")
        file.add_token_list(vocabulary[0])
        file.add_token_merges(vocabulary[1])
    else:
        file.add_tokenizer_model("no_vocab")
    kinds = gguf.GGMLQuantizationType
    for _, name, values in size.weights():
        kind = (
            kinds.F32
            if values.ndim == 1
            else kinds.Q8_0
            if "token" in name and format != "F32"
            else kinds[format]
        )
        file.add_tensor(name, gguf.quants.quantize(values, kind), raw_dtype=kind)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def tokens(size: Size) -> Array:
    return (np.arange(POSITIONS, dtype=np.int32) * 37 + 11) % size.words


_LIBRARY = """\
#include "net.h"
#include "net_prefill.h"
{threads}
static struct net_state state;
static uint8_t arena[NET_ARENA_SIZE + 1] __attribute__((aligned(64)));
static float logits[NET_LOGITS_SIZE];
int begin(void) {{ return {begin}; }}
void prompt(const int32_t *tokens)
{{
    const int32_t at = 0;
    net_reset(&state);
    net_prefill_{run}(tokens, &at, logits, &state, arena{pool});
}}
void token(const int32_t *tokens, int32_t at)
{{
    net_{run}(tokens + at, &at, logits, &state, arena{pool});
}}
"""
_POOL = """\
#include "edgekit/threads.h"
static struct ek_threads threads;"""


def graphs(format: str, folder: Path) -> tuple[Graph, Graph]:
    """One token a run, and a prompt."""
    made = []
    for count in (1, PROMPT):
        dims = {"tokens": count, "positions": POSITIONS, "logits": 1}
        graph = api.convert(folder, dims=dims, name="net")
        made.append(api.quantize_model(graph, None, **FORMATS[format])[0])
    return made[0], made[1]


def edgekit(both: tuple[Graph, Graph], target_name: str, threads: int, folder: Path) -> ctypes.CDLL:
    """The library, compiled for speed."""
    target = replace(targets.load(target_name), cores=threads)
    files = render(with_entries(fit(both[0], target), {"prefill": both[1]}), "speed")
    write(files, folder)
    several = {"run": "run_parallel", "pool": ", &threads.pool", "threads": _POOL}
    several["begin"] = f"ek_threads_start(&threads, {threads}) == {threads}"
    words = several if threads > 1 else {"run": "run", "pool": "", "threads": "", "begin": "1"}
    (folder / "main.c").write_text(_LIBRARY.format(**words))
    names = library_sources(files)
    flags = [*FLAGS, "-O3", *target.cflags, "-pthread", "-shared", "-fPIC"]
    toolchain.find(target).run([*flags, *names, "main.c", "-o", "net.so"], folder)
    library = ctypes.CDLL(str(folder / "net.so"))
    assert library.begin()
    return library


def timed(read: Callable[[], object], write: Callable[[int], object]) -> list[float]:
    """Seconds of the prompt, and of each token behind it."""
    times = [time.perf_counter()]
    read()
    times.append(time.perf_counter())
    for at in range(PROMPT, POSITIONS):
        write(at)
        times.append(time.perf_counter())
    return [end - start for start, end in pairwise(times)]


def ours(library: ctypes.CDLL, given: Array) -> Run:
    pointer = ctypes.c_void_p(given.ctypes.data)
    return lambda: timed(lambda: library.prompt(pointer), lambda at: library.token(pointer, at))


_QUIET = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)  # no log


def llama(model: Path, threads: int, given: Array) -> Run:
    """llama.cpp as it is by default, beside the number of threads and sizes."""
    from llama_cpp import llama_cpp as api

    api.llama_log_set(_QUIET, None)
    api.llama_backend_init()
    loaded = api.llama_model_load_from_file(str(model).encode(), api.llama_model_default_params())
    wanted = api.llama_context_default_params()
    wanted.n_ctx = wanted.n_batch = wanted.n_ubatch = POSITIONS
    wanted.n_threads = wanted.n_threads_batch = threads
    context = api.llama_init_from_model(loaded, wanted)
    assert context, "llama.cpp cannot run this model"
    numbers = (ctypes.c_int32 * POSITIONS)(*given.tolist())

    def decode(at: int, count: int) -> None:
        part = ctypes.cast(ctypes.addressof(numbers) + 4 * at, ctypes.POINTER(ctypes.c_int32))
        assert api.llama_decode(context, api.llama_batch_get_one(part, count)) == 0
        api.llama_synchronize(context)

    def run() -> list[float]:
        api.llama_memory_clear(api.llama_get_memory(context), True)
        return timed(lambda: decode(0, PROMPT), lambda at: decode(at, 1))

    return run


def best(runs: Mapping[str, Run], seconds: float) -> Mapping[str, tuple[float, float]]:
    """Tokens a second of prompt and text, of programs that take turns: each run in its fastest round."""
    found: dict[str, list[list[float]]] = {name: [] for name in runs}
    end = time.monotonic() + seconds
    while time.monotonic() < end or not all(found.values()):
        for name, run in runs.items():
            found[name].append(run())
    fastest = {name: np.min(times, axis=0) for name, times in found.items()}
    return {name: (PROMPT / times[0], TEXT / times[1:].sum()) for name, times in fastest.items()}


def rows(options: argparse.Namespace, folder: Path) -> Iterator[tuple[tuple[str, ...], list[float]]]:
    """Of the table, each with the ratios to llama.cpp."""
    for name in options.size or SIZES:
        size = SIZES[name]
        write_folder(size, folder)
        for format in options.format or FORMATS:
            both, model = graphs(format, folder), folder / f"{format}.gguf"
            if not options.without:
                write_gguf(size, format, model)
            for threads in options.threads or (1, 2):
                own = folder / f"{name}_{format}_{threads}".replace(" ", "")
                own.mkdir()
                runs = {"EdgeKit": ours(edgekit(both, options.target, threads, own), tokens(size))}
                if not options.without:
                    runs["llama.cpp"] = llama(model, threads, tokens(size))
                found = best(runs, options.seconds)
                for i, what in enumerate(("prefill", "decode")):
                    speeds = [found[runner][i] for runner in runs]
                    ratios = [speeds[0] / other for other in speeds[1:]]
                    texts = [*(f"{s:,.0f}" for s in speeds), *(f"{r:.2f}" for r in ratios)]
                    yield (f"{name}, {format}, {threads} thread{'s' * (threads > 1)}, {what}", *texts), ratios


_NOTE = """\
Tokens a second on x86-64 ({target}): a run of {prompt} tokens (prefill), and {text} that follow one by one
(decode). Both programs take turns for {seconds:g} seconds, and each run counts as in its fastest round.
llama.cpp was compiled for this processor and runs with its defaults. Random weights are the same for both;
EdgeKit's int8 has a scale for each output, where Q8_0 has one for 32 weights. Geometric mean of the ratios:
{mean:.2f}.

llama-cpp-python {version}. {machine}. {load}

{table}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target", default="x86-64-avx512")
    parser.add_argument("--size", choices=SIZES, action="append", help="all by default")
    parser.add_argument("--format", choices=FORMATS, action="append", help="all by default")
    parser.add_argument("--threads", type=int, action="append", help="1 and 2 by default")
    parser.add_argument("--seconds", type=float, default=30, help="of each comparison")
    parser.add_argument("--without", action="store_true", help="EdgeKit alone")
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    found, ratios = [], []
    load = busy()
    with tempfile.TemporaryDirectory() as folder:
        for row, quotients in rows(options, Path(folder)):
            print(*row, sep=" | ", flush=True)
            found.append(row)
            ratios += quotients
    header = ("model", "EdgeKit", *(() if options.without else ("llama.cpp", "ratio")))
    print(table(header, found))
    if options.write_docs:
        facts = {"mean": math.exp(np.log(ratios).mean()), "version": version("llama-cpp-python")}
        facts |= {
            "machine": machine(),
            "load": load(),
            "table": table(header, found),
            "seconds": options.seconds,
        }
        note = _NOTE.format(target=options.target, prompt=PROMPT, text=TEXT, **facts)
        write_section("llama_cpp", "Decoders against llama.cpp", note)


if __name__ == "__main__":
    main()
