"""Packages for boards compile by the rules of their build systems, and are right in an emulator."""

import json
import re
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from support.board_packages import (
    RIGHT,
    answers,
    arduino_library,
    arduino_sketch,
    ended,
    made,
    objects,
    of_another_version,
    only_one_right,
    self_testing,
    with_cmake,
)
from support.boards import load
from support.language_packages import CLASSES, ran, several
from support.npm_packages import small_digits
from support.stateful import accumulator
from support.tools import require, require_module

from edgekit import EdgeKitError
from edgekit.codegen.compilation import toolchain
from edgekit.codegen.execution import runner
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.printing.literal import stored
from edgekit.codegen.printing.render import sources
from edgekit.codegen.program import Program
from edgekit.codegen.verification.selftest import prepare
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.target import Optimize


@cache
def arm(name: str, model: Callable[[], Graph], optimize: Optimize = "speed") -> Program:
    """A model for a Cortex-M, whose packages are compiled by gcc as the SDKs do it."""
    return fit(model(), load(name, "arm-none-eabi-gcc"), optimize=optimize)


MODELS = [("cortex-m4", small_digits, "speed"), ("cortex-m0plus", accumulator, "size")]


@pytest.mark.parametrize(("target", "model", "optimize"), MODELS)
def test_arduino_runs_the_sketch(
    target: str, model: Callable[[], Graph], optimize: Optimize, tmp_path: Path
) -> None:
    """Beside a library of another model, which shares kernels with this one."""
    program = arm(target, model, optimize)
    (port,) = program.outputs
    classes = CLASSES if port.type.size == len(CLASSES) else ()
    package = made("arduino", program, tmp_path, optimize, classes)
    neighbour = fit(model().with_name("neighbour"), program.target, optimize=optimize)
    other = made("arduino", neighbour, tmp_path, optimize)
    sketch = (package / "examples/Run/Run.ino").read_text()
    declared = '#include <neighbour.h>\nextern "C" int neighbour_selftest(void *arena);\n'
    called = "void loop()\n{\n    if (neighbour_selftest(arena))\n        return;\n"
    assert "void loop()\n{\n" in sketch
    (tmp_path / "Two.ino").write_text(declared + sketch.replace("void loop()\n{\n", called))
    parts = arduino_sketch(program, tmp_path / "Two.ino", [package, other], tmp_path)
    parts += [arduino_library(program, package, tmp_path / "one")]
    parts += [arduino_library(neighbour, other, tmp_path / "two")]
    done = ended(program, parts, tmp_path)
    printed = done.out.decode()
    assert done.code == 0
    assert f"{program.name} is right on this board" in printed
    assert " us\n" in printed
    (expected,) = simulate.run(program.graph, prepare(program.graph).samples[0]).values()
    best = expected.argmax()
    assert f"{port.c} is {classes[best] if classes else best}\n" in printed
    names, numbers = zip(*answers(printed), strict=True)
    assert set(names) == {port.c}
    assert numbers == pytest.approx(expected.reshape(-1)[:10].tolist(), abs=1e-6)  # of 6 digits


@pytest.mark.parametrize("compiler", ["arm-none-eabi-gcc", "zig"])
@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_arduino_rounds_as_it_was_checked(compiler: str, optimize: Optimize, tmp_path: Path) -> None:
    """Compilers would otherwise fuse products and sums, whose rounding is then another one."""
    program = fit(accumulator(), load("cortex-m7", compiler), optimize=optimize)
    package = made("arduino", program, tmp_path, optimize)
    begin, _, _ = (package / "src/accumulator.c").read_text().partition("/* accumulator:")
    for path in sources({str(p.relative_to(package / "src")): b"" for p in package.rglob("*.c")}):
        assert (package / "src" / path).read_text().startswith(begin)

    def fused(text: str) -> bool:
        (tmp_path / "sum.c").write_text(f"{text}float f(float a, float b, float c) {{ return a * b + c; }}\n")
        toolchain.find(program.target).run(["-Werror=unknown-pragmas", "-Os", "-S", "sum.c"], tmp_path)
        return "vfma" in (tmp_path / "sum.s").read_text()

    assert not fused(begin)
    assert fused("")


