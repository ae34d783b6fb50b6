"""Options and settings work under the names that they had, with a note of the name of today."""

from pathlib import Path

import pytest
import typer
from support.command_line import CommandLine
from support.tools import require

from edgekit import cli as command_line
from edgekit.deprecation import former_names

COMMANDS = typer.main.get_command(command_line.app).commands  # type: ignore[attr-defined]  # a group has them
FORMER = [
    (name, old, parameter)
    for name, command in COMMANDS.items()
    for parameter in command.params
    for old in former_names(parameter.opts)
]


def test_data_and_report_are_one_word_each() -> None:
    """Whatever takes inputs of the model is --data, whatever writes a page beside its result is --report."""
    today = {old: {p.opts[0] for _, o, p in FORMER if o == old} for _, old, _ in FORMER}
    assert today == {
        **{old: {"--data"} for old in ("--calib", "--input", "-i", "--sample")},
        **{old: {"--report"} for old in ("--html", "--output", "-o")},
    }
    for name, command in COMMANDS.items():
        for parameter in command.params:
            metavar = getattr(parameter, "metavar", "")
            assert (metavar == "DATA") == (parameter.opts[0] == "--data"), name


@pytest.mark.parametrize(("name", "old", "parameter"), FORMER)
def test_help_has_the_names_of_today(cli: CommandLine, name: str, old: str, parameter: typer.Option) -> None:
    lines = cli.ok(name, "--help").out.splitlines()
    assert [line for line in lines if f"{parameter.opts[0]} " in line or f"{parameter.opts[0]}," in line]
    if old not in ("-o", "--output"):  # which other options have
        assert not [line for line in lines if f"{old} " in line]


@pytest.mark.parametrize(
    ("line", "note"),
    [
        ("run digits.ek --input x.npz", "--input is called --data"),
        ("run digits.ek --input=x.npz", "--input is called --data"),
        ("run digits.ek -i x.npz", "-i is called --data"),
        ("quantize digits.onnx --calib random --calibrate minmax -o q.ek", "--calib is called --data"),
        ("diff digits.onnx digits.ek -o p.html", "-o is called --report"),
        ("diff digits.onnx digits.ek --html p.html", "--html is called --report"),
    ],
)
def test_options_work_under_former_names(cli: CommandLine, line: str, note: str) -> None:
    answer = cli.ok(*line.split())
    assert answer.err.count(f"note: {note} now\n") == 1
    assert Path(line.split()[-1]).exists() or line.startswith("run")


def test_names_of_today_are_used_without_a_note(cli: CommandLine) -> None:
    assert "is called" not in cli.ok("run", "digits.ek", "-d", "x.npz").err
    assert "is called" not in cli.ok("diff", "digits.onnx", "digits.ek", "--report", "p.html").err


def test_settings_work_under_former_names(cli: CommandLine) -> None:
    require("gcc")
    Path("edgekit.toml").write_text('[build]\nhtml = "old.html"\n[run]\ninput = "x.npz"')
    answer = cli.ok("build", "digits.ek", "-o", "out")
    assert "note: edgekit.toml: html in [build] is called report now" in answer.err
    assert Path("old.html").is_file()
    assert "y  [3,10]" in cli.ok("run", "digits.ek").out
    Path("edgekit.toml").write_text('[build]\nhtml = "old.html"\nreport = "new.html"')
    cli.ok("build", "digits.ek", "-o", "out")
    assert Path("new.html").is_file()


def test_a_setting_under_a_former_name_needs_the_same_trust(cli: CommandLine) -> None:
    Path("edgekit.toml").write_text('[build]\nhtml = "../page.html"')
    answer = cli("build", "digits.ek")
    assert answer.code == 2
    assert "E0108" in answer.err


def test_mistakes_lead_to_the_names_of_today(cli: CommandLine) -> None:
    assert "did you mean --data?" in cli("quantize", "digits.onnx", "--dataa", "x.npz").err
    Path("edgekit.toml").write_text('[build]\nhtm = "p.html"')
    assert "html" not in cli("build", "digits.ek").err
