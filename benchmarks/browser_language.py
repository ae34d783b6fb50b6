"""A decoder and a sentence encoder in a browser: EdgeKit's npm packages beside other engines, in turns.

The models have random weights: benchmarks/browser_decoder.py. Needs node, npm and chromium, and the package
gguf for wllama. ONNX Runtime Web, transformers.js and wllama come from npm, as
benchmarks/browser/package.json says.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
from support.sites import site

from benchmarks.browser_decoder import (
    PROMPT,
    decoder,
    encoder,
    token_ids,
    vocabulary,
    write_onnx,
    write_tokenizer,
)
from benchmarks.browser_pages import bundle, drive, install, named
from benchmarks.llama_cpp import POSITIONS, SIZES, write_folder, write_gguf
from benchmarks.results import load_before, machine, table, write_section
from edgekit import api
from edgekit.codegen.compilation import wasm
from edgekit.core.ir import Graph

OURS = "EdgeKit"
SIZE = SIZES["15 M"]
TEXT, PREFILL = 32, 16  # tokens that follow a prompt, and those of it that a run reads
_DYNAMIC = {"activations": "dynamic"}
FORMATS: Mapping[str, dict[str, Any]] = {
    "float32": {},
    "8 bits": {"dtype": "int8", **_DYNAMIC},
    "4 bits": {"dtype": "int4", **_DYNAMIC},
}
_ONNX = {"float32": "f32", "8 bits": "q8", "4 bits": "q4"}
_DTYPES = {"f32": ("fp32", "model.onnx"), "q8": ("q8", "model_quantized.onnx"), "q4": ("q4", "model_q4.onnx")}
_GGUF = {"float32": "F32", "8 bits": "Q8_0", "4 bits": "Q4_0"}
# Engines, and what of their packages a page loads beside the bundle.
_RUNTIMES = {
    "onnxruntime": ("onnxruntime-web/dist", "ort-wasm-simd-threaded.*"),
    "transformers": (
        "@huggingface/transformers/node_modules/onnxruntime-web/dist",
        "ort-wasm-simd-threaded.*",
    ),
    "wllama": ("@wllama/wllama/esm/wasm", "wllama.wasm"),
}
_TITLES = {
    "edgekit": OURS,
    "onnxruntime": "ONNX Runtime Web",
    "transformers": "transformers.js",
    "wllama": "wllama",
}
_PACKAGES = ("onnxruntime-web", "@huggingface/transformers", "@wllama/wllama")
_DATA = (".bin", "/model", ".onnx", ".json")  # how the names of what is no code end


@dataclass(frozen=True)
class Measured:
    """What a page of one engine and one model costs: kilobytes, and milliseconds."""

    code: float
    model: float
    first: float
    turns: tuple[float, ...]  # of the prompt and of a token; or of a run


class Site:
    """The pages of all engines."""

    def __init__(self, folder: Path, threads: int) -> None:
        self.folder, self.tools, self.threads = folder / "site", folder / "tools", threads
        self.scratch = folder / "scratch"
        install(self.tools)
        for engine, (packages, names) in _RUNTIMES.items():
            runtime = self.folder / engine / "runtime"
            runtime.mkdir(parents=True)
            for file in (self.tools / "node_modules" / packages).glob(names):
                shutil.copy(file, runtime)
        self.scratch.mkdir()

    def page(self, kind: str, engine: str, format: str, alias: str = "", **prompt: Any) -> Path:
        page = self.folder / engine / f"{kind}-{format}".replace(" ", "-")
        prompt |= {"ids": list(token_ids()), "text": PROMPT, "heads": SIZE.heads}
        prompt |= {"width": SIZE.width // SIZE.heads}
        known = {"THREADS": self.threads, "TOKENS": TEXT, "PROMPT": prompt}
        options = [f"--define:{name}={json.dumps(value)}" for name, value in known.items()]
        main = "language.js" if kind == "decoder" else "main.js"
        bundle(
            self.tools,
            f"{kind}_{engine}",
            page,
            *options,
            *[f"--alias:package={alias}"] * bool(alias),
            main=main,
        )
        return page

    def ours(self, kind: str, format: str, graphs: tuple[Graph, ...]) -> Path:
        """The page of an npm package: of a graph, and of one that reads prompts for it."""
        made = self.scratch / f"{kind}-{format}"
        entries = {"prefill": graphs[1]} if graphs[1:] else {}
        api.build(
            graphs[0],
            made,
            target="wasm32",
            package=("npm",),
            entries=entries,
            cores=self.threads,
            verify=False,
        )
        page = self.page(kind, "edgekit", format, str(made / "npm" / "net.js"))
        for pattern in ("*.wasm", "*.bin", "*.helper.js"):
            for file in (made / "npm").glob(pattern):
                shutil.copy(file, page)
        return page

    def onnx(self, kind: str, format: str, model: onnx.ModelProto) -> Iterator[Path]:
        page = self.page(kind, "onnxruntime", format)
        write_onnx(model, _ONNX[format], page / "model")
        yield page
        dtype, name = _DTYPES[_ONNX[format]]
        other = self.page(kind, "transformers", format, dtype=dtype)
        folder = other / "folder" / "onnx"
        folder.mkdir(parents=True)
        shutil.copy(page / "model", folder / name)
        config: dict[str, Any] = {
            "model_type": "llama" if kind == "decoder" else "bert",
            "hidden_size": SIZE.width,
        }
        config |= {"num_attention_heads": SIZE.heads, "num_hidden_layers": SIZE.layers}
        config |= {"num_key_value_heads": SIZE.heads, "vocab_size": SIZE.words}
        (folder.parent / "config.json").write_text(json.dumps(config))
        (folder.parent / "generation_config.json").write_text("{}")
        yield other

    def decoders(self, format: str) -> Iterator[Path]:
        write_folder(SIZE, self.scratch)
        write_tokenizer(SIZE.words, self.scratch)
        graphs = []
        for count in (1, PREFILL):
            dims = {"tokens": count, "positions": POSITIONS, "logits": 1}
            graph = api.convert(self.scratch, dims=dims, name="net")
            graphs.append(_quantized(graph, format))
        yield self.ours("decoder", format, tuple(graphs))
        yield from self.onnx("decoder", format, decoder(SIZE, POSITIONS))
        page = self.page("decoder", "wllama", format)
        write_gguf(SIZE, _GGUF[format], page / "model", vocabulary(SIZE.words))
        yield page

    def encoders(self, format: str) -> Iterator[Path]:
        count = len(list(token_ids()))
        path = self.scratch / "encoder.onnx"
        onnx.save(encoder(count, fused=False), path)
        graph, settings = api.convert(path, name="net"), FORMATS[format]
        yield self.ours(
            "encoder", format, (api.quantize_model(graph, None, **settings)[0] if settings else graph,)
        )
        yield from self.onnx("encoder", format, encoder(count, fused=True))


def _quantized(graph: Graph, format: str) -> Graph:
    return api.quantize_model(graph, None, **FORMATS[format])[0] if FORMATS[format] else graph


def measure(made: Site, pages: list[Path], settings: Mapping[str, int]) -> tuple[str, dict[str, Measured]]:
    """The version of the browser, and each engine's figures."""
    with site(made.folder, isolated=made.threads > 1) as url:
        urls = [f"{url}/{page.relative_to(made.folder)}/" for page in pages]
        answer = drive(made.tools, {"urls": urls, "milliseconds": 100, **settings})
    measured = {}
    for page, one in zip(pages, answer["answers"].values(), strict=True):
        sizes = {path: size for path, size in one["files"].items() if not path.endswith(("/", ".ico"))}
        data = sum(size for path, size in sizes.items() if path.endswith(_DATA))
        if _TITLES[page.parent.name] == OURS:  # tables of a tokenizer are in the module
            modules = (page / path.rpartition("/")[2] for path in sizes if path.endswith(".wasm"))
            data += sum(wasm.sizes(module.read_bytes())[1] for module in modules)
        turns = [turn if isinstance(turn, list) else [turn] for turn in one["turns"]]
        medians = tuple(statistics.median(times) for times in zip(*turns, strict=True))
        first = statistics.median(one["first"])
        title = _TITLES[page.parent.name]
        measured[title] = Measured((sum(sizes.values()) - data) / 1000, data / 1e6, first, medians)
    return answer["version"], measured