def test_another_processor_is_refused_in_words(tmp_path: Path) -> None:
    """By the compiler, which may not use instructions of the kernels."""
    program = arm("cortex-m4", small_digits)
    package = made("arduino", program, tmp_path)
    smaller = arm("cortex-m0plus", accumulator, "size")
    with pytest.raises(EdgeKitError, match="this kernel needs DSP instructions: compile it with the options"):
        objects(smaller, [package / "src/digits.c"], [], tmp_path)


CORES = [name for name in targets.names() if name.startswith("cortex-m")]


@pytest.mark.parametrize("name", CORES)
def test_the_right_processor_is_known_to_each_compiler(name: str, tmp_path: Path) -> None:
    known = targets.load(name).compilers[
        : 1 if name == "cortex-m85" else None
    ]  # gcc 12 is older than that one
    for compiler in known:
        program = fit(small_digits(), load(name, compiler.split()[0]))
        package = made("zephyr", program, tmp_path)
        assert any("this kernel needs" in path.read_text() for path in package.glob("edgekit/*.c"))
        objects(program, [package / "digits.c"], [], tmp_path)


@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_platformio_builds_what_its_manifest_says(optimize: Optimize, tmp_path: Path) -> None:
    program = arm("cortex-m4", small_digits, optimize)
    package = made("platformio", program, tmp_path, optimize)
    manifest = json.loads((package / "library.json").read_text())
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", manifest["name"])
    assert len(manifest["name"]) <= 50
    assert (package / "src" / manifest["headers"]).is_file()
    assert_right(program, *platformio_library(package), tmp_path)


@pytest.mark.parametrize(
    ("target", "platforms", "architectures"),
    [
        ("rp2040", {"raspberrypi"}, {"rp2040"}),
        ("esp32-s3", {"espressif32"}, {"esp32"}),
        ("cortex-m4", {"ststm32", "nordicnrf52", "teensy"}, {"stm32", "nrf52", "samd"}),
        ("riscv32", {"espressif32"}, {"esp32"}),
    ],
)
def test_libraries_are_for_boards_with_this_processor(
    target: str, platforms: set[str], architectures: set[str], tmp_path: Path
) -> None:
    program = fit(accumulator(), targets.load(target), optimize="size")
    manifest = json.loads((made("platformio", program, tmp_path, "size") / "library.json").read_text())
    properties = (made("arduino", program, tmp_path, "size") / "library.properties").read_text()
    named = set(re.findall(r"^architectures=(.*)$", properties, re.MULTILINE)[0].split(","))
    assert platforms <= set(manifest["platforms"])
    assert architectures <= named
    is_arm = target.startswith(("cortex", "rp"))
    assert ("espressif32" in manifest["platforms"]) == ("esp32" in named) == (not is_arm)


def platformio_library(package: Path) -> tuple[list[Path], list[str]]:
    """The sources of a package, and how they are compiled."""
    build = json.loads((package / "library.json").read_text())["build"]
    chosen = set((package / "src").rglob("*.c"))
    for word in build["srcFilter"][1:]:
        assert word.startswith("-<")
        chosen -= set((package / "src" / word[2:-1]).rglob("*"))
    return sorted(chosen), ["-Os", "-std=gnu11", *build["flags"], f"-I{package / 'src'}"]


@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_cmsis_builds_what_its_layer_says(optimize: Optimize, tmp_path: Path) -> None:
    program = arm("cortex-m4", small_digits, optimize)
    package = made("cmsis", program, tmp_path, optimize)
    assert f"optimize: {optimize}" in (package / "digits.clayer.yml").read_text()
    assert_right(program, *cmsis_layer(package), tmp_path)


def cmsis_layer(package: Path) -> tuple[list[Path], list[str]]:
    """The sources of a layer, and how they are compiled."""
    layer = (package / f"{package.name}.clayer.yml").read_text()
    options = re.findall(r"- C: \[(.*)\]", layer)[0].split(", ")
    return [package / name for name in re.findall(r"- file: (\S+)", layer)], ["-O2", *options, f"-I{package}"]


