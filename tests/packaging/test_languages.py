"""Packages for applications: built, installed and run as their users do, with the simulator's results."""

import base64
import hashlib
import importlib
import json
import re
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.language_packages import (
    CLASSES,
    USE_CMAKE,
    check_answer,
    check_ranked,
    made,
    ran,
    ranked,
    several,
    small,
    stream,
)
from support.nets import Net
from support.tools import ROOT, require, require_module

import edgekit
from edgekit import EdgeKitError
from edgekit.codegen import packages
from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.packages import PackageRequest, _language, _shared_library
from edgekit.codegen.program import Program
from edgekit.codegen.verification.selftest import SelfTest, prepare
from edgekit.core import simulate
from edgekit.core import target as targets
from edgekit.core.ops.reshape import Reshape

STRICT = ("-std=c++20", "-Wall", "-Wextra", "-Wpedantic", "-Werror")
USE_CPP = """\
#include <array>
#include <cstdio>
#include <digits.hpp>
int main()
{
    digits::Model model;
    std::array<float, digits::Model::x_size> image{};
    float scores[digits::Model::y_size];
    model.run(image, scores);
    std::printf("%.6f\\n", static_cast<double>(scores[0]));
    for (const char *name : digits::Model::y_classes)
        std::puts(name);
    return model.self_test() ? 0 : 1;
}
"""
VCPKG = """\
function(vcpkg_cmake_configure)
    cmake_parse_arguments(its "" "SOURCE_PATH" "OPTIONS" ${ARGN})
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${its_SOURCE_PATH} -B ${BUILD} ${its_OPTIONS}
        -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_install)
    execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} --target install COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(vcpkg_cmake_config_fixup)
    cmake_parse_arguments(its "" "PACKAGE_NAME;CONFIG_PATH" "" ${ARGN})
    file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR}/share)
    file(RENAME ${CURRENT_PACKAGES_DIR}/${its_CONFIG_PATH} ${CURRENT_PACKAGES_DIR}/share/${its_PACKAGE_NAME})
endfunction()
function(vcpkg_fixup_pkgconfig)
endfunction()
include(${PORT}/portfile.cmake)
"""
USE_C = """\
#include <digits.h>
#include <digits_classes.h>
#include <stdio.h>
static _Alignas(DIGITS_ARENA_ALIGN) unsigned char arena[DIGITS_ARENA_SIZE];
static float image[DIGITS_X_SIZE], scores[DIGITS_Y_SIZE];
int main(void)
{
    digits_run(image, scores, arena);
    for (int i = 0; i < DIGITS_Y_SIZE; i++)
        puts(digits_y_classes[i]);
    return scores[0] > 0 && scores[0] < 1 ? 0 : 1;
}
"""


@pytest.fixture(scope="module")
def digits() -> Program:
    return small()


@pytest.fixture(scope="module")
def test(digits: Program) -> SelfTest:
    return prepare(digits.graph)


# CMake


