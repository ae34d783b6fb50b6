"""The polynomials in the headers are the ones that scripts/fit_math.py computes."""

import subprocess
import sys

from support.tools import ROOT, require_module


def test_headers_are_what_the_script_writes() -> None:
    require_module("mpmath")
    command = [sys.executable, str(ROOT / "scripts/fit_math.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
