"""npm packages with weights in a file of their own, which JavaScript brings into the memory of modules."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.nets import Net
from support.node_tools import Browser
from support.npm_packages import DIGITS, in_node, package, run_script, script_page, simulated, small_digits
from support.sites import STRICT, site
from support.tools import require_module, require_shared

from edgekit import convert, quantize_model
from edgekit.codegen.packages._weights import parts, weights_files
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense
from edgekit.core.types import DType


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small weights that were asked for as a file."""
    require_module("ziglang")
    return package(small_digits(), tmp_path_factory.mktemp("digits"), weights="bin")


def reals() -> Graph:
    return convert(DIGITS)


def anomalies() -> Graph:
    """Fully connected layers of int8, some of whose weights are too large for sums of relaxed vectors."""
    return convert(require_shared("models/mlperf_tiny/ad01_int8.tflite")).with_name("digits")


OF_EACH_MODULE = """
    const { createModel } = await import("./npm/digits.js");
    const answers = {};
    for (const name of ["relaxed", "simd", "scalar"]) {
      const model = await createModel({ wasm: `npm/digits.${name}.wasm` }).catch(String);
      const { input } = model;
      answers[name] = input ? samples.map((x) => [Array.from(model.run(input.constructor.from(x)))]) : model;
    }
    return answers;
"""
INEXACT = "Error: digits: this engine computes with relaxed SIMD in another way"


@pytest.mark.parametrize("make", [reals, small_digits, anomalies])
def test_every_module_packs_the_weights_of_one_file(
    chromium: Browser, make: Callable[[], Graph], tmp_path: Path
) -> None:
    """Each kind of vectors reads weights in another order, and so do kernels without vectors."""
    require_module("ziglang")
    graph = make()
    made = package(graph, tmp_path / "library", "wasm32", weights="bin")
    assert [path.name for path in made.glob("*.bin")] == ["digits.weights.bin"]
    samples = [simulate.random_inputs(graph, seed) for seed in range(2)]
    listed = [x.reshape(-1).tolist() for sample in samples for x in sample.values()]
    given = f"const samples = {json.dumps(listed)};\n"
    with site(script_page(made, tmp_path, given + OF_EACH_MODULE), policy=STRICT) as url:
        visit = chromium.visit(url)
    assert visit.errors == []
    answers = visit.result
    if make is small_digits and answers["relaxed"] == INEXACT:  # of bytes, on processors that saturate
        del answers["relaxed"]
    assert {"simd", "scalar"} <= set(answers)
    for found in answers.values():
        assert_equal(found, simulated(graph, samples), graph)
    fetched = sum("weights.bin" in request for request in visit.requests)
    assert fetched == (2 if make is reals else len(answers))  # floats: one layout for both kinds of vectors


def test_threads_read_the_same_file(tmp_path: Path) -> None:
    require_module("ziglang")
    graph = convert(DIGITS)
    made = package(graph, tmp_path, "wasm32", weights="bin", cores=3)
    assert [path.name for path in made.glob("*.bin")] == ["digits.weights.bin"]
    assert len(list(made.glob("*.wasm"))) == 5
    samples = [simulate.random_inputs(graph, seed) for seed in range(2)]
    assert_equal(in_node(made, samples), simulated(graph, samples), graph)


def assert_equal(found: Any, right: Any, graph: Graph) -> None:
    if graph.type(graph.outputs[0]).dtype.is_float:
        assert np.allclose(found, right, rtol=1e-4, atol=1e-5)
    else:
        assert found == right


@pytest.mark.parametrize("make", [reals, small_digits, anomalies])
def test_the_file_is_about_as_large_as_the_weights_of_a_module(make: Callable[[], Graph]) -> None:
    names = ("wasm32-relaxed", "wasm32-simd", "wasm32")
    programs = [compile_graph(make(), targets.load(name)) for name in names]
    first, *others = weights_files([parts(program) for program in programs])
    assert first is not None
    assert others == [first, first]
    largest = max(program.weight_bytes for program in programs)
    assert 0.9 * largest <= len(first.data) <= 1.1 * largest


def sparse() -> Graph:
    """A fully connected layer of which most blocks of each kind of vectors are zero."""
    rng, net = np.random.default_rng(0), Net(DType.F32)
    blocks = np.kron(rng.random((32, 64)) < 0.2, np.ones((8, 4)))
    weights = (rng.normal(size=(256, 256)) * blocks).astype(np.float32)
    y = net(Dense(), net.x(1, 256), net.const(weights), net.const(np.zeros(256, np.float32)), name="y")
    samples = {"x": rng.normal(size=(16, 256)).astype(np.float32)}
    return quantize_model(net.done(y), samples, calibrate="minmax", io="int8")[0]


