"""Adds to global_names.txt what g++ finds outside of namespaces; --check fails where a name is missing."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from edgekit.codegen.printing import names

FILE = Path(__file__).parents[1] / "codegen/printing/global_names.txt"
_CPP = """
algorithm any array atomic bitset chrono cmath complex condition_variable cstdio cstdlib ctime deque
exception filesystem fstream functional future iomanip iostream iterator limits list locale map memory
mutex new numeric optional random regex set span sstream stdexcept string string_view system_error thread
tuple type_traits typeinfo unordered_map utility valarray variant vector
"""
_C = """
ctype errno fenv float inttypes limits locale math pthread setjmp signal stdarg stddef stdint stdio stdlib
string strings time uchar unistd wchar wctype
"""
HEADERS = (*_CPP.split(), *(f"{name}.h" for name in _C.split()))
# Not found by a declaration: the library's own namespaces.
_NAMESPACES = ("abi", "posix", "std")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    known = set(FILE.read_text(encoding="utf-8").split()) if FILE.exists() else set()
    missing = sorted({*_NAMESPACES, *declared(known)} - known)
    if check or not missing:
        print(*missing, sep="\n", end="")
        return bool(missing)
    # What has been a name of another kind stays one.
    rows = textwrap.wrap(" ".join(sorted({*known, *missing})), 118, break_long_words=False)
    FILE.write_text("\n".join(rows) + "\n", encoding="utf-8")
    print(f"{len(missing)} names are new")
    return 0


def declared(known: set[str]) -> list[str]:
    """The names that no namespace can have, of those that a model can have."""
    text = "".join(f"#include <{name}>\n" for name in HEADERS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "all.cpp"
        path.write_text(text)
        words = re.findall(r"\b[a-z][a-z0-9_]*\b", _run("-E", str(path)).stdout)
        tried = sorted({w for w in words if w[-1] != "_" and not w.endswith("_t")} - known - names.RESERVED)
        path.write_text(text + "".join(f"namespace {word} {{}}\n" for word in tried))
        said = _run("-fsyntax-only", "-fmax-errors=0", str(path)).stderr
    lines = {int(line) for line in re.findall(r"all\.cpp:(\d+):\d+: error", said)}
    return [tried[line - len(HEADERS) - 1] for line in lines if line > len(HEADERS)]


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["g++", "-std=gnu++20", *arguments], capture_output=True, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
