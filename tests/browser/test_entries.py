"""Entries of npm packages: run functions over one set of weights and states, in JavaScript."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.node_tools import tool
from support.npm_packages import package, run_script
from support.streams import recurrent
from support.tools import require_module

from edgekit import EdgeKitError
from edgekit.core.simulate import Session
from edgekit.core.types import Array


def frames() -> Array:
    return np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)


def expected(x: Array) -> list[Any]:
    """Of each frame of a stream."""
    session = Session(recurrent())
    return [session.run({"x": frame[None]})["y"][0] for frame in x]


def assert_near(found: Sequence[Any], right: Sequence[Any]) -> None:
    np.testing.assert_allclose(np.array(found, np.float32), np.array(right), atol=1e-5)


# Four frames by the entry, then one by one; in the same way again, and what is refused.
SCRIPT = """
    const x = FRAMES;
    const model = await createModel();
    const { frames } = model.entries;
    const answers = [];
    for (let text = 0; text < 2; text++) {
      model.reset();
      const four = Float32Array.from(x.slice(0, 4).flat());
      if (text) frames.inputs.x.set(four);
      answers.push(Array.from(frames.run(...(text ? [] : [four]))));
      check(frames.outputs.y.length === 3);
      for (const frame of x.slice(4)) answers.push(Array.from(model.run(Float32Array.from(frame))));
    }
    const mistakes = [new Float32Array(5), new Int8Array(20)].map((x) => {
      try {
        frames.run(x);
      } catch (error) {
        return String(error);
      }
    });
    model.dispose();
    try {
      frames.run();
    } catch (error) {
      mistakes.push(String(error));
    }
    console.log(JSON.stringify([answers, mistakes]));
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_module("ziglang")
    folder = tmp_path_factory.mktemp("entries")
    return package(recurrent(), folder, entries={"frames": recurrent(frames=4)})


def test_entries_go_on_with_the_stream(made: Path) -> None:
    x = frames()
    said = run_script(made, SCRIPT.replace("FRAMES", json.dumps(x.tolist())))
    answers, mistakes = json.loads(said.splitlines()[0])
    right = expected(x)[3:]
    assert_near(answers, right + right)
    assert mistakes == [
        "RangeError: recurrent: input x takes 20 elements, not 5",
        "TypeError: recurrent: input x takes Float32Array(20), not Int8Array",
        "Error: recurrent: this model was disposed",
    ]


def test_inputs_and_outputs_in_the_arena_are_refused(tmp_path: Path) -> None:
    require_module("ziglang")
    with pytest.raises(EdgeKitError, match="in the arena cannot have --entry frames") as caught:
        package(recurrent(), tmp_path, ports="arena", entries={"frames": recurrent(frames=4)})
    assert "--ports caller" in caught.value.hint


USES = """
import { createModel } from "recurrent";
import { createModelInWorker } from "recurrent/worker";
const model = await createModel();
export const y: Float32Array = model.entries.frames.run(new Float32Array(20));
export const x: Float32Array = model.entries.frames.inputs.x;
// @ts-expect-error: no such entry
model.entries.other.run();
const worker = await createModelInWorker();
export const z: Float32Array = await worker.entries.frames.run(new Float32Array(20));
"""


def test_types_know_entries(made: Path, tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "recurrent").symlink_to(made)
    (tmp_path / "uses.ts").write_text(USES)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    settings = {
        "strict": True,
        "noEmit": True,
        "target": "es2022",
        "lib": ["es2022", "dom"],
        "types": [],
        "module": "nodenext",
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": settings, "files": ["uses.ts"]}))
    assert tool("tsc", "-p", ".", folder=tmp_path) == ""
