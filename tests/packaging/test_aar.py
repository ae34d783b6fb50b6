"""AARs: their layout, and their libraries, loaded with the C library of Linux in the place of Android's."""

import io
import json
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import generated
from support.android_packages import FAST, check_runs, runs
from support.language_packages import CLASSES, check_answer, made, ran, several, small, stream
from support.tools import require, require_module

from edgekit import EdgeKitError
from edgekit.codegen import packages
from edgekit.codegen.packages import _android_abi
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.verification.selftest import SelfTest, prepare
from edgekit.core import target as targets

ABIS = ("arm64-v8a", "armeabi-v7a", "x86", "x86_64")
MACHINES = {"arm64-v8a": "AArch64", "armeabi-v7a": "ARM", "x86": "Intel 80386", "x86_64": "X86-64"}
# Declares what it calls: there are no headers for 32 bits.
LOADS = """\
extern void *dlopen(const char *path, int flags), *dlsym(void *library, const char *name);
extern void exit(int code);
static _Alignas(64) unsigned char arena[1 << 16];
void START(void)
{
    void *library = dlopen("./lib.so", 2);
    int (*test)(void *) = library ? (int (*)(void *))dlsym(library, "digits_selftest") : 0;
    exit(test ? test(arena) : 99);
}
"""


@pytest.fixture(scope="module")
def test() -> SelfTest:
    return prepare(small().graph)


