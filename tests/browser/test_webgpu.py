"""npm packages on GPUs, which Chromium imitates by software here."""

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.nets import Net
from support.node_tools import Browser, output, tool
from support.npm_packages import package, simulated, small_digits
from support.op_cases import normal
from support.sites import site
from support.tools import ROOT, require, require_module, require_shared
from support.webgpu_pages import listed, on_gpu, visited

from edgekit import api
from edgekit.converters.tflite.reader import convert
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Mul
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.reshape import Reshape
from edgekit.core.ops.slice import Slice
from edgekit.core.ops.softmax import Softmax
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array, DType, Type

_F32 = DType.F32


@cache
def row() -> Graph:
    """A layer with the ports of the digits model, for all that does not depend on kernels: software compiles
    those of convolutions for seconds, for each device anew."""
    net = Net()
    y = net(Dense(), net.x(1, 64), net.random(10, 64), net.random(10), name="y")
    return api.quantize_model(net.done(y), "random", calibrate="minmax", io="int8")[0].with_name("digits")


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the int8 digits model."""
    require_module("ziglang")
    return package(small_digits(), tmp_path_factory.mktemp("digits"), "webgpu")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of that layer."""
    require_module("ziglang")
    return package(row(), tmp_path_factory.mktemp("webgpu"), "webgpu")


def samples_of(graph: Graph) -> list[dict[str, Array]]:
    return [simulate.random_inputs(graph, seed) for seed in range(3)]


def of_digits(
    chromium: Browser, made: Path, folder: Path, script: str, make: Callable[[], Graph] = row
) -> Any:
    samples = [sample[0] for sample in listed(samples_of(make()))]
    begin = "const xs = samples.map((x) => Int8Array.from(x));"
    return visited(chromium, made, folder, samples, begin + script)


def expected(graph: Graph) -> list[list[float]]:
    return [outputs[0] for outputs in simulated(graph, samples_of(graph))]


def test_integers_are_those_of_the_simulator(chromium: Browser, digits: Path, tmp_path: Path) -> None:
    """Also of runs that are asked for at once, and without instructions for products of bytes."""
    script = """
        const answers = [];
        for (const features of [navigator.gpu.wgslLanguageFeatures, new Set()]) {
          const about = { get: () => features, configurable: true };
          Object.defineProperty(GPU.prototype, "wgslLanguageFeatures", about);
          const model = await createGpuModel({ gpu: "require" });
          answers.push(...(await Promise.all(xs.map((x) => model.run(x)))).map((y) => Array.from(y)));
          answers.push(model.backend + model.why);
          model.dispose();
        }
        return answers;
    """
    right = [*expected(small_digits()), "webgpu"]
    assert of_digits(chromium, digits, tmp_path, script, small_digits) == [*right, *right]


def test_a_device_of_the_caller_that_is_lost(chromium: Browser, made: Path, tmp_path: Path) -> None:
    """The run that is under way ends by WebAssembly, or is rejected if that was not wanted."""
    script = """
        const answers = [];
        for (const gpu of ["auto", "require"]) {
          const device = await (await navigator.gpu.requestAdapter()).requestDevice();
          const model = await createGpuModel({ gpu, device });
          const [first, second] = [model.run(xs[0]), model.run(xs[1]).then((y) => Array.from(y), String)];
          answers.push(Array.from(await first));
          device.destroy();
          answers.push(await second, model.backend, model.why);
          answers.push(await model.run(xs[2]).then((y) => Array.from(y), String));
        }
        return answers;
    """
    first, second, third = expected(row())
    why = "WebGPU failed: the device was lost: Device was destroyed."
    words = f"Error: digits: {why}"
    found = of_digits(chromium, made, tmp_path, script)
    assert found == [first, second, "wasm", why, third, first, words, "none", why, words]


def test_what_a_run_refuses(chromium: Browser, made: Path, tmp_path: Path) -> None:
    script = """
        const model = await createGpuModel({ gpu: "require" });
        const answers = [
          await model.run(new Int8Array(1)).catch(String),
          await model.run(new Float32Array(64)).catch(String),
          await model.run().catch(String),
          await createGpuModel({ gpu: "maybe" }).catch(String),
        ];
        const pending = model.run(xs[0]).catch(String);
        model.dispose();
        return [...answers, await pending, await model.run(xs[0]).catch(String), model.backend];
    """
    assert of_digits(chromium, made, tmp_path, script) == [
        "RangeError: digits: input x takes 64 elements, not 1",
        "TypeError: digits: input x takes Int8Array(64), not Float32Array",
        "TypeError: digits: input x takes Int8Array(64), not undefined",
        'TypeError: digits: gpu takes "auto", "require" or "never", not maybe',
        "Error: digits: this model was disposed",
        "Error: digits: this model was disposed",
        "none",
    ]


