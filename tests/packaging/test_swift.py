"""Packages for Swift: their C is compiled as SwiftPM does and run, their Swift is parsed."""

import re
from pathlib import Path

import pytest
from support import integer_ports
from support.language_packages import CLASSES, Steps, made, ran, several, small, stream
from support.swift_packages import nodes_of, parsed
from support.tools import require

from edgekit.codegen.packages._language import Language
from edgekit.codegen.program import Program
from edgekit.codegen.verification.selftest import prepare

# As main.swift would: buffers of the sizes that Model.swift has, through the module that Swift imports.
RUN = """\
@import C{module};
#include <stdio.h>
static _Alignas({align}) unsigned char arena[{arena}];
{state}
{buffers}
int main(void)
{{
    for (int round = 0; round < 2; round++) {{
        FILE *given = fopen("given", "rb");
        {reset}
        while ({read}) {{
            {name}_run({arguments}arena);
            {write}
        }}
        fclose(given);
    }}
    return {name}_selftest(arena);
}}
"""


def clang(package: Path, module: str, *words: object) -> str:
    """The compiler with the settings of Package.swift."""
    folder = package / "Sources" / f"C{module}"
    modules = ("-fmodules", f"-fmodule-map-file={folder / 'include' / 'module.modulemap'}")
    flags = ("-O2", f"-I{folder / 'c'}", f"-I{folder / 'include'}", *modules)
    return ran(require("clang"), *flags, "-Wall", "-Werror", *words, folder=package)


def runs(program: Program, module: str) -> str:
    """A program that calls the module's functions."""
    types = Language("swift").about["types"]
    words = {"Float": "float", "Double": "double"}
    words |= {f"{u}Int{n}": f"{u.lower()}int{n}_t" for u in ("", "U") for n in (8, 16, 32, 64)}
    ports = (*program.inputs, *program.outputs)
    state = f"static _Alignas(8) unsigned char state[{program.state_bytes}];" if program.states else ""
    element = {port.c: words[types[port.type.dtype.c]] for port in ports}
    sized = [(port.c, port.type.size) for port in program.inputs]
    results = [(port.c, port.type.size) for port in program.outputs]
    return RUN.format(
        module=module,
        name=program.name,
        align=program.target.align,
        arena=program.arena.size or 1,
        state=state,
        buffers="\n".join(f"static {element[p.c]} {p.c}_[{p.type.size}];" for p in ports),
        reset=f"{program.name}_reset(state);" if program.states else "",
        read=" && ".join(f"fread({c}_, sizeof *{c}_, {n}, given) == {n}" for c, n in sized),
        write=" ".join(f"fwrite({c}_, sizeof *{c}_, {n}, stdout);" for c, n in results),
        arguments="".join(f"{port.c}_, " for port in ports) + ("state, " if program.states else ""),
    )


@pytest.mark.parametrize(
    ("program", "module"),
    [(small(), "digits"), (several("func"), "func_"), (stream(), "stream")],
    ids=["digits", "func", "stream"],
)
def test_c_of_the_module_gives_the_numbers_of_the_simulator(
    program: Program, module: str, tmp_path: Path
) -> None:
    package = made("swift", program, tmp_path, prepare(program.graph))
    assert (package / "Sources" / module / "Model.swift").is_file()
    folder = package / "Sources" / f"C{module}"
    objects = []
    for part in ("model", "weights", "selftest"):
        clang(package, module, "-std=c99", "-c", folder / f"{part}.c", "-o", f"{part}.o")
        objects.append(f"{part}.o")
    steps = Steps(program)
    (package / "given").write_bytes(steps.given)
    (package / "runs.m").write_text(runs(program, module))
    clang(package, module, "-x", "objective-c", "-c", "runs.m", "-o", "runs.o")
    clang(package, module, "runs.o", *objects, "-o", "runs")
    ran("sh", "-c", "./runs > found", folder=package)
    steps.check((package / "found").read_bytes())


@pytest.mark.parametrize(
    "program",
    [small(), several(), stream(), small("macos-aarch64", "wide"), integer_ports.program()],
    ids=lambda p: p.name,
)
def test_swift_can_be_parsed(program: Program, tmp_path: Path) -> None:
    """There is no Swift compiler for the machines of these tests."""
    package = made("swift", program, tmp_path)
    paths = sorted(package.rglob("*.swift"))
    assert {path.name for path in paths} == {"Package.swift", "Model.swift", "main.swift", "SelfTests.swift"}
    for path in paths:
        faults = [node for node in parsed(path) if node.type == "ERROR" or node.is_missing]
        assert not faults, (path, [node.text for node in faults])


def test_names_of_classes_are_strings(tmp_path: Path) -> None:
    """As Swift reads them: \\u{...} is the only escape."""
    path = made("swift", small(), tmp_path, classes=CLASSES) / "Sources/digits/Model.swift"
    tree = parsed(path)
    (names,) = (node for node in tree if node.type == "array_literal" and b"zero" in node.text)
    found = [node.text.decode()[1:-1] for node in names.children if node.type == "line_string_literal"]
    assert not any(node.type in ("ERROR", "interpolated_expression") for node in nodes_of(names))
    read = [re.sub(r"\\u\{(\w+)\}", lambda code: chr(int(code[1], 16)), text) for text in found]
    assert tuple(read) == CLASSES


def test_a_mistake_is_found(tmp_path: Path) -> None:
    (tmp_path / "x.swift").write_text("public func run(x: [Float) {}")
    assert any(node.type == "ERROR" or node.is_missing for node in parsed(tmp_path / "x.swift"))


def test_options_of_the_processor_are_in_the_manifest(tmp_path: Path) -> None:
    package = made("swift", small("x86-64-avx2", "wide"), tmp_path)
    assert '"-mavx2"' in (package / "Package.swift").read_text()
    assert "unsafe" in (package / "README.md").read_text()
    plain = made("swift", small(), tmp_path)
    assert "unsafeFlags" not in (plain / "Package.swift").read_text()
