"""`native` is the best target for the processor of this machine, and written with its own name."""

from pathlib import Path

import pytest
from support.command_line import DIGITS, CommandLine
from support.tools import require

from edgekit import EdgeKitError
from edgekit.api.models import target_of
from edgekit.codegen.execution import processor, runner
from edgekit.core import target as targets

MODEL = str(DIGITS / "digits.onnx")


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    monkeypatch.chdir(tmp_path)
    return CommandLine(capsys)


def features(*names: str) -> frozenset[str]:
    return frozenset(flag for name in names for flag in targets.load(name).cpu_flags)


@pytest.mark.parametrize(
    ("has", "best"),
    [
        ((), "host"),
        (("x86-64",), "x86-64"),
        (("x86-64", "x86-64-avx2"), "x86-64-avx2"),
        (("x86-64", "x86-64-avx2", "x86-64-avxvnni"), "x86-64-avxvnni"),
        (("x86-64", "x86-64-avx2", "x86-64-avx512", "x86-64-avxvnni"), "x86-64-avx512"),
    ],
)
def test_it_has_most_of_the_features(
    monkeypatch: pytest.MonkeyPatch, has: tuple[str, ...], best: str
) -> None:
    monkeypatch.setattr(processor, "flags", lambda: features(*has))
    assert processor.native().name == best
    assert target_of("native") == targets.load(best)


def test_programs_for_it_run_here() -> None:
    assert runner.is_native(processor.native())


def test_what_is_written_has_its_own_name(cli: CommandLine) -> None:
    require("gcc")
    best = processor.native().name
    found = cli.ok("build", MODEL, "--target", "native", "-o", "out", "--json").json
    assert found["target"] == best
    assert "target native" not in Path("out/digits.h").read_text()
    assert cli.ok("bench", MODEL, "--json").json["target"] == best
    assert cli.ok("estimate", MODEL, "-t", "native", "--json").json["target"] == best
    assert cli.ok("targets", "--json").json["native"] == best
    assert cli.ok("targets").out.endswith(f"native is {best} on this machine\n")


def test_build_says_once_that_there_are_faster_kernels(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("gcc")
    words = ("build", MODEL, "--no-verify", "-o", "out")
    monkeypatch.setattr(processor, "flags", lambda: features("x86-64", "x86-64-avx2"))
    answer = cli.ok(*words)
    assert "target host" in answer.out
    assert answer.err.count("--target native, x86-64-avx2 here,") == 1
    assert "native" not in cli.ok(*words, "--target", "host").err
    monkeypatch.setattr(processor, "flags", lambda: frozenset())
    assert "native" not in cli.ok(*words).err


def test_it_is_no_name_for_a_base_and_close_to_mistakes() -> None:
    with pytest.raises(EdgeKitError, match="no base native"):
        targets.parse("board", 'base = "native"')
    with pytest.raises(EdgeKitError) as error:
        targets.load("natve")
    assert "did you mean native?" in error.value.hint
