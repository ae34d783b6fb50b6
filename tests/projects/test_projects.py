"""`edgekit new`: the projects build as their README says, and compute what the simulator does."""

import configparser
import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from support import cargo, go_command
from support.board_packages import arduino_sketch
from support.boards import load
from support.command_line import CommandLine
from support.language_packages import CLASSES, UNUSUAL, ran, several, stream
from support.npm_packages import small_digits
from support.tools import ROOT, require

from edgekit import EdgeKitError, projects
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.verification import selftest
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.types import Array

STRICT = ("-Wall", "-Wextra", "-Werror")
ZEPHYR = """\
add_library(app INTERFACE)
macro(zephyr_library_named name)
  add_library(${name} STATIC "")
endmacro()
function(zephyr_library_sources)
  target_sources(edgekit_digits PRIVATE ${ARGN})
endfunction()
function(zephyr_library_compile_options)
endfunction()
function(zephyr_include_directories)
endfunction()
foreach(module ${ZEPHYR_EXTRA_MODULES})
  file(WRITE ${CMAKE_BINARY_DIR}/modules.txt ${module})
endforeach()
"""
KERNEL_H = """\
#include <stdint.h>
int64_t k_uptime_ticks(void);
uint64_t k_ticks_to_us_floor64(uint64_t ticks);
int32_t k_msleep(int32_t ms);
void printk(const char *format, ...) __attribute__((format(printf, 1, 2)));
"""


# What ESP-IDF promises of these functions. Folders with a CMakeLists.txt are components: those in
# EXTRA_COMPONENT_DIRS, its own, and main, which requires others by name.
IDF_CMAKE = """\
function(idf_component_register)
  cmake_parse_arguments(own "" "" "SRCS;INCLUDE_DIRS;REQUIRES" ${ARGN})
  get_filename_component(name ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  add_library(${name} STATIC ${own_SRCS})
  target_include_directories(${name} PUBLIC ${own_INCLUDE_DIRS})
  target_link_libraries(${name} PUBLIC ${own_REQUIRES})
  set(COMPONENT_LIB ${name} PARENT_SCOPE)
endfunction()
macro(project name)
  _project(${name} C)
  foreach(folder ${EXTRA_COMPONENT_DIRS})
    file(GLOB components ${folder}/*/CMakeLists.txt)
    foreach(file ${components})
      get_filename_component(component ${file} DIRECTORY)
      get_filename_component(called ${component} NAME)
      add_subdirectory(${component} component_${called})
    endforeach()
  endforeach()
  add_subdirectory($ENV{IDF_PATH}/esp_timer esp_timer)
  add_subdirectory(main)
  file(WRITE ${CMAKE_BINARY_DIR}/empty.c "")
  add_executable(${name}.elf ${CMAKE_BINARY_DIR}/empty.c)
  target_link_libraries(${name}.elf -Wl,--start-group main esp_timer -Wl,--end-group m)
endmacro()
"""
IDF_FILES = {
    "esp_timer.h": "#include <stdint.h>\nint64_t esp_timer_get_time(void);\n",
    "freertos/FreeRTOS.h": "#include <stdint.h>\n#define pdMS_TO_TICKS(ms) ((uint32_t)(ms) / 10)\n",
    "freertos/task.h": "void vTaskDelay(uint32_t ticks);\n",
    "run.c": """\
#include <stdlib.h>
#include "esp_timer.h"
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"
void app_main(void);
int64_t esp_timer_get_time(void) { return 0; }
void vTaskDelay(uint32_t ticks) { exit(ticks == 100 ? 0 : 1); }
int main(void) { app_main(); }
""",
}


# Names that the programs of templates use themselves, each an input of another type.
OWN = ("argc", "argv", "arena", "state", "main", "start", "np", "paths", "model")


def of_every_type() -> Graph:
    return several(types=dict(zip(OWN, UNUSUAL.values(), strict=True))).graph


def with_a_keyword() -> Graph:
    """A network that is called as a word of Python."""
    return small_digits().with_name("lambda")


MODELS = {
    "digits": small_digits,
    "several": of_every_type,
    "stream": lambda: stream().graph,
}


def created(template: str, graph: Graph, folder: Path, target: str = "") -> projects.Project:
    return projects.create(folder, graph, projects.find(template), target=target, verify=False)


