"""A test that hangs shows where, though no timer is set for each test."""

import os
import subprocess
import sys
from pathlib import Path

from support.tools import ROOT

CONFTEST = """\
from support import hangs

hangs.SECONDS = 0.2

def pytest_configure(config):
    config.pluginmanager.register(hangs.Watch())
"""
TEST = """\
import time

def test_before():
    pass

def test_that_hangs():
    time.sleep(0.6)
"""


def test_the_stack_of_a_test_that_goes_on_is_shown(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TEST)
    path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", os.devnull, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "Timeout" in done.stderr
    assert "in test_that_hangs" in done.stderr
