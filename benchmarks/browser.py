"""EdgeKit's npm packages beside other engines in one Chromium, in turns.

Needs the MLPerf Tiny networks as TFLite files (--models), node, npm and chromium. LiteRT.js, tfjs-tflite,
ONNX Runtime Web and TensorFlow.js come from npm, as benchmarks/browser/package.json says.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import onnx
from support.sites import site
from support.tflite_to_onnx import float_tflite, translate

from benchmarks.browser_models import fused_operators, with_float_ends
from benchmarks.browser_pages import bundle, drive, install, named
from benchmarks.results import machine, table, write_section
from benchmarks.x86_networks import TINY, Network
from benchmarks.x86_peers import quantized
from edgekit import api
from edgekit.core.ir import Graph

OURS = "EdgeKit"
# Peers, and what of their packages a page loads beside the bundle.
RUNTIMES = {
    "LiteRT.js": ("litert", "@litertjs/core/wasm"),
    "tfjs-tflite": ("tflite", "@tensorflow/tfjs-tflite/wasm"),
    "ONNX Runtime Web": ("onnxruntime", "onnxruntime-web/dist"),
    "TensorFlow.js": ("tfjs", "@tensorflow/tfjs-backend-wasm/dist"),
}
_PACKAGES = ("@litertjs/core", "@tensorflow/tfjs-tflite", "onnxruntime-web", "@tensorflow/tfjs-backend-wasm")

_NOTE = """\
Chromium {version}, one thread, no cross-origin isolation. **Shipped** is the uncompressed size of
everything a page loads beside its HTML: bundle, modules, model. **Latency** is the time of a run including
copying the input in and reading the output, the best decile of {rounds} turns of {milliseconds} ms, with
all engines taking turns. **First result** is the median time from the start of a navigation to the end of
the first run, over {navigations} navigations with empty caches. Shares are relative to the best peer.
EdgeKit's package is that of target `wasm32`; Chromium loads its relaxed SIMD module where products of bytes
are exact, or need not be. LiteRT.js has no int8 tensors: its networks have float inputs and outputs. ONNX
Runtime's int8 networks are made by its own quantizer. TensorFlow.js computes in float32 only, with its
fused operators.

