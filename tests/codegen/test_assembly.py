"""Assembly that is written by hand says what it counts on; compilers and assemblers refuse what is not so."""

import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support.tools import ROOT, require

from edgekit.codegen.kernels import contracts

HEADERS = ROOT / "runtime_c" / "include" / "edgekit"
KERNELS = ROOT / "runtime_c" / "kernels"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
STRUCT = re.compile(r"^struct (\w+) \{(.*?)^\};", re.DOTALL | re.MULTILINE)
TAKEN = re.compile(r"struct (\w+) \*\w+ EK_IN_ASSEMBLY")
STATED = re.compile(
    r"^EK_ASSEMBLY_OFFSET(?:\(struct (\w+), (\w+), \d+\)|S\(struct (\w+), \d+, ([\w, ]+)\));", re.MULTILINE
)
BLOCK = re.compile(r"^#define .*?[^\\]\n|^static EK_ASSEMBLY .*?^\}\n", re.DOTALL | re.MULTILINE)
FUNCTION = re.compile(r"^static EK_ASSEMBLY \w+ \*?(\w+)\(", re.MULTILINE)
WHOLE = re.compile(r"^static EK_ASSEMBLY .*?\b(\w+)\((.*?)\)\n\{", re.DOTALL | re.MULTILINE)
# What jumps to an address that was computed; a return is `bx lr` or a pop.
COMPUTED = re.compile(r'"(?:adr|tb[bh]|blx|bx r\d)|"(?:mov|add|sub|ldr)\S* pc\b')
BRANCH = re.compile(r"\b(?:b\w*|letp?)(?:\.\w)? (?:lr, )?(\d)b\\n")
LABEL = re.compile(r'"\d:\\n"')
NUMBERED = re.compile(r"\[%(?:\[(\w+)\]|\d), #\d")  # a place so many bytes behind an operand
POINTER = re.compile(r"\bstruct \w+ \*(?:EK_RESTRICT |const )?(\w+)")
COMPILERS = {
    "gcc": ("arm-none-eabi-gcc",),
    "clang": ("clang", "--target=arm-none-eabi", "-ffreestanding"),
}
SIZES = {"gcc": "code is not 4 * ", "clang": "invalid number of bytes"}
TURNS = SIZES | {"gcc": "code is not 92 bytes"}
THREE = SIZES | {"gcc": "code is not 3 * "}
ASSEMBLY = (
    "depthwise_dsp.h",
    "fixed_dsp.h",
    "gemm_dsp.h",
    "gemm_int4_dsp.h",
    "pixel_pairs_dsp.h",
    "row_dots_dsp.h",
)
# What assembly of a processor with DSP instructions counts on, and what is said where it is not so.
WRONG: Mapping[str, tuple[str, str, str | Mapping[str, str]]] = {
    "as it is": ("", "", ""),
    "offset": (
        "(struct ek_dots, 0, w, b",
        "(struct ek_dots, 4, w, b",
        "w is not where assembly looks for it",
    ),
    "field": (
        "struct ek_dots {\n    const void *w;",
        "struct ek_dots {\n    const void *o, *w;",
        "is not where assembly looks for it",
    ),
    "size": ("EK_DOTS_S8, 4, 0, EK_DOTS_TFL, 32)", "EK_DOTS_S8, 4, 0, EK_DOTS_TFL, 36)", SIZES),
    "size of a depthwise layer": (
        "EK_FOURS_RULE(e, e, 0, EK_DOTS_E, 20",
        "EK_FOURS_RULE(e, e, 0, EK_DOTS_E, 24",
        SIZES,
    ),
    "size of four bits": ("EK_ASSEMBLY_SIZE(4, 7, 4 * 20)", "EK_ASSEMBLY_SIZE(4, 7, 4 * 24)", SIZES),
    "size of two pixels": (
        "HALVES, 88, 0, TFL, 56",
        "HALVES, 88, 0, TFL, 60",
        THREE,
    ),
    "turn of two pixels": (
        "HALVES, 88, 0, TFL, 56",
        "HALVES, 92, 0, TFL, 56",
        TURNS,
    ),
    "turn of a row": ("BYTES, 56, 0, EK_DOTS_TFL", "BYTES, 92, 0, EK_DOTS_TFL", TURNS),
    "encoding": ('EK_PLUS(sum, x) "add.w ', 'EK_PLUS(sum, x) "add ', SIZES),
}


def texts() -> Iterator[tuple[str, str]]:
    for path in sources():
        text = COMMENT.sub("", path.read_text(encoding="utf-8"))
        yield f"{path.parent.name}/{path.name}", text + "\n" + contracts.made(text)


def sources() -> list[Path]:
    return sorted([*HEADERS.rglob("*.h"), *KERNELS.rglob("*.c")])


def fields(body: str) -> list[str]:
    """The names that a struct declares."""
    return re.findall(r"(\w+)(?:\[\w+\])*(?=[;,])", body)


