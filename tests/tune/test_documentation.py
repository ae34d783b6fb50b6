"""The example of docs/tuning.md gives what the page shows."""

import doctest
import re
import shlex
import shutil
from pathlib import Path

from support.command_line import DIGITS, CommandLine
from support.tools import ROOT, require, require_module

PAGE = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")


def test_the_example(cli: CommandLine, folder: Path) -> None:
    require("qemu-system-arm")
    require_module("ziglang")
    for name in ("digits.onnx", "calib.npz"):
        shutil.copy(DIGITS / name, folder)
    checker = doctest.OutputChecker()
    (block,) = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    line, _, expected = block.removeprefix("$ ").partition("\n")
    answer = cli(*shlex.split(line)[1:])
    assert checker.check_output(expected, answer.out, doctest.ELLIPSIS), answer.out + answer.err
    assert Path("digits_tuned/digits.ek").exists()


def test_every_option_that_limits_or_helps_is_described(cli: CommandLine) -> None:
    options = set(re.findall(r"--(\w[\w-]+)", cli.ok("tune", "--help").out))
    shared = {
        "output",
        "target",
        "ports",
        "io",
        "shape",
        "dim",
        "const",
        "state",
        "signature",
        "name",
        "json",
    }
    missing = {name for name in options - shared - {"help", "no-count"} if f"--{name}" not in PAGE}
    assert not missing
