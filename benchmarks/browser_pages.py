"""Pages of engines for one Chromium: their packages from npm, bundles, and what drives them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parent / "browser"
_INSTALL = (
    "npm",
    "ci",
    "--legacy-peer-deps",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--prefer-offline",
)


def install(tools: Path) -> None:
    """Copy benchmarks/browser there, and bring what its package.json says."""
    shutil.copytree(PAGES, tools)
    call(_INSTALL, tools)


def bundle(tools: Path, engine: str, page: Path, *options: str, main: str = "main.js") -> None:
    """A page of an engine: its index.html and its script."""
    page.mkdir(parents=True)
    (page / "index.html").write_text('<!doctype html><script type="module" src="main.js"></script>')
    command = [str(tools / "node_modules" / ".bin" / "esbuild"), main, "--bundle", "--minify"]
    command += ["--format=esm", "--log-level=error", f"--outfile={page / 'main.js'}"]
    command += [f"--alias:engine=./engines/{engine}.js", *options]
    call(command, tools)


def drive(tools: Path, wish: dict[str, Any]) -> Any:
    """What browser/drive.mjs says of these pages."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is not installed")
    return json.loads(call(["node", "drive.mjs"], tools, json.dumps(wish), CHROMIUM=chromium))


def call(command: Sequence[str], folder: Path, given: str = "", **environment: str) -> str:
    """What a command prints; its complaints where it fails."""
    done = subprocess.run(
        command,
        cwd=folder,
        input=given,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout


def named(package: Path) -> str:
    manifest = json.loads((package / "package.json").read_text())
    return f"{manifest['name']} {manifest['version']}"
