"""npm packages in pages and in workers, under a strict policy and on servers with mistakes."""

import io
import json
import re
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from support.language_packages import CLASSES
from support.nets import Net
from support.node_tools import Browser
from support.npm_packages import DIGITS_DATA, package, script_page, simulated, small_digits
from support.sites import STRICT, site
from support.tools import require_module

from edgekit.core import simulate
from edgekit.core.ops.arithmetic import Mul, Neg
from edgekit.core.types import DType

LOOK = Path(__file__).parent / "look.mjs"
SAMPLES = 3


def digits_page(made: Path, folder: Path, script: str, *, without: Sequence[str] = ()) -> Path:
    """The folder of a page whose script has `samples`."""
    return script_page(made, folder, f"const samples = {given()};\n{script}", without=without)


def samples() -> list[dict[str, simulate.Array]]:
    return [dict(simulate.random_inputs(small_digits(), seed)) for seed in range(SAMPLES)]


def given() -> list[list[int]]:
    return [sample["x"].reshape(-1).tolist() for sample in samples()]


def expected() -> list[list[float]]:
    return [outputs[0] for outputs in simulated(small_digits(), samples())]


RUN = """
    const { createModel } = await import("./npm/digits.js");
    const model = await createModel();
    return samples.map((x) => Array.from(model.run(Int8Array.from(x))));
"""
RUN_INLINE = RUN.replace("digits.js", "digits.inline.js")
RUN_IN_WORKER = """
    const { createModelInWorker } = await import("./npm/digits.worker.js");
    const model = await createModelInWorker();
    const answers = await Promise.all(samples.map((x) => model.run(Int8Array.from(x))));
    return answers.map((y) => Array.from(y));
"""


@pytest.mark.parametrize("script", [RUN, RUN_INLINE, RUN_IN_WORKER], ids=["page", "inline", "worker"])
def test_integers_under_a_strict_policy(either: Browser, digits: Path, tmp_path: Path, script: str) -> None:
    with site(digits_page(digits, tmp_path, script), policy=STRICT) as url:
        visit = either.visit(url)
    assert visit.result == expected()
    assert visit.errors == []


def test_only_the_best_module_is_fetched(either: Browser, universal: Path, tmp_path: Path) -> None:
    """The best is with relaxed SIMD, where the engine's products of bytes are exact on this machine."""
    with site(digits_page(universal, tmp_path, IS_EXACT)) as url:
        best = "relaxed" if either.visit(url).result == "true" else "simd"
    with site(digits_page(universal, tmp_path, RUN)) as url:
        visit = either.visit(url)
    assert visit.result == expected()
    assert [request for request in visit.requests if ".wasm" in request] == [f"{url}/npm/digits.{best}.wasm"]


# What the module itself says, if the engine can read it.
IS_EXACT = """
    const bytes = await (await fetch("npm/digits.relaxed.wasm")).arrayBuffer();
    if (!WebAssembly.validate(bytes)) return "false";
    const { exports } = (await WebAssembly.instantiate(bytes)).instance;
    return String(!exports.supported || exports.supported() === 1);
"""


def test_a_module_that_does_not_fit_the_engine_is_refused(
    chromium: Browser, universal: Path, tmp_path: Path
) -> None:
    script = """
        const { createModel } = await import("./npm/digits.js");
        const instantiate = WebAssembly.instantiate;
        WebAssembly.instantiate = async (module) => {
          const { exports } = await instantiate(module);
          return { exports: { ...exports, supported: () => 0 } };
        };
        return createModel({ wasm: "npm/digits.relaxed.wasm" }).catch(String);
    """
    with site(digits_page(universal, tmp_path, script)) as url:
        words = "Error: digits: this engine computes with relaxed SIMD in another way"
        assert chromium.visit(url).result == words


@pytest.mark.parametrize(("lacking", "left"), [("relaxed", "simd"), ("simd", "scalar")])
def test_older_engines_fetch_another(
    chromium: Browser, universal: Path, tmp_path: Path, lacking: str, left: str
) -> None:
    """An engine without a feature takes no module that uses it for valid."""
    opcode = {"relaxed": "bytes.includes(147)", "simd": "bytes.includes(253)"}[lacking]
    older = f"""
        const validate = WebAssembly.validate;
        WebAssembly.validate = (bytes) => !({opcode}) && validate(bytes);
    """
    with site(digits_page(universal, tmp_path, older + RUN)) as url:
        visit = chromium.visit(url)
    assert visit.result == expected()
    assert [request for request in visit.requests if ".wasm" in request] == [f"{url}/npm/digits.{left}.wasm"]