def sample_outputs(graph: Graph) -> dict[str, Array]:
    """What the sample that comes with a package gives."""
    return simulate.run(graph, selftest.prepare(graph).samples[0])


def printed(text: str) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for name, number in re.findall(r"^(\w+) \d+ (\S+)$", text, re.MULTILINE):
        found.setdefault(name, []).append(float(number))
    return found


@pytest.mark.parametrize("model", MODELS)
def test_a_c_program_computes_what_the_simulator_does(model: str, tmp_path: Path) -> None:
    require("cmake")
    graph = MODELS[model]()
    made = created("c", graph, tmp_path / "my-app")
    folder = Path(made.folder)
    flags = f"-DCMAKE_C_FLAGS={' '.join(STRICT)}"
    for line in made.commands:  # as the README has them
        ran(*shlex.split(line), *([flags] if line.endswith("-B build") else []), folder=folder)
    program = fit(graph, targets.load("host"))
    samples = folder / "model" / "cmake" / program.name / "example"
    inputs = [samples / f"{port.c}.bin" for port in program.inputs]
    said = ran("build/app", *inputs, folder=folder)
    check_printed(said, graph)
    assert ran("build/app", folder=folder) == said  # the sample of the library


def check_printed(said: str, graph: Graph, most: int | None = None) -> None:
    """The numbers of all outputs, for the sample; of each the first ones."""
    found, expected = printed(said), sample_outputs(graph)
    for port in fit(graph, targets.load("host")).outputs:
        right = expected[port.name].reshape(-1)
        if right.dtype.itemsize == 2 and right.dtype.kind not in "iu":
            right = right.view(np.uint16)
        np.testing.assert_allclose(found[port.c], right[:most].astype(np.float64), rtol=1e-4, atol=1e-6)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Cargo keeps what it compiled, for all projects."""
    return tmp_path_factory.mktemp("built")


def environment(template: str, folder: Path, built: Path) -> dict[str, str]:
    """What the commands of a project need here."""
    if template == "rust":
        require("cargo")
        cargo.configure(folder)
        return {**cargo.settings(built), "CARGO_TARGET_DIR": str(built)}
    if template == "go":
        require("go")
        require("gcc")
        return go_command.settings(folder)
    require("cmake")
    require("g++")
    return {}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("template", ["cpp", "go", "rust"])
def test_a_program_computes_what_the_simulator_does(
    template: str, model: str, tmp_path: Path, built: Path
) -> None:
    """On the sample that comes with the library, and on the files that are named."""
    graph = MODELS[model]()
    made = created(template, graph, tmp_path / "my-app")
    folder, known = Path(made.folder), environment(template, tmp_path, built)
    said = [ran(*shlex.split(line), folder=folder, **known) for line in made.commands][-1]
    program = fit(graph, targets.load("host"))
    check_printed(said, graph)
    samples = {path.name: path for path in (folder / "model").rglob("*.bin")}
    inputs = [samples[f"{port.c}.bin"] for port in program.inputs]
    words = [*shlex.split(made.commands[-1]), *(["--"] if template == "rust" else [])]
    assert ran(*words, *inputs, folder=folder, **known) == said
    (tmp_path / "short.bin").write_bytes(b"12")
    short = [tmp_path / "short.bin"] * len(inputs)
    done = subprocess.run(
        [*words, *short],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], **known},
    )
    assert (done.returncode != 0, "bytes, the model takes " in done.stderr) == (True, True)


def test_a_rust_program_is_formatted(tmp_path: Path) -> None:
    rustfmt = require("rustfmt")
    for model in ("digits", "stream"):
        folder = Path(created("rust", MODELS[model](), tmp_path / model).folder)
        ran(rustfmt, "--check", "--edition=2021", "src/main.rs", folder=folder, **cargo.settings(tmp_path))


def test_a_go_program_is_formatted(tmp_path: Path) -> None:
    for model in ("digits", "stream"):
        folder = Path(created("go", MODELS[model](), tmp_path / model).folder)
        assert ran(require("gofmt"), "-l", "main.go", folder=folder) == ""


def test_a_c_program_says_what_it_takes(tmp_path: Path) -> None:
    require("cmake")
    made = created("c", small_digits(), tmp_path / "app")
    for line in made.commands[:2]:
        ran(*shlex.split(line), folder=tmp_path / "app")
    (tmp_path / "short.bin").write_bytes(b"12")
    app = [str(tmp_path / "app" / "build" / "app")]
    done = subprocess.run([*app, str(tmp_path / "short.bin")], capture_output=True, text=True)
    assert (done.returncode, "has 2 bytes, the model takes 64" in done.stderr) == (2, True)
    done = subprocess.run([*app, "a", "b"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"usage: {app[0]} x.bin\n")


@pytest.mark.parametrize("model", [*MODELS, "lambda"])
def test_a_python_program_computes_what_the_simulator_does(model: str, tmp_path: Path) -> None:
    graph = (MODELS | {"lambda": with_a_keyword})[model]()
    folder = Path(created("python", graph, tmp_path / "app").folder)
    (wheel,) = folder.glob("model/python/*/*.whl")
    installed = str(tmp_path / "installed")
    zipfile.ZipFile(wheel).extractall(installed)  # pip does no more for a wheel without scripts
    said = ran(sys.executable, "main.py", folder=folder, PYTHONPATH=installed)
    assert len(re.findall(r"^\w+ \(", said, re.MULTILINE)) == len(graph.outputs)
    if model == "digits":
        np.save(tmp_path / "x.npy", selftest.prepare(graph).samples[0]["x"])
        given = ran(
            sys.executable,
            "main.py",
            tmp_path / "x.npy",
            folder=folder,
            PYTHONPATH=str(tmp_path / "installed"),
        )
        assert given == said
        numbers = np.array([float(x) for x in re.search(r"\[(.*)\]", said, re.DOTALL)[1].split()])
        np.testing.assert_array_equal(numbers, sample_outputs(graph)["y"].reshape(-1)[:10])


@pytest.mark.parametrize("model", MODELS)
def test_a_sketch_compiles(model: str, tmp_path: Path) -> None:
    require("arm-none-eabi-gcc")
    graph = MODELS[model]()
    folder = Path(created("arduino", graph, tmp_path / "my-sketch").folder)
    program = fit(graph, load("cortex-m4", "arm-none-eabi-gcc"))
    library = folder / "model" / "arduino" / program.name
    arduino_sketch(program, folder / "my-sketch.ino", [library], tmp_path)


@pytest.mark.parametrize("model", MODELS)
def test_a_sketch_of_platformio_compiles(model: str, tmp_path: Path) -> None:
    require("arm-none-eabi-gcc")
    graph = MODELS[model]()
    folder = Path(created("platformio", graph, tmp_path / "my-board", target="cortex-m4").folder)
    program = fit(graph, load("cortex-m4", "arm-none-eabi-gcc"))
    library = folder / "model" / "platformio" / program.name
    arduino_sketch(program, folder / "src/my-board.ino", [library], tmp_path)


def test_a_board_of_platformio_is_chosen_by_the_target(tmp_path: Path) -> None:
    for target, board in (("", "esp32-s3-devkitc-1"), ("rp2040", "pico"), ("cortex-m4", "BOARD")):
        folder = Path(created("platformio", small_digits(), tmp_path / f"a{target}", target=target).folder)
        settings = configparser.ConfigParser()
        settings.read(folder / "platformio.ini")
        assert settings["env:board"]["board"] == board
        assert (folder / settings["env:board"]["lib_extra_dirs"] / "digits" / "library.json").is_file()


@pytest.mark.parametrize("model", MODELS)
def test_an_esp_idf_application_computes_what_the_simulator_does(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Built by its CMake files for this machine, as the C of this target is portable, with a stand-in for
    the functions of ESP-IDF that they call."""
    graph = MODELS[model]()
    made = created("esp-idf", graph, tmp_path / "app")
    idf = tmp_path / "idf"
    (idf / "tools/cmake").mkdir(parents=True)
    (idf / "tools/cmake/project.cmake").write_text(IDF_CMAKE)
    (idf / "esp_timer/freertos").mkdir(parents=True)
    (idf / "esp_timer/CMakeLists.txt").write_text('idf_component_register(SRCS "run.c" INCLUDE_DIRS ".")\n')
    for name, text in IDF_FILES.items():
        (idf / "esp_timer" / name).write_text(text)
    monkeypatch.setenv("IDF_PATH", str(idf))
    known = {"IDF_PATH": str(idf)}
    flags = f"-DCMAKE_C_FLAGS={' '.join(STRICT)}"
    ran(require("cmake"), "-B", "build", flags, folder=Path(made.folder), **known)
    ran("cmake", "--build", "build", folder=Path(made.folder), **known)
    said = ran("build/app.elf", folder=Path(made.folder))
    assert said.startswith(f"{graph.name} is right on this chip\n")
    check_printed(said, graph, most=10)
    options = (tmp_path / "app/sdkconfig.defaults").read_text()
    assert 'CONFIG_IDF_TARGET="esp32s3"\n' in options
    assert re.search(r"^CONFIG_ESP_MAIN_TASK_STACK_SIZE=\d+$", options, re.MULTILINE)


