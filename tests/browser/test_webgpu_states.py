"""npm packages on GPUs whose networks have states and entries, in Chromium on software."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.language_models import folder as model_folder
from support.node_tools import Browser, tool
from support.npm_packages import package, simulated
from support.small_decoders import decoder, quantized
from support.stateful import random_graph
from support.stateful import samples as whole_samples
from support.streams import recurrent, ring, with_segments
from support.tools import require_module
from support.webgpu_pages import NAMED, listed, on_gpu, visited

from edgekit.core import simulate
from edgekit.core.simulate import Session
from edgekit.core.text.sampler import Sampler
from edgekit.core.types import Array
from edgekit.generation import continued

TOKENS, PROMPT = 12, 10  # that are written, and read before: two full runs of prefill


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recurrent cell, with an entry for four frames."""
    require_module("ziglang")
    folder = tmp_path_factory.mktemp("states")
    return package(recurrent(), folder, "webgpu", entries={"frames": recurrent(frames=4)})


def frames() -> Array:
    return np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)


def expected(x: Array) -> list[Any]:
    """Of each frame of a stream."""
    session = Session(recurrent())
    return [session.run({"x": frame[None]})["y"][0].tolist() for frame in x]


def of_recurrent(chromium: Browser, made: Path, folder: Path, script: str) -> Any:
    """The result of a script that has frames as `x`, and `four` of them for the entry."""
    begin = "const x = samples.map((frame) => Float32Array.from(frame));\n"
    begin += "const four = Float32Array.from(samples.slice(0, 4).flat());\n"
    return visited(chromium, made, folder, frames().tolist(), begin + script)


def assert_near(found: Any, right: Any) -> None:
    np.testing.assert_allclose(np.array(found, np.float64), np.array(right), atol=1e-5)


def test_streams_take_turns_and_begin_anew(chromium: Browser, made: Path, tmp_path: Path) -> None:
    """The second one begins later, by frames alone; runs and a reset are asked for at once."""
    script = """
        const answers = [];
        for (const gpu of ["require", "never"]) {
          const model = await createGpuModel({ gpu });
          const other = await model.stream();
          const asked = [model.entries.frames.run(four), model.run(x[4])];
          for (let i = 0; i < 5; i++) asked.push(other.run(x[i]), model.run(x[i < 4 ? 5 + i : 0]));
          model.reset();
          asked.push(model.entries.frames.run(four), other.run(x[5]));
          answers.push((await Promise.all(asked)).map((y) => Array.from(y)), model.backend, other.backend);
          model.dispose();
          answers.push(Array.from(await other.run(x[6])), await model.run(x[0]).catch(String));
        }
        return answers;
    """
    right = expected(frames())
    session = Session(recurrent())
    longer = [session.run({"x": frame[None]})["y"][0].tolist() for frame in (*frames(), frames()[0])]
    wanted = [right[3], right[4]]
    for i in range(5):
        wanted += [right[i], longer[5 + i]]
    wanted += [right[3], right[5]]
    found = of_recurrent(chromium, made, tmp_path, script)
    for backend, answers in (("webgpu", found[:5]), ("wasm", found[5:])):
        assert_near(answers[0], wanted)
        assert answers[1:3] == [backend, backend]
        assert_near(answers[3], right[6])
        assert answers[4] == "Error: recurrent: this model was disposed"


def test_a_device_that_is_lost_takes_its_states_along(chromium: Browser, made: Path, tmp_path: Path) -> None:
    """A stream at its start goes on by WebAssembly; any other one rejects until it is reset."""
    script = """
        const answers = [];
        for (const gpu of ["auto", "require"]) {
          const device = await (await navigator.gpu.requestAdapter()).requestDevice();
          const model = await createGpuModel({ gpu, device });
          const other = await model.stream();
          answers.push(Array.from(await model.run(x[0])));
          device.destroy();
          const steps = [
            () => model.run(x[1]),
            () => model.run(x[1]),
            () => other.entries.frames.run(four),
            () => other.run(x[4]),
            () => model.reset(),
            () => model.run(x[0]),
            () => model.run(x[1]),
          ];
          for (const step of steps) answers.push(await step().then((y) => y && Array.from(y), String));
          answers.push(model.backend, other.backend, other.why);
        }
        return answers;
    """
    right = expected(frames())
    why = "WebGPU failed: the device was lost: Device was destroyed."
    lost = f"Error: recurrent: the states of this stream are lost, until it is reset: {why}"
    found = of_recurrent(chromium, made, tmp_path, script)
    auto, required = found[:11], found[11:]
    assert auto[1:3] == [lost, lost]
    assert_near([auto[0], *auto[3:5], *auto[6:8]], [right[0], right[3], right[4], right[0], right[1]])
    assert auto[8:] == ["wasm", "wasm", why]
    assert_near(required[0], right[0])
    assert required[1:8] == [f"Error: recurrent: {why}"] * 7
    assert required[8:] == ["none", "none", why]