@pytest.fixture(scope="module")
def package(test: SelfTest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a package for every ABI."""
    return built(small(), tmp_path_factory.mktemp("aar"), test, CLASSES)


@pytest.fixture(scope="module")
def inside(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is in its archive."""
    folder = tmp_path_factory.mktemp("inside")
    with zipfile.ZipFile(package / "digits-1.0.0.aar") as archive:
        archive.extractall(folder)
    return folder


def built(
    program: Program, folder: Path, test: SelfTest | None = None, classes: tuple[str, ...] = ()
) -> Path:
    require("javac")
    require_module("ziglang")
    return made("aar", program, folder, test, classes)


def files(archive: bytes) -> list[str]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return opened.namelist()


def c_library(folder: Path, *compiler: str, libc: str = "-l:libc.so.6") -> Path:
    """A libc.so as on Android, which has the functions of this machine's."""
    folder.mkdir()
    (folder / "empty.c").write_text("")
    shared = ("-shared", "-nostdlib", "-Wl,-soname,libc.so", "-Wl,--no-as-needed")
    ran(*compiler, *shared, "empty.c", libc, "-o", "libc.so", folder=folder)
    return folder


def test_the_archive_has_what_android_and_prefab_read(package: Path, inside: Path) -> None:
    names = files((package / "digits-1.0.0.aar").read_bytes())
    assert names[0] == "AndroidManifest.xml"
    assert len(set(names)) == len(names)
    module = "prefab/modules/digits_model"
    libraries = {f"jni/{abi}/libdigits_model.so" for abi in ABIS}
    prefab = {f"{module}/libs/android.{abi}/{name}" for abi in ABIS for name in prefab_files()}
    plain = {"AndroidManifest.xml", "R.txt", "classes.jar", "proguard.txt", "prefab/prefab.json"}
    metadata = "META-INF/com/android/build/gradle/aar-metadata.properties"
    assert set(names) == {*libraries, *prefab, *plain, metadata, f"{module}/module.json"}
    assert json.loads((inside / "prefab/prefab.json").read_text()) == {
        "schema_version": 1,
        "name": "digits",
        "version": "1.0.0",
        "dependencies": [],
    }
    for abi in ABIS:
        folder = inside / module / "libs" / f"android.{abi}"
        assert json.loads((folder / "abi.json").read_text()) == {
            "abi": abi,
            "api": 21,
            "ndk": 21,
            "stl": "none",
        }
        library = (inside / "jni" / abi / "libdigits_model.so").read_bytes()
        assert (folder / "libdigits_model.so").read_bytes() == library
    assert 'package="edgekit.digits"' in (inside / "AndroidManifest.xml").read_text()
    assert files((inside / "classes.jar").read_bytes()) == ["edgekit/digits/Model.class"]


def prefab_files() -> Iterator[str]:
    yield from ("abi.json", "libdigits_model.so", "include/digits.h")


def test_the_class_is_one_that_android_reads(inside: Path) -> None:
    """Of Java 8."""
    with zipfile.ZipFile(inside / "classes.jar") as jar:
        data = jar.read("edgekit/digits/Model.class")
    assert data[:4].hex() == "cafebabe"
    assert data[6:8] == bytes([0, 52])


@pytest.mark.parametrize("abi", ABIS)
def test_a_library_can_be_loaded_by_android(abi: str, inside: Path) -> None:
    """It needs libc.so alone, pages may have 16 KiB, and each has the rights of one segment."""
    library = inside / "jni" / abi / "libdigits_model.so"
    said = ran("readelf", "-hdlW", "--dyn-syms", library, folder=inside)
    assert re.findall(r"Machine: +(?:Advanced Micro Devices )?(.*)", said) == [MACHINES[abi]]
    assert re.findall(r"\(NEEDED\).*\[(.*)\]", said) == ["libc.so"]
    assert re.findall(r"\(SONAME\).*\[(.*)\]", said) == ["libdigits_model.so"]
    assert "(GNU_HASH)" in said
    assert "(HASH)" in said  # for Android before 6
    segments = re.findall(r"^ +LOAD +(\w+) (\w+) \w+ \w+ (\w+) (.{3}) (\w+)$", said, re.MULTILINE)
    assert segments
    assert all(int(align, 16) == 1 << 14 for *_, align in segments)
    for offset, address, _, rights, _ in segments:
        assert (int(address, 16) - int(offset, 16)) % (1 << 14) == 0
        assert rights in ("R  ", "R E", "RW ")
    pages = [
        {*range(int(address, 16) >> 14, (int(address, 16) + int(size, 16) - 1 >> 14) + 1)}
        for _, address, size, *_ in segments
    ]
    assert sum(map(len, pages)) == len(set.union(*pages))
    (stack,) = re.findall(r"GNU_STACK.* (.{3}) \w+$", said, re.MULTILINE)
    assert stack == "RW "
    assert "TEXTREL" not in said
    (relro,) = re.findall(r"GNU_RELRO +\w+ (\w+) \w+ \w+ (\w+)", said)
    assert sum(int(word, 16) for word in relro) % (1 << 14) == 0  # or data behind it were read-only, too
    unknown = set(re.findall(r" UND (\w+)$", said, re.MULTILINE))
    assert unknown <= {"calloc", "free", "memcpy", "memmove", "memset"}
    assert {"JNI_OnLoad", "digits_run", "digits_selftest"} <= set(re.findall(r" (\w+)$", said, re.MULTILINE))


def test_java_of_the_archive_gives_the_numbers_of_the_simulator(
    package: Path, inside: Path, test: SelfTest, tmp_path: Path
) -> None:
    """The class and the library are those of the archive."""
    libc = c_library(tmp_path / "libc", require("gcc"))
    program = small()
    (tmp_path / "Runs.java").write_text(runs(program, "digits"))
    command = compiled(inside, tmp_path, "Runs.java", package / "example/Classify.java")
    check_runs(tmp_path, program, command, LD_LIBRARY_PATH=str(libc))
    sample = package / "example/sample/x.bin"
    said = ran(*command, "Classify", sample, folder=tmp_path, LANG="C.UTF-8", LD_LIBRARY_PATH=str(libc))
    check_answer(said, test)


def compiled(inside: Path, folder: Path, *programs: object) -> tuple[str, ...]:
    """The command that runs programs with an archive."""
    jar = str(inside / "classes.jar")
    generated.compiled(folder, "javac", f"-J{FAST}", "-cp", jar, "-d", "programs", *map(str, programs))
    library = f"-Djava.library.path={inside / 'jni/x86_64'}"
    return (require("java"), FAST, "-Xcheck:jni", library, "-cp", f"{jar}:programs")


@pytest.mark.parametrize(
    ("given", "module"), [(several("package"), "package_"), (stream(), "stream")], ids=["package", "stream"]
)
def test_java_takes_unusual_types_names_and_states(given: Program, module: str, tmp_path: Path) -> None:
    program = _for_x86(given)
    (archive,) = built(program, tmp_path).glob("*.aar")
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(tmp_path / "inside")
    libc = c_library(tmp_path / "libc", require("gcc"))
    (tmp_path / "Runs.java").write_text(runs(program, module))
    command = compiled(tmp_path / "inside", tmp_path, "Runs.java")
    check_runs(tmp_path, program, command, LD_LIBRARY_PATH=str(libc))


def _for_x86(program: Program) -> Program:
    return compile_graph(program.graph, targets.load("x86-64"))


@pytest.mark.parametrize("abi", ABIS[:3])
def test_a_library_passes_its_self_test(abi: str, inside: Path, tmp_path: Path) -> None:
    """That of x86_64 runs with Java."""
    data = bytearray((inside / "jni" / abi / "libdigits_model.so").read_bytes())
    options: tuple[str, ...] = ("-O1", "-fno-builtin")
    libc, start = "-l:libc.so.6", "main"
    match abi:
        case "arm64-v8a":
            compiler = [require("aarch64-linux-gnu-gcc")]
            runner = [require("qemu-aarch64"), "-L", "/usr/aarch64-linux-gnu", "-E"]
        case "armeabi-v7a":
            compiler = [require("arm-linux-gnueabihf-gcc")]
            runner = [require("qemu-arm"), "-L", "/usr/arm-linux-gnueabihf", "-E"]
            assert data[36:40].hex() == "00020005"  # floats in integer registers
            data[37] = 4  # Linux has them in others, and refuses the library; no call of the test passes one
        case _:
            compiler = [require("gcc"), "-m32"]
            runner = ["env"]
            libc, start = require("/lib32/libc.so.6"), "_start"
            options += ("-nostdlib", "-no-pie", "-fno-pie", "-Wl,-dynamic-linker,/lib/ld-linux.so.2")
    shim = c_library(tmp_path / "libc", *compiler, libc=libc)
    (tmp_path / "lib.so").write_bytes(data)
    (tmp_path / "loads.c").write_text(LOADS.replace("START", start))
    ran(*compiler, *options, "loads.c", libc, "-o", "loads", folder=tmp_path)
    ran(*runner, f"LD_LIBRARY_PATH={shim}", "./loads", folder=tmp_path)


def test_the_same_model_gives_the_same_bytes(package: Path, test: SelfTest, tmp_path: Path) -> None:
    again = built(small(), tmp_path, test, CLASSES)
    name = "digits-1.0.0.aar"
    assert (again / name).read_bytes() == (package / name).read_bytes()


def test_c_of_an_app_compiles_with_the_headers_of_an_abi(inside: Path, tmp_path: Path) -> None:
    """Arenas may differ, so headers do."""
    for abi in ABIS:
        folder = inside / f"prefab/modules/digits_model/libs/android.{abi}/include"
        (tmp_path / "use.c").write_text('#include "digits.h"\nchar arena[DIGITS_ARENA_SIZE + 1];\n')
        ran(require("gcc"), "-fsyntax-only", "-Werror", f"-I{folder}", "use.c", folder=tmp_path)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("host", ABIS),
        ("aarch64-android", ("arm64-v8a",)),
        ("aarch64-dotprod", ("arm64-v8a",)),
        ("x86-64-avx2", ("x86_64",)),
        ("macos-aarch64", ()),
        ("windows-x86-64", ()),
        ("cortex-m4", ()),
        ("wasm32", ()),
    ],
)
def test_a_target_says_for_which_abis(target: str, expected: tuple[str, ...]) -> None:
    assert tuple(sorted(abi.name for abi in _android_abi.abis(targets.load(target)))) == expected


def test_a_processor_keeps_its_options() -> None:
    """Of the target, not of the least that Android runs on."""
    program = small("aarch64-dotprod", "wide")
    (abi,) = _android_abi.abis(program.target)
    (zig,) = _android_abi.program_for(program, abi).target.compilers
    assert zig == "zig cc -target aarch64-linux-android -mcpu=generic+v8_2a+dotprod"


def test_without_a_jdk_the_user_hears_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "PATH", str(tmp_path))
    with pytest.raises(EdgeKitError, match="javac is not on PATH") as caught:
        packages.check(["aar"], [], targets.load("host"))
    assert caught.value.hint is not None
    assert "--package android" in caught.value.hint


def test_other_systems_have_none() -> None:
    with pytest.raises(EdgeKitError, match="no package aar for target cortex-m4"):
        packages.check(["aar"], [], targets.load("cortex-m4"))
