"""Packages that several tests look at, and one browser of each engine for all of them."""

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
    with browser("chromium") as running:
        yield running


@pytest.fixture(scope="session")
def firefox() -> Iterator[Browser]:
    with browser("firefox") as running:
        yield running


@pytest.fixture(params=["chromium", "firefox"])
def either(request: pytest.FixtureRequest) -> Browser:
    """One after the other: a browser of each engine."""
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Browser)
    return found
