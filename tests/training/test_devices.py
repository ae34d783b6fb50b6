"""Training on another device than the CPU, in a process of its own, which has a second device of torch."""

import subprocess
import sys
from pathlib import Path


def test_training_on_a_second_device() -> None:
    tests = Path(__file__).with_name("second_device.py")
    options = ("-q", "-p", "no:cacheprovider", "-p", "no:xdist")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tests)],
        cwd=tests.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout
