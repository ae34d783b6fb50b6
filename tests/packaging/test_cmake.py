"""The package for C and C++ in other hands: Conan itself, FetchContent, clang, and compilers for Windows."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from support.language_packages import CLASSES, USE_CMAKE, made, ran, small
from support.nets import Net
from support.tools import require, require_module

from edgekit.codegen import packages
from edgekit.codegen.entries import with_entries
from edgekit.codegen.program import compile_graph
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.ir import Graph
from edgekit.core.ops.dense import Dense

CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(app LANGUAGES C)
include(FetchContent)
FetchContent_Declare(digits SOURCE_DIR {package})
FetchContent_MakeAvailable(digits)
message(STATUS "MSVC: ${{MSVC}}")
add_executable(app app.c)
target_compile_features(app PRIVATE c_std_11)
target_link_libraries(app PRIVATE digits::digits)
"""
APP = """\
#include <digits.h>
#include <digits_classes.h>
#include <stdio.h>
int digits_selftest(void *arena);
static _Alignas(DIGITS_ARENA_ALIGN) unsigned char arena[DIGITS_ARENA_SIZE];
int main(void)
{
    puts(digits_y_classes[0]);
    return digits_selftest(arena);
}
"""
CONAN_APP = """\
#include <digits.hpp>
#include <cstdio>
int main()
{
    std::puts(digits::Model::y_classes[0]);
    return digits::Model().self_test() ? 0 : 1;
}
"""
CONAN = "[requires]\ndigits/1.0.0\n[generators]\nCMakeDeps\nCMakeToolchain\n"
WINDOWS_HEADERS = "/usr/x86_64-w64-mingw32/include"


def fetching(folder: Path, classes: tuple[str, ...] = CLASSES) -> Path:
    """An application whose CMakeLists.txt fetches the package."""
    package, app = made("cmake", small(), folder, classes=classes), folder / "app"
    app.mkdir()
    (app / "CMakeLists.txt").write_text(CMAKE.format(package=package))
    (app / "app.c").write_text(APP)
    return app


def configured(app: Path, *settings: str) -> str:
    return ran(require("cmake"), "-B", "build", *settings, folder=app)


@pytest.mark.parametrize("is_shared", ["ON", "OFF"])
def test_clang_builds_what_is_fetched(is_shared: str, tmp_path: Path) -> None:
    app = fetching(tmp_path)
    configured(app, f"-DCMAKE_C_COMPILER={require('clang')}", f"-DBUILD_SHARED_LIBS={is_shared}")
    ran("cmake", "--build", "build", folder=app)
    assert ran("build/app", folder=app) == "zero\n"


@pytest.mark.parametrize("is_shared", ["ON", "OFF"])
def test_mingw_builds_it_for_windows(is_shared: str, tmp_path: Path) -> None:
    wine, app = require("wine"), fetching(tmp_path)
    compiler = f"-DCMAKE_C_COMPILER={require('x86_64-w64-mingw32-gcc')}"
    configured(app, compiler, "-DCMAKE_SYSTEM_NAME=Windows", f"-DBUILD_SHARED_LIBS={is_shared}")
    ran("cmake", "--build", "build", folder=app)
    for library in app.rglob("*.dll"):
        shutil.copy(library, app / "build")  # Windows looks beside the program
    assert bool(list((app / "build").glob("*.dll"))) == (is_shared == "ON")
    assert ran(wine, "build/app.exe", folder=app, HOME=str(Path.home())).split() == ["zero"]


def test_options_are_those_that_msvc_takes(tmp_path: Path) -> None:
    """By clang with the options of MSVC, which refuses others, and headers of mingw; nothing is linked."""
    require("x86_64-w64-mingw32-gcc")
    app = fetching(tmp_path)
    (app / "clang-cl").symlink_to(require("clang"))
    said = configured(
        app,
        f"-DCMAKE_C_COMPILER={app / 'clang-cl'}",
        "-DCMAKE_C_COMPILER_TARGET=x86_64-pc-windows-msvc",
        "-DCMAKE_SYSTEM_NAME=Windows",
        "-DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY",
        f"-DCMAKE_C_FLAGS=/W4 /WX -imsvc {WINDOWS_HEADERS}",
        f"-DCMAKE_AR={shutil.which('true')}",
        "-DCMAKE_C_COMPILER_LAUNCHER=",  # ccache 4.7 leaves no object of clang-cl here
    )
    assert "MSVC: 1" in said
    said = ran("cmake", "--build", "build", "--target", "digits", "--verbose", folder=app)
    assert "/fp:precise" in said
    assert "-ffp-contract" not in said
    assert {path.name for path in app.rglob("*.obj")} >= {"digits.c.obj", "digits_selftest.c.obj"}