@pytest.mark.parametrize("model", MODELS)
def test_a_zephyr_application_compiles(model: str, tmp_path: Path) -> None:
    """Against declarations of the functions of Zephyr that it calls."""
    graph = MODELS[model]()
    zephyr_syntax(Path(created("zephyr", graph, tmp_path / "app").folder), graph.name, tmp_path)


def zephyr_syntax(folder: Path, name: str, scratch: Path) -> None:
    (scratch / "zephyr" / "sys").mkdir(parents=True)
    (scratch / "zephyr" / "kernel.h").write_text(KERNEL_H)
    (scratch / "zephyr" / "sys" / "printk.h").write_text("")
    headers = next((folder / "model" / "zephyr").rglob(f"{name}.h")).parent.resolve()
    gcc = [require("arm-none-eabi-gcc"), "-std=gnu11", "-mcpu=cortex-m4", *STRICT, "-fsyntax-only"]
    ran(*gcc, "-I.", f"-I{headers}", (folder / "src/main.c").resolve(), folder=scratch)


def test_a_zephyr_application_finds_its_module(tmp_path: Path) -> None:
    """CMake with a stand-in for Zephyr's package, which gets the list of modules."""
    folder = Path(created("zephyr", small_digits(), tmp_path / "app").folder)
    (tmp_path / "ZephyrConfig.cmake").write_text(ZEPHYR)
    ran(require("cmake"), "-B", tmp_path / "made", f"-DZephyr_DIR={tmp_path}", folder=folder)
    module = Path((tmp_path / "made" / "modules.txt").read_text())
    assert (module / "zephyr" / "module.yml").is_file()
    options = re.findall(r"^config (\w+)$", (module / "zephyr" / "Kconfig").read_text(), re.MULTILINE)
    settings = re.findall(r"^CONFIG_(EDGEKIT_\w+)=y$", (folder / "prj.conf").read_text(), re.MULTILINE)
    assert settings == options


