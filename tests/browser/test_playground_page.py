"""The playground: a page in which EdgeKit runs, as a visitor uses it, and the C that it makes."""

import base64
import io
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support.nets import Net
from support.node_tools import Browser, node
from support.onnx_models import model
from support.onnx_models import node as node_of
from support.pyodide import clang, pyodide
from support.sites import site
from support.tools import ROOT

from edgekit import build, convert, quantize_model, save
from edgekit.core.ops.dense import Dense
from edgekit.playground.assembly import assemble

HERE = Path(__file__).parent
EXAMPLES = ROOT / "examples"
WAYS = [(width, scheme, "screen") for width in (1280, 360) for scheme in ("light", "dark")]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def playground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("playground")
    assemble(pyodide(), clang(), folder)
    return folder


def library(model: Path, folder: Path) -> dict[str, str]:
    """The files that `edgekit build` writes for a Cortex-M4."""
    build(convert(model), folder, target="cortex-m4", verify=False)
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_text("utf-8") for path in paths}


def assert_same(found: dict[str, str], wanted: dict[str, str]) -> None:
    """All of a library of floats is equal but the last digits that its self-test expects: another numpy has
    summed in another order. The manifest has the hash of that file."""
    assert found.keys() == wanted.keys()
    last_digits = {name for name in wanted if found[name] != wanted[name]}
    assert last_digits <= {name for name in wanted if name.endswith(("_selftest.c", ".manifest.json"))}


def test_a_visitor_sees_what_becomes_of_a_model(chromium: Browser, playground: Path, tmp_path: Path) -> None:
    wrong, screenshot = tmp_path / "wrong.onnx", tmp_path / "page.png"
    wrong.write_bytes(b"no model")
    unknown = tmp_path / "unknown.onnx"
    layers = [node_of("Warp", "x", "a"), node_of("Relu", "a", "b"), node_of("Bend", "b", "y")]
    unknown.write_bytes(model(layers).SerializeToString())
    with site(playground) as url:
        actions = HERE / "playground.mjs"
        given = {"wrong": str(wrong), "unknown": str(unknown), "screenshot": str(screenshot), "ways": WAYS}
        visit = chromium.visit(f"{url}/", actions, **given)
    found = visit.result
    assert visit.errors == []
    assert all(request.startswith((f"{url}/", f"blob:{url}/")) for request in visit.requests)
    assert "173,760" in found["facts"]
    assert_same(found["float"], library(EXAMPLES / "digits" / "digits.onnx", tmp_path / "library"))
    assert "conv2d_s8" in found["int8"]["digits.c"]
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(found["archive"]))) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == found["int8"]
    assert "digits on cortex-m4" in found["report"]
    assert re.search(
        r"about [\d.]+ KB\n.*code about [\d,]+, .* for nine of ten networks: not compiled", found["report"]
    )
    assert "sample 2 of 450" in found["outputs"]
    times = r"\S+ ms a run, from \S+ to \S+ in \d+ batches"
    equal = "equal to the simulator, bit by bit"
    assert re.fullmatch(rf"WebAssembly of [\d,]+ B: {equal}; {times}", found["module"])
    assert found["error"].startswith("E0401 wrong.onnx is no ONNX file")
    rows = [row.split("\t") for row in found["missing"].splitlines()]
    assert rows[1:] == [["Warp", "1", "node Warp_a"], ["Bend", "1", "node Bend_y"]]
    for way, looks in found["looks"].items():
        assert looks["overflow"] <= 0, way
        assert [looks[fault] for fault in ("faint", "outside", "repeated", "nameless")] == [[]] * 4, way
    assert screenshot.read_bytes().startswith(PNG)


FIRST = """
export default async (page) => {
  const frame = await (await page.waitForSelector("#report")).contentFrame();
  await frame.waitForSelector("#graph a.card");
  const first = await page.evaluate(() => ({
    facts: document.getElementById("facts").checkVisibility(),
    says: document.getElementById("first").checkVisibility(),
    loading: document.getElementById("loading").checkVisibility(),
  }));
  return { ...first, report: await frame.evaluate(() => document.body.innerText) };
};
"""


def test_a_result_is_there_before_python(chromium: Browser, playground: Path, tmp_path: Path) -> None:
    """Of an example, in few requests and bytes."""
    (tmp_path / "first.mjs").write_text(FIRST)
    with site(playground) as url:
        visit = chromium.visit(f"{url}/", tmp_path / "first.mjs")
    found = visit.result
    assert (found["facts"], found["says"], found["loading"]) == (False, True, True)
    assert "digits on cortex-m4" in found["report"]
    assert "Most noise" in found["report"]
    before = visit.requests[: visit.requests.index(f"{url}/worker.js")]
    assert len(before) <= 4
    paths = [playground / (request.removeprefix(f"{url}/") or "index.html") for request in before]
    assert sum(path.stat().st_size for path in paths) <= 300_000


LINK = """
export default async (page) => {
  page.setDefaultTimeout(120_000);
  await page.waitForFunction(() => document.getElementById("sampled").textContent.includes("450"));
  await page.waitForFunction(() => document.body.getAttribute("aria-busy") === "false");
  const chosen = await Promise.all(["target", "dtype", "optimize"].map((id) => page.inputValue(`#${id}`)));
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#report-file")]);
  return { chosen, name: download.suggestedFilename(), link: await page.getAttribute("#link", "href") };
};
"""


def test_a_result_can_be_linked_and_downloaded(chromium: Browser, playground: Path, tmp_path: Path) -> None:
    (tmp_path / "link.mjs").write_text(LINK)
    words = "#target=cortex-m7&dtype=int8&optimize=size&model=digits"
    with site(playground) as url:
        found = chromium.visit(f"{url}/{words}", tmp_path / "link.mjs").result
    assert found == {"chosen": ["cortex-m7", "int8", "size"], "name": "report.html", "link": words}


def test_the_c_is_that_of_the_command_line(playground: Path, tmp_path: Path) -> None:
    """Python of 32 bits, another numpy, and no compiled part of onnx make the same files."""
    models = [EXAMPLES / name / f"{name}.onnx" for name in ("anomaly", "keywords")]
    with np.load(EXAMPLES / "keywords" / "calib.npz") as data:
        samples = {"x": data["x"][:8]}
    int8 = tmp_path / "keywords_int8.ek"
    save(quantize_model(models[1], samples, calibrate="minmax")[0], int8)
    unsupported = tmp_path / "bf16.ek"
    net = Net()
    graph = net.done(net(Dense(), net.x(1, 6), net.random(4, 6), net.random(4), name="y"))
    save(quantize_model(graph.with_name("bf16"), None, dtype="bf16")[0], unsupported)
    paths = [*models, int8, unsupported]
    found = json.loads(node(HERE / "session.mjs", str(playground), "cortex-m4", *map(str, paths)))
    for path in models:
        assert_same(found[path.name], library(path, tmp_path / path.stem))
    assert found[int8.name] == library(int8, tmp_path / int8.stem)
    assert found["bf16.ek"].startswith("E0202 this page cannot hold bf16")