def test_a_worker_has_streams_of_its_own(chromium: Browser, made: Path, tmp_path: Path) -> None:
    script = """
        const { createModelInWorker } = await import("./npm/recurrent.worker.js");
        const answers = [];
        for (const options of [{ gpu: "require" }, {}]) {
          const model = await createModelInWorker(options);
          for (let text = 0; text < 2; text++) {
            answers.push(Array.from(await model.entries.frames.run(four)), Array.from(await model.run(x[4])));
            await model.reset();
          }
          model.dispose();
        }
        return answers;
    """
    right = expected(frames())
    assert_near(of_recurrent(chromium, made, tmp_path, script), right[3:5] * 4)


def test_states_that_begin_with_other_numbers(chromium: Browser, tmp_path: Path) -> None:
    found, right = on_gpu(chromium, ring(), tmp_path, 4)
    assert_near(found, right)


def test_states_that_segments_read_and_write(chromium: Browser, tmp_path: Path) -> None:
    found, right = on_gpu(chromium, with_segments(), tmp_path, 3)
    np.testing.assert_allclose(np.array(found), np.array(right), rtol=1e-4, atol=1e-4)


def test_entries_with_segments_take_turns(chromium: Browser, tmp_path: Path) -> None:
    require_module("ziglang")
    graph = with_segments()
    made = package(graph, tmp_path / "library", "webgpu", entries={"same": graph})
    script = """
        const model = await createGpuModel({ gpu: "require" });
        const answers = [];
        for (const [i, [x]] of samples.entries()) {
          const runner = i % 2 ? model.entries.same : model;
          answers.push([Array.from(await runner.run(Float32Array.from(x)))]);
        }
        return answers;
    """
    steps = [dict(simulate.random_inputs(graph, seed)) for seed in range(4)]
    found = visited(chromium, made, tmp_path, listed(steps), script)
    np.testing.assert_allclose(np.array(found), np.array(simulated(graph, steps)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_integers_are_those_of_the_simulator(seed: int, chromium: Browser, tmp_path: Path) -> None:
    require_module("ziglang")
    graph = random_graph(seed)
    steps = whole_samples(graph, 4)
    made = package(graph, tmp_path / "library", "webgpu")
    stem = next(made.glob("*.gpu.js")).name.removesuffix(".gpu.js")
    script = NAMED.replace("NAME", stem).replace("int8: Int8Array", "int32: Int32Array")
    assert visited(chromium, made, tmp_path, listed(steps), script) == simulated(graph, steps)


# Two texts in turns, of which prefill reads the beginning: the best tokens.
TEXTS = """
    const model = await createGpuModel({ gpu: "require" });
    const streams = [model, await model.stream()];
    const best = (logits) => logits.indexOf(Math.max(...logits));
    const ask = async (run, text, at, count) =>
      best(await run({ token: Int32Array.from(text.slice(at, at + count)), position: Int32Array.of(at) }));
    for (const at of [0, 4])
      for (const [k, text] of samples.entries()) await ask(streams[k].entries.prefill.run, text, at, 4);
    for (let at = 8; at < LAST; at++) {
      for (const [k, text] of samples.entries()) {
        const token = await ask((x) => streams[k].run(x), text, at, 1);
        if (at + 1 === text.length) text.push(token);
      }
    }
    return samples;
"""


@pytest.mark.parametrize("format", ["int8 dynamic", "int8 dynamic, int8 caches", "int4 dynamic"])
def test_decoders_write_the_tokens_of_the_simulator(format: str, chromium: Browser, tmp_path: Path) -> None:
    require_module("ziglang")
    (tmp_path / "model").mkdir()
    folder = model_folder()(tmp_path / "model")
    main, prefill = (quantized(decoder(folder, tokens), format) for tokens in (1, 4))
    made = package(main, tmp_path / "library", "webgpu", entries={"prefill": prefill})
    assert not (made / "net.cpu.wasm").exists()
    rng = np.random.default_rng(0)
    texts = [[int(token) for token in rng.integers(0, 40, PROMPT)] for _ in range(2)]
    right = [[*continued(main, text, Sampler(), TOKENS, prefill)] for text in texts]
    script = TEXTS.replace("LAST", str(PROMPT + TOKENS - 1))
    found = visited(chromium, made, tmp_path, texts, script)
    assert [text[PROMPT:] for text in found] == right


USES = """
import { createGpuModel, type GpuModel } from "recurrent/gpu";
const model: GpuModel = await createGpuModel();
export const y: Float32Array = await model.entries.frames.run(new Float32Array(20));
const other: GpuModel = await model.stream();
await other.reset();
// @ts-expect-error: no such entry
await model.entries.other.run(new Float32Array(20));
"""


def test_types_know_streams_and_entries(made: Path, tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "recurrent").symlink_to(made)
    (tmp_path / "uses.ts").write_text(USES)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    options = {"strict": True, "noEmit": True, "target": "es2022", "lib": ["es2022", "dom"]}
    settings = {"compilerOptions": {**options, "types": [], "module": "nodenext"}, "files": ["uses.ts"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(settings))
    assert tool("tsc", "-p", ".", folder=tmp_path) == ""
    assert "All good!" in tool("publint", "run", "--strict", ".", folder=made)
