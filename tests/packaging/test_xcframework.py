"""XCFrameworks: what Xcode reads, objects for each system, and programs that zig links with them."""

import plistlib
import struct
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.language_packages import CLASSES, made, ran, small, stream
from support.swift_packages import parsed
from support.tools import require, require_module

from edgekit import EdgeKitError
from edgekit.codegen import packages
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.packages import _xcframework
from edgekit.codegen.program import Program
from edgekit.codegen.verification.selftest import prepare
from edgekit.core import target as targets

CPUS = {0x0100000C: "arm64", 0x01000007: "x86_64"}
PLATFORMS = {1: "macos", 2: "ios", 7: "simulator"}  # of LC_BUILD_VERSION
FOLDERS = {
    "ios-arm64": {("arm64", "ios")},
    "ios-arm64_x86_64-simulator": {("arm64", "simulator"), ("x86_64", "simulator")},
    "macos-arm64_x86_64": {("arm64", "macos"), ("x86_64", "macos")},
}
PROGRAM = """\
@import Cdigits;
#include <stdint.h>
static char arena[1 << 16];
static float image[64], scores[10];
int main(void)
{
    digits_run(image, scores, arena);
    return digits_selftest(arena);
}
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_module("ziglang")
    program = small()
    return made("xcframework", program, tmp_path_factory.mktemp("all"), prepare(program.graph), CLASSES)


def archives(data: bytes) -> Iterator[bytes]:
    """The libraries of a file for one processor or several."""
    if data.startswith(b"!<arch>"):
        yield data
        return
    magic, count = struct.unpack_from(">II", data)
    assert magic == 0xCAFEBABE
    for index in range(count):
        cpu, _, at, size, align = struct.unpack_from(">5I", data, 8 + 20 * index)
        assert at % (1 << align) == 0
        inner = data[at : at + size]
        assert {CPUS[cpu]} == {name for name, _ in map(system_of, objects(inner))}
        yield inner


def objects(archive: bytes) -> Iterator[bytes]:
    """The object files of a library, behind its index of symbols."""
    assert archive.startswith(b"!<arch>\n")
    at = 8
    while at < len(archive):
        head, size = archive[at : at + 60], int(archive[at + 48 : at + 58])
        assert head.startswith(b"#1/")  # the name is in front of the data
        length = int(head[3:16])
        name = archive[at + 60 : at + 60 + length].rstrip(b"\0")
        if name.startswith(b"__.SYMDEF"):
            assert at == 8
        else:
            assert (at + 60 + length) % 8 == 0  # or linkers refuse it
            yield archive[at + 60 + length : at + 60 + size]
        at += 60 + size + size % 2


def system_of(data: bytes) -> tuple[str, str]:
    """The processor and the system that an object file is for."""
    magic, cpu, _, kind, commands = struct.unpack_from("<5I", data)
    assert (magic, kind) == (0xFEEDFACF, 1)
    at = 32
    for _ in range(commands):
        command, size = struct.unpack_from("<II", data, at)
        if command == 0x32:
            return CPUS[cpu], PLATFORMS[struct.unpack_from("<I", data, at + 8)[0]]
        at += size
    raise AssertionError("no LC_BUILD_VERSION")


def test_the_framework_has_what_xcode_reads(package: Path) -> None:
    framework = package / "Cdigits.xcframework"
    about = plistlib.loads((framework / "Info.plist").read_bytes())
    assert about["CFBundlePackageType"] == "XFWK"
    rows = {row["LibraryIdentifier"]: row for row in about["AvailableLibraries"]}
    assert {path.name for path in framework.iterdir()} == {"Info.plist", *FOLDERS} == {"Info.plist", *rows}
    for folder, systems in FOLDERS.items():
        row = rows[folder]
        assert row["SupportedPlatform"] == folder.split("-")[0]
        assert row.get("SupportedPlatformVariant", "") == ("simulator" if "simulator" in folder else "")
        assert row["SupportedArchitectures"] == sorted(name for name, _ in systems)
        assert (framework / folder / row["LibraryPath"]).is_file()
        headers = framework / folder / row["HeadersPath"] / "Cdigits"
        assert {path.name for path in headers.iterdir()} == {"Cdigits.h", "module.modulemap"}


@pytest.mark.parametrize("folder", FOLDERS)
def test_objects_are_for_their_system(folder: str, package: Path) -> None:
    library = (package / "Cdigits.xcframework" / folder / "libdigits.a").read_bytes()
    found = [data for archive in archives(library) for data in objects(archive)]
    assert {system_of(data) for data in found} == FOLDERS[folder]
    assert len(found) == 3 * len(FOLDERS[folder])
    assert not any(b"__debug_" in data for data in found)  # which has paths of this machine


@pytest.mark.parametrize(
    ("target", "folder"),
    [
        ("aarch64-macos", "macos-arm64_x86_64"),
        ("x86_64-macos", "macos-arm64_x86_64"),
        ("aarch64-ios", "ios-arm64"),
    ],
)
def test_a_program_can_be_linked(target: str, folder: str, package: Path, tmp_path: Path) -> None:
    """By zig's linker, which finds the processor's library and all symbols."""
    library = package / "Cdigits.xcframework" / folder / "libdigits.a"
    (tmp_path / "app.c").write_text(PROGRAM.replace("@import Cdigits;", '#include "Cdigits/Cdigits.h"'))
    zig = toolchain.find(replace(targets.load("macos-aarch64"), compilers=(f"zig cc -target {target}",)))
    # Without -O, zig first compiles its runtime of sanitizers.
    zig.run(["-O1", f"-I{library.parent / 'Headers'}", "app.c", str(library), "-o", "app"], tmp_path)
    magic, cpu = struct.unpack_from("<II", (tmp_path / "app").read_bytes())
    assert (magic, CPUS[cpu]) == (0xFEEDFACF, "arm64" if "aarch64" in target else "x86_64")


def test_the_module_is_found_in_its_folder(package: Path, tmp_path: Path) -> None:
    """As Swift and Objective-C import it."""
    (tmp_path / "app.m").write_text(PROGRAM)
    headers = package / "Cdigits.xcframework/ios-arm64/Headers"
    modules = ("-fmodules", "-fmodules-cache-path=cache", f"-I{headers}")
    ran(require("clang"), *modules, "-fsyntax-only", "-Wall", "-Werror", "app.m", folder=tmp_path)


@pytest.mark.parametrize("program", [small(), stream()], ids=lambda program: program.name)
def test_swift_can_be_parsed(program: Program, package: Path, tmp_path: Path) -> None:
    folder = package if program.name == "digits" else made("xcframework", program, tmp_path)
    paths = sorted(folder.rglob("*.swift"))
    assert {path.name for path in paths} == {"Package.swift", "Model.swift", "main.swift", "SelfTests.swift"}
    for path in paths:
        faults = [node for node in parsed(path) if node.type == "ERROR" or node.is_missing]
        assert not faults, (path, [node.text for node in faults])


def test_memory_suffices_for_every_processor(package: Path) -> None:
    """Swift has one class for all: its arena is the largest."""
    program = small()
    swift = (package / "Sources/digits/Model.swift").read_text()
    programs = _xcframework.programs_of(program)
    assert len(programs) == 5
    most = max(each.arena.size for each in programs.values())
    assert f"allocate(byteCount: {most}, alignment: 16)" in swift


def test_the_same_model_gives_the_same_bytes(package: Path, tmp_path: Path) -> None:
    program = small()
    again = made("xcframework", program, tmp_path, prepare(program.graph), CLASSES)
    files = {path.relative_to(package) for path in package.rglob("*") if path.is_file()}
    assert all((again / path).read_bytes() == (package / path).read_bytes() for path in files)


def test_a_target_of_apple_is_for_its_platform(tmp_path: Path) -> None:
    require_module("ziglang")
    folder = made("xcframework", small("aarch64-ios"), tmp_path)
    assert {path.name for path in (folder / "Cdigits.xcframework").iterdir()} == {"Info.plist", "ios-arm64"}


@pytest.mark.parametrize("target", ["windows-x86-64", "aarch64-android", "x86-64", "cortex-m4"])
def test_other_systems_have_none(target: str) -> None:
    with pytest.raises(EdgeKitError, match=f"no package xcframework for target {target}"):
        packages.check(["xcframework"], [], targets.load(target))