def test_conan_makes_a_package_that_an_application_finds(tmp_path: Path) -> None:
    require_module("conan")
    conan = Path(sys.executable).parent / "conan"
    package, app = made("cmake", small(), tmp_path, classes=CLASSES), tmp_path / "app"
    known = {"CONAN_HOME": str(tmp_path / "conan"), "HOME": str(tmp_path)}
    ran(conan, "profile", "detect", folder=package, **known)
    ran(conan, "create", ".", "--no-remote", folder=package, **known)
    app.mkdir()
    for name, text in (("conanfile.txt", CONAN), ("CMakeLists.txt", USE_CMAKE), ("app.cpp", CONAN_APP)):
        (app / name).write_text(text)
    ran(conan, "install", ".", "--no-remote", folder=app, **known)
    configured(app, "-DCMAKE_TOOLCHAIN_FILE=conan_toolchain.cmake", "-DCMAKE_BUILD_TYPE=Release")
    ran("cmake", "--build", "build", folder=app)
    assert ran("build/app", folder=app) == "zero\n"


USE_ENTRIES = """\
cmake_minimum_required(VERSION 3.16)
project(app LANGUAGES C)
find_package(rows REQUIRED)
add_executable(app app.c)
target_link_libraries(app PRIVATE rows::rows)
"""
ENTRIES_APP = """\
#include <rows.h>
#include <rows_three.h>
#include <stdio.h>
static const float x[ROWS_THREE_X_SIZE] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static float y[ROWS_THREE_Y_SIZE];
static uint64_t arena[ROWS_ARENA_SIZE / 8 + 1];
static void show(int count)
{
    for (int i = 0; i < count; i++)
        printf("%g ", y[i]);
}
int main(void)
{
    rows_run(x, y, arena);
    show(ROWS_Y_SIZE);
    rows_three_run(x, y, arena);
    show(ROWS_THREE_Y_SIZE);
    return 0;
}
"""


def rows(count: int) -> Graph:
    """A fully connected layer on so many rows of whole numbers."""
    net = Net()
    weights = np.arange(8, dtype=np.float32).reshape(2, 4)
    y = net(Dense(), net.x(count, 4), net.const(weights), net.const(np.ones(2, np.float32)), name="y")
    return net.done(y).with_name("rows")


def test_entries_are_installed_with_their_headers(tmp_path: Path) -> None:
    packages.check_entries(["cmake"], ["three"])
    program = with_entries(compile_graph(rows(1), targets.load("host")), {"three": rows(3)})
    package, app = made("cmake", program, tmp_path), tmp_path / "app"
    prefix = f"-DCMAKE_INSTALL_PREFIX={tmp_path / 'installed'}"
    ran(require("cmake"), "-B", "build", prefix, "-DBUILD_TESTING=OFF", folder=package)
    ran("cmake", "--build", "build", "--target", "install", folder=package)
    app.mkdir()
    for name, text in (("CMakeLists.txt", USE_ENTRIES), ("app.c", ENTRIES_APP)):
        (app / name).write_text(text)
    configured(app, f"-DCMAKE_PREFIX_PATH={tmp_path / 'installed'}")
    ran("cmake", "--build", "build", folder=app)
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    right = [*simulate.run(rows(1), {"x": x[:1]})["y"].flat, *simulate.run(rows(3), {"x": x})["y"].flat]
    assert [float(word) for word in ran("build/app", folder=app).split()] == right
    assert "`rows_three.h` declares `rows_three_run`" in (package / "README.md").read_text()
