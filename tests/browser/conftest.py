"""Packages that several tests look at, and one browser for all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.node_tools import Browser, browser
from support.npm_packages import package, small_digits
from support.tools import require_module


@pytest.fixture(scope="session")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the int8 digits model with every helper that fits, for engines with vectors."""
    require_module("ziglang")
    return package(small_digits(), tmp_path_factory.mktemp("digits"), helpers=("image",))


@pytest.fixture(scope="session")
def universal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the same model for every engine."""
    require_module("ziglang")
    return package(small_digits(), tmp_path_factory.mktemp("universal"), "wasm32")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with browser() as running:
        yield running