def test_the_library_is_built_anew_by_the_settings(cli: CommandLine, tmp_path: Path) -> None:
    """In the project's folder, without naming options."""
    require("gcc")
    answer = cli.ok("new", "app", "digits.onnx", "--optimize", "size", "--json").json
    assert answer["files"] == [
        ".gitignore", "CMakeLists.txt", "README.md", "edgekit.toml", "main.c", "digits.ek"
    ]  # fmt: skip
    before = {path: path.read_bytes() for path in Path("app").rglob("*") if path.is_file()}
    shutil.rmtree("app/model")
    os.chdir("app")
    again = cli.ok("build", "digits.ek", "--json").json
    os.chdir("..")
    assert (again["folder"], again["optimize"], again["packages"][0]["kind"]) == ("model", "size", "cmake")
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("template", [template.name for template in projects.templates()])
def test_classes_are_named(template: str, cli: CommandLine) -> None:
    """By a file in the project, from which the library is built anew, as is the sample."""
    require("gcc")
    Path("names.txt").write_text("\n".join((*CLASSES[:9], "nine")) + "\r\n\n", encoding="utf-8-sig")
    x = np.random.default_rng(3).random((1, 1, 8, 8), np.float32)
    np.save("x.npy", x)
    options = ("--classes", "names.txt", "--data", "x.npy", "--no-verify")
    cli.ok("new", "app", "digits.onnx", "--template", template, *options)
    with np.load("app/sample.npz") as kept:
        np.testing.assert_array_equal(kept["x"], x)
    sample = (
        next(path for path in Path("app/model").rglob("*") if path.name in ("x.bin", "digits_sample.h"))
        if template != "python"
        else None
    )
    if sample and sample.suffix == ".bin":
        assert sample.read_bytes() == x.tobytes()
    elif sample:
        assert f"{x.reshape(-1)[0]:.9g}f" in sample.read_text()
    assert Path("app/classes.txt").read_text(encoding="utf-8").split("\n") == [*CLASSES[:9], "nine", ""]
    before = {path: path.read_bytes() for path in Path("app").rglob("*") if path.is_file()}
    shutil.rmtree("app/model")
    os.chdir("app")
    cli.ok("build", "digits.ek", "--no-verify")
    os.chdir("..")
    assert {path: path.read_bytes() for path in before} == before
    if template in ("c", "cpp"):
        done = subprocess.run(
            "cmake -B build && cmake --build build && build/app",
            cwd="app",
            shell=True,
            capture_output=True,
            text=True,
            check=True,
        )
        said = [line for line in done.stdout.split("\n") if line.startswith("y ")]
        assert [line.split(" ", 3)[3] for line in said] == [*CLASSES[:9], "nine"]
    if template == "python":
        (wheel,) = Path("app").glob("model/python/*/*.whl")
        zipfile.ZipFile(wheel).extractall("installed")
        said = ran(
            sys.executable,
            "main.py",
            folder=Path("app"),
            PYTHONPATH=str(Path("installed").resolve()),
            PYTHONUTF8="1",
        )
        assert any(said.endswith(f"y is {name}\n") for name in (*CLASSES, "nine"))
    if template == "zephyr":
        zephyr_syntax(Path("app"), "digits", Path())
    if template == "esp-idf":
        Path("freertos").mkdir()
        for path, text in IDF_FILES.items():
            Path(path).write_text(text)
        headers = "app/model/esp-idf/digits"
        ran(require("gcc"), *STRICT, "-fsyntax-only", "-I.", f"-I{headers}", "app/main/main.c", folder=Path())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["taken"], "E0109 taken is there already"),
        (["1st"], "E0103 '1st' cannot be the name of a project"),
        (["a b"], "E0103 'a b' cannot be the name of a project"),
        (["app", "--template", "ardiuno"], "E0103 unknown template ardiuno\nhint: did you mean arduino?"),
        (["app", "--template", "arduino", "-t", "host"], "E0103 there is no Arduino library for target host"),
        (["app", "--template", "web", "-t", "cortex-m4"], "and target cortex-m4 is none"),
    ],
)
def test_mistakes_are_explained(cli: CommandLine, words: list[str], said: str) -> None:
    Path("taken").mkdir()
    Path("taken/file").write_text("mine")
    name, *options = words
    answer = cli("new", name, "digits.onnx", *options)
    assert answer.code == 2
    assert said in answer.err
    assert not Path("app").exists()
    assert Path("taken/file").read_text() == "mine"


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    assert (Path(created("python", small_digits(), tmp_path / "app").folder) / "main.py").is_file()