def test_an_engine_without_what_is_needed(chromium: Browser, digits: Path, tmp_path: Path) -> None:
    script = "WebAssembly.validate = () => false;" + RUN
    with site(digits_page(digits, tmp_path, script)) as url:
        assert chromium.visit(url).result == "Error: digits: this engine lacks SIMD"


def test_instances_share_what_was_fetched(chromium: Browser, digits: Path, tmp_path: Path) -> None:
    script = """
        const { createModel } = await import("./npm/digits.js");
        const models = await Promise.all([createModel(), createModel(), createModel()]);
        return models.map((model) => Array.from(model.run(Int8Array.from(samples[0]))));
    """
    with site(digits_page(digits, tmp_path, script)) as url:
        visit = chromium.visit(url)
    assert visit.result == [expected()[0]] * 3
    assert sum(".wasm" in request for request in visit.requests) == 1


def test_a_server_that_knows_no_wasm(chromium: Browser, digits: Path, tmp_path: Path) -> None:
    with site(digits_page(digits, tmp_path, RUN), types={".wasm": "application/octet-stream"}) as url:
        visit = chromium.visit(url)
    assert visit.result == expected()


@pytest.mark.parametrize("script", [RUN, RUN_IN_WORKER], ids=["page", "worker"])
def test_servers_that_answer_with_a_page(
    chromium: Browser, digits: Path, tmp_path: Path, script: str
) -> None:
    folder = digits_page(digits, tmp_path, script, without=["*.wasm"])
    with site(folder, page_for_all=True) as url:
        words = chromium.visit(url).result
        where = f"{url}/npm/digits.wasm (text/html)"
        assert words.startswith(f"Error: digits: no WebAssembly in {where}, which begins with")
    with site(folder) as url:
        words = chromium.visit(url).result
        assert words == f"Error: digits: cannot fetch {url}/npm/digits.wasm: 404 File not found"


def test_a_later_attempt_may_succeed(chromium: Browser, digits: Path, tmp_path: Path) -> None:
    script = """
        const fetch = globalThis.fetch;
        globalThis.fetch = () => Promise.reject(new TypeError("no network"));
        const { createModel } = await import("./npm/digits.js");
        const words = await createModel().catch(String);
        globalThis.fetch = fetch;
        const model = await createModel();
        return [words.replace(/http.*wasm/, "it"), model.run(Int8Array.from(samples[0])).length];
    """
    with site(digits_page(digits, tmp_path, script)) as url:
        assert chromium.visit(url).result == ["Error: digits: cannot fetch it: no network", 10]


PROGRESS = """
    const steps = [];
    const progress = (...bytes) => steps.push(bytes);
    await WHAT({ progress });
    const bytes = (await (await fetch("./npm/digits.wasm")).arrayBuffer()).byteLength;
    const [loaded, total] = steps.at(-1);
    return [loaded - bytes, total - bytes, steps.every(([before], i) => i === 0 || before > steps[i - 1][0])];
"""


@pytest.mark.parametrize("module", ["digits.js", "digits.worker.js"])
def test_progress_counts_the_bytes_of_the_module(
    either: Browser, digits: Path, tmp_path: Path, module: str
) -> None:
    what = "createModelInWorker" if "worker" in module else "createModel"
    script = f'const {{ {what} }} = await import("./npm/{module}");' + PROGRESS.replace("WHAT", what)
    with site(digits_page(digits, tmp_path, script)) as url:
        assert either.visit(url).result == [0, 0, True]


def test_errors_of_a_worker(chromium: Browser, digits: Path, tmp_path: Path) -> None:
    script = """
        const { createModelInWorker } = await import("./npm/digits.worker.js");
        const model = await createModelInWorker({ wasm: "./npm/digits.wasm" });
        const x = Int8Array.from(samples[0]);
        const answers = [
          await model.run(new Float32Array(64)).catch(String),
          await model.run(new Int8Array(1)).catch((error) => [error instanceof RangeError, String(error)]),
          (await model.run(x)).length + x.length,
          (await model.run(x, { transfer: true })).length + x.length,
        ];
        const pending = model.run(new Int8Array(64)).catch(String);
        model.dispose();
        return [...answers, await pending, await model.run(new Int8Array(64)).catch(String)];
    """
    with site(digits_page(digits, tmp_path, script)) as url:
        assert chromium.visit(url).result == [
            "TypeError: digits: input x takes Int8Array(64), not Float32Array",
            [True, "RangeError: digits: input x takes 64 elements, not 1"],
            74,
            10,
            "Error: digits: this model was disposed",
            "Error: digits: this model was disposed",
        ]


