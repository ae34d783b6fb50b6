"""Makes a model file of a pickle, by a process of the user's Python: EdgeKit itself loads none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from edgekit import export_worker
from edgekit.converters import read, unsupported_formats
from edgekit.converters.unsupported_formats import Loader
from edgekit.core import atomic, files, programs
from edgekit.core.errors import EdgeKitError

SECONDS = 600
_SUFFIXES = (".onnx", ".pt2")
_PIECE = 1 << 24  # bytes that are copied at a time
_LAST_BYTES, _LAST_LINES = 4000, 12  # of what the process said, where it failed
_MAX_ANSWER = 1 << 16


@dataclass(frozen=True)
class Exported:
    """A model file that EdgeKit reads, and what loaded the pickle."""

    file: str
    loader: str
    python: str


def loadable(model: Path) -> tuple[Loader, str]:
    """What loads a file, and what it is, if that is a pickle; EdgeKitError says what else it is."""
    head = read.first_bytes(model)
    if any(reader.sniff(model, head) for reader in read.readers(model.suffix)):
        hint = f"edgekit convert {model}"
        raise EdgeKitError("E0103", f"{model} needs no export: EdgeKit reads its format", hint=hint)
    found = None if model.is_dir() else unsupported_formats.known(model, head)
    if found and found.loader:
        return found.loader, found.what.partition(":")[0]
    raise unsupported_formats.recognise(model, head) or EdgeKitError(
        "E0206", f"{model} is no pickle that EdgeKit knows", hint="edgekit inspect says what is read as it is"
    )


def export(
    model: Path,
    output: Path,
    loader: Loader,
    *,
    shapes: Sequence[str] = (),
    python: str = "",
    pythonpath: Sequence[str] = (),
    seconds: float = SECONDS,
) -> Exported:
    """Load a pickle with the code that it names, and export it: only for a user who trusts its author.
    Without a suffix, `output` gets that of what can be made."""
    if output.suffix not in ("", *_SUFFIXES):
        hint = f"-o {output.with_suffix('.onnx')} or -o {output.with_suffix('.pt2')}"
        raise EdgeKitError("E0105", f"cannot write {output}: exports are .onnx or .pt2 files", hint=hint)
    interpreter = _interpreter(python)
    with tempfile.TemporaryDirectory(prefix="edgekit-export-") as name:
        folder = Path(os.path.realpath(name))
        request = {
            "loader": loader,
            "model": str(_copy_for(model, folder) if loader is Loader.ULTRALYTICS else model.resolve()),
            "folder": str(folder),
            "answer": str(folder / "answer.json"),
            "suffix": output.suffix,
            "shapes": list(shapes),
            "pythonpath": [str(Path(path).resolve()) for path in pythonpath],
            "not_from": str(Path(export_worker.__file__).parent),
        }
        (folder / "request.json").write_text(json.dumps(request), encoding="utf-8")
        with (folder / "said").open("w+b") as said:
            code = _run(interpreter, folder, said, seconds)
            made = _made(model, folder, code, said)
        written = output if output.suffix else output.with_name(output.name + made.suffix)
        with files.opened(made, within=folder) as file:
            atomic.write(written, iter(lambda: file.read(_PIECE), b""))
    return Exported(str(written), loader, interpreter)


def _interpreter(python: str) -> str:
    """The Python that --python names, or the one that runs EdgeKit."""
    found = programs.find(python) if python else sys.executable
    if not found:
        raise EdgeKitError("E0103", f"there is no program {python}", hint="--python /path/to/venv/bin/python")
    return os.path.abspath(found)


def _copy_for(model: Path, folder: Path) -> Path:
    """The file in a folder of its own: Ultralytics writes beside it."""
    copy = folder / f"net{model.suffix}"
    with files.opened(model) as file:
        atomic.write(copy, iter(lambda: file.read(_PIECE), b""))
    return copy


def _run(interpreter: str, folder: Path, said: IO[bytes], seconds: float) -> int:
    """The exit code of the worker, which is ended after so long, with all that it started. It runs in an
    empty folder, so that no module is taken from where the model lies."""
    process = subprocess.Popen(
        [interpreter, export_worker.__file__, str(folder / "request.json")],
        cwd=folder,
        env={**os.environ, "PYTHONSAFEPATH": "1", "YOLO_AUTOINSTALL": "false", "YOLO_OFFLINE": "true"},
        stdin=subprocess.DEVNULL,
        stdout=said,
        stderr=said,
        start_new_session=True,
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        hint = "--timeout 3600 gives it an hour"
        raise EdgeKitError("E0503", f"the export did not end within {seconds:g} s", hint=hint) from None
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that still runs, with all that it started."""
    if process.poll() is not None:
        return
    if sys.platform == "win32":
        process.kill()
    else:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _made(model: Path, folder: Path, code: int, said: IO[bytes]) -> Path:
    """The file that the worker made, or what went wrong."""
    try:
        answer = files.json_of(files.read(folder / "answer.json", _MAX_ANSWER, within=folder))
        made = Path(answer["file"]) if "file" in answer else None
        message, hint = str(answer.get("message", "")), str(answer.get("hint", ""))
    except (EdgeKitError, ValueError, TypeError, AttributeError):
        made, message, hint = None, "", ""
    if made is not None and made.suffix in _SUFFIXES and code == 0:
        return made
    if message:
        raise EdgeKitError("E0503", f"{model.name} was not exported: {message}", hint=hint)
    words = "\n".join(_last_lines(said)) or f"it ended with code {code} and said nothing"
    raise EdgeKitError("E0503", f"{model.name} was not exported:\n{words}")


def _last_lines(said: IO[bytes]) -> Iterator[str]:
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - _LAST_BYTES))
    lines = said.read(_LAST_BYTES).decode(errors="replace").splitlines()
    yield from (line for line in lines[-_LAST_LINES:] if line.strip())
