"""npm packages on GPUs whose CPU segments are a module of WebAssembly beside the kernels."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.node_tools import Browser, tool
from support.npm_packages import package, simulated
from support.op_cases import normal
from support.segments import at_the_end, at_the_start, in_a_branch, in_the_middle, network, sums
from support.sites import site
from support.tools import require_module
from support.webgpu_pages import NAMED, listed, on_gpu, visited

from edgekit import EdgeKitError, api
from edgekit.core import simulate
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.types import DType, Type


def assert_near(found: Any, right: Any) -> None:
    for sample, wanted in zip(found, right, strict=True):
        for y, z in zip(sample, wanted, strict=True):
            assert np.abs(np.subtract(y, z)).max() <= 1e-5 * np.abs(z).max()


@pytest.mark.parametrize("make", [in_the_middle, at_the_end, at_the_start, in_a_branch])
def test_reals_are_near(make: Callable[[], Graph], chromium: Browser, tmp_path: Path) -> None:
    graph = make()
    assert_near(*on_gpu(chromium, graph, tmp_path, 2))
    assert (tmp_path / "npm" / f"{graph.name}.cpu.wasm").exists()


def test_integers_are_those_of_the_simulator(chromium: Browser, tmp_path: Path) -> None:
    """Of tensors that do not fill their last word, between layers of floats and of int8."""
    graph = network(23, 31)
    samples = [simulate.random_inputs(graph, seed) for seed in range(4)]
    inputs = {name: np.concatenate([sample[name] for sample in samples]) for name in graph.inputs}
    quantized, _ = api.quantize_model(graph, inputs, calibrate="minmax", strict_int8=True, io="int8")
    found, right = on_gpu(chromium, quantized, tmp_path, 2)
    assert found == right
    made = tmp_path / "npm" / "network.gpu.js"
    assert made.read_text().count("{ before: ") == 2


def test_equal_to_onnx_runtime(chromium: Browser, tmp_path: Path) -> None:
    runtime = require_module("onnxruntime")
    require_module("ziglang")
    (tmp_path / "sums.onnx").write_bytes(sums())
    graph = api.convert(tmp_path / "sums.onnx")
    x = np.asarray(normal(DType.F32, *graph.type("x").shape))
    (right,) = runtime.InferenceSession(sums()).run(None, {"x": x})
    made = package(graph, tmp_path / "library", "webgpu")
    found = visited(chromium, made, tmp_path, listed([{"x": x}]), NAMED.replace("NAME", "sums"))
    assert_near(found, [[right.reshape(-1)]])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_module("ziglang")
    return package(in_the_middle(), tmp_path_factory.mktemp("segments"), "webgpu")


def of_middle(chromium: Browser, made: Path, folder: Path, script: str) -> Any:
    """The result of a script that has one sample as `x`."""
    sample = simulate.random_inputs(in_the_middle(), 0)
    begin = "const x = Float32Array.from(samples[0][0]);\n"
    return visited(chromium, made, folder, listed([sample]), begin + script)


def expected() -> Any:
    sample = simulate.random_inputs(in_the_middle(), 0)
    return simulated(in_the_middle(), [sample])[0]


def test_runs_and_a_device_that_is_lost(chromium: Browser, made: Path, tmp_path: Path) -> None:
    """Runs that are asked for at once wait for one another; the one that loses its device is repeated."""
    script = """
        const device = await (await navigator.gpu.requestAdapter()).requestDevice();
        const model = await createGpuModel({ device });
        const ys = await Promise.all([model.run(x), model.run(x.map(() => 0)), model.run(x)]);
        const answers = [Array.from(ys[0]), String(ys[0]) === String(ys[2]), String(ys[0]) === String(ys[1])];
        answers.push(model.backend);
        const pending = model.run(x);
        await null; // it has begun
        device.destroy();
        answers.push(Array.from(await pending), model.backend, model.why);
        return answers;
    """
    first, same, other, backend, last, after, why = of_middle(chromium, made, tmp_path, script)
    assert_near([[first], [last]], [expected(), expected()])
    assert (same, other, backend, after) == (True, False, "webgpu", "wasm")
    assert why == "WebGPU failed: the device was lost: Device was destroyed."


def test_the_module_may_come_from_anywhere_and_has_to_be_there(
    chromium: Browser, made: Path, tmp_path: Path
) -> None:
    """Models of one device share kernels while they live: software compiles them for seconds."""
    script = """
        const { createModelInWorker } = await import("./npm/middle.worker.js");
        const gpu = "require";
        const device = await (await navigator.gpu.requestAdapter()).requestDevice();
        const bytes = await (await fetch("npm/middle.cpu.wasm")).arrayBuffer();
        const answers = [];
        for (const cpu of ["npm/middle.cpu.wasm", bytes, await fetch("npm/middle.cpu.wasm")]) {
          const model = await createGpuModel({ gpu, cpu, device });
          answers.push(Array.from(await model.run(x)));
        }
        const worker = await createModelInWorker({ gpu, cpu: "npm/middle.cpu.wasm" });
        answers.push(Array.from(await worker.run(x)));
        for (const cpu of ["npm/none", new Uint8Array(9), new Uint8Array(bytes.byteLength)])
          answers.push(await createGpuModel({ gpu, cpu, device }).catch(String));
        const model = await createGpuModel({ device, cpu: "npm/none" });
        answers.push(Array.from(await model.run(x)), model.backend, model.why);
        return answers;
    """
    *found, none, short, no_module, y, backend, why = of_middle(chromium, made, tmp_path, script)
    assert_near([[each] for each in (*found, y)], [expected()] * 5)
    size = (made / "middle.cpu.wasm").stat().st_size
    assert none == "Error: middle: no WebGPU: cannot fetch npm/none: 404 File not found"
    assert short == f"Error: middle: no WebGPU: its CPU segments have {size} bytes, not 9"
    assert no_module.startswith("Error: middle: no WebGPU: WebAssembly.instantiate()")
    assert (backend, why) == ("wasm", "no WebGPU: cannot fetch npm/none: 404 File not found")


BUNDLED = """
import { createGpuModel } from "middle/gpu";
createGpuModel({ gpu: "require" })
  .then((model) => model.run(new Float32Array(SIZE)))
  .then((y) => y.length, String)
  .then((result) => (globalThis.result = result));