def test_each_field_that_assembly_reads_has_its_place_stated() -> None:
    structs = {name: fields(body) for _, text in texts() for name, body in STRUCT.findall(text)}
    stated = [
        (one or four, field)
        for _, text in texts()
        for one, name, four, names in STATED.findall(text)
        for field in (name or names).split(", ")
    ]
    taken = {name for _, text in texts() for name in TAKEN.findall(text)}
    assert len(taken) >= 6
    assert {(name, field) for name in taken for field in structs[name]} <= {*stated}
    assert len(stated) == len({*stated})


def test_each_argument_of_a_function_in_assembly_is_marked() -> None:
    """The test above knows structs by this mark."""
    functions = [found for _, text in texts() for found in WHOLE.findall(text)]
    assert len(functions) >= 20
    unmarked = [name for name, taken in functions for one in taken.split(",") if "EK_IN_ASSEMBLY" not in one]
    assert unmarked == []


def test_assembly_within_c_takes_fields_by_offsetof() -> None:
    """Numbers are for arrays: the compiler would not know that a field has moved."""
    assert numbers('"ldr %[t], [%[p], #8]"', "const struct ek_dots *p") == ["p"]
    assert numbers('"ldr %0, [%1, #8]"', "const struct ek_dots *p") == ["an operand without a name"]
    assert numbers('"ldr %[t], [%[w], #8]"', "const int8_t *w, const struct ek_dots *p") == []
    assert {name: found for name, text in texts() if (found := numbers(text, text))} == {}


def numbers(assembly: str, declarations: str) -> list[str]:
    """Operands that may be structs and have numbers behind them."""
    structs = {*POINTER.findall(declarations), ""}
    return [name or "an operand without a name" for name in NUMBERED.findall(assembly) if name in structs]


def test_each_jump_that_is_computed_has_its_size_checked() -> None:
    blocks = [block for _, text in texts() for block in BLOCK.findall(text) if COMPUTED.search(block)]
    assert len(blocks) >= 3
    for block in blocks:
        assert re.search(r"\bEK_ASSEMBLY_SIZE\(", block), block[:200]
    others = [name for name, text in texts() if COMPUTED.search(BLOCK.sub("", text))]
    assert others == []  # a computed jump is in a macro or in a function of assembly


def test_loops_are_indented() -> None:
    """What is between a label and the jump back to it; clang-format would align all of it."""
    right = '/* clang-format off */\n"1:\\n"\n    "nop\\n"\n    "bne 1b\\n"\n'
    assert flat_loops(right) == []
    assert flat_loops(right.replace('    "nop', '"nop')) == [4]
    assert flat_loops(right.replace("off", "on")) == [4]
    assert flat_loops('"subs r0, #1\\n bne 1b\\n"') == [1]
    found = {path.name: flat_loops(path.read_text(encoding="utf-8")) for path in sources()}
    assert {name: lines for name, lines in found.items() if lines} == {}


def flat_loops(text: str) -> list[int]:
    """Lines of jumps to the start of a loop that is not indented, or that clang-format would align."""
    flat, lines, free = [], text.splitlines(), False
    for at, line in enumerate(lines):
        free = "clang-format off" in line or (free and "clang-format on" not in line)
        for number in BRANCH.findall(line):
            start = next((k for k in range(at, -1, -1) if f'"{number}:\\n"' in lines[k]), at)
            # Labels that a loop is entered by are where its own one is.
            within = [indentation(inner) + bool(LABEL.search(inner)) for inner in lines[start + 1 : at + 1]]
            if not free or any(inner <= indentation(lines[start]) for inner in within):
                flat.append(at + 1)
    return flat


def indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("case", WRONG)
def test_what_is_counted_wrong_is_refused(case: str, compiler: str, tmp_path: Path) -> None:
    program, *flags = COMPILERS[compiler]
    require(program)
    old, new, what = WRONG[case]
    said = what if isinstance(what, str) else what[compiler]
    names: list[str] = []
    changed = 0
    (tmp_path / "string.h").write_text("#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);\n")
    for path in HEADERS.rglob("*.h"):
        text = path.read_text(encoding="utf-8")
        if path.name in ASSEMBLY:
            names += FUNCTION.findall(text + "\n" + contracts.made(text))
            changed += old in text
            text = text.replace(old, new)
        copy = tmp_path / "edgekit" / path.relative_to(HEADERS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text, encoding="utf-8")
    uses = ", ".join(f"(function){name}" for name in names)
    kept = f"typedef void (*function)(void);\nconst function all[] = {{{uses}}};\n"
    includes = "".join(f'#include "edgekit/simd/cortex_m/{name}"\n' for name in ASSEMBLY)
    (tmp_path / "all.c").write_text(includes + kept, encoding="utf-8")
    assert changed == (1 if old else len(ASSEMBLY))
    chip = ("-std=c99", "-mcpu=cortex-m4", "-mthumb", "-I.")
    command = [program, *flags, *chip, "-O1", "-c", "all.c", "-o", "all.o"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0) == (not said), done.stderr
    assert said in done.stderr
