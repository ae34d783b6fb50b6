"""Packages for boards, built by the rules of Arduino's builder, and by CMake with stand-ins for SDKs."""

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from support.tools import require, require_module

from edgekit.codegen import packages
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.execution import runner
from edgekit.codegen.packages import Content, PackageRequest
from edgekit.codegen.program import Program
from edgekit.core.target import Optimize

RIGHT = 42  # exit code of a program whose self-test found what it expected
STRICT = ("-Wall", "-Wextra", "-Werror")


def made(
    kind: str,
    program: Program,
    folder: Path,
    optimize: Optimize = "speed",
    classes: tuple[str, ...] = (),
) -> Path:
    """The folder of a package, which was not compiled before."""
    files = packages.make(
        kind, PackageRequest(program, optimize, "auto", False, content=Content(classes))
    ).files
    write(files, folder / kind)
    (name,) = {path.partition("/")[0] for path in files}
    return folder / kind / name


def self_testing(program: Program) -> str:
    """A program that runs the self-test."""
    guard = program.name.upper()
    return (
        f'#include "{program.name}.h"\n'
        f"int {program.name}_selftest(void *arena);\n"
        f"static uint8_t arena[{guard}_ARENA_SIZE + 1] __attribute__((aligned({guard}_ARENA_ALIGN)));\n"
        f"int main(void) {{ return {program.name}_selftest(arena) ? 1 : {RIGHT}; }}\n"
    )


def of_another_version(program: Program) -> Program:
    """The same library with kernels of another text, which compute nothing: its self-test fails."""
    lines = []
    for line in program.lines:
        text, count = re.subn(
            r"(EK_KERNEL void \w+\([^{;]*\)\n\{\n)", r"\1    if (p)\n        return;\n", line.kernel.source
        )
        assert count == 1, f"{line.kernel.name} has no body"
        lines.append(replace(line, kernel=replace(line.kernel, source=text)))
    return replace(program, lines=tuple(lines))


def only_one_right(one: Program, two: Program) -> str:
    """A program that runs both self-tests: the first finds what it expects, the second does not."""
    guards = [program.name.upper() for program in (one, two)]
    return (
        "".join(f'#include "{p.name}.h"\nint {p.name}_selftest(void *arena);\n' for p in (one, two))
        + f"static double one[{guards[0]}_ARENA_SIZE / 8 + 1], two[{guards[1]}_ARENA_SIZE / 8 + 1];\n"
        f"int main(void) {{ return !{one.name}_selftest(one) && {two.name}_selftest(two) ? {RIGHT} : 1; }}\n"
    )


def ended(program: Program, parts: Sequence[str], folder: Path) -> runner.FinishedProcess:
    """Link objects and archives, some of which has a main(), and run that."""
    target, compiler = program.target, toolchain.find(program.target)
    compiler.run(
        ["-Wl,--gc-sections", *parts, "-o", "program", *runner.link_flags(target, compiler, folder)], folder
    )
    return runner.run(target, folder / "program", [])


def objects(program: Program, sources: Sequence[Path], flags: Sequence[str], folder: Path) -> list[str]:
    """Each source compiled by itself."""
    compiler = toolchain.find(program.target)
    names = [f"{i}_{path.stem}.o" for i, path in enumerate(sources)]
    for path, name in zip(sources, names, strict=True):
        compiler.run([*STRICT, *flags, "-c", str(path), "-o", name], folder)
    return names


def with_cmake(
    program: Program, functions: str, packages: Mapping[str, Path], main: str, folder: Path
) -> runner.FinishedProcess:
    """A CMake project of stand-ins and packages, cross-compiled with a main program, and run. `packages` are
    the folders that CMake reads, by the library that each makes."""
    require_module("ziglang")
    (folder / "main.c").write_text(main)
    added = "".join(f'add_subdirectory("{path}" package_{name})\n' for name, path in packages.items())
    (folder / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.20)\nproject(board C)\n{functions}\n"
        f"{added}add_library(application OBJECT main.c)\n"
        f"target_link_libraries(application PRIVATE {' '.join(packages)})\n"
    )
    compiler = toolchain.find(program.target)
    tools = {
        "C_COMPILER": script(folder / "compiler", [*compiler.argv, *runner.compile_flags(program.target)]),
        "AR": script(folder / "archiver", [sys.executable, "-m", "ziglang", "ar"]),
        "RANLIB": script(folder / "indexer", [sys.executable, "-m", "ziglang", "ranlib"]),
        "SYSTEM_NAME": "Generic",
        "C_COMPILER_WORKS": "1",
        "C_FLAGS": " ".join(STRICT),
    }
    settings = [f"-DCMAKE_{name}={value}" for name, value in tools.items()]
    for command in (["-S", ".", "-B", "made", *settings], ["--build", "made"]):
        done = subprocess.run([require("cmake"), *command], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    parts = [*folder.glob("made/**/main.c.obj"), *folder.glob("made/package_*/*.a")]
    return ended(program, [str(path) for path in parts], folder)


def script(path: Path, command: Sequence[str]) -> str:
    """A program that is this command."""
    path.write_text(f'#!/bin/sh\nexec {" ".join(command)} "$@"\n')
    path.chmod(0o755)
    return str(path)


def arduino_library(program: Program, package: Path, folder: Path) -> str:
    """What Arduino's builder makes of a library with dot_a_linkage: an archive of everything in src; includes
    are searched there, and not in its folders."""
    folder.mkdir(exist_ok=True)
    assert "dot_a_linkage=true" in (package / "library.properties").read_text()
    flags = ["-Os", "-std=gnu11", "-ffunction-sections", "-fdata-sections", f"-I{package / 'src'}"]
    flags += runner.compile_flags(program.target)
    files = objects(program, sorted((package / "src").rglob("*.c")), flags, folder)
    subprocess.run([require("arm-none-eabi-gcc-ar"), "rcs", "library.a", *files], cwd=folder, check=True)
    return str(folder / "library.a")


def arduino_sketch(program: Program, sketch: Path, packages: Sequence[Path], folder: Path) -> list[str]:
    """The object files of a sketch, which is C++ behind an include of Arduino.h, and of a core to run it."""
    core = Path(__file__).parent / "arduino"
    (folder / "sketch.cpp").write_text(f"#include <Arduino.h>\n{sketch.read_text()}")
    flags = ["-Os", "-std=gnu++11", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", f"-I{core}"]
    flags += [*(f"-I{package / 'src'}" for package in packages), *runner.compile_flags(program.target)]
    return objects(program, [folder / "sketch.cpp", core / "core.cpp"], ["-x", "c++", *flags], folder)


def answers(printed: str) -> list[tuple[str, float]]:
    """The outputs that a sketch prints: names and numbers."""
    return [
        (name, float(number)) for name, number in re.findall(r"^(\w+) (-?[\d.]+)$", printed, re.MULTILINE)
    ]