def test_no_page_fetches_much_that_its_module_does_not_need(tmp_path: Path) -> None:
    """Blocks that are left out differ from one kind of vectors to the next."""
    require_module("ziglang")
    graph = sparse()
    made = package(graph, tmp_path, "wasm32", weights="bin")
    sizes = {path.name: path.stat().st_size for path in made.glob("*.bin")}
    assert sorted(sizes) == ["net.scalar.weights.bin", "net.simd.weights.bin", "net.weights.bin"]
    assert max(sizes["net.weights.bin"], sizes["net.simd.weights.bin"]) < 0.4 * graph.type("y").shape[1] * 256
    samples = [simulate.random_inputs(graph, seed) for seed in range(2)]
    assert in_node(made, samples) == simulated(graph, samples)
    assert "of which a module reads one" in (made / "README.md").read_text()


@pytest.mark.parametrize("ports", ["caller", "arena"])
def test_integers_are_those_of_the_simulator(ports: str, digits: Path, tmp_path: Path) -> None:
    graph = small_digits()
    made = digits if ports == "caller" else package(graph, tmp_path, weights="bin", ports=ports)
    samples = [simulate.random_inputs(graph, seed) for seed in range(3)]
    assert in_node(made, samples) == simulated(graph, samples)


def test_instances_copy_from_one_another_and_weights_may_come_from_anywhere(digits: Path) -> None:
    script = """
        const { readFileSync, renameSync } = await import("node:fs");
        const url = new URL("./digits.weights.bin", folder);
        const bytes = readFileSync(url);
        const wasm = readFileSync(new URL("./digits.wasm", folder));
        const first = await createModel();
        const y = String(first.run(new Int8Array(64).fill(5)));
        const same = async (options) =>
          check(String((await createModel(options)).run(new Int8Array(64).fill(5))) === y);
        for (const weights of [url, url.href, bytes, new Uint8Array(bytes).buffer]) {
          await same({ weights });
          await same({ weights, wasm });
        }
        await same({ weights: new Response(bytes) });
        await same({ wasm });
        renameSync(url, new URL("./away", folder));
        await same();
        await same({ wasm });
        renameSync(new URL("./away", folder), url);
    """
    assert run_script(digits, script) == "good"


def test_what_can_go_wrong_is_said(digits: Path) -> None:
    script = """
        const { readFileSync, renameSync } = await import("node:fs");
        const url = new URL("./digits.weights.bin", folder);
        const bytes = new Uint8Array(readFileSync(url));
        const fails = async (weights, words) => {
          const found = String(await createModel({ weights }).catch(String));
          if (!found.includes(words)) throw new Error(found);
        };
        renameSync(url, new URL("./away", folder));
        check(String(await createModel().catch(String)).includes("ENOENT"));
        renameSync(new URL("./away", folder), url);
        await createModel(); // the next call tries again
        await fails(bytes.slice(1), `its weights have ${bytes.length} bytes, not ${bytes.length - 1}`);
        await fails(new Uint8Array([...bytes, 1]), `not ${bytes.length + 1}`);
        const others = bytes.map((byte, i) => (i === 3 ? byte ^ 1 : byte));
        await fails(others, "these weights are of another module");
        await fails(5, "TypeError: digits: weights takes a URL, Response or BufferSource");
        await fails(new Response("", { status: 404 }), "404");
    """
    assert run_script(digits, script) == "good"


def test_a_module_of_another_build_wants_its_weights(digits: Path, tmp_path: Path) -> None:
    other = package(convert(DIGITS), tmp_path, weights="bin")
    script = f"""
        const {{ readFileSync }} = await import("node:fs");
        const wasm = readFileSync({str(other / "digits.wasm")!r});
        const words = await createModel({{ wasm }}).catch(String);
        check(words.endsWith("takes its weights: createModel({{ wasm, weights }})"));
    """
    assert run_script(digits, script) == "good"


IN_PAGE = """
    const { createModel } = await import("./npm/digits.js");
    const told = [];
    const progress = (...bytes) => told.push(bytes);
    const models = await Promise.all([createModel({ progress }), createModel(), createModel()]);
    const answers = new Set(models.map((model) => String(model.run(Int8Array.from(samples)))));
    const [loaded, total] = told.at(-1);
    const grows = told.every(([bytes, all], i) => all === total && (!i || bytes >= told[i - 1][0]));
    return [Array.from(models[2].output), answers.size, grows, loaded - total, total];
"""
IN_WORKER = """
    const { createModelInWorker } = await import("./npm/digits.worker.js");
    const model = await createModelInWorker({ weights: "npm/digits.weights.bin" });
    return [Array.from(await model.run(Int8Array.from(samples)))];
"""


@pytest.mark.parametrize("script", [IN_PAGE, IN_WORKER], ids=["page", "worker"])
def test_pages_fetch_them_once(either: Browser, script: str, digits: Path, tmp_path: Path) -> None:
    sample = simulate.random_inputs(small_digits(), 0)
    given = f"const samples = {sample['x'].reshape(-1).tolist()};\n{script}"
    with site(script_page(digits, tmp_path, given), policy=STRICT) as url:
        visit = either.visit(url)
    assert visit.errors == []
    assert visit.result[0] == simulated(small_digits(), [sample])[0][0]
    if script == IN_PAGE:
        sizes = [(digits / f"digits.{end}").stat().st_size for end in ("wasm", "weights.bin")]
        assert visit.result[1:] == [1, True, 0, sum(sizes)]
        assert sum("weights.bin" in request for request in visit.requests) == 1
