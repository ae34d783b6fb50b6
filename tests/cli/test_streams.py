"""Results go to stdout and talk to stderr; starting is quick; pipes, signals and terminals are respected."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from support.command_line import CommandLine, command, program
from support.tools import require

from edgekit import console
from edgekit.core.progress import Milestone

HEAVY = {"numpy", "onnx", "jinja2", "rich", "ml_dtypes", "google.protobuf", "flatbuffers"}
LOOK = """
import json, sys
from edgekit.cli import execute
code = execute(sys.argv[1:])
print(json.dumps([int(code), sorted(sys.modules)]), file=sys.stderr)
"""


@pytest.mark.parametrize("line", ["--help", ""])
def test_help_imports_nothing_heavy(line: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK, *line.split()], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == (0 if line else 2)
    assert not HEAVY & set(modules)
    assert "typer" in modules


def test_an_ek_file_is_read_without_onnx(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOOK, "run", "digits.ek", "--data", "x.npz"], capture_output=True, text=True
    )
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0
    assert "onnx" not in modules


def test_results_are_on_stdout_and_talk_on_stderr(folder: Path) -> None:
    good = program("inspect", "digits.ek", folder=folder)
    assert (good.code, good.err) == (0, "")
    assert good.out.startswith("model")
    bad = program("inspect", "nothing.ek", folder=folder)
    assert (bad.code, bad.out) == (2, "")
    assert bad.err.startswith("error: E0104")


def test_a_closed_pipe_ends_the_program_quietly(folder: Path) -> None:
    with subprocess.Popen(
        command("inspect", "digits.ek", "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 128 + signal.SIGPIPE


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminated"])
def test_an_ended_build_leaves_nothing(folder: Path, number: signal.Signals) -> None:
    """The compiler here never ends, so that the signal meets a build in the middle of its work."""
    slow = folder / "bin" / "slowcc"
    slow.parent.mkdir()
    slow.write_text('#!/bin/sh\n[ "$1" = --version ] && echo gcc && exit\ntouch started\nexec sleep 60\n')
    slow.chmod(0o755)
    scratch = folder / "scratch"
    scratch.mkdir()
    Path("slow.toml").write_text('compilers = ["slowcc"]')
    before = sorted(folder.rglob("*"))
    environment = os.environ | {"PATH": f"{slow.parent}:{os.environ['PATH']}", "TMPDIR": str(scratch)}
    with subprocess.Popen(
        command("build", "digits.ek", "--trust", "--target", "slow.toml", "-o", "new/out"),
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        # A shell that runs the tests in the background has them ignore Ctrl-C, and so would the command.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    ) as process:
        deadline = time.monotonic() + 60
        while not list(scratch.rglob("started")) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        assert process.stderr
        words = process.stderr.read()
    assert process.returncode == 128 + number
    assert "Traceback" not in words
    assert sorted(folder.rglob("*")) == before


def on_a_terminal(*words: str, **environment: str) -> str:
    """What a command line prints when stdout and stderr are a terminal."""
    parent, child = pty.openpty()
    with subprocess.Popen(
        command(*words), stdout=child, stderr=child, env=os.environ | {"TERM": "xterm"} | environment
    ) as process:
        os.close(child)
        said = b""
        try:
            while more := os.read(parent, 4096):
                said += more
        except OSError:  # how a pseudo-terminal says that its other end is closed
            pass
        process.wait()
    os.close(parent)
    return said.decode()


def test_progress_is_shown_on_a_terminal_and_wiped(folder: Path) -> None:
    require("gcc")
    said = on_a_terminal("verify", "digits.ek", NO_COLOR="")
    assert "\r\033[Kverifying, sample 6 of 6  [##############################]  100%" in said
    assert said.rpartition("\r\033[K")[2].startswith("verified")
    assert "\033" not in program("verify", "digits.ek", folder=folder).err


def test_calibration_counts_its_samples_on_a_terminal(folder: Path) -> None:
    words = ("quantize", "digits.ek", "--data", "calib.npz", "--calibrate", "minmax")
    said = on_a_terminal(*words, NO_COLOR="", COLUMNS="70")
    assert "\r\033[Kcalibrating, sample 32 of 128  [#######-----------------------]   25%" in said
    assert "calibrating" not in program(*words, "--quiet", folder=folder).err


def test_progress_is_a_line_every_few_seconds_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(console, "monotonic", lambda: now)
    for quiet in (False, True):
        with console.without_progress(quiet), console.progress() as progress:
            for step in range(23):
                progress(f"step {step}")
                now += 1.0
            progress(Milestone("half-way"))
            progress("step 23")
    lines = ["step 5", "step 10", "step 15", "step 20", "half-way"]
    assert capsys.readouterr().err.splitlines() == lines


def test_milestones_stay_on_a_terminal(folder: Path) -> None:
    said = on_a_terminal("quantize", "digits.ek", "--data", "calib.npz", "--effort", "quick", NO_COLOR="")
    assert re.search(r"\r\033\[Kquick calibration: \d+\.\d dB\r?\n", said)
    assert "choosing ranges, tensor" not in said


def test_quiet_may_stand_anywhere(cli: CommandLine) -> None:
    words = ("quantize", "digits.ek", "--data", "calib.npz", "--effort", "quick")
    assert "quick calibration: " in cli.ok(*words).err
    for line in (("--quiet", *words), (*words, "--quiet")):
        assert cli.ok(*line).err == ""


def test_bars_fit_the_terminal() -> None:
    assert console.with_bar("sample 1 of 4", 80) == "sample 1 of 4  [#######-----------------------]   25%"
    assert console.with_bar("sample 4 of 4", 36) == "sample 4 of 4  [#############]  100%"
    assert console.with_bar("sample 2 of 4", 25) == "sample 2 of 4"
    assert console.with_bar("compiling with gcc", 9) == "compiling"
    assert console.with_bar("0 of 0 and 5 of 4", 80) == "0 of 0 and 5 of 4"


def test_colours_are_for_terminals_that_want_them(folder: Path) -> None:
    assert "\033[1;31merror:" in on_a_terminal("inspect", "nothing.ek", NO_COLOR="")
    assert "\033" not in on_a_terminal("inspect", "nothing.ek", NO_COLOR="1")
    assert "\033" not in on_a_terminal("inspect", "nothing.ek", NO_COLOR="", TERM="dumb")
    assert "\033" not in program("inspect", "nothing.ek", folder=folder, NO_COLOR="").err


def test_names_that_the_terminal_cannot_show_are_no_bug(folder: Path) -> None:
    odd = os.fsdecode(b"caf\xe9.ek")
    answer = program("inspect", odd, folder=folder, PYTHONIOENCODING="ascii")
    assert answer.code == 2
    assert "cannot read caf?.ek" in answer.err