def test_a_worker_that_is_missing(chromium: Browser, digits: Path, tmp_path: Path) -> None:
    folder = digits_page(digits, tmp_path, RUN_IN_WORKER, without=["*.thread.js"])
    with site(folder) as url:
        assert chromium.visit(url).result == "Error: digits: its worker failed: it was not loaded"


DEMO = """
const given = (page, at, name, bytes) =>
  page.evaluate(([at, name, bytes]) => {
    const file = new DataTransfer();
    file.items.add(new File([new Uint8Array(bytes)], name));
    const input = document.querySelector(at);
    input.files = file.files;
    input.dispatchEvent(new Event("change"));
  }, [at, name, bytes]);

export default async (page, { npy, names, png }) => {
  const ready = () => page.waitForSelector("#run:enabled");
  const shown = async () => [
    await page.textContent("#result"),
    await page.$$eval("#scores tr", (rows) => rows.map((row) => row.cells[0].textContent)),
  ];
  await ready();
  await given(page, "#names", "names.txt", names);
  await ready();
  await given(page, "[data-input]", "x.npy", npy);
  await ready();
  const [fromFile, time] = [await shown(), await page.textContent("#time")];
  await given(page, "#image", "x.png", png);
  await ready();
  const fromImage = await shown();
  await page.click("#camera");
  await ready();
  const fromCamera = await shown();
  await given(page, "[data-input]", "x.npy", npy.slice(0, -1));
  await ready();
  return { fromFile, fromImage, fromCamera, time, mistake: await page.textContent("#result") };
};
"""


def test_the_page_names_classes_that_the_package_has(chromium: Browser, tmp_path: Path) -> None:
    """As text, whatever is in them."""
    made = package(small_digits(), tmp_path / "out", classes=CLASSES)
    look = tmp_path / "look.mjs"
    look.write_text(
        "export default async (page) => {\n"
        '  await page.waitForSelector("#run:enabled");\n'
        '  return page.$$eval("#scores tr", (rows) => rows.map((row) => row.cells[0].textContent));\n'
        "};\n"
    )
    with site(made) as url:
        visit = chromium.visit(f"{url}/demo.html", look)
    assert visit.errors == []
    assert len(visit.result) == 5
    assert set(visit.result) <= set(CLASSES)
    assert "Names of classes" not in (made / "demo.html").read_text()  # asked for where there are none


def test_the_page_shows_as_many_digits_as_float32_has(chromium: Browser, tmp_path: Path) -> None:
    net = Net(DType.F32)
    made = package(net.done(net(Mul(), net.x(1, 3), np.float32([0.1, 0.3, 0.7]), name="y")), tmp_path / "out")
    look = tmp_path / "look.mjs"
    look.write_text(
        "export default async (page) => {\n"
        '  await page.waitForSelector("#run:enabled");\n'
        '  return page.$eval("#result", (result) => result.textContent);\n'
        "};\n"
    )
    with site(made) as url:
        visit = chromium.visit(f"{url}/demo.html", look)
    numbers = visit.result.split("\n")[1].split()
    assert len(numbers) == 3
    assert all(len(number.lstrip("-0.")) <= 7 for number in numbers)


