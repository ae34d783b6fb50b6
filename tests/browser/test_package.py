"""What an npm package holds: for publint, npm and TypeScript, and for builds that come after it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from support.nets import Net
from support.node_tools import Browser, output, tool
from support.npm_packages import package, small_digits
from support.sites import STRICT, site
from support.stateful import random_graph
from support.tools import ROOT, require, require_module

from edgekit import EdgeKitError, build
from edgekit.codegen.packages.npm import POLICY
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Neg
from edgekit.core.ops.dense import Dense
from edgekit.core.types import DType


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of a model with two inputs, two outputs and a name that npm does not take as it is."""
    require_module("ziglang")
    net = Net(DType.S16)
    a, b = net.x(4, name="a"), net.x(4, name="b")
    graph = net.done(net(Add(), a, b), net(Neg(), b)).with_name("_Several")
    return package(graph, tmp_path_factory.mktemp("several"))


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of a model with states."""
    require_module("ziglang")
    return package(random_graph(1).with_name("stream"), tmp_path_factory.mktemp("stream"))


def test_publint_has_nothing_to_say(digits: Path, universal: Path, several: Path) -> None:
    for made in (digits, universal, several):
        assert "All good!" in tool("publint", "run", "--strict", ".", folder=made)


def test_npm_packs_what_is_needed(universal: Path, digits: Path) -> None:
    """Files that exports lead to, that such a file loads, and what npm always takes: nothing else."""
    for made in (digits, universal):
        (packed,) = json.loads(output([require("npm"), "pack", "--dry-run", "--json"], made))
        paths = {file["path"] for file in packed["files"]}
        manifest = json.loads((made / "package.json").read_text())
        entries = re.findall(r'"\./([^"]+\.\w+)"', json.dumps(list(manifest["exports"].values())))
        loaded = {
            name
            for path in paths
            if path.endswith(".js")
            for name in re.findall(r'(?:from|URL\()\s*"\./([\w.]+)"', (made / path).read_text())
        }
        assert paths == {*entries, *loaded, "README.md"}


def test_the_page_for_npm_reads_well_as_text_too(digits: Path, universal: Path) -> None:
    """Nothing of it is escaped, and the package says whose it is."""
    for made in (digits, universal):
        assert "\\" not in (made / "README.md").read_text()
        assert json.loads((made / "package.json").read_text())["license"] == "UNLICENSED"


def test_large_weights_are_a_file_and_no_text(tmp_path: Path) -> None:
    require_module("ziglang")
    net = Net()
    weights = np.random.default_rng(1).normal(size=(600, 512)).astype(np.float32)
    graph = net.done(net(Dense(), net.x(1, 512), net.const(weights), net.const(np.zeros(600, np.float32))))
    made = package(graph.with_name("large"), tmp_path)
    assert (made / "large.weights.bin").stat().st_size > 1 << 20
    assert (made / "large.wasm").stat().st_size < 20_000
    assert not list(made.glob("*.inline.*"))
    manifest = json.loads((made / "package.json").read_text())
    assert not [name for name in (*manifest["exports"], *manifest["files"]) if "inline" in name]
    assert "large.weights.bin" in manifest["files"]
    assert "./large.weights.bin" in manifest["exports"]
    assert "inline" not in (made / "README.md").read_text()
    assert "All good!" in tool("publint", "run", "--strict", ".", folder=made)


def test_file_sizes(digits: Path) -> None:
    """What a page loads beside the module: readable, and small all the same."""
    sizes = {path.name: path.stat().st_size for path in digits.iterdir()}
    assert sizes["digits.js"] < 7000  # with functions to and from its integer ports
    assert sizes["digits.worker.js"] + sizes["digits.thread.js"] < 3000
    assert sizes["digits.image.js"] < 2000


def test_engines_and_policy_are_those_of_the_documentation(digits: Path, universal: Path) -> None:
    page = (ROOT / "docs" / "browser.md").read_text(encoding="utf-8")
    for made, target in ((digits, "wasm32-simd"), (universal, "wasm32")):
        (engines,) = re.findall(r"^It runs in (.*)\.$", (made / "README.md").read_text(), re.MULTILINE)
        assert f"| `{target}` | {engines} | " in page
        assert f"`{POLICY}`" in (made / "README.md").read_text()
    (node,) = re.findall(r"Node (\d+)", engines_of("wasm32-simd", page))
    assert json.loads((digits / "package.json").read_text())["engines"] == {"node": f">={node}"}
    assert f"\nNode {node} and later load the module" in page
    assert f"`{POLICY}`" in page
    scripts, _, _ = POLICY.partition(";")
    template = ROOT / "edgekit" / "projects" / "templates" / "web" / "index.html.j2"
    assert f"; {scripts};" in template.read_text(encoding="utf-8")
    assert f"; {scripts};" in STRICT
    for name in ("wasm32", "wasm32-simd", "wasm32-relaxed"):
        _, _, engines = targets.load(name).description.partition(": ")
        assert engines == engines_of(name, page)


def engines_of(target: str, page: str) -> str:
    (row,) = re.findall(rf"^\| `{target}` \| (.*?) \|", page, re.MULTILINE)
    return row


@pytest.mark.parametrize("resolution", ["bundler", "nodenext"])
def test_types(digits: Path, several: Path, stream: Path, tmp_path: Path, resolution: str) -> None:
    """The declarations are right for what is right and wrong in tests/browser/uses.ts."""
    modules = tmp_path / "node_modules"
    modules.mkdir()
    for made in (digits, several, stream):
        (modules / json.loads((made / "package.json").read_text())["name"]).symlink_to(made)
    (tmp_path / "uses.ts").write_text((Path(__file__).parent / "uses.ts").read_text())
    (tmp_path / "package.json").write_text('{"type": "module"}')
    settings = {
        "strict": True,
        "noEmit": True,
        "target": "es2022",
        "lib": ["es2022", "dom"],
        "types": [],
        "module": "nodenext" if resolution == "nodenext" else "esnext",
        "moduleResolution": resolution,
        "noUnusedLocals": True,
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": settings, "files": ["uses.ts"]}))
    assert tool("tsc", "-p", ".", folder=tmp_path) == ""


def test_the_same_input_gives_the_same_bytes(digits: Path, tmp_path: Path) -> None:
    again = package(small_digits(), tmp_path, helpers=("image",))
    both = [
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (digits, again)
    ]
    assert both[0] == both[1]


def test_the_package_belongs_to_the_build(tmp_path: Path) -> None:
    """It is listed in the manifest, so what a build no longer makes goes away, and changes are not lost."""
    require_module("ziglang")
    graph = small_digits()
    made = package(graph, tmp_path, helpers=("image",))
    assert (made / "digits.image.js").exists()
    package(graph, tmp_path)
    assert not (made / "digits.image.js").exists()
    (made / "README.md").write_text("mine")
    with pytest.raises(EdgeKitError, match=r"npm/README\.md"):
        package(graph, tmp_path)
    build(graph, tmp_path, target="wasm32-simd", verify=False)
    assert [path.name for path in made.rglob("*") if path.is_file()] == ["README.md"]


def row(*shape: int) -> Graph:
    net = Net()
    return net.done(net(Neg(), net.x(*shape)))


@pytest.mark.parametrize(
    ("graph", "options", "words"),
    [
        (row(4), {"target": "host"}, "holds WebAssembly, and target host is none"),
        (row(4), {"package": ("nmp",)}, "unknown package nmp"),
        (row(4), {"helpers": ("vision",)}, "unknown helper vision"),
        (row(4), {"helpers": ("image",)}, "no input for the helper image: x f32"),
        (row(4, 5), {"helpers": ("audio",)}, "no input for the helper audio: x f32"),
    ],
)
def test_what_cannot_be_packed_is_refused(
    tmp_path: Path, graph: Graph, options: dict[str, str], words: str
) -> None:
    require_module("ziglang")
    given = {"target": "wasm32-simd", "package": ("npm",), "verify": False, **options}
    with pytest.raises(EdgeKitError, match=words) as caught:
        build(graph, tmp_path / "out", **given)  # type: ignore[arg-type]  # of several types
    assert caught.value.hint
    assert not (tmp_path / "out").exists()


HEAR = """
export default async (page) => {
  await page.waitForSelector("#run:enabled");
  const before = await page.textContent("#result");
  await page.click("#microphone");
  await page.waitForSelector("#run:enabled");
  return [before, await page.textContent("#result")];
};
"""


def test_sound_becomes_input(chromium: Browser, tmp_path: Path) -> None:
    require_module("ziglang")
    package(row(1, 6).with_name("sound"), tmp_path, helpers=("audio",))
    script = tmp_path / "script.mjs"
    script.write_text(
        'import { createModel } from "./npm/sound.js";\nimport { putAudio } from "./npm/sound.audio.js";\n'
        "const { input } = await createModel();\n"
        "for (const samples of [[1, 2, 3, 4, 5, 6, 7], [8, 9]]) {\n"
        "  putAudio(samples, input);\n  console.log(String(input));\n}\n"
    )
    lines = output([require("node"), str(script)], tmp_path).splitlines()
    assert lines == ["2,3,4,5,6,7", "0,0,0,0,8,9"]
    (tmp_path / "hear.mjs").write_text(HEAR)
    with site(tmp_path / "npm") as url:
        visit = chromium.visit(f"{url}/demo.html", tmp_path / "hear.mjs")
    assert visit.errors == []
    before, heard = visit.result
    assert heard.splitlines()[0].endswith(" float32 [1,6]")
    assert heard != before
