"""The compiled functions under test, built once a session."""

import ctypes
from pathlib import Path

import pytest
from support.runtime_c import STRICT_FLOATS, load_c

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def build_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runtime")


@pytest.fixture(scope="session")
def maps(build_folder: Path) -> ctypes.CDLL:
    """math_maps.c: every function over arrays."""
    return load_c(HERE / "math_maps.c", build_folder, "-O2", *STRICT_FLOATS)


@pytest.fixture(scope="session")
def scans(build_folder: Path) -> ctypes.CDLL:
    """math_scan.c: every function against libm."""
    return load_c(HERE / "math_scan.c", build_folder, "-O2", *STRICT_FLOATS)


@pytest.fixture(scope="session")
def small_floats(build_folder: Path) -> ctypes.CDLL:
    """small_floats.c: every conversion over arrays."""
    return load_c(HERE / "small_floats.c", build_folder, "-O2")
