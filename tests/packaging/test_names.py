"""Packages compile and run whatever a model and its inputs and outputs are called."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.android_packages import FAST
from support.language_packages import ran
from support.named_packages import (
    KINDS,
    TARGETS,
    check,
    made,
    model,
    template_words,
    with_ports,
)
from support.nets import Net
from support.tools import ROOT, require

from edgekit.codegen import packages
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.packages import Content, PackageRequest
from edgekit.codegen.packages._language import Language
from edgekit.codegen.printing.names import HEADERS
from edgekit.codegen.program import compile_graph
from edgekit.codegen.verification.selftest import prepare
from edgekit.core import target as targets
from edgekit.core.ops.reshape import Reshape

MODELS = ("model", "main", "test", "features", "read", "random", "numpy", "con", "3d")


@pytest.mark.parametrize("kind", KINDS)
def test_models_may_have_any_name(kind: str, tmp_path: Path) -> None:
    check(kind, [model(name) for name in MODELS], tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_ports_may_be_called_as_any_word_of_the_templates(kind: str, tmp_path: Path) -> None:
    words = template_words(kind)
    check(kind, with_ports(words), tmp_path)


@pytest.mark.parametrize("name", ["digits", "model", "random", "test"])
def test_what_compiled_keeps_its_names(name: str, tmp_path: Path) -> None:
    """Files and functions are those of the model, and only what met another name has an underscore."""
    ((package, _),) = made("cmake", [model(name)], tmp_path).items()
    assert {path.name for path in (package / "src").glob("*.h*")} >= {f"{name}.h", f"{name}.hpp"}
    header = (package / "src" / f"{name}.hpp").read_text()
    assert f" {name}_run(" in (package / "src" / f"{name}.h").read_text()
    assert f"namespace {name}{'_' if name == 'random' else ''} {{" in header
    lists = (package / "CMakeLists.txt").read_text()
    assert f"add_library({name}{'_' if name == 'test' else ''}\n" in lists


def test_headers_of_systems_are_not_shadowed(tmp_path: Path) -> None:
    """Those that headers of C, C++, POSIX and JNI include, as the compilers here find them."""
    include = Path(os.path.realpath(require("javac"))).parents[1] / "include"
    included = {
        "all.cpp": ("bits/stdc++.h", "jni.h", "pthread.h", "unistd.h"),
        "all.c": ("complex.h", "tgmath.h", "threads.h", "strings.h"),
    }
    flags = (f"-I{include}", f"-I{include / 'linux'}")
    found = set()
    for source, names in included.items():
        (tmp_path / source).write_text("".join(f"#include <{name}>\n" for name in names))
        for compiler in ("g++", "clang"):
            text = ran(require(compiler), *flags, "-M", source, folder=tmp_path)
            command = [compiler, *flags, "-E", "-v", source]
            said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stderr
            listed = said.partition("search starts here:")[2].partition("End of search list")[0]
            roots = {Path(line.strip()).resolve() for line in listed.splitlines() if line.startswith(" ")}
            paths = (Path(word).resolve() for word in text.split() if word.endswith(".h"))
            found |= {path.stem for path in paths if path.parent in roots}
    assert {"stdint", "features", "jni"} <= found
    assert {name for name in found if re.fullmatch("[a-z][a-z0-9_]*", name)} <= HEADERS


def test_namespaces_are_no_functions_of_c() -> None:
    require("g++")
    assert not ran(sys.executable, ROOT / "scripts/global_names.py", "--check", folder=ROOT)


def test_modules_are_none_of_python() -> None:
    known = {*Language("python").about["modules"].split(), *Language("python").keywords}
    own = {name for name in sys.stdlib_module_names if re.fullmatch("[a-z][a-z0-9_]*", name)}
    assert {*own, "test"} <= known


@pytest.mark.parametrize("name", ["my board (rev. B)", 'quote" and ${x}', "line\n*/ // #"])
def test_targets_may_have_any_name(name: str) -> None:
    """That of a file of the user."""
    graph = model("digits")
    test = prepare(graph)
    for kind in KINDS:
        target = targets.load(TARGETS.get(kind, "host"))
        if target.name == "host":  # packages with a compiled library know it by its name
            target = targets.load("x86-64")
        program = compile_graph(graph, replace(target, name=name, description=name))
        if kind == "library":
            generate(program, "speed", test=test)
        else:
            packages.make(kind, PackageRequest(program, "speed", "auto", False, test=test))


def test_java_takes_many_classes(tmp_path: Path) -> None:
    """More than a class has constants, and longer than one of them is."""
    count = 40_000
    names = tuple(f"class {i} é🦜{'x' * 200 * (i % 100 == 0)}" for i in range(count))
    net = Net()
    graph = net.done(net.one(Reshape((1, count)), net.x(count), name="y")).with_name("many")
    test, content = prepare(graph), Content(names)
    program = compile_graph(graph, targets.load("host"))
    request = PackageRequest(program, "speed", "auto", False, test=test, content=content)
    files = packages.make("android", request).files
    (path,) = (path for path in files if path.endswith("Model.java"))
    text = files[path].decode().replace('System.loadLibrary("many_model");', "")
    field = "private long address;"
    show = "for (String name : Y_CLASSES) System.out.println(name);"
    main = f"{field} public static void main(String[] args) {{ {show} }}"
    (tmp_path / "Model.java").write_text(text.replace(field, main))
    ran(require("javac"), f"-J{FAST}", "-encoding", "UTF-8", "-d", ".", "Model.java", folder=tmp_path)
    utf8 = ("-Dstdout.encoding=UTF-8", "-Dfile.encoding=UTF-8")
    said = ran("java", *utf8, "-cp", ".", "edgekit.many.Model", folder=tmp_path)
    assert tuple(said.removesuffix("\n").split("\n")) == names