# What is wrong, by the words that tell of it: options, and a property that is another for that long. A device
# of the caller is taken although it is software.
BROKEN = {
    "it was not asked for": ('{ gpu: "never" }', ""),
    "it is imitated by software": ("{}", ""),
    "this engine lacks it": ("{}", 'Navigator.prototype, "gpu", undefined'),
    "it finds no GPU": ("{}", 'GPU.prototype, "requestAdapter", async () => null'),
    "its weights have 784 bytes, not 9": ("{ device, weights: new Uint8Array(9) }", ""),
    "cannot fetch npm/none: 404 File not found": ('{ device, weights: "npm/none" }', ""),
    "does not fit in": ("{ device }", 'GPUDevice.prototype, "createBuffer", small'),
}


def test_without_webgpu_there_is_webassembly(chromium: Browser, made: Path, tmp_path: Path) -> None:
    cases = ", ".join(f"[{options}, [{change}]]" for options, change in BROKEN.values())
    script = f"""
        const {{ createBuffer }} = GPUDevice.prototype;
        function small(about) {{
          return createBuffer.call(this, {{ ...about, size: 256 }});
        }}
        const device = await (await navigator.gpu.requestAdapter()).requestDevice();
        const answers = [];
        for (const [options, [holder, name, value]] of [{cases}]) {{
          const old = holder && Object.getOwnPropertyDescriptor(holder, name);
          if (holder) Object.defineProperty(holder, name, {{ value, configurable: true }});
          const model = await createGpuModel(options);
          const y = Array.from(await model.run(xs[0]));
          const required = await createGpuModel({{ gpu: "require", ...options }}).then(() => "taken", String);
          answers.push([model.backend, model.why, y, required]);
          if (holder) Object.defineProperty(holder, name, old);
        }}
        return answers;
    """
    answers = of_digits(chromium, made, tmp_path, script)
    for words, (backend, why, y, required) in zip(BROKEN, answers, strict=True):
        assert (backend, y) == ("wasm", expected(row())[0])
        assert why.startswith("no WebGPU: ")
        assert words in why
        # Software is taken if it must be, and what was not asked for is never an error.
        is_taken = "software" in words or "asked" in words
        assert required == ("taken" if is_taken else f"Error: digits: {why}")


def test_a_worker_has_it_too(chromium: Browser, made: Path, tmp_path: Path) -> None:
    """Only where it is asked for; what fails there is told here."""
    script = """
        const { createModelInWorker } = await import("./npm/digits.worker.js");
        const answers = [];
        const weights = await fetch("npm/digits.gpu.bin");
        const gpu = "require";
        for (const options of [{}, { gpu: "auto" }, { gpu, weights }, { gpu, weights: "npm/none" }]) {
          const model = await createModelInWorker(options).catch(String);
          if (typeof model === "string") {
            answers.push(model.replace(/http.*npm/, "npm"));
            continue;
          }
          const ys = await Promise.all(xs.map((x) => model.run(x)));
          answers.push([ys.map((y) => Array.from(y)), model.backend, model.why]);
          model.dispose();
          answers.push(model.backend);
        }
        return answers;
    """
    right = expected(row())
    assert of_digits(chromium, made, tmp_path, script) == [
        [right, "wasm", "no WebGPU: it was not asked for"],
        "none",
        [right, "wasm", "no WebGPU: it is imitated by software"],
        "none",
        [right, "webgpu", ""],
        "none",
        "Error: digits: no WebGPU: cannot fetch npm/none: 404 File not found",
    ]


BUNDLED = """
import { createGpuModel } from "digits/gpu";
import { createModelInWorker } from "digits/worker";
async function answers() {
  const made = [createGpuModel({ gpu: "require" }), createModelInWorker({ gpu: "require" })];
  const x = Int8Array.from(SAMPLE);
  return Promise.all(made.map(async (model) => Array.from(await (await model).run(x))));
}
answers().catch(String).then((result) => (globalThis.result = result));
"""


def test_vite_finds_weights_and_the_worker(chromium: Browser, made: Path, tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "digits").symlink_to(made)
    (tmp_path / "main.js").write_text(BUNDLED.replace("SAMPLE", json.dumps(listed(samples_of(row()))[0][0])))
    page = '<!doctype html><link rel="icon" href="data:,"><script type="module" src="./main.js"></script>'
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "package.json").write_text('{"name": "app", "private": true, "type": "module"}')
    tool("vite", "build", "--logLevel", "warn", folder=tmp_path)
    with site(tmp_path / "dist") as url:
        visit = chromium.visit(url)
    assert visit.result == [expected(row())[0]] * 2
    assert visit.errors == []


DEMO = """
export default async (page) => {
  const shown = [];
  for (const gpu of ["auto", "require", "never"]) {
    await page.selectOption("#gpu", gpu);
    await page.waitForSelector("#run:enabled");
    shown.push([await page.textContent("#backend"), await page.textContent("#result")]);
  }
  return shown;
};
"""


