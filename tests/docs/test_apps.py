"""docs/apps.md: its commands print what it says, and its Python runs as it is typed."""

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from support.command_line import DIGITS, CommandLine
from support.language_packages import documented
from support.tools import ROOT, require

PAGE = (ROOT / "docs" / "apps.md").read_text(encoding="utf-8")


def test_commands_print_what_the_page_says(cli: CommandLine, folder: Path) -> None:
    """What users type for Rust and Go is in the tests of these."""
    require("gcc")
    shutil.copy(DIGITS / "digits.onnx", folder)
    Path("names.txt").write_text("".join(f"{name}\n" for name in range(10)))
    examples = [text.partition("\n") for text in re.findall(r"^\$ (.*?)^```", PAGE, re.MULTILINE | re.DOTALL)]
    assert len(examples) > 1
    for line, _, expected in examples:
        printed = cli.ok(*shlex.split(line)[1:]).out
        assert doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS), printed
    (program,) = re.findall(r"^```py\n(from digits .*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    Path("program.py").write_text(f"{program}print(scores.shape)\n")
    own = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PIP_TARGET": str(folder / "site"),
        "PIP_NO_DEPS": "1",
        "PYTHONPATH": str(folder / "site"),
    }
    commands = f"{documented('Python')}python program.py\n"
    done = subprocess.run(
        ["bash", "-ec", commands], capture_output=True, text=True, env={**os.environ, **own}
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"^y: \d is largest, .*\n\(1, 10\)$", done.stdout, re.MULTILINE)