"""


def test_vite_finds_the_module(chromium: Browser, made: Path, tmp_path: Path) -> None:
    graph = in_the_middle()
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "middle").symlink_to(made)
    (tmp_path / "main.js").write_text(BUNDLED.replace("SIZE", str(graph.type("x").size)))
    page = '<!doctype html><link rel="icon" href="data:,"><script type="module" src="./main.js"></script>'
    (tmp_path / "index.html").write_text(page)
    (tmp_path / "package.json").write_text('{"name": "app", "private": true, "type": "module"}')
    tool("vite", "build", "--logLevel", "warn", folder=tmp_path)
    with site(tmp_path / "dist") as url:
        visit = chromium.visit(url)
    assert (visit.result, visit.errors) == (graph.type(graph.outputs[0]).size, [])


def test_the_package_is_one(made: Path) -> None:
    assert "All good!" in tool("publint", "run", "--strict", ".", folder=made)
    assert "middle.cpu.wasm" in json.loads((made / "package.json").read_text())["files"]
    assert "cpu?: string" in (made / "middle.gpu.d.ts").read_text()


def test_a_network_that_the_cpu_computes_as_fast_is_refused(tmp_path: Path) -> None:
    b = Builder()
    x = b.input("x", Type(DType.F32, (4, 4)))
    graph = b.graph("sums", [x], [b.one(Cumulative("sum", 0), x)])
    require_module("ziglang")
    with pytest.raises(EdgeKitError, match="Cumulative does not run on GPUs") as caught:
        package(graph, tmp_path / "out", "webgpu")
    assert "wasm32-simd for pages" in caught.value.also[-1].hint
    assert not (tmp_path / "out").exists()