def test_the_page_of_the_package_lets_one_choose(chromium: Browser, made: Path, tmp_path: Path) -> None:
    (tmp_path / "actions.mjs").write_text(DEMO)
    with site(made) as url:
        visit = chromium.visit(f"{url}/demo.html", tmp_path / "actions.mjs")
    assert visit.errors == []
    assert [backend for backend, _ in visit.result] == [
        "wasm no WebGPU: it is imitated by software",
        "webgpu ",
        "wasm no WebGPU: it was not asked for",
    ]
    assert all(words.startswith("y int8 [1,10]\n  ") for _, words in visit.result)


def test_node_has_webassembly(made: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.mjs"
    script.write_text(
        f'import {{ createGpuModel }} from "{made.as_uri()}/digits.gpu.js";\n'
        "const model = await createGpuModel();\n"
        "console.log(model.backend, model.why, (await model.run(new Int8Array(64))).length);\n"
    )
    assert output([require("node"), str(script)], tmp_path) == "wasm no WebGPU: this engine lacks it 10\n"


def real() -> Graph:
    """Reals in several inputs and outputs, of sizes that are no multiples of four, and a part that begins
    where nothing can be bound."""
    b = Builder()
    x, z = b.input("x", Type(_F32, (1, 6, 5, 3))), b.input("z", Type(_F32, (1, 5)))
    w, bias = b.const(normal(_F32, 7, 3, 3, 3)), b.const(normal(_F32, 7))
    image = b.one(Conv2d((2, 2), (1, 1, 1, 1), lo=0.0), x, w, bias)
    row = b.one(Reshape((1, 63)), image)
    classes = b.one(Dense(), row, b.const(normal(_F32, 5, 63)), b.const(normal(_F32, 5)))
    part = b.one(Slice((0, 4, 0, 0), (1, 1, 1, 1), (1, 2, 5, 3)), x)
    sums = b.one(Softmax(), b.one(Add(), classes, z))
    return b.graph("real", [x, z], [sums, b.one(Mul(), z, z), b.one(Mul(), part, part)])


def test_the_script_of_the_page_runs(chromium: Browser, made: Path, tmp_path: Path) -> None:
    """It is on software here, which is not taken."""
    text = (ROOT / "docs" / "gpu.md").read_text()
    (script,) = re.findall(r"^```js page.js\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    body = script.partition("\n\n")[2] + "return [scores.length, model.backend];"
    assert of_digits(chromium, made, tmp_path, body) == [10, "wasm"]


def test_reals_are_near(chromium: Browser, tmp_path: Path) -> None:
    found, right = on_gpu(chromium, real(), tmp_path, 2)
    assert '_at": 60' in (tmp_path / "npm" / "real.gpu.js").read_text()
    for sample, wanted in zip(found, right, strict=True):
        for y, z in zip(sample, wanted, strict=True):
            assert np.abs(np.subtract(y, z)).max() <= 1e-5 * np.abs(z).max()


def test_floats_of_16_bits_are_near(chromium: Browser, tmp_path: Path) -> None:
    narrow, _ = api.quantize_model(real(), None, dtype="f16", activations="f16")
    found, right = on_gpu(chromium, narrow, tmp_path, 1)
    for y, z in zip(found[0], right[0], strict=True):
        assert np.abs(np.subtract(y, z)).max() <= 2**-9 * np.abs(z).max()


def test_a_network_for_key_words(chromium: Browser, tmp_path: Path) -> None:
    graph = simplify(convert(require_shared("models/mlperf_tiny/kws_ref_model.tflite")))
    found, right = on_gpu(chromium, graph, tmp_path, 1)
    assert found == right


USES = """
import { createGpuModel, inputs, type GpuModel } from "digits/gpu";
const model: GpuModel = await createGpuModel({ gpu: "require", weights: new Uint8Array(8) });
export const y: Int8Array = await model.run(new Int8Array(inputs.x.shape.length));
export const words: string = model.backend + model.why;
// @ts-expect-error: no such wish
await createGpuModel({ gpu: "maybe" });
// @ts-expect-error: floats for an int8 model
await model.run(new Float32Array(64));
// @ts-expect-error: an input is needed
await model.run();
model.dispose();
import { createModelInWorker } from "digits/worker";
const worker = await createModelInWorker({ gpu: "auto", weights: "digits.gpu.bin" });
export const where: "webgpu" | "wasm" | "none" = worker.backend;
"""


def test_the_package_is_one(made: Path, tmp_path: Path) -> None:
    assert "All good!" in tool("publint", "run", "--strict", ".", folder=made)
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "digits").symlink_to(made)
    (tmp_path / "uses.ts").write_text(USES)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    settings: Mapping[str, Any] = {
        "strict": True,
        "noEmit": True,
        "target": "es2022",
        "lib": ["es2022", "dom"],
        "types": [],
        "module": "nodenext",
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": settings, "files": ["uses.ts"]}))
    assert tool("tsc", "-p", ".", folder=tmp_path) == ""


def test_modules_hold_each_text_once(digits: Path) -> None:
    text = (digits / "digits.gpu.js").read_text()
    for line in ("fn ek_mulhi_u32(", "fn ek_mulhi_i32x4(", "requires packed_4x8_integer_dot_product;"):
        assert text.count(line) == 1, line
