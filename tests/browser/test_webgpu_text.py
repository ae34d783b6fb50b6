"""Language models in npm packages that write texts on GPUs, in Chromium that imitates WebGPU by software."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import tiny_tokenizer
from support.language_models import folder as model_folder
from support.node_tools import Browser, tool
from support.npm_packages import package
from support.small_decoders import quantized
from support.tools import require_module
from support.webgpu_pages import visited

import edgekit
from edgekit import Graph

POSITIONS = 24
PROMPTS = ["once upon a time", "once upon"]  # 7 and 3 tokens: prefill reads three, and has logits of each


def tiny(where: Path, tokens: int = 1) -> Graph:
    dims = {"positions": POSITIONS, "tokens": tokens}
    return quantized(edgekit.convert(where, name="tiny", dims=dims), "int8 dynamic")


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, Graph]:
    where = model_folder()(tmp_path_factory.mktemp("model"))
    tiny_tokenizer.write(where)
    return tiny(where), tiny(where, 3)


@pytest.fixture(scope="module")
def made(graphs: tuple[Graph, Graph], tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_module("ziglang")
    main, prefill = graphs
    folder = tmp_path_factory.mktemp("package")
    return package(main, folder, "webgpu", entries={"prefill": prefill})


def of_texts(chromium: Browser, made: Path, folder: Path, script: str) -> Any:
    """The result of a script that has prompts as `samples`."""
    begin = """
        const all = async (pieces) => {
          let text = "";
          for await (const piece of pieces) text += piece;
          return text;
        };
    """
    return visited(chromium, made, folder, PROMPTS, begin + script)


def expected(graph: Graph, **sampling: Any) -> list[str]:
    return ["".join(edgekit.generate(graph, text, tokens=9, **sampling)) for text in PROMPTS]


def test_texts_are_those_of_python(
    chromium: Browser, graphs: tuple[Graph, Graph], made: Path, tmp_path: Path
) -> None:
    """Of two streams at once, in a worker, and by WebAssembly where there is no GPU."""
    script = """
        const { createModelInWorker } = await import("./npm/tiny.worker.js");
        const drawn = { tokens: 9, temperature: 1, topK: 8, seed: 5 };
        const answers = [];
        for (const gpu of ["require", "never"]) {
          const model = await createGpuModel({ gpu });
          const streams = [model, await model.stream()];
          for (const sampling of [{ tokens: 9 }, drawn]) {
            const written = samples.map((text, i) => all(streams[i].generate(text, sampling)));
            answers.push(await Promise.all(written));
          }
          answers.push(model.backend, model.decode(model.encode(samples[0], { special: false })));
        }
        for (const gpu of ["require", undefined]) {
          const worker = await createModelInWorker({ gpu });
          const written = [];
          for (const text of samples) written.push(await all(worker.generate(text, { tokens: 9 })));
          answers.push(written);
        }
        return answers;
    """
    best = expected(graphs[0])
    drawn = expected(graphs[0], temperature=1.0, top_k=8, seed=5)
    assert drawn != best
    found = of_texts(chromium, made, tmp_path, script)
    for backend, answers in (("webgpu", found[:4]), ("wasm", found[4:8])):
        assert answers == [best, drawn, backend, PROMPTS[0]]
    assert found[8:] == [best, best]


def test_a_text_goes_on_when_the_device_is_lost(
    chromium: Browser, graphs: tuple[Graph, Graph], made: Path, tmp_path: Path
) -> None:
    """It is read again by WebAssembly; where that was not wanted, the text ends with the reason."""
    script = """
        const answers = [];
        for (const gpu of ["auto", "require"]) {
          const device = await (await navigator.gpu.requestAdapter()).requestDevice();
          const model = await createGpuModel({ gpu, device });
          let text = "";
          try {
            for await (const piece of model.generate(samples[0], { tokens: 9 })) {
              if (text.length < 3 && text.length + piece.length >= 3) device.destroy();
              text += piece;
            }
          } catch (error) {
            answers.push(String(error));
          }
          answers.push(text, model.backend);
        }
        return answers;
    """
    best = expected(graphs[0])[0]
    whole, wasm, why, part, none = of_texts(chromium, made, tmp_path, script)
    assert (whole, wasm, none) == (best, "wasm", "none")
    assert why == "Error: tiny: WebGPU failed: the device was lost: Device was destroyed."
    assert part != best
    assert best.startswith(part)


def test_what_a_text_refuses(chromium: Browser, made: Path, tmp_path: Path) -> None:
    script = """
        const model = await createGpuModel({ gpu: "require" });
        const mistakes = [];
        for (const wrong of [{ temperature: -1 }, { topK: 0.5 }]) {
          try {
            model.generate(samples[0], wrong);
          } catch (error) {
            mistakes.push(String(error));
          }
        }
        const first = model.generate(samples[0]);
        await first.next();
        const second = await all(model.generate(samples[0], { tokens: 1 }));
        mistakes.push(await all(first).catch(String), typeof second);
        for (const text of ["npm/none", new Uint8Array(9)])
          mistakes.push(await createGpuModel({ gpu: "require", text }).catch(String));
        return mistakes;
    """
    size = (made / "tiny.text.wasm").stat().st_size
    assert of_texts(chromium, made, tmp_path, script) == [
        "RangeError: tiny: temperature cannot be -1",
        "RangeError: tiny: topK cannot be 0.5",
        "Error: tiny: another text was begun",
        "string",
        "Error: tiny: no tokenizer: cannot fetch npm/none: 404 File not found",
        f"Error: tiny: no tokenizer: its tokenizer and sampler have {size} bytes, not 9",
    ]


USES = """
import { createGpuModel, type GpuModel } from "tiny/gpu";
const model: GpuModel = await createGpuModel({ text: "tiny.text.wasm" });
let text: string = "";
for await (const piece of model.generate("once", { tokens: 3 })) text += piece;
const tokens: number[] = model.encode("once");
model.decode(tokens);
// @ts-expect-error: no such option
model.generate("once", { heat: 3 });
"""


def test_the_package_has_tokenizer_and_sampler(made: Path, tmp_path: Path) -> None:
    """In a module of some KB, without kernels and weights."""
    assert "All good!" in tool("publint", "run", "--strict", ".", folder=made)
    assert "tiny.text.wasm" in json.loads((made / "package.json").read_text())["files"]
    text, whole = ((made / name).stat().st_size for name in ("tiny.text.wasm", "tiny.wasm"))
    assert text < 16_000 < whole
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "tiny").symlink_to(made)
    (tmp_path / "uses.ts").write_text(USES)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    options = {"strict": True, "noEmit": True, "target": "es2022", "lib": ["es2022", "dom"]}
    settings = {"compilerOptions": {**options, "types": [], "module": "nodenext"}, "files": ["uses.ts"]}
    (tmp_path / "tsconfig.json").write_text(json.dumps(settings))
    assert tool("tsc", "-p", ".", folder=tmp_path) == ""