{packages}. {machine}.
"""


@dataclass(frozen=True)
class Measured:
    """What a page of one engine and one model costs."""

    kilobytes: float
    latency: float  # milliseconds
    first: float


def networks(models: Path, folder: Path) -> Iterator[Network]:
    """The networks, int8 first."""
    for title, (floats, int8) in TINY.items():
        path = folder / f"{floats}.onnx"
        onnx.save(translate(models / f"{floats}.tflite", layout="NCHW"), path)
        yield Network(title, True, models / f"{int8}.tflite", path)
    for title, (floats, _) in TINY.items():
        whole = folder / f"{floats}.tflite"
        whole.write_bytes(float_tflite(models / f"{floats}.tflite"))  # one has weights of int8 in parts
        yield Network(title, False, whole, folder / f"{floats}.onnx")


def pages(network: Network, tools: Path, folder: Path) -> dict[str, str]:
    """Make a page for each engine; where each lies."""
    name = f"{network.title.replace(' ', '-')}-{network.numbers}"
    found = {OURS: f"edgekit/{name}"}
    made = folder / "packages" / name
    graph = api.convert(network.tflite, name="net")
    api.build(graph, made, target="wasm32", package=("npm",))
    bundle(tools, "edgekit", folder / found[OURS], f"--alias:package={made / 'npm' / 'net.js'}")
    for module in (made / "npm").glob("*.wasm"):
        shutil.copy(module, folder / found[OURS])
    for peer, (engine, runtime) in RUNTIMES.items():
        if peer == "TensorFlow.js" and network.is_int8:
            continue
        page = folder / engine / name
        bundle(tools, engine, page)
        if not (folder / engine / "runtime").exists():
            shutil.copytree(tools / "node_modules" / runtime, folder / engine / "runtime")
        _write_model(peer, network, graph, page / "model")
        found[peer] = f"{engine}/{name}"
    return found


def _write_model(peer: str, network: Network, graph: Graph, path: Path) -> None:
    """The network in the form that a peer reads."""
    match peer, network.is_int8:
        case "ONNX Runtime Web", True:
            quantized(network.onnx, path)
        case "ONNX Runtime Web", False:
            shutil.copy(network.onnx, path)
        case "TensorFlow.js", _:
            path.write_bytes(fused_operators(graph))
        case "LiteRT.js", True:
            path.write_bytes(with_float_ends(network.tflite))
        case _:
            shutil.copy(network.tflite, path)


def measure(
    found: Mapping[str, str], url: str, tools: Path, settings: Mapping[str, int]
) -> tuple[str, dict[str, Measured]]:
    """The version of the browser, and each engine's figures."""
    wish = {"urls": [f"{url}/{path}/" for path in found.values()], **settings}
    answer = drive(tools, wish)
    measured = {}
    for (engine, _), one in zip(found.items(), answer["answers"].values(), strict=True):
        sizes = [size for path, size in one["files"].items() if not path.endswith(("/", ".ico"))]
        turns = sorted(one["turns"])
        measured[engine] = Measured(
            sum(sizes) / 1000, turns[len(turns) // 10], statistics.median(one["first"])
        )
    return answer["version"], measured


def rows(title: str, measured: Mapping[str, Measured]) -> list[list[str]]:
    """A row for each engine, ours first; it says what share of the best peer it takes."""
    peers = [one for engine, one in measured.items() if engine != OURS]
    best_latency, best_first = min(p.latency for p in peers), min(p.first for p in peers)
    lines = []
    for engine, one in measured.items():
        ours = engine == OURS
        shares = (one.latency / best_latency, one.first / best_first)
        lines.append(
            [
                f"{title}, {engine}" if ours else engine,
                f"{one.kilobytes:,.0f}",
                f"{one.latency:.4f}",
                f"**{shares[0]:.2f}**" if ours else f"{shares[0]:.2f}",
                f"{one.first:.0f}",
                f"**{shares[1]:.2f}**" if ours else f"{shares[1]:.2f}",
            ]
        )
    return lines


def main(argv: Sequence[str] | None = None) -> None:
    """Measure all networks, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, required=True, help="folder of the MLPerf Tiny TFLite files")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--navigations", type=int, default=15)
    parser.add_argument("--only", default="", help="networks whose title has this in it")
    parser.add_argument("--numbers", default="", help="int8 or float32")
    parser.add_argument("--dry", action="store_true", help="print, and leave docs/performance.md as it is")
    given = parser.parse_args(argv)
    settings = {"rounds": given.rounds, "navigations": given.navigations, "milliseconds": 5}
    lines: dict[str, list[list[str]]] = {"int8": [], "float32": []}
    version = ""
    with tempfile.TemporaryDirectory() as scratch:
        folder, tools = Path(scratch) / "site", Path(scratch) / "tools"
        install(tools)
        folder.mkdir()
        for network in networks(given.models, folder):
            if given.only not in network.title or given.numbers not in network.numbers:
                continue
            found = pages(network, tools, folder)
            with site(folder) as url:
                version, measured = measure(found, url, tools, settings)
            made = rows(network.title, measured)
            lines[network.numbers] += made
            print(table(["", "KB", "ms", "share", "first", "share"], made), flush=True)
        packages = ", ".join(named(tools / "node_modules" / package) for package in _PACKAGES)
    note = _NOTE.format(version=version, packages=packages, machine=machine(), **settings)
    header = ["", "shipped KB", "latency, ms", "share", "first result, ms", "share"]
    tables = (f"### {numbers}\n\n{table(header, found)}" for numbers, found in lines.items() if found)
    text = "\n\n".join([*tables, note.rstrip()])
    if given.dry:
        print(text)
    else:
        write_section("browser", "In a browser", text)


if __name__ == "__main__":
    main()
