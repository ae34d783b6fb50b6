"""Node and what tests run with it: the packages of tests/browser/package.json, in the user's cache."""

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from support.tools import ROOT, missing, require

BROWSER_TESTS = ROOT / "tests" / "browser"


@cache
def node_tools() -> Path:
    """The folder that holds node_modules; installed once for each lock file, where there is a network."""
    lock = (BROWSER_TESTS / "package-lock.json").read_bytes()
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "edgekit"
    folder = cached / f"node-{hashlib.sha256(lock).hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    npm = require("npm")
    cached.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cached) as made:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(BROWSER_TESTS / name, made)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
        done = subprocess.run(command, cwd=made, capture_output=True, text=True, timeout=300, check=False)
        if done.returncode:
            missing("what tests/browser/package.json lists", "npm ci failed: is there a network?")
        try:
            Path(made).rename(folder)
        except OSError:
            assert folder.is_dir()  # another process was faster
        else:
            Path(made).mkdir()  # or the temporary folder could not go away
    return folder


def node(script: Path, *arguments: str, given: str = "", folder: Path | None = None) -> str:
    """What a script prints; AssertionError with its words where it fails."""
    environment = {**os.environ, "NODE_TOOLS": str(node_tools())}
    return output([require("node"), str(script), *arguments], folder, given, environment)


def tool(name: str, *arguments: str, folder: Path) -> str:
    """What one of the installed programs prints, run in a folder."""
    return output([str(node_tools() / "node_modules" / ".bin" / name), *arguments], folder)


def output(
    command: Sequence[str], folder: Path | None, given: str = "", environment: dict[str, str] | None = None
) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        input=given,
        capture_output=True,
        text=True,
        timeout=600,  # for hangs alone: machines are shared
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass
class Visit:
    """What became of a page: its `result`, what it complained of, and what it asked servers for."""

    result: Any
    errors: list[str]
    requests: list[str]


class Browser:
    """A browser without windows that visits pages, one after the other."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def visit(self, url: str, actions: Path | None = None, **arguments: object) -> Visit:
        """Open a page and wait until its script has set `result`, or do what the default export of a file
        does with the page, and with these arguments."""
        assert self.process.stdin
        assert self.process.stdout
        wish = {"url": url, "actions": str(actions) if actions else None, "arguments": arguments}
        self.process.stdin.write(json.dumps(wish) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"failure": "the browser ended"}')
        assert "failure" not in answer, answer
        return Visit(**answer)


@contextmanager
def browser(engine: str) -> Iterator[Browser]:
    """A Chromium or Firefox, driven by tests/browser/visit.mjs."""
    program = require({"chromium": "chromium", "firefox": "firefox-esr"}[engine])
    command = [require("node"), str(BROWSER_TESTS / "visit.mjs"), engine, program]
    environment = {**os.environ, "NODE_TOOLS": str(node_tools())}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield Browser(process)
        finally:
            assert process.stdin
            process.stdin.close()
