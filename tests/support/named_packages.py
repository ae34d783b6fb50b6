"""Packages of models and ports with awkward names, of each kind, compiled in as few calls as possible."""

import re
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from support import cargo, go_command
from support.android_packages import FAST
from support.generated import compiled
from support.language_packages import ran
from support.swift_packages import parsed
from support.tools import ROOT, require, require_module

from edgekit.codegen import packages
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.packages import Content, PackageRequest, _java
from edgekit.codegen.program import Program, compile_graph
from edgekit.codegen.verification.selftest import prepare
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph, State
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import DType, Quant, Type, Value

TARGETS = {
    "arduino": "cortex-m4",
    "cmsis": "cortex-m4",
    "esp-idf": "esp32-c3",
    "npm": "wasm32-simd",
    "platformio": "cortex-m4",
    "zephyr": "cortex-m4",
}
_INTEGERS = Quant((0.5,), (3,))
# Of the first inputs, and of all others.
_TYPES = (Type(DType.BF16, (3,)), Type(DType.S8, (4,), _INTEGERS), Type(DType.F32, (4,)))
CLASSES = ("one", "two", "three", "four")
MOST_PORTS = 200  # a method of Java has 255 parameters
_STRICT = ("-Wall", "-Wextra", "-Werror")
_SUPPORT = Path(__file__).parent
_CMAKE = """\
cmake_minimum_required(VERSION 3.20)
project(all_of_them C CXX)
include(CTest)
set(CMAKE_CXX_STANDARD 20)
"""


def model(name: str, ports: Sequence[str] = ("x", "y", "z", "w", "a", "b")) -> Graph:
    """Every other name is an input, and the next one an output that equals it. Types and a state let packages
    have what they have for half floats, integers and streams."""
    builder = Builder()
    inputs = []
    outputs: list[str] = []
    for i, (given, made) in enumerate(zip(ports[::2], ports[1::2], strict=True)):
        type = _TYPES[i] if i < len(_TYPES) else _TYPES[-1]
        inputs.append(builder.input(given, type))
        outputs += builder.add(Reshape((1, *type.shape)), inputs[-1], names=[made])
    memory = builder.input("memory of the model", Type(DType.F32, (4,)))
    (kept,) = builder.add(Reshape((4,)), memory, names=["kept"])
    state = State(memory, kept, Value(Type(DType.F32, (4,)), np.zeros(4, np.float32)))
    return builder.graph(name, inputs, outputs, states=[state])


@cache
def _target(kind: str) -> targets.Target:
    return targets.load(TARGETS.get(kind, "host"))


def template_words(kind: str = "") -> list[str]:
    """The words of a kind's templates, or of all: an even number, in lower case as names of ports are."""
    below = {"library": "", "npm": "npm"}.get(kind, "boards" if kind in TARGETS else f"languages/{kind}")
    folder = ROOT / "codegen/printing/templates" / (below if kind else "")
    paths = [path for path in folder.glob("*" if kind == "library" else "**/*") if path.is_file()]
    text = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", " ", "\n".join(path.read_text() for path in paths))
    found = sorted({word.lower() for word in re.findall(r"[A-Za-z_]\w*", text)})
    return found + ["last_of_all"] * (len(found) % 2)


def with_ports(names: Sequence[str]) -> list[Graph]:
    """Models that have all of these as inputs or outputs."""
    parts = [names[i : i + MOST_PORTS] for i in range(0, len(names), MOST_PORTS)]
    return [model(f"digits{i}", part) for i, part in enumerate(parts)]


def made(kind: str, graphs: Sequence[Graph], folder: Path) -> dict[Path, Program]:
    """The packages, each in a folder of its own: names of folders are not always those of models."""
    found = {}
    for number, graph in enumerate(graphs):
        program, test = compile_graph(graph, _target(kind)), prepare(graph)
        place = folder / f"{number}"
        if kind == "library":
            files = dict(generate(program, "speed", test=test))
        else:
            content = Content(CLASSES if len(graph.outputs) > 1 else ())
            request = PackageRequest(program, "speed", "auto", False, test=test, content=content)
            files = dict(packages.make(kind, request).files)
            if kind != "npm":  # which has no folder of the model
                (inner,) = {path.partition("/")[0] for path in files}
                files = {path.removeprefix(f"{inner}/"): data for path, data in files.items()}
                place /= inner
        write(files, place)
        found[place] = program
    return found


def check(kind: str, graphs: Sequence[Graph], folder: Path) -> None:
    """Every package of a kind compiles, and says that it is right where it runs here."""
    _CHECKS[kind](made(kind, graphs, folder), folder)


Packages = Mapping[Path, Program]


def _built_by_cmake(head: str, folder: Path) -> Path:
    (folder / "CMakeLists.txt").write_text(_CMAKE + head)
    settings = ("-G", "Ninja", "-S", ".", "-B", "made")
    ran(require("cmake"), *settings, folder=folder)
    ran(require("cmake"), "--build", "made", folder=folder)
    return folder / "made"


