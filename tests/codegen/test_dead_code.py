"""Libraries have the helpers that they use, and no others."""

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.kernel_instances import instances
from support.tools import ROOT, require, require_shared

import edgekit
from edgekit import Graph
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.kernels import contracts
from edgekit.codegen.kernels.support_headers import support_files
from edgekit.codegen.printing import dead_code
from edgekit.codegen.printing.c_text import parsed, pieces
from edgekit.codegen.printing.dead_code import without_dead_code
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.target import Optimize

HEADER = """\
/* All of it. */
#ifndef EDGEKIT_A_H
#define EDGEKIT_A_H

#include <stdint.h>

#include "dead.h"
#include "b.h"

/* Both halves of this section. */

/* Twice. */
#define EK_TWICE(x) (2 * (x))
#define EK_OF(name) ek_x8_##name

struct ek_pair {
    int32_t a; /* ek_unused is only named */
};
EK_ASSERT(sizeof(struct ek_pair) == 4, "");

/* Makes functions. */
#define EK_MAKE(KIND) \\
    static inline int ek_##KIND##_made(int x) \\
    { \\
        return ek_##KIND##_inner(x); \\
    }
EK_MAKE(one)
EK_MAKE(two)

#ifdef __GNUC__
static inline int ek_one_inner(int x)
{
    return EK_TWICE(x);
}
#else
/* Never. */
static inline int ek_two_inner(int x)
{
    return x;
}
#endif

#if EK_FAST
/* Also gone. */
static inline int ek_unused(int x)
{
    return ek_one_made(x);
}
#endif

/* The larger. */
EK_INLINE int EK_OF(most)(int a, int b)
{
    return a > b ? a : b;
}

#endif
"""
LEFT = """\
/* All of it. */
#ifndef EDGEKIT_A_H
#define EDGEKIT_A_H

#include <stdint.h>

#include <stddef.h>
#include "b.h"

/* Both halves of this section. */

/* Twice. */
#define EK_TWICE(x) (2 * (x))
#define EK_OF(name) ek_x8_##name

/* Makes functions. */
#define EK_MAKE(KIND) \\
    static inline int ek_##KIND##_made(int x) \\
    { \\
        return ek_##KIND##_inner(x); \\
    }
EK_MAKE(one)

#ifdef __GNUC__
static inline int ek_one_inner(int x)
{
    return EK_TWICE(x);
}
#else
#endif

/* The larger. */
EK_INLINE int EK_OF(most)(int a, int b)
{
    return a > b ? a : b;
}

#endif
"""
USED = "/* B. */\nstatic inline int ek_b(void)\n{\n    return ek_x8_most(1, 2);\n}\n"
TYPES = (
    "/* For callers, too. */\n#ifndef EDGEKIT_TYPES_H\n#define EDGEKIT_TYPES_H\n#define EK_ANY 1\n\n#endif\n"
)
ALL = """\
/* Both. */
#ifndef EDGEKIT_ALL_H
#define EDGEKIT_ALL_H

#include "dead.h"
#include "b.h"

#endif
"""
DEAD = """\
/* Of no use. */
#ifndef EDGEKIT_DEAD_H
#define EDGEKIT_DEAD_H

#include <stddef.h>

static inline int ek_dead(void)
{
    return 1;
}

#endif
"""


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The headers of a runtime in place of ours."""
    headers = {"a.h": HEADER, "b.h": USED, "dead.h": DEAD, "all.h": ALL, "types.h": TYPES}
    monkeypatch.setattr(dead_code, "runtime_header", headers.get)
    return {f"edgekit/{name}": text for name, text in headers.items()}


def left(files: Mapping[str, str]) -> dict[str, str]:
    found = without_dead_code({path: text.encode() for path, text in files.items()})
    return {path: data.decode() for path, data in found.items()}


def test_what_is_named_is_left_with_its_comments(runtime: dict[str, str]) -> None:
    kernel = '#include "a.h"\n#include "dead.h"\nint y = EK_OF(most)(ek_one_made(1), ek_b());\n'
    beside = '#include "edgekit/all.h"\n'
    found = left(runtime | {"edgekit/k.c": kernel, "one.h": '#include "edgekit/types.h"\n', "one.c": beside})
    assert found["edgekit/k.c"] == kernel.replace('"dead.h"', "<stddef.h>")
    assert found["one.c"] == '#include <stddef.h>\n#include "edgekit/b.h"\n'
    assert found["edgekit/a.h"] == LEFT
    assert found["edgekit/b.h"] == USED
    assert found["edgekit/types.h"].startswith(TYPES.removesuffix("#endif\n"))
    assert "edgekit/dead.h" not in found


def test_assertions_stay_with_their_types(runtime: dict[str, str]) -> None:
    text = left(runtime | {"edgekit/k.c": "struct ek_pair pair;\n"})["edgekit/a.h"]
    assert "struct ek_pair {" in text
    assert "EK_ASSERT(sizeof(struct ek_pair)" in text
    assert "ek_one_made" not in text


def test_what_callers_include_is_whole(runtime: dict[str, str]) -> None:
    """A file that includes the headers of two libraries reads what these include of the first one alone."""
    found = left(runtime | {"one.h": '#include "edgekit/a.h"\n'})
    assert "edgekit/all.h" not in found
    for path in ("edgekit/a.h", "edgekit/b.h", "edgekit/dead.h"):
        assert found[path] == runtime[path]


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_headers_of_another_library_are_refused_with_the_command(
    optimize: Optimize, graphs: dict[str, Graph], tmp_path: Path
) -> None:
    """Of two libraries that were written into one folder, the first lacks helpers."""
    for name in ("keywords", "digits"):
        write(generate(compile_graph(graphs[name], target.load("cortex-m4")), optimize, "c"), tmp_path)
    for name, refused in (("keywords", True), ("digits", False)):
        command = [require("arm-none-eabi-gcc"), "-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard"]
        command += ["-mfpu=fpv4-sp-d16", "-fsyntax-only", f"{name}.c"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == refused
        assert (f"run `edgekit build {name}.onnx" in done.stderr) == refused


def test_the_pieces_of_every_header_are_its_text() -> None:
    for name in contracts.headers():
        parts = parsed(contracts.header(name))
        count = sum(piece.is_code for piece, _ in pieces(parts))
        assert count >= contracts.header(name).count("\nEK_INLINE"), name


@pytest.fixture(scope="module")
def graphs() -> dict[str, Graph]:
    return {
        name: edgekit.convert(ROOT / "examples" / name / f"{name}.onnx") for name in ("digits", "keywords")
    }


@pytest.mark.parametrize(
    "name", ["host", "cortex-m4", "cortex-m55", "aarch64", "x86-64-avx512", "wasm32-simd"]
)
@pytest.mark.parametrize("model", ["digits", "keywords"])
def test_no_helper_is_shipped_unused(model: str, name: str, graphs: dict[str, Graph]) -> None:
    """As a reader finds out, by searching for its name in the folder."""
    files = without_dead_code(render(compile_graph(graphs[model], target.load(name)), "size"))
    code = "\n".join(text.decode() for path, text in files.items() if path.endswith((".c", ".h")))
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
    helpers = re.findall(
        r"^(?:EK_INLINED?|EK_COMPACT|static inline)\b[^;{()]*?\b(ek_\w+)\(", code, re.MULTILINE
    )
    unused = {each for each in helpers if len(re.findall(rf"\b{each}\b", code)) <= helpers.count(each)}
    assert len(helpers) > 10
    assert unused == set()


@pytest.mark.parametrize("name", ["host", "cortex-m4", "cortex-m55", "aarch64"])
def test_neither_comments_nor_other_roundings_keep_helpers(name: str) -> None:
    """TensorFlow Lite's rules, which kernels may have in assembly; macros may paste names."""
    model = require_shared("models") / "tflite_micro" / "person_detect.tflite"
    files = without_dead_code(render(compile_graph(edgekit.convert(model), target.load(name)), "size"))
    code = "\n".join(text.decode() for path, text in files.items() if path.endswith((".c", ".h")))
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL)
    helpers = set(re.findall(r"^(?:EK_INLINED?|static inline)\b[^;{()]*?\b(ek_\w+)\(", code, re.MULTILINE))
    pasted = {re.sub(r"##\w+##", r"\\w+", each) for each in re.findall(r"\bek_\w+##\w+##\w*", code)}
    unused = {each for each in helpers if len(re.findall(rf"\b{each}\b", code)) < 2}
    assert not [each for each in unused if not any(re.fullmatch(pattern, each) for pattern in pasted)]


def test_each_kernel_has_what_it_needs(tmp_path: Path) -> None:
    """Alone in a library, where no other one brings it."""
    clang, seen, folders = require("clang"), set(), []
    for kernel in instances(target.load("host"), "ref"):
        if kernel.supports in seen:
            continue
        seen.add(kernel.supports)
        headers = dict(support_files(sorted({"types.h", *kernel.supports})))
        own = {f"{kernel.name}.h": kernel.header, f"{kernel.name}.c": kernel.source}
        files = {f"edgekit/{name}": text.encode() for name, text in (headers | own).items()}
        write(without_dead_code(files), tmp_path / kernel.name)
        folders.append(f"{kernel.name}/edgekit/{kernel.name}.c")
    assert len(folders) > 10
    line = [clang, "-std=c99", "-Werror=implicit-function-declaration", "-fsyntax-only", *folders]
    done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
