"""Packages on GPUs, in pages of a browser that imitates WebGPU by software."""

import json
from pathlib import Path
from typing import Any

from support.node_tools import Browser
from support.npm_packages import package, simulated
from support.sites import STRICT, site
from support.tools import require_module

from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.types import Array


def visited(chromium: Browser, made: Path, folder: Path, samples: Any, script: str) -> Any:
    """The result of a script in a page, which has the package and the samples; it complains of nothing."""
    stem = next(made.glob("*.gpu.js")).name
    (folder / "npm").symlink_to(made)
    (folder / "index.html").write_text('<!doctype html><script type="module" src="page.js"></script>')
    (folder / "page.js").write_text(
        f'import {{ createGpuModel }} from "./npm/{stem}";\n'
        f"const samples = {json.dumps(samples)};\n"
        f"async function attempt() {{ {script} }}\n"
        "globalThis.result = await attempt().catch(String);\n"
    )
    with site(folder, policy=STRICT) as url:
        visit = chromium.visit(url)
    assert [words for words in visit.errors if "404" not in words] == []
    assert not isinstance(visit.result, str), visit.result
    return visit.result


def listed(samples: list[dict[str, Array]]) -> list[list[list[float]]]:
    return [[x.reshape(-1).tolist() for x in sample.values()] for sample in samples]


NAMED = """
    const model = await createGpuModel({ gpu: "require" });
    const { inputs } = await import("./npm/NAME.js");
    const answers = [];
    for (const sample of samples) {
      const types = { float32: Float32Array, int8: Int8Array };
      const names = Object.keys(inputs);
      const given = names.map((name, i) => [name, types[inputs[name].type].from(sample[i])]);
      const y = await model.run(names.length > 1 ? Object.fromEntries(given) : given[0][1]);
      answers.push((ArrayBuffer.isView(y) ? [y] : Object.values(y)).map((array) => Array.from(array)));
    }
    return answers;
"""


def on_gpu(chromium: Browser, graph: Graph, folder: Path, count: int) -> tuple[Any, Any]:
    """What a network computes there, and what the simulator does."""
    require_module("ziglang")
    made = package(graph, folder / "library", "webgpu")
    samples: list[dict[str, Array]] = [dict(simulate.random_inputs(graph, seed)) for seed in range(count)]
    stem = next(made.glob("*.gpu.js")).name.removesuffix(".gpu.js")
    found = visited(chromium, made, folder, listed(samples), NAMED.replace("NAME", stem))
    return found, simulated(graph, samples)
