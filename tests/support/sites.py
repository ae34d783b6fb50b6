"""A web server for tests: the files of a folder, with the headers and mistakes that a test wants."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

STRICT = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; "
    "connect-src 'self'; worker-src 'self'; img-src 'self'"
)


@contextmanager
def site(
    folder: Path,
    *,
    policy: str = "",
    types: Mapping[str, str] | None = None,
    page_for_all: bool = False,
    isolated: bool = False,
) -> Iterator[str]:
    """The address of a server, without a slash behind it. `policy` is a Content Security Policy; `types` are
    media types by suffix; with `page_for_all` what is missing is answered by index.html, as servers of
    applications do. Pages that are `isolated` from other origins may share memory with workers."""

    class Handler(SimpleHTTPRequestHandler):
        extensions_map = {  # noqa: RUF012 - as its base has it: of an instance
            ".html": "text/html",
            ".js": "text/javascript",
            ".mjs": "text/javascript",
            ".wasm": "application/wasm",
            "": "application/octet-stream",
            **(types or {}),
        }

        def end_headers(self) -> None:
            if policy:
                self.send_header("Content-Security-Policy", policy)
            if isolated:
                self.send_header("Cross-Origin-Opener-Policy", "same-origin")
                self.send_header("Cross-Origin-Embedder-Policy", "require-corp")
            super().end_headers()

        def do_GET(self) -> None:
            if self.path == "/favicon.ico":
                self.send_response(204)
                self.end_headers()
                return
            if page_for_all and not Path(self.translate_path(self.path)).exists():
                self.path = "/index.html"
            super().do_GET()

        def log_message(self, format: str, *arguments: object) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
