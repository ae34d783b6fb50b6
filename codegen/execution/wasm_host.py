"""Runs a program in WebAssembly in wasmtime or in Chromium, as a command: ENGINE PROGRAM ARGUMENTS...

The program is one that starts by runtime_c/bare/wasm.c. Its input and output are those of this process, and
so is its exit code. Node needs no help: it runs runtime_c/bare/wasm_host.mjs itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from edgekit.core import programs

SCRIPT = Path(str(files("edgekit.runtime_c"))) / "bare" / "wasm_host.mjs"
CRASHED = 134  # as a program ends that is stopped
# Browsers of one engine, by the names that systems give them.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# No sandbox: it needs rights that containers lack, and the only page is our own.
_QUIET = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
)
_FUEL = 1 << 62
_SECONDS = 280  # a browser that runs longer is ended, before whoever waits for us gives up


def main(argv: Sequence[str]) -> int:
    """Run, and return the exit code."""
    engine, program, *words = argv
    data = sys.stdin.buffer.read()
    run = {"wasmtime": _wasmtime, "fuel": _fuel, "chromium": _chromium}[engine]
    code, out = run(Path(program).read_bytes(), words, data)
    sys.stdout.buffer.write(out)
    return code


def _wasmtime(
    program: bytes, words: Sequence[str], data: bytes, *, counts: bool = False
) -> tuple[int, bytes]:
    """The exit code, and what was written; `counts` tells on standard error of the operations executed."""
    import wasmtime

    config = wasmtime.Config()
    config.consume_fuel = counts
    # Fast products of relaxed vectors saturate here on some processors, as browsers do not let them.
    config.wasm_relaxed_simd_deterministic = True
    store = wasmtime.Store(wasmtime.Engine(config))
    if counts:
        store.set_fuel(_FUEL)
    memory: list[wasmtime.Memory] = []
    rest, written = data, bytearray()

    def argument(index: int, to: int, room: int) -> int:
        if index >= len(words):
            return -1
        return memory[0].write(store, words[index].encode()[:room], to)

    def read(to: int, size: int) -> int:
        nonlocal rest
        part, rest = rest[:size], rest[size:]
        return memory[0].write(store, part, to)

    def write(start: int, size: int) -> None:
        written.extend(memory[0].read(store, start, start + size))

    def microseconds() -> float:
        return time.perf_counter() * 1e6

    i32, f64 = wasmtime.ValType.i32(), wasmtime.ValType.f64()
    linker = wasmtime.Linker(store.engine)
    functions: tuple[tuple[str, list[Any], list[Any], Callable[..., Any]], ...] = (
        ("argument", [i32, i32, i32], [i32], argument),
        ("read", [i32, i32], [i32], read),
        ("write", [i32, i32], [], write),
        ("microseconds", [], [f64], microseconds),
    )
    if counts:
        functions += (("operations", [], [f64], lambda: float(_FUEL - store.get_fuel())),)
    for name, takes, gives, function in functions:
        linker.define_func("host", name, wasmtime.FuncType(takes, gives), function)
    try:
        exports = linker.instantiate(store, wasmtime.Module(store.engine, program)).exports(store)
        found, start = exports["memory"], exports["start"]
        assert isinstance(found, wasmtime.Memory)
        assert isinstance(start, wasmtime.Func)
        memory.append(found)
        code = int(start(store))
    except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
        print(error, file=sys.stderr)
        code = CRASHED
    if counts:
        print(f"instructions {_FUEL - store.get_fuel()}", file=sys.stderr)
    return code, bytes(written)


def _fuel(program: bytes, words: Sequence[str], data: bytes) -> tuple[int, bytes]:
    return _wasmtime(program, words, data, counts=True)


def browser() -> str:
    """The path of a browser; empty where none is installed."""
    return next((path for name in BROWSERS if (path := programs.find(name))), "")


_PAGE = b"""<!doctype html><title>EdgeKit</title><script type="module">
import { runProgram } from "./host.mjs";
const bytes = async (name) => new Uint8Array(await (await fetch(name)).arrayBuffer());
const words = await (await fetch("words")).json();
const { code, message, output } = await runProgram(await bytes("program"), words, await bytes("input"));
await fetch("done?" + new URLSearchParams({ code, message }), { method: "POST", body: output });
</script>
"""


def _chromium(program: bytes, words: Sequence[str], data: bytes) -> tuple[int, bytes]:
    """A page of our own runs the program and posts what it gives back."""
    import json
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from urllib.parse import parse_qs, urlsplit

    served = {
        "/": ("text/html", _PAGE),
        "/host.mjs": ("text/javascript", SCRIPT.read_bytes()),
        "/program": ("application/wasm", program),
        "/input": ("application/octet-stream", data),
        "/words": ("application/json", json.dumps(list(words)).encode()),
    }
    ended = threading.Event()
    result: list[tuple[int, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = served.get(urlsplit(self.path).path, ("", b""))
            self.send_response(200 if kind else 404)
            self.send_header("Content-Type", kind or "text/plain")
            self.send_header("Content-Length", str(len(body)))
            # A page that nothing else can look into is given a finer clock.
            self.send_header("Cross-Origin-Opener-Policy", "same-origin")
            self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            said = parse_qs(urlsplit(self.path).query)
            result.append((int(said["code"][0]), self.rfile.read(int(self.headers["Content-Length"]))))
            if "message" in said:
                print(said["message"][0], file=sys.stderr)
            self.send_response(204)
            self.end_headers()
            ended.set()

        def log_message(self, format: str, *args: object) -> None:
            """Quiet: standard error is for the program's words."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="edgekit-", ignore_cleanup_errors=True) as profile:
        page = f"http://127.0.0.1:{server.server_port}/"
        command = [browser(), *_QUIET, f"--user-data-dir={profile}", page]
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            ended.wait(_SECONDS)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            server.shutdown()
    if not result:
        print(f"{command[0]} did not answer in {_SECONDS} s", file=sys.stderr)
        return CRASHED, b""
    return result[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
