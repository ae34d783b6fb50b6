"""Which model files of packages never tried before are read as they are: a sample and its list.

A draw takes every file that a reader takes for its own in folders with unpacked packages (NAME-VERSION). It
leaves out what the zoo and the list have, by checksum, and weights without a graph. By a seed it adds some to
the list, into which sizes that files leave open and reasons of a refusal are written by hand.

    python -m benchmarks.fresh_files --draw 60 --seed 53 FOLDER
    python -m benchmarks.fresh_files FOLDER
"""

from __future__ import annotations

import argparse
import hashlib
import random
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.zoo_files import listed
from edgekit.converters.read import first_bytes, readers

LIST = Path(__file__).with_suffix(".toml")
_SECONDS = 600
_WEIGHTS = ".h5"  # of Keras, whole models and weights alike: these are told apart by reading them
_BESIDE = (".py", ".js", ".map")


def entries() -> list[dict[str, Any]]:
    return list(tomllib.loads(LIST.read_text(encoding="utf-8"))["file"]) if LIST.exists() else []


def candidates(folder: Path) -> Iterator[tuple[str, Path]]:
    """Packages and files in them that a reader takes for its own."""
    for package in sorted(folder.iterdir()):
        for path in sorted(package.rglob("*")):
            if path.is_file() and path.suffix not in _BESIDE and is_model(path):
                yield package.name, path.relative_to(package)


def is_model(path: Path) -> bool:
    head = first_bytes(path)
    return any(reader.sniff(path, head) for reader in readers(path.suffix))


def drawn(folder: Path, count: int, seed: int) -> Iterator[str]:
    """Entries of the list for files that are new to it."""
    known = {model.sha256 for model in listed()} | {entry["sha256"] for entry in entries()}
    found: dict[str, str] = {}
    for package, path in candidates(folder):
        raw = (folder / package / path).read_bytes()
        digest = hashlib.sha256(raw).hexdigest()
        if digest in known or digest in found or (path.suffix == _WEIGHTS and b"model_config" not in raw):
            continue
        fields = {"package": package, "file": path.as_posix(), "bytes": len(raw), "sha256": digest}
        lines = [f"{key} = {value!r}".replace("'", '"') for key, value in fields.items()]
        found[digest] = "\n".join(["[[file]]", *lines, ""])
    print(f"{len(found)} files are new, of {len({text.split()[3] for text in found.values()})} packages")
    yield from random.Random(seed).sample(list(found.values()), min(count, len(found)))


def converted(path: Path, options: str) -> str:
    """What refuses a file; "" where it is read."""
    with tempfile.TemporaryDirectory() as folder:
        line = ["-m", "edgekit", "convert", str(path), *options.split(), "-o", f"{folder}/net.ek"]
        try:
            done = subprocess.run(
                [sys.executable, *line], capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            return f"not done after {_SECONDS} s"
    return "" if done.returncode == 0 else (done.stderr.strip() or "ended").splitlines()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.draw:
        found = list(drawn(given.folder, given.draw, given.seed))
        with LIST.open("a", encoding="utf-8") as file:
            file.writelines(f"{entry}\n" for entry in found)
        return
    read = 0
    for entry in entries():
        fault = converted(given.folder / entry["package"] / entry["file"], entry.get("options", ""))
        read += not fault
        if fault:
            print(f"{entry['package']}/{entry['file']}: {fault}")
    print(f"{read} of {len(entries())} files are read")


if __name__ == "__main__":
    main()
