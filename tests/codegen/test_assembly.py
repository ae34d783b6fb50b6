"""Assembly that is written by hand says what it counts on; compilers and assemblers refuse what is not so."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.tools import ROOT, require

HEADERS = ROOT / "runtime_c" / "include" / "edgekit"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STRUCT = re.compile(r"^struct (\w+) \{(.*?)^\};", re.DOTALL | re.MULTILINE)
TAKEN = re.compile(r"struct (\w+) \*\w+ EK_IN_ASSEMBLY")
STATED = re.compile(r"^EK_ASSEMBLY_OFFSET\(struct (\w+), (\w+), \d+\);", re.MULTILINE)
BLOCK = re.compile(r"^#define .*?[^\\]\n|^static EK_ASSEMBLY .*?^\}\n", re.DOTALL | re.MULTILINE)
FUNCTION = re.compile(r"^static EK_ASSEMBLY \w+ \*?(\w+)\(", re.MULTILINE)
COMPILERS = {
    "gcc": ("arm-none-eabi-gcc",),
    "clang": ("clang", "--target=arm-none-eabi", "-ffreestanding"),
}
SIZES = {"gcc": "code is not 4 * ", "clang": "invalid number of bytes"}
# What assembly of a processor with DSP instructions counts on, and what is said where it is not so.
WRONG = {
    "as it is": ("", "", ""),
    "offset": ("(struct ek_dots, m, 8)", "(struct ek_dots, m, 12)", "m is not where assembly looks for it"),
    "field": ("    const void *w;\n", "    const void *more, *w;\n", "is not where assembly looks for it"),
    "size": ("EK_DOTS_TFL, 32,", "EK_DOTS_TFL, 36,", SIZES),
    "encoding": ('"add.w " #sum ", " #sum ", lr', '"add " #sum ", " #sum ", lr', SIZES),
}


def texts() -> Iterator[tuple[str, str]]:
    for path in sorted(HEADERS.rglob("*.h")):
        yield path.name, COMMENT.sub("", path.read_text(encoding="utf-8"))


def fields(body: str) -> list[str]:
    """The names that a struct declares."""
    return re.findall(r"(\w+)(?:\[\w+\])*(?=[;,])", body)


def test_each_field_that_assembly_reads_has_its_place_stated() -> None:
    structs = {name: fields(body) for _, text in texts() for name, body in STRUCT.findall(text)}
    stated = [place for _, text in texts() for place in STATED.findall(text)]
    taken = {name for _, text in texts() for name in TAKEN.findall(text)}
    assert len(taken) >= 6
    assert {(name, field) for name in taken for field in structs[name]} <= {*stated}
    assert len(stated) == len({*stated})


def test_each_jump_that_is_computed_has_its_size_checked() -> None:
    blocks = [block for _, text in texts() for block in BLOCK.findall(text) if '"adr' in block]
    assert len(blocks) >= 3
    for block in blocks:
        assert re.search(r"\bEK_ASSEMBLY_SIZE\(", block), block[:200]


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("case", WRONG)
def test_what_is_counted_wrong_is_refused(case: str, compiler: str, tmp_path: Path) -> None:
    program, *flags = COMPILERS[compiler]
    require(program)
    old, new, what = WRONG[case]
    said = what if isinstance(what, str) else what[compiler]
    (tmp_path / "string.h").write_text("#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);\n")
    for path in HEADERS.rglob("*.h"):
        text = path.read_text(encoding="utf-8")
        if path.name == "gemm_dsp.h":
            assert old in text
            names = FUNCTION.findall(text)
            text = text.replace(old, new)
        copy = tmp_path / "edgekit" / path.relative_to(HEADERS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text, encoding="utf-8")
    uses = ", ".join(f"(function){name}" for name in names)
    kept = f"typedef void (*function)(void);\nconst function all[] = {{{uses}}};\n"
    (tmp_path / "all.c").write_text(f'#include "edgekit/simd/cortex_m/gemm_dsp.h"\n{kept}', encoding="utf-8")
    chip = ("-std=c99", "-mcpu=cortex-m4", "-mthumb", "-I.")
    command = [program, *flags, *chip, "-O1", "-c", "all.c", "-o", "all.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0) == (not said), done.stderr
    assert said in done.stderr