@cache
def two_versions(target: str) -> tuple[Program, Program]:
    """Two models, and the second as another version of EdgeKit builds it."""
    chosen = load(target, "arm-none-eabi-gcc") if target.startswith("cortex") else targets.load(target)
    one, two = (
        fit(accumulator().with_name(name), chosen, optimize="size") for name in ("accumulator", "neighbour")
    )
    return one, of_another_version(two)


@pytest.mark.parametrize("read", [platformio_library, cmsis_layer])
def test_sources_of_two_versions_link(
    read: Callable[[Path], tuple[list[Path], list[str]]], tmp_path: Path
) -> None:
    both = two_versions("cortex-m4")
    main, parts = tmp_path / "main.c", []
    main.write_text(only_one_right(*both))
    for program in both:
        files, flags = read(made(read.__name__.partition("_")[0], program, tmp_path, "size"))
        flags += runner.compile_flags(program.target)
        (tmp_path / program.name).mkdir()
        parts += [
            f"{program.name}/{part}" for part in objects(program, files, flags, tmp_path / program.name)
        ]
    include = [f"-I{path.parent}" for p in both for path in tmp_path.rglob(f"{p.name}.h")]
    parts += objects(both[0], [main], [*include, *runner.compile_flags(both[0].target)], tmp_path)
    assert ended(both[0], parts, tmp_path).code == RIGHT


def assert_right(program: Program, files: list[Path], flags: list[str], folder: Path) -> None:
    """The self-test of what these sources are, with these flags, finds what it expects."""
    (folder / "main.c").write_text(self_testing(program))
    flags = [*flags, *runner.compile_flags(program.target)]
    assert ended(program, objects(program, [folder / "main.c", *files], flags, folder), folder).code == RIGHT


# What ESP-IDF and Zephyr promise of these functions, as far as packages use them.
ESP_IDF = """
function(idf_component_register)
  cmake_parse_arguments(own "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
  if(own_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${own_UNPARSED_ARGUMENTS}")
  endif()
  add_compile_options(-Og)
  get_filename_component(name ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  add_library(${name} STATIC ${own_SRCS})
  target_include_directories(${name} PUBLIC ${own_INCLUDE_DIRS})
  set(COMPONENT_LIB ${name} PARENT_SCOPE)
endfunction()
"""
ZEPHYR = """
add_library(zephyr_interface INTERFACE)
target_compile_options(zephyr_interface INTERFACE -Og)
macro(zephyr_library_named name)
  set(ZEPHYR_CURRENT_LIBRARY ${name})
  add_library(${name} STATIC "")
  target_link_libraries(${name} PUBLIC zephyr_interface)
endmacro()
function(zephyr_library_sources)
  target_sources(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${ARGN})
endfunction()
function(zephyr_library_compile_options)
  set(options ${ZEPHYR_CURRENT_LIBRARY}_options)
  add_library(${options} INTERFACE)
  target_compile_options(${options} INTERFACE ${ARGN})
  target_link_libraries(${ZEPHYR_CURRENT_LIBRARY} PRIVATE ${options})
endfunction()
function(zephyr_include_directories)
  target_include_directories(zephyr_interface INTERFACE ${ARGN})
endfunction()
"""


@pytest.mark.parametrize(("model", "optimize"), [(small_digits, "speed"), (accumulator, "size")])
def test_esp_idf_builds_the_component(model: Callable[[], Graph], optimize: Optimize, tmp_path: Path) -> None:
    require("qemu-riscv32")
    require_module("ziglang")
    program = fit(model(), targets.load("esp32-c3"), optimize=optimize)
    package = made("esp-idf", program, tmp_path, optimize)
    assert "targets:\n  - esp32c3\n" in (package / "idf_component.yml").read_text()
    packages = {program.name: package}
    assert with_cmake(program, ESP_IDF, packages, self_testing(program), tmp_path).code == RIGHT


