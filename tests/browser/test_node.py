"""npm packages in Node: the numbers of the simulator, and errors that say what was expected."""

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from support import integer_ports
from support.nets import Net
from support.node_tools import BROWSER_TESTS, node, node_tools, output
from support.npm_packages import in_node, package, run_script, simulated, small_digits
from support.stateful import random_graph
from support.stateful import samples as stream
from support.tools import require_module, require_shared

from edgekit import convert
from edgekit.codegen.memory.sharing import Ports
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add, Mul, Neg
from edgekit.core.types import DType

MLPERF_TINY = ("kws_ref_model", "pretrainedResnet_quant", "vww_96_int8", "ad01_int8")


@pytest.fixture(autouse=True)
def compiler() -> None:
    require_module("ziglang")


def agrees(graph: Graph, made: Path, count: int = 3, entry: str = "") -> None:
    samples = [simulate.random_inputs(graph, seed) for seed in range(count)]
    assert in_node(made, samples, entry) == simulated(graph, samples)


@pytest.mark.parametrize("entry", ["", ".inline"])
def test_integers_are_those_of_the_simulator(digits: Path, entry: str) -> None:
    agrees(small_digits(), digits, entry=entry)


def test_deno_computes_the_same(digits: Path) -> None:
    """It may read the package's folder, and nothing else."""
    deno = str(node_tools() / "node_modules" / ".bin" / "deno")
    graph = small_digits()
    samples = [simulate.random_inputs(graph, seed) for seed in range(3)]
    given = json.dumps([[x.reshape(-1).tolist() for x in sample.values()] for sample in samples])
    with tempfile.TemporaryDirectory(dir=node_tools().parent) as folder:
        made = shutil.copytree(digits, Path(folder) / "npm")  # below /dev/shm, Deno asks for all permissions
        command = [deno, "run", "--no-lock", "--no-config", f"--allow-read={made}"]
        command += [str(BROWSER_TESTS / "run.mjs"), str(made / "digits.js")]
        assert json.loads(output(command, None, given)) == simulated(graph, samples)


def test_every_engine_gets_the_same_integers(universal: Path) -> None:
    assert len(list(universal.glob("*.wasm"))) == 3
    agrees(small_digits(), universal)


@pytest.mark.parametrize("ports", ["caller", "arena"])
@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_ports_and_goals(tmp_path: Path, ports: Ports, optimize: str) -> None:
    graph = small_digits()
    agrees(graph, package(graph, tmp_path, ports=ports, optimize=optimize))


def test_several_inputs_and_outputs_of_every_type(tmp_path: Path) -> None:
    """Some of them have names that mean something else in the module."""
    net = Net()
    outputs = []
    for dtype in (DType.S8, DType.U8, DType.S16, DType.S32, DType.S64, DType.F32, DType.F64):
        net.dtype = dtype
        a, b = net.x(2, 3, name=f"{dtype.value}_a"), net.x(2, 3, name=f"{dtype.value}_b")
        outputs += [net(Add(), a, b), net(Mul(), a, b)]
    net.dtype = DType.S32
    named = [net.x(2, name=name) for name in ("memory", "run", "reset", "arena", "at_run")]
    graph = net.done(*outputs, *(net(Neg(), name) for name in named), named[0]).with_name("Several")
    agrees(graph, package(graph, tmp_path))


@pytest.mark.parametrize("seed", range(2))
def test_states_go_on_from_run_to_run(tmp_path: Path, seed: int) -> None:
    graph = random_graph(seed)
    steps = stream(graph, 4, seed)
    assert in_node(package(graph, tmp_path), steps) == simulated(graph, steps)


@pytest.mark.slow
@pytest.mark.parametrize("name", MLPERF_TINY)
def test_networks_of_mlperf_tiny(tmp_path: Path, name: str) -> None:
    graph = convert(require_shared(f"models/mlperf_tiny/{name}.tflite"), name="net")
    agrees(graph, package(graph, tmp_path, "wasm32"), count=2)


def test_what_can_go_wrong_is_said(digits: Path) -> None:
    """Each mistake of tests/browser/mistakes.mjs with the error that it leads to."""
    answers = json.loads(node(BROWSER_TESTS / "mistakes.mjs", str(digits / "digits.js")))
    expected = {
        "a list": "TypeError: digits: input x takes Int8Array(64), not Array",
        "null": "TypeError: digits: input x takes Int8Array(64), not null",
        "another type": "TypeError: digits: input x takes Int8Array(64), not Float32Array",
        "another length": "RangeError: digits: input x takes 64 elements, not 63",
        "run after dispose": "Error: digits: this model was disposed",
        "input after dispose": "Error: digits: this model was disposed",
        "no server": "Error: digits: cannot fetch http://127.0.0.1:1/: fetch failed",
        "no file": "Error: ENOENT: no such file or directory",
        "status 404": "Error: digits: cannot fetch the response: 404 Gone fishing",
        "a page": 'Error: digits: no WebAssembly in the response (text/html), which begins with "<!doc',
        "no bytes": 'Error: digits: no WebAssembly in these bytes, which begins with ""',
        "a number": "TypeError: digits: wasm takes a URL, Response, BufferSource or WebAssembly.Module",
        "another module": "TypeError: digits: this is the module of another model",
    }
    assert {name: text[: len(expected[name])] for name, text in answers.items()} == expected