def test_cmake_builds_checks_installs_and_is_found(digits: Program, test: SelfTest, tmp_path: Path) -> None:
    cmake = require("cmake")
    require("g++")
    package, prefix = made("cmake", digits, tmp_path, test, CLASSES), tmp_path / "prefix"
    ran(
        cmake,
        "-B",
        "build",
        "-DBUILD_SHARED_LIBS=ON",
        f"-DCMAKE_INSTALL_PREFIX={prefix}",
        ".",
        folder=package,
    )
    ran(cmake, "--build", "build", folder=package)
    ran("ctest", "--test-dir", "build", folder=package)
    check_answer(ran("build/digits_classify", "example/x.bin", folder=package), test)
    ran(cmake, "--install", "build", folder=package)
    app = tmp_path / "app"
    app.mkdir()
    for name, text in (("CMakeLists.txt", USE_CMAKE), ("app.cpp", USE_CPP), ("app.c", USE_C)):
        (app / name).write_text(text)
    ran(cmake, "-B", "build", f"-DCMAKE_PREFIX_PATH={prefix}", folder=app)
    ran(cmake, "--build", "build", folder=app)
    zeros = simulate.run(digits.graph, {"x": np.zeros((1, 64), np.float32)})["y"]
    first, *names = lines(ran("build/app", folder=app))
    assert float(first) == pytest.approx(float(zeros[0, 0]), abs=1e-5)
    assert tuple(names) == CLASSES
    configured = {"PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = ran(require("pkg-config"), "--cflags", "--libs", "digits", folder=app, **configured).split()
    strict = ("-Wall", "-Wextra", "-Werror")
    ran(require("gcc"), *strict, "app.c", "-o", "c_app", *flags, folder=app)
    said = ran(app / "c_app", folder=app, LD_LIBRARY_PATH=str(prefix / "lib"))
    assert tuple(lines(said)) == CLASSES


def lines(said: str) -> list[str]:
    """Those of a program; str.splitlines would break names, too."""
    return said.removesuffix("\n").split("\n")


def test_the_port_for_vcpkg_installs(digits: Program, test: SelfTest, tmp_path: Path) -> None:
    """Run by CMake itself, with functions that do what those of vcpkg do."""
    package, prefix = made("cmake", digits, tmp_path, test), tmp_path / "prefix"
    port = package / "vcpkg" / "digits"
    assert json.loads((port / "vcpkg.json").read_text())["name"] == "digits"
    (tmp_path / "run.cmake").write_text(VCPKG)
    folders = (f"-DCURRENT_PACKAGES_DIR={prefix}", f"-DBUILD={tmp_path / 'build'}")
    ran(require("cmake"), *folders, f"-DPORT={port}", "-P", "run.cmake", folder=tmp_path)
    assert (prefix / "share/digits/digitsConfig.cmake").is_file()
    assert (prefix / "include/digits/digits.hpp").is_file()
    assert (prefix / "lib/libdigits.a").is_file()


def test_meson_builds_and_checks(digits: Program, test: SelfTest, tmp_path: Path) -> None:
    meson = require("meson")
    package = made("cmake", digits, tmp_path, test)
    ran(meson, "setup", "build", folder=package)
    assert re.search(r"Ok: +1\b", ran(meson, "test", "-C", "build", folder=package))


def test_cpp_of_unusual_models_is_clean(tmp_path: Path) -> None:
    compiler = require("g++")
    for program in (several(), stream()):
        package = made("cmake", program, tmp_path)
        ran(compiler, *STRICT, "-fsyntax-only", "-Isrc", "example/classify.cpp", folder=package)


# Python


def installed(
    program: Program, folder: Path, test: SelfTest | None = None, classes: tuple[str, ...] = ()
) -> Path:
    """A folder for sys.path that holds what is in the wheel."""
    (wheel,) = made("python", program, folder, test, classes).glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def imported(name: str, site: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(site)
    return importlib.import_module(name)


def test_pip_installs_the_wheel_and_it_classifies(digits: Program, test: SelfTest, tmp_path: Path) -> None:
    require("gcc")
    (wheel,) = made("python", digits, tmp_path, test, CLASSES).glob("*.whl")
    site = tmp_path / "site"
    ran(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", site, wheel, folder=tmp_path)
    said = ran(sys.executable, "-m", "digits", folder=tmp_path, PYTHONPATH=str(site), PYTHONUTF8="1")
    check_answer(said, test)
    check_record(wheel)


def test_the_example_shows_numbers_and_not_bits(tmp_path: Path) -> None:
    program, sample = ranked()
    with zipfile.ZipFile(next(made("python", program, tmp_path, sample=sample).glob("*.whl"))) as wheel:
        wheel.extractall(tmp_path / "site")
    check_ranked(ran(sys.executable, "-m", "ranked", folder=tmp_path, PYTHONPATH=str(tmp_path / "site")))
    package = made("cmake", program, tmp_path, sample=sample)
    sources = [f"src/ranked{end}.c" for end in ("", "_weights", "_selftest")]
    for source in sources:
        ran(require("gcc"), "-c", "-Isrc", source, "-o", f"{Path(source).stem}.o", folder=package)
    objects = [f"{Path(source).stem}.o" for source in sources]
    ran(require("g++"), *STRICT, "-Isrc", "example/classify.cpp", *objects, "-o", "classify", folder=package)
    given = [f"example/{port.c}.bin" for port in program.inputs]
    check_ranked(ran("./classify", *given, folder=package))


def check_record(wheel: Path) -> None:
    """RECORD has the hash and the size of every other file."""
    with zipfile.ZipFile(wheel) as archive:
        (record,) = (name for name in archive.namelist() if name.endswith("RECORD"))
        rows = dict(line.split(",", 1) for line in archive.read(record).decode().splitlines())
        assert rows.keys() == set(archive.namelist())
        for name in rows.keys() - {record}:
            digest = (
                base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).decode().rstrip("=")
            )
            assert rows[name] == f"sha256={digest},{len(archive.read(name))}"


def test_python_gives_the_numbers_of_the_simulator(
    digits: Program, test: SelfTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several threads at once, with a model each."""
    require("gcc")
    module = imported("digits", installed(digits, tmp_path, test, CLASSES), monkeypatch)
    assert module.Y_CLASSES == CLASSES
    inputs = [sample["x"] for sample in test.samples] * 5

    def all_of_them(_: int) -> list[np.ndarray]:
        model = module.Model()
        assert model.self_test()
        return [model.run(x).y for x in inputs]

    with ThreadPoolExecutor(4) as pool:
        first, *others = pool.map(all_of_them, range(4))
    expected = [simulate.run(digits.graph, {"x": x})["y"] for x in inputs]
    np.testing.assert_allclose(first, expected, atol=1e-5)
    for other in others:
        np.testing.assert_array_equal(first, other)
    with pytest.raises(ValueError, match="x has shape"):
        module.Model().run(np.zeros(3, np.float32))
    with pytest.raises(TypeError, match="x is complex"):
        module.Model().run(np.zeros((1, 64), np.complex64))


def test_python_takes_unusual_types_and_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("gcc")
    program = several("lambda")
    module = imported("lambda_", installed(program, tmp_path), monkeypatch)
    given = module.sample()
    for x, y in zip(given, module.Model().run(*given), strict=True):
        np.testing.assert_array_equal(x.view(np.uint8).reshape(-1), y.view(np.uint8).reshape(-1))
    with pytest.raises(ValueError, match="fn has values beyond those of uint8"):
        module.Model().run(*given[:4], [300, 1, 2], *given[5:])


def test_python_takes_batches(
    digits: Program, test: SelfTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each sample gives what it gives alone."""
    require("gcc")
    model = imported("digits", installed(digits, tmp_path, test), monkeypatch).Model()
    batch = np.concatenate([sample["x"] for sample in test.samples[:4]])
    assert batch.shape == (4, 64)
    alone = [model.run(row).y for row in batch]
    np.testing.assert_array_equal(model.run(batch).y, np.concatenate(alone))
    assert model.run(batch[:0]).y.shape == (0, 10)
    assert model.run(batch[0]).y.shape == (1, 10)
    for wrong in (batch[:, :32], batch.reshape(2, 128), batch[None]):
        with pytest.raises(ValueError, match="x has shape"):
            model.run(wrong)


def test_python_refuses_nan_for_integers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model of floats gives NaN where it gets it."""
    require("gcc")
    samples = {"x": np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)}
    quantized, _ = edgekit.quantize_model(small().graph, samples, calibrate="minmax")
    program = fit(quantized.with_name("integers"), targets.load("host"))
    given = np.full((1, 64), np.nan, np.float32)
    model = imported("integers", installed(program, tmp_path), monkeypatch).Model()
    with pytest.raises(ValueError, match="x has NaN"):
        model.run(given)
    floats = imported("floats", installed(small(name="floats"), tmp_path), monkeypatch).Model()
    assert np.isnan(floats.run(given).y).all()


def test_python_keeps_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("gcc")
    program = stream()
    module = imported("stream", installed(program, tmp_path), monkeypatch)
    model = module.Model()
    assert model.self_test()
    first, second = model.run(*module.sample()), model.run(*module.sample())
    model.reset()
    again = model.run(*module.sample())
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_wheels_for_other_systems_have_their_tags() -> None:
    require_module("ziglang")
    tags = {
        "windows-aarch64": "win_arm64",
        "windows-x86-64": "win_amd64",
        "macos-x86-64": "macosx_11_0_x86_64",
        "macos-aarch64": "macosx_11_0_arm64",
        "aarch64": "manylinux_2_17_aarch64",
        "x86-64-avx2": "manylinux_2_17_x86_64",
    }
    assert {name: _shared_library.wheel_tag(targets.load(name)) for name in tags} == tags


# All languages


@pytest.mark.parametrize("target", ["cortex-m4", "wasm32", "opencl"])
@pytest.mark.parametrize("kind", _language.languages())
def test_a_target_without_an_operating_system_is_refused(kind: str, target: str) -> None:
    """A board is one for languages that say so."""
    if target == "cortex-m4" and _language.Language(kind).about.get("boards"):
        packages.check([kind], [], targets.load(target))
        return
    with pytest.raises(EdgeKitError, match="E0103 there is no package"):
        packages.check([kind], [], targets.load(target))


@pytest.mark.parametrize("target", ["aarch64-android", "aarch64-ios", "aarch64-ios-simulator"])
def test_phones_get_what_their_apps_compile(target: str) -> None:
    """Apps have no wheels there."""
    for kind in _language.languages():
        about = _language.Language(kind).about
        own = {"aar": "android", "xcframework": "ios"}.get(kind, "none")
        if "sources" in about or own in target:
            packages.check([kind], [], targets.load(target))
        else:
            with pytest.raises(EdgeKitError, match="E0103 there is no package"):
                packages.check([kind], [], targets.load(target))


def test_ports_in_the_arena_are_refused() -> None:
    net = Net()
    graph = net.done(net.one(Reshape((5, 1)), net.x(5)))
    with pytest.raises(EdgeKitError, match="leave out --ports arena"):
        packages.make(
            "cmake", PackageRequest(fit(graph, targets.load("host"), "arena"), "speed", "auto", False)
        )


def test_a_folder_is_a_language(
    digits: Program, test: SelfTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "esperanto").mkdir()
    (tmp_path / "esperanto" / "package.toml").write_text(
        'sources = "c"\nsample = "data"\n[types]\nfloat = "f"\n'
    )
    (tmp_path / "esperanto" / "NAME.txt").write_text("saluton")
    monkeypatch.setattr(_language, "folder", lambda: tmp_path)
    assert "esperanto" in packages.kinds()
    package = made("esperanto", digits, tmp_path, test)
    assert (package / "digits.txt").read_text() == "saluton"
    assert (package / "c" / "digits.c").is_file()
    assert (package / "data" / "x.bin").stat().st_size == 4 * 64


def test_the_page_lists_every_language() -> None:
    page = (ROOT / "docs" / "apps.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z-]+)` \| `app/", page, re.MULTILINE) == _language.languages()