def _library(found: Packages, folder: Path) -> None:
    """By its CMakeLists.txt, in one project with all others, in a program that has headers of C, too."""
    head = ""
    for number, (place, program) in enumerate(found.items()):
        (target,) = re.findall(r"add_library\((\w+)", (place / "CMakeLists.txt").read_text())
        (folder / f"use{number}.c").write_text(_use(program))
        head += f"add_subdirectory({place})\nadd_executable(use{number} use{number}.c)\n"
        head += f"target_link_libraries(use{number} PRIVATE {target} m)\n"
    made = _built_by_cmake(head, folder)
    for number in range(len(found)):
        ran(made / f"use{number}", folder=folder)


def _use(program: Program) -> str:
    """A program that runs the self-test, with the headers that programs have most often."""
    names = ("stdio", "stdlib", "string", "math", "time", "pthread", "unistd")
    headers = "".join(f"#include <{name}.h>\n" for name in names)
    guard, name = program.name.upper(), program.name
    return (
        f'{headers}#include "{name}.h"\nint {name}_selftest(void *arena);\n'
        f"static uint64_t arena[{guard}_ARENA_SIZE / 8 + 1];\n"
        f"int main(void) {{ return {name}_selftest(arena); }}\n"
    )


def _cmake(found: Packages, folder: Path) -> None:
    head = ""
    for number, place in enumerate(found):
        (target,) = re.findall(r"add_library\((\S+) ALIAS", (place / "CMakeLists.txt").read_text())
        head += f"add_subdirectory({place})\nadd_executable(use{number} {place}/example/classify.cpp)\n"
        head += f"target_link_libraries(use{number} PRIVATE {target})\n"
    made = _built_by_cmake(head, folder)
    for number, (place, program) in enumerate(found.items()):
        _right(ran(made / f"use{number}", *_samples(program), folder=place / "example"), program)


def _samples(program: Program) -> list[str]:
    return [f"{port.c}.bin" for port in program.inputs]


def _right(said: str, program: Program) -> None:
    """An example ran to its end."""
    assert f"{program.outputs[-1].c}: " in said, said


def _python(found: Packages, folder: Path) -> None:
    modules = []
    for number, place in enumerate(found):
        (wheel,) = place.glob("*.whl")
        modules.append(wheel.name.partition("-")[0])
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / f"site{number}")
    script = (
        "import importlib, runpy, sys\n"
        f"numpy = {str(Path(np.__file__).parents[1])!r}\n"
        f"for number, name in enumerate({modules!r}):\n"
        f"    site = {str(folder)!r} + f'/site{{number}}'\n"
        "    sys.path.insert(sys.path.index(numpy), site)\n"  # behind the standard library, as pip has it
        "    module = importlib.import_module(name)\n"
        "    assert module.__file__.startswith(site), module.__file__\n"
        "    sys.argv[1:] = []\n"
        "    runpy.run_module(name, run_name='__main__', alter_sys=False)\n"
    )
    said = ran(sys.executable, "-c", script, folder=folder)
    for program in found.values():
        _right(said, program)


def _go(found: Packages, folder: Path) -> None:
    ran(require("go"), "work", "init", *found, folder=folder, **go_command.settings(folder))
    tests = [f"./{place.relative_to(folder)}/..." for place in found]
    ran(require("go"), "vet", *tests, folder=folder, **go_command.settings(folder))
    for place, program in found.items():
        _right(ran("go", "run", "./classify", folder=place, **go_command.settings(folder)), program)


def _rust(found: Packages, folder: Path) -> None:
    cargo.configure(folder)
    members = ", ".join(f'"{place.relative_to(folder)}"' for place in found)
    (folder / "Cargo.toml").write_text(f'[workspace]\nmembers = [{members}]\nresolver = "2"\n')
    settings = cargo.settings(folder)
    ran(require("cargo"), "test", "-q", "--workspace", "--all-targets", folder=folder, **settings)
    place, program = list(found.items())[-1]
    _right(ran("cargo", "run", "-q", "--example", "classify", folder=place, **settings), program)


def _numbered(example: Path, number: int, folder: Path) -> None:
    """A copy with a class of another name, so that all are compiled at once."""
    text = example.read_text().replace("class Classify", f"class Classify{number}")
    (folder / f"Classify{number}{example.suffix}").write_text(text)


def _csharp(found: Packages, folder: Path) -> None:
    strict = ("-langversion:7", "-warnaserror", "-warn:4")
    for number, place in enumerate(found):
        _numbered(place / "example/Classify.cs", number, folder)
    texts = [*(place / "Model.cs" for place in found), *sorted(folder.glob("Classify*.cs"))]
    compiled(folder, "mcs", *strict, "-target:library", "-doc:all.xml", "-out:all.dll", *map(str, texts))
    place, program = list(found.items())[-1]
    (library,) = place.glob("runtimes/*/native/*")
    (place / "example" / library.name).write_bytes(library.read_bytes())
    compiled(place, "mcs", "-out:example/classify.exe", "Model.cs", "example/Classify.cs")
    given = [place / "example/sample" / name for name in _samples(program)]
    _right(ran(require("mono"), "example/classify.exe", *given, folder=place), program)


