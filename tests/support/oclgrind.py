"""oclgrind, in a process of its own: its compiler falls over others that tests have loaded.

Run as a script it is that process: pickled uses and buffers come in, buffers and faults go out.
"""

import atexit
import ctypes
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from support.opencl_device import OpenCL
from support.tools import missing, require

from edgekit.codegen.gpu.use import GpuCall
from edgekit.core.types import Array

_LIBRARY = "/usr/lib/oclgrind/liboclgrind-rt.so"  # no loader knows it


class Oclgrind:
    """A device that sees what kernels do beside their buffers, and without waiting for one another."""

    def __init__(self) -> None:
        tests = Path(__file__).parents[1]
        # Its interpreter does not know all that optimizers write.
        settings = {"OCLGRIND_BUILD_OPTIONS": "-cl-opt-disable", "OCLGRIND_CHECK_API": "1"}
        settings |= {"OCLGRIND_DATA_RACES": "1", "PYTHONPATH": str(tests)}
        self.process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | settings,
        )
        atexit.register(self.close)

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def compute(self, uses: Sequence[GpuCall], buffers: Sequence[Sequence[Array]]) -> None:
        """Each use on its buffers, and none may do what it should not."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        pickle.dump((uses, buffers), self.process.stdin)
        self.process.stdin.flush()
        found, fault = pickle.load(self.process.stdout)
        assert not fault, fault
        for given, made in zip(buffers, found, strict=True):
            for array, data in zip(given, made, strict=True):
                np.copyto(array, data)


@cache
def oclgrind() -> Oclgrind:
    require("oclgrind")
    if not Path(_LIBRARY).is_file():
        missing(_LIBRARY, "Debian: oclgrind")
    return Oclgrind()


def serve() -> None:
    """Compute what comes until nothing comes."""
    log = Path(tempfile.mkdtemp(prefix="oclgrind-")) / "faults"
    log.touch()
    os.environ["OCLGRIND_LOG"] = str(log)
    device = OpenCL(ctypes.CDLL(_LIBRARY))
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the library prints is no answer
    while True:
        try:
            uses, buffers = pickle.load(requests)
        except EOFError:
            return
        try:
            device.compute(uses, buffers)
            fault = log.read_text()
        except AssertionError as error:
            fault = str(error) or "a failure without words"
        log.write_text("")
        pickle.dump((buffers, fault), answers)
        answers.flush()


if __name__ == "__main__":
    serve()