def test_nothing_stays_of_a_model_that_cannot_be_built(tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError):
        created("arduino", small_digits(), tmp_path / "app", target="x86-64")
    assert not (tmp_path / "app").exists()


def test_the_page_is_followed(cli: CommandLine, tmp_path: Path) -> None:
    """What `edgekit new` prints, and the commands that it ends with, as they are typed."""
    require("cmake")
    page = (ROOT / "docs" / "new-project.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```console\n\$ (.*?)^```", page, re.MULTILINE | re.DOTALL)
    line, _, expected = example.partition("\n")
    answer = cli.ok(*shlex.split(line)[1:])
    assert doctest.OutputChecker().check_output(expected, answer.out, doctest.ELLIPSIS), answer.out
    _, _, commands = answer.out.partition("\n\n")
    assert commands.startswith("cd reader\n")
    said = ran("bash", "-ec", commands, folder=tmp_path)
    assert len(printed(said)["y"]) == 10


def test_every_template_is_described(cli: CommandLine) -> None:
    page = (ROOT / "docs" / "new-project.md").read_text(encoding="utf-8")
    described = re.findall(r"^\| `([\w-]+)` \| (.*?) \| `([\w-]+)` \|", page, re.MULTILINE)
    known = [(t.name, t.about["description"], t.target) for t in projects.templates()]
    assert sorted(described) == known
    told = re.search(r"--template (\S+\|\S+)", cli.ok("new", "--help").out)
    assert told
    assert sorted(told[1].split("|")) == [name for name, *_ in known]
