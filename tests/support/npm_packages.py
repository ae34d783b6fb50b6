"""npm packages to test with, and their results in Node beside those of the simulator."""

import json
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from support.node_tools import BROWSER_TESTS, node
from support.tools import ROOT

from edgekit import build, convert, quantize_model
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.types import Array
from edgekit.reports.results import plain

DIGITS = ROOT / "edgekit" / "digits.onnx"
DIGITS_DATA = ROOT / "edgekit" / "digits.npz"


@cache
def small_digits() -> Graph:
    """The digits model in int8, from the first layer to the last."""
    with np.load(DIGITS_DATA) as data:
        samples = data["x"][:64]
    graph, _ = quantize_model(convert(DIGITS), {"x": samples}, calibrate="minmax", io="int8")
    return graph


def package(graph: Graph, folder: Path, target: str = "wasm32-simd", **options: Any) -> Path:
    """The folder of the npm package of a graph."""
    build(graph, folder, target=target, package=("npm",), verify=False, **options)
    return folder / "npm"


def stem_of(made: Path) -> str:
    """The name that the files of a package begin with."""
    return next(made.glob("*.worker.js")).name.removesuffix(".worker.js")


def in_node(made: Path, samples: Sequence[Mapping[str, Array]], entry: str = "") -> list[list[Any]]:
    """The outputs of each sample as lists of numbers, in one instance. Inputs and outputs go by position:
    names that C cannot have, or has twice, are others in JavaScript."""
    script = made / f"{stem_of(made)}{entry}.js"
    given = [[x.reshape(-1).tolist() for x in sample.values()] for sample in samples]
    answers: list[list[Any]] = json.loads(
        node(BROWSER_TESTS / "run.mjs", str(script), given=json.dumps(given))
    )
    return answers


def simulated(graph: Graph, samples: Sequence[Mapping[str, Array]]) -> list[list[Any]]:
    """The same of the simulator."""
    return [
        [plain(outputs[name].reshape(-1)) for name in graph.outputs]
        for outputs in simulate.run_each(graph, samples)
    ]


def run_script(made: Path, body: str) -> str:
    """Run statements that may use createModel, the `folder` of the package as a URL, and check()."""
    script = made.parent / "script.mjs"
    script.write_text(
        f'import {{ createModel, inputs, outputs }} from "./npm/{stem_of(made)}.js";\n'
        'const folder = new URL("./npm/", import.meta.url);\n'
        "function check(right) { if (!right) throw new Error('not so'); }\n"
        f'{body}\nconsole.log("good");\n'
    )
    return node(script).strip()


def script_page(made: Path, folder: Path, script: str, *, without: Sequence[str] = ()) -> Path:
    """A folder with the package and a page whose script sets `result`; scripts are files, as a strict policy
    wants it."""
    ignored = shutil.ignore_patterns(*without)
    shutil.copytree(made, folder / "npm", ignore=ignored, dirs_exist_ok=True)
    (folder / "index.html").write_text('<!doctype html><script type="module" src="page.js"></script>')
    (folder / "page.js").write_text(
        f"async function attempt() {{ {script} }}\nglobalThis.result = await attempt().catch(String);\n"
    )
    return folder