@pytest.mark.parametrize("name", ["digits", "universal"])
def test_the_page_of_the_package(
    chromium: Browser, tmp_path: Path, name: str, request: pytest.FixtureRequest
) -> None:
    """A digit as numbers and as an image of the same size, with names of the classes; the package has the
    helper for images, or the page alone."""
    with np.load(DIGITS_DATA) as data:
        pixels = np.rint(data["x"][0].reshape(8, 8) * 255).astype(np.uint8)
    quant = small_digits().type("x").quant
    assert quant
    numbers = np.clip(np.rint(pixels / 255 / quant.scale[0]) + quant.zero[0], -128, 127).astype(np.int8)
    ((y,),) = simulated(small_digits(), [{"x": numbers.reshape(1, 1, 8, 8)}])
    npy = io.BytesIO()
    np.save(npy, numbers)
    (tmp_path / "actions.mjs").write_text(DEMO)
    names = [f"digit {i}" for i in range(10)]
    with site(request.getfixturevalue(name)) as url:
        visit = chromium.visit(
            f"{url}/demo.html",
            tmp_path / "actions.mjs",
            npy=list(npy.getvalue()),
            names=list("\n".join(names).encode()),
            png=list(grey_png(pixels)),
        )
    assert visit.errors == []
    shown = f"y int8 [1,10]\n  {' '.join(map(str, y))}"
    best = names[y.index(max(y))]
    for result, classes in (visit.result["fromFile"], visit.result["fromImage"]):
        assert result == shown
        assert classes[0] == best
        assert len(classes) == 5
    result, classes = visit.result["fromCamera"]
    assert result.startswith("y int8 [1,10]\n  ")
    assert result != shown
    assert re.fullmatch(r"\S+ ms, from \S+ to \S+", visit.result["time"])
    assert float(visit.result["time"].split()[0]) > 0
    assert visit.result["mistake"] == "x.npy has 63 bytes of numbers, x takes 64"


WAYS = [(width, scheme, "screen") for width in (1280, 360) for scheme in ("light", "dark")]


def test_the_page_is_readable_in_light_and_dark(chromium: Browser, digits: Path, tmp_path: Path) -> None:
    """Contrast as WCAG's AA wants it, and nothing that sticks out of a phone, with results on the page."""
    look = tmp_path / "look.mjs"
    look.write_text(
        f'import look from "{(LOOK).as_uri()}";\n'
        "export default async (page, given) => {\n"
        '  await page.waitForSelector("#run:enabled");\n'
        "  return look(page, given);\n};\n"
    )
    with site(digits) as url:
        visit = chromium.visit(f"{url}/demo.html", look, ways=WAYS)
    assert visit.errors == []
    assert len(visit.result) == len(WAYS)
    for way, found in visit.result.items():
        assert found["texts"] > 10
        assert found["overflow"] <= 0, way
        assert [found[fault] for fault in ("faint", "outside", "repeated", "nameless")] == [[]] * 4, way


def test_the_page_takes_what_the_model_takes(tmp_path: Path) -> None:
    """An image, sound, or files alone, though no helper was asked for; npm publishes none of that."""
    require_module("ziglang")
    wanted = {
        (1, 8, 8, 1): "image",
        (1, 3, 16, 24): "image",
        (1, 16000): "audio",
        (1, 49, 10, 1): "",
        (1, 640): "",
    }
    for shape, kind in wanted.items():
        net = Net(DType.F32)
        graph = net.done(net(Neg(), net.x(*shape, name="x")))
        made = package(graph, tmp_path / "x".join(map(str, shape)))
        page = (made / "demo.html").read_text()
        assert {name for name in ("image", "audio") if f'"./demo.{name}.js"' in page} == ({kind} - {""})
        assert {path.name for path in made.glob("demo.*")} == {
            "demo.html",
            *([f"demo.{kind}.js"] * bool(kind)),
        }
        assert not [
            name for name in json.loads((made / "package.json").read_text())["files"] if "demo" in name
        ]


def grey_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def test_drawings_become_inputs(either: Browser, digits: Path, tmp_path: Path) -> None:
    script = """
        const { createModel, inputs } = await import("./npm/digits.js");
        const { putImage } = await import("./npm/digits.image.js");
        const model = await createModel();
        const canvas = new OffscreenCanvas(80, 80);
        const context = canvas.getContext("2d");
        context.fillStyle = "#808080";
        context.fillRect(0, 0, 80, 80);
        const { scale, zero } = inputs.x;
        const wanted = Math.round(128 / 255 / scale) + zero;
        const sources = [canvas, context.getImageData(0, 0, 80, 80), await createImageBitmap(canvas)];
        return sources.map((source) => {
          putImage(source, model.input.fill(0));
          return Math.max(...Array.from(model.input, (value) => Math.abs(value - wanted)));
        });
    """
    with site(digits_page(digits, tmp_path, script)) as url:
        assert max(either.visit(url).result) <= 1