def test_instances_do_not_disturb_each_other(digits: Path) -> None:
    script = """
        const one = await createModel(), two = await createModel();
        const y = Array.from(one.run(new Int8Array(64).fill(5)));
        two.run(new Int8Array(64).fill(-7));
        check(String(one.output) === String(y) && String(two.output) !== String(y));
        const view = one.input;
        view.fill(9);
        check(one.run() === one.output && one.input === view && one.inputs.x === view);
        one.dispose();
        one.dispose();
        two.run();
    """
    assert run_script(digits, script) == "good"


def test_a_module_may_come_from_anywhere(digits: Path) -> None:
    script = """
        const { readFileSync } = await import("node:fs");
        const url = new URL("./digits.wasm", folder);
        const bytes = readFileSync(url);
        const headers = { "Content-Type": "application/wasm" };
        const expected = String((await createModel()).run());
        for (const wasm of [url, url.href, bytes, new Uint8Array(bytes).buffer, new WebAssembly.Module(bytes),
            new Response(bytes, { headers }), new Response(bytes)])
          check(String((await createModel({ wasm })).run()) === expected);
    """
    assert run_script(digits, script) == "good"


def test_memory_is_what_is_needed_and_never_more(digits: Path) -> None:
    script = """
        const { readFileSync } = await import("node:fs");
        const module = new WebAssembly.Module(readFileSync(new URL("./digits.wasm", folder)));
        check(WebAssembly.Module.imports(module).length === 0);
        const { memory } = new WebAssembly.Instance(module).exports;
        check(memory.buffer.byteLength === 65536);
        try {
          memory.grow(1);
        } catch {
          console.log("cannot grow");
        }
    """
    assert run_script(digits, script).splitlines() == ["cannot grow", "good"]


def test_meta_data_say_what_integers_stand_for(digits: Path) -> None:
    graph = small_digits()
    quant = graph.type("x").quant
    assert quant
    script = f"""
        const {{ x }} = inputs;
        check(x.type === "int8" && String(x.shape) === "1,1,8,8");
        check(x.scale === {quant.scale[0]!r} && x.zero === {quant.zero[0]});
    """
    assert run_script(digits, script) == "good"


def test_pixels_become_inputs(digits: Path) -> None:
    graph = small_digits()
    quant = graph.type("x").quant
    assert quant
    rgba = np.arange(256, dtype=np.uint8).repeat(4)[: 64 * 4].reshape(64, 4)
    grey = rgba[:, :3].astype(np.float64) @ (0.299, 0.587, 0.114)
    expected = np.clip(np.rint(grey / 255 / quant.scale[0] + quant.zero[0]), -128, 127)
    script = f"""
        const {{ putPixels }} = await import("./npm/digits.image.js");
        const model = await createModel();
        putPixels(Uint8Array.from({rgba.reshape(-1).tolist()}), model.input);
        console.log(JSON.stringify(Array.from(model.input)));
    """
    found = json.loads(run_script(digits, script).splitlines()[0])
    assert np.abs(np.array(found) - expected).max() <= 1  # a half may go either way
    assert len(set(found)) > 30


QUANTIZE = """\
import { readFileSync, writeFileSync } from "node:fs";
import { inputs, outputs } from "./integers.js";
const bytes = readFileSync("numbers");
const numbers = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
const arrays = { int8: Int8Array, uint8: Uint8Array, int16: Int16Array };
for (const [name, { type, scale, zero, quantize, dequantize }] of Object.entries(inputs)) {
  if (!quantize) continue;
  const made = Array.from(numbers, quantize);
  if (dequantize(zero + 1) !== Math.fround(scale)) throw new Error(name);
  writeFileSync(`${name}.integers`, arrays[type].from(made));
  writeFileSync(`${name}.reals`, Float32Array.from(made, dequantize));
}
if (Object.values(outputs).filter((port) => port.quantize).length !== 4) throw new Error("outputs");
"""


def test_integers_of_numbers_are_those_of_the_simulator(tmp_path: Path) -> None:
    made = package(integer_ports.program().graph, tmp_path)
    (made / "quantize.mjs").write_text(QUANTIZE)
    integer_ports.given(made)
    node(made / "quantize.mjs", folder=made)
    integer_ports.check(made)
