"""Options and fixtures of all tests."""

import gc
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from support import hangs, kernel_records, quick, random_cases, time_left, times
from support.tools import require_module, require_shared

import edgekit

# Test processes share the cores; threads of numpy's in each of them would wait for each other, ten times as
# long as they compute. numpy, which is not imported yet, reads this once.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# An example of a few microseconds takes longer than any deadline where the machine does something else.
settings.register_profile("without deadlines", deadline=None)
settings.load_profile("without deadlines")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write golden files anew instead of comparing with them; read the diff as a user would",
    )
    parser.addoption(
        "--quick",
        action="store_true",
        help="in at most two minutes, what tells most: something of every folder, file and target first",
    )
    parser.addoption("--write-times", action="store_true", help="write what was measured to tests/times.toml")
    random_cases.add_options(parser)
    parser.addoption("--network", help="one random network to judge again, as a failed test names it")


def pytest_configure(config: pytest.Config) -> None:
    from support import object_cache, whole_runs  # not above: they import numpy

    random_cases.configure(config)
    object_cache.install()
    if not hasattr(config, "workerinput"):
        object_cache.tidy()
        config.pluginmanager.register(time_left.TimeLeft(config, times.times()))
    config.pluginmanager.register(hangs.Watch())
    quick.begin()
    if not config.pluginmanager.hasplugin("support.planning"):
        config.pluginmanager.register(kernel_records)
    if config.getoption("--write-times"):
        times.check_whole_files(config)
        config.pluginmanager.register(times.Clock())
        if whole_runs.is_whole(config) and not hasattr(config, "workerinput"):
            kind: whole_runs.Kind = "cold" if object_cache.is_empty() else "warm"
            config.pluginmanager.register(whole_runs.Stopwatch(kind, quick.start()))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    known = times.times()
    if config.getoption("--quick"):
        from edgekit.core import target  # not above: it imports numpy

        items[:], others = quick.chosen(items, known, target.names(), os.cpu_count() or 1)
        config.hook.pytest_deselected(items=others)
        budget = quick.Budget(times.costs([item.nodeid for item in (*items, *others)], known))
        config.pluginmanager.register(budget)
    else:
        times.order(items, known)


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist, which may be absent
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getoption("dist") != "loadfile":
        return None
    from support.by_file import ByFile

    return ByFile(config, log)


def pytest_collection_finish() -> None:
    """Let the garbage collector leave alone what stays until the end, all tests and modules, and come less
    often: it took a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares a text with a file of the folder `golden` beside the test, except for the version and the hash
    of the runtime's headers."""

    def check(name: str, text: str) -> None:
        text = text.replace(f"EdgeKit {edgekit.__version__}", "EdgeKit VERSION")
        text = re.sub(r"EK_HELPERS != 0x\w+", "EK_HELPERS != HASH", text)
        path = request.path.parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} is missing: run pytest --update-golden, and read it"
        assert text == path.read_text(encoding="utf-8"), f"{path} differs: see pytest --update-golden"

    return check


@pytest.fixture
def torch_settings() -> Iterator[None]:
    """Torch as it was: the examples ask for operators that give the same numbers on every run, which not all
    have."""
    torch = require_module("torch")
    is_deterministic, threads = torch.are_deterministic_algorithms_enabled(), torch.get_num_threads()
    yield
    torch.use_deterministic_algorithms(is_deterministic)
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of exported networks of torch, which test processes share, and runs as well."""
    require_module("torch")
    require_module("onnxscript")
    from support import networks, object_cache

    if kept := object_cache.exports([Path(networks.__file__)]):
        return kept
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "exports"


@pytest.fixture
def shared() -> Path:
    """The folder ../shared with reference models."""
    return require_shared()