def _android(found: Packages, folder: Path) -> None:
    include = _java.find("").include
    for number, place in enumerate(found):
        _numbered(place / "example/Classify.java", number, folder)
    texts = [*(next(place.rglob("Model.java")) for place in found), *sorted(folder.glob("Classify*.java"))]
    compiled(folder, "javac", f"-J{FAST}", "-Xlint:all", "-Werror", "-d", "classes", *map(str, texts))
    for place, program in found.items():
        cpp = place / "src/main/cpp"
        flags = [*_STRICT, *(f"-I{path}" for path in (cpp / "c", include, include / "linux"))]
        sources = [cpp / "jni.c", *sorted((cpp / "c").glob("*.c"))]
        library = folder / f"lib{program.name}_model.so"
        compiled(cpp / "c", "gcc", *flags, "-shared", "-fPIC", *map(str, sources), "-o", str(library))
    place, program = list(found.items())[-1]
    given = [place / "example/sample" / name for name in _samples(program)]
    command = ("java", FAST, "-cp", "classes", f"-Djava.library.path={folder}", f"Classify{len(found) - 1}")
    _right(ran(*command, *given, folder=folder), program)


def _swift(found: Packages, folder: Path) -> None:
    """No compiler is here: it is parsed, and its C compiled."""
    require_module("tree_sitter")
    for place in found:
        for path in place.rglob("*.swift"):
            assert not any(node.type == "ERROR" for node in parsed(path)), path
        (inner,) = (place / "Sources").glob("C*")
        headers = [f"-I{inner / 'include'}", f"-I{inner / 'c'}"]
        (header,) = (inner / "include").glob("*.h")
        (inner / "use.c").write_text(f'#include "{header.name}"\n#include <stdlib.h>\n')
        flags = (*_STRICT, "-Wno-unknown-pragmas", "-fsyntax-only", *headers)
        compiled(inner, "gcc", *flags, *sorted(path.name for path in inner.glob("*.c")))


_STAND_IN = """
import os, runpy, sys, types
from collections import defaultdict
for name, folder, sizes in {packages!r}:
    class Model:
        self_test = lambda self: True
        reset = lambda self: None
        run = lambda self, *ports: None
    module = types.ModuleType(name)
    module.__getattr__ = lambda key: defaultdict(lambda: "class")  # names of classes
    module.__dict__.update(sizes, Model=Model)
    sys.modules[name] = module
    os.chdir(folder)
    runpy.run_path("classify.py")
    del sys.modules[name]
"""


def _micropython(found: Packages, folder: Path) -> None:
    listed = []
    for place, program in found.items():
        sources = [place / "module.c", *sorted((place / "c").glob("*.c")), _SUPPORT / "micropython/drive.c"]
        flags = (*_STRICT, "-Wno-unused-parameter", f"-I{_SUPPORT / 'micropython'}", f"-I{place / 'c'}")
        compiled(place, "gcc", *flags, "-fsyntax-only", *map(str, sources))
        example = (place / "example/classify.py").read_text()
        (name,) = re.findall(r"^import (\w+)", example, re.MULTILINE)
        sizes = {f"{p.c.upper()}_SIZE": p.type.size for p in (*program.inputs, *program.outputs)}
        listed.append((name, str(place / "example"), sizes))
    said = ran(sys.executable, "-c", _STAND_IN.format(packages=listed), folder=folder)
    for program in found.values():
        _right(said, program)


def _npm(found: Packages, folder: Path) -> None:
    for place, program in found.items():
        _right(ran(require("node"), "example/classify.mjs", folder=place), program)


def _host(found: Packages, folder: Path, below: str = ".") -> None:
    """The sources and the example in C, by this machine's compiler: kernels of these models are portable,
    though some ask for DSP instructions."""
    for place in found:
        files = [*(place / below).glob("*.c"), *(place / "example").glob("*.c")]
        flags = (*_STRICT, "-std=gnu11", "-fsyntax-only", "-D__ARM_FEATURE_DSP", f"-I{place / below}")
        compiled(place, "gcc", *flags, *sorted(map(str, files)))


def _sketch(found: Packages, folder: Path) -> None:
    """An Arduino sketch is C++ behind an include of Arduino.h."""
    _host(found, folder, "src")
    for place in found:
        sketch = (place / "examples/Run/Run.ino").read_text()
        (place / "sketch.cpp").write_text(f"#include <Arduino.h>\n#include <stdlib.h>\n{sketch}")
        flags = (*_STRICT, "-std=gnu++11", f"-I{_SUPPORT / 'arduino'}", f"-I{place / 'src'}")
        compiled(place, "g++", *flags, "-fsyntax-only", "sketch.cpp")


_CHECKS: Mapping[str, Callable[[Packages, Path], None]] = {
    "library": _library,
    "android": _android,
    "arduino": _sketch,
    "cmake": _cmake,
    "cmsis": _host,
    "csharp": _csharp,
    "esp-idf": _host,
    "go": _go,
    "micropython": _micropython,
    "npm": _npm,
    "platformio": _sketch,
    "python": _python,
    "rust": _rust,
    "swift": _swift,
    "zephyr": _host,
}
KINDS = tuple(_CHECKS)
