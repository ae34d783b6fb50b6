"""npm packages in the bundlers of applications, without plugins."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.node_tools import Browser, node, node_tools, tool
from support.npm_packages import simulated, small_digits
from support.sites import site

from edgekit.core import simulate
from edgekit.core.types import Array

MAIN = """
import { createModel } from "digits";
import { createModelInWorker } from "digits/worker";
import { x } from "./sample.js";

async function answers() {
  const [model, there] = [await createModel(), await createModelInWorker()];
  return [Array.from(model.run(x)), Array.from(await there.run(x))];
}
answers().catch(String).then((result) => (globalThis.result = result));
"""
PAGE = (
    '<!doctype html><title>app</title><link rel="icon" href="data:,"><script type="module" src="{}"></script>'
)


def sample() -> dict[str, Array]:
    return simulate.random_inputs(small_digits(), 0)


@pytest.fixture
def application(digits: Path, tmp_path: Path) -> Path:
    """An application that uses the package as npm installs it."""
    shutil.copytree(digits, tmp_path / "node_modules" / "digits")
    (tmp_path / "main.js").write_text(MAIN)
    numbers = sample()["x"].reshape(-1).tolist()
    (tmp_path / "sample.js").write_text(f"export const x = Int8Array.from({numbers});\n")
    (tmp_path / "index.html").write_text(PAGE.format("./main.js"))
    (tmp_path / "package.json").write_text(json.dumps({"name": "app", "private": True, "type": "module"}))
    return tmp_path


def expected() -> list[list[float]]:
    return [simulated(small_digits(), [sample()])[0][0]] * 2


def works(chromium: Browser, url: str) -> None:
    visit = chromium.visit(url)
    assert visit.result == expected()
    assert visit.errors == []


def test_vite_builds(chromium: Browser, application: Path) -> None:
    tool("vite", "build", "--logLevel", "warn", folder=application)
    with site(application / "dist") as url:
        works(chromium, url)


def test_vite_serves(chromium: Browser, application: Path) -> None:
    with vite(application) as url:
        works(chromium, url)


@contextmanager
def vite(application: Path) -> Iterator[str]:
    command = [str(node_tools() / "node_modules/.bin/vite"), "--port", "0", "--host", "127.0.0.1"]
    plain = {name: value for name, value in os.environ.items() if name not in ("CI", "FORCE_COLOR")}
    plain["NO_COLOR"] = "1"  # the address is read from what it prints
    with subprocess.Popen(command, cwd=application, stdout=subprocess.PIPE, text=True, env=plain) as process:
        try:
            assert process.stdout
            lines = (line for line in process.stdout if "http://" in line)
            url = next(lines).split("http://")[1].split("/")[0]
            yield f"http://{url}/"
        finally:
            process.terminate()


def test_webpack(chromium: Browser, application: Path) -> None:
    node(Path(__file__).parent / "webpack.mjs", str(application))
    (application / "dist" / "index.html").write_text(PAGE.format("./main.js"))
    with site(application / "dist") as url:
        works(chromium, url)


def test_esbuild_with_the_files_beside_the_bundle(chromium: Browser, application: Path) -> None:
    """esbuild leaves `new URL(...)` as it is: what it names is copied, as docs/browser.md says."""
    out = application / "dist"
    entries = ["main.js", "node_modules/digits/digits.thread.js"]
    options = ["--bundle", "--format=esm", "--outdir=dist", "--entry-names=[name]", "--log-level=warning"]
    tool("esbuild", *entries, *options, folder=application)
    shutil.copy(application / "node_modules/digits/digits.wasm", out)
    (out / "index.html").write_text(PAGE.format("./main.js"))
    with site(out) as url:
        works(chromium, url)


def test_esbuild_in_one_file(chromium: Browser, application: Path) -> None:
    main = MAIN.replace('"digits"', '"digits/inline"').replace(
        "await createModelInWorker()", "await createModel()"
    )
    (application / "main.js").write_text(
        main.replace('import { createModelInWorker } from "digits/worker";', "")
    )
    tool("esbuild", "main.js", "--bundle", "--outfile=dist/main.js", folder=application)
    (application / "dist/index.html").write_text(PAGE.format("./main.js"))
    with site(application / "dist") as url:
        works(chromium, url)