@pytest.mark.parametrize(("kind", "target"), [("esp-idf", "esp32-s3"), ("arduino", "esp32")])
def test_packages_for_xtensa_compile_for_its_eldest_core(kind: str, target: str, tmp_path: Path) -> None:
    """By gcc for the ESP8266, as Debian has no other of the family: nothing runs."""
    gcc = require("xtensa-lx106-elf-gcc")
    for optimize in ("speed", "size"):
        package = made(kind, fit(small_digits(), targets.load(target), optimize=optimize), tmp_path, optimize)
        names = [str(path) for path in package.rglob("*.c") if path.parent.name != "example"]
        command = [gcc, "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
        command += ["-ffreestanding", "-fsyntax-only", f"-I{next(package.rglob('digits.h')).parent}"]
        done = subprocess.run([*command, *names], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    if kind == "esp-idf":
        assert "targets:\n  - esp32s3\n" in (package / "idf_component.yml").read_text()


@pytest.mark.parametrize("model", [small_digits, accumulator, lambda: several().graph])
def test_the_example_in_c_classifies(model: Callable[[], Graph], tmp_path: Path) -> None:
    """That of a component for a chip whose C is portable, on this machine."""
    graph = model()
    classes = CLASSES if graph.name == "digits" else ()
    package = made("esp-idf", fit(graph, targets.load("esp32")), tmp_path, classes=classes)
    (tmp_path / "main.c").write_text("void app_main(void);\nint main(void) { app_main(); }\n")
    sources = [*package.rglob("*.c")]
    command = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", f"-I{package}", "main.c", *sources, "-lm")
    ran(require("gcc"), "-o", "example", *command, folder=tmp_path)
    first, *lines = ran(tmp_path / "example", folder=tmp_path).splitlines()
    assert first == f"{graph.name} is right on this board"
    expected = simulate.run(graph, prepare(graph).samples[0]).values()
    best = [stored(values).argmax() for values in expected]  # floats of 16 bits are bits to C
    assert [line.split(" is ")[1] for line in lines] == [classes[i] if classes else str(i) for i in best]


@pytest.mark.parametrize("kind", ["cmsis", "zephyr"])
def test_the_example_in_c_is_the_same_for_all(kind: str, tmp_path: Path) -> None:
    for ports in ("caller", "arena"):
        program = fit(accumulator(), load("cortex-m4", "arm-none-eabi-gcc"), ports)
        package = made(kind, program, tmp_path / ports)
        flags = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{package}")
        ran(require("gcc"), *flags, package / "example/main.c", folder=tmp_path)
        assert "\nint main(void)\n" in (package / "example/main.c").read_text()


@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_zephyr_builds_the_module(optimize: Optimize, tmp_path: Path) -> None:
    program = arm("cortex-m4", small_digits, optimize)
    package = made("zephyr", program, tmp_path, optimize)
    module = dict(re.findall(r"^ *(\w+): (\S+)$", (package / "zephyr/module.yml").read_text(), re.MULTILINE))
    options = re.findall(r"^config (\w+)$", (package / module["kconfig"]).read_text(), re.MULTILINE)
    assert options == ["EDGEKIT_DIGITS", "EDGEKIT_DIGITS_SELFTEST"]
    chosen = "".join(f"set(CONFIG_{option} y)\n" for option in options)
    packages = {"edgekit_digits": package / module["cmake"]}
    done = with_cmake(program, chosen + ZEPHYR, packages, self_testing(program), tmp_path)
    assert done.code == RIGHT


@pytest.mark.parametrize(("kind", "target"), [("esp-idf", "esp32-c3"), ("zephyr", "cortex-m4")])
def test_components_of_two_versions_link(kind: str, target: str, tmp_path: Path) -> None:
    both = two_versions(target)
    packages = {}
    for program in both:
        package = made(kind, program, tmp_path, "size")
        packages |= (
            {f"edgekit_{program.name}": package / "zephyr"} if kind == "zephyr" else {program.name: package}
        )
    options = [f"EDGEKIT_{p.name.upper()}{end}" for p in both for end in ("", "_SELFTEST")]
    chosen = "".join(f"set(CONFIG_{option} y)\n" for option in options) + (
        ZEPHYR if kind == "zephyr" else ESP_IDF
    )
    assert with_cmake(both[0], chosen, packages, only_one_right(*both), tmp_path).code == RIGHT