def rows(title: str, measured: Mapping[str, Measured]) -> list[list[str]]:
    """A row for each engine, ours first, with what it takes of the best other one."""
    peers = [one for engine, one in measured.items() if engine != OURS]
    first, turns = (
        min(p.first for p in peers),
        [min(times) for times in zip(*(p.turns for p in peers), strict=True)],
    )
    lines = []
    for engine, one in measured.items():
        name = f"{title}, {engine}" if engine == OURS else engine
        line = [name, f"{one.code:,.0f}", f"{one.model:.1f}", f"{one.first:,.0f}", f"{one.first / first:.2f}"]
        if len(one.turns) > 1:
            speeds = PREFILL * 2 / one.turns[0] * 1000, 1000 / one.turns[1]
            bests = PREFILL * 2 / turns[0] * 1000, 1000 / turns[1]
            for speed, best in zip(speeds, bests, strict=True):
                line += [f"{speed:,.0f}", f"{speed / best:.2f}"]
        else:
            line += [f"{one.turns[0]:.2f}", f"{one.turns[0] / turns[0]:.2f}"]
        lines.append(line)
    return lines


_COMMON = ("", "code, KB", "model, MB", "first, ms", "share")
_HEADS = {
    "decoder": (*_COMMON, "prompt, tokens/s", "ratio", "text, tokens/s", "ratio"),
    "encoder": (*_COMMON, "run, ms", "share"),
}
_NOTE = """\
Chromium {version}, {threads}, on the processor. The decoder is a Llama of 15 million parameters, of which a
prompt of {prompt} tokens and {text} that follow, the most probable one each, are measured; the encoder has
the sizes of MiniLM-L6, for {prompt} tokens. Weights are random. **Code** is the uncompressed size of
scripts and modules that a page loads, **model** that of everything else, with the tables of the tokenizer
where the engine gets text (EdgeKit, wllama). **First** is the median time from the start of a navigation to
the first token, or result, over {navigations} navigations with empty caches and a server on the same
machine. Speeds are medians of {rounds} turns that engines take one after the other; shares and ratios are
to the best of the others.

EdgeKit: an npm package of target `wasm32`, for 8 and 4 bits with `--activations dynamic`, with an entry
that reads {prefill} tokens of a prompt in a run. ONNX Runtime Web and transformers.js: the same file, of
fused operators with past and present; 8 bits by `quantize_dynamic`, 4 bits by `MatMulNBits` in groups of 32
with inputs in 8 bits. wllama: F32, Q8_0 and Q4_0.

{packages}. {machine}. {load}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", choices=_HEADS, action="append", help="both by default")
    parser.add_argument("--format", choices=FORMATS, action="append", help="all by default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--navigations", type=int, default=7)
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args()
    settings = {"rounds": options.rounds, "navigations": options.navigations}
    tables, version, load = [], "", load_before()
    with tempfile.TemporaryDirectory() as folder:
        made = Site(Path(folder), options.threads)
        for kind, head in _HEADS.items():
            lines: list[list[str]] = []
            for format in options.format or FORMATS:
                if kind in (options.kind or _HEADS) and (kind, format) != ("encoder", "4 bits"):
                    pages = [*(made.decoders if kind == "decoder" else made.encoders)(format)]
                    version, measured = measure(made, pages, settings)
                    lines += rows(f"{kind}, {format}", measured)
                    print(table(head, lines), flush=True)
            tables += [table(head, lines)] * bool(lines)
        packages = ", ".join(named(made.tools / "node_modules" / package) for package in _PACKAGES)
    if options.write_docs:
        facts = {
            "prompt": PREFILL * 2,
            "text": TEXT,
            "prefill": PREFILL,
            "packages": packages,
            "load": load,
        }
        threads = f"{options.threads} threads" if options.threads > 1 else "one thread"
        note = _NOTE.format(version=version, threads=threads, machine=machine(), **facts, **settings)
        more = f"--threads {options.threads}" if options.threads > 1 else ""
        title = "Language models in a browser" + f", {threads}" * bool(more)
        write_section("browser_language", title, "\n\n".join([*tables, note.rstrip()]), options=more)


if __name__ == "__main__":
    main()
