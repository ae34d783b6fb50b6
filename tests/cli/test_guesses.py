"""The command line takes what people guess: short options, names of formats, words that are misspelled."""

import ast
import re
import shlex
from pathlib import Path

import pytest
import typer
from support.command_line import CommandLine
from support.sources import parsed
from support.tools import ROOT

import edgekit
from edgekit import cli as command_line
from edgekit.api import Settings
from edgekit.command_help import Panel
from edgekit.core.errors import EdgeKitError
from edgekit.deprecation import former_names

STAGES = ("edgekit", "converters", "quantize", "codegen")
COMMANDS = typer.main.get_command(command_line.app).commands  # type: ignore[attr-defined]  # a group has them
OPTIONS = {
    name: {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
    - {old for p in command.params for old in former_names(p.opts)}
    for name, command in COMMANDS.items()
}


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("buld digits.ek", "build"),
        ("quantise digits.ek", "quantize"),
        ("build digits.ek --optimise size", "--optimize"),
        ("build digits.ek --traget host", "--target"),
        ("build digits.ek --optimize sped", "speed"),
        ("build digits.ek --target cortexm4", "cortex-m4"),
        ("build digits.ek --package ardiuno", "arduino"),
        ("convert digits.onnx --shape X=1,1,8,8", "x"),
        ("convert digits.onnx --const X=1", "x"),
        ("convert digits.onnx --mean X=1", "x"),
        ("convert digits.onnx --raw uint9", "uint8"),
        ("quantize digits.onnx --dtype itn8", "int8"),
        ("quantize digits.onnx --dtype flaot16", "f16"),
        ("quantize digits.onnx --weights itn4", "int4"),
        ("quantize digits.onnx --formats int8,bf61", "bf16"),
        ("quantize digits.onnx --calibrate calib.npz", "--data calib.npz"),
        ("explain E025", "E0205"),
    ],
)
def test_the_word_that_was_meant_is_named(cli: CommandLine, line: str, meant: str) -> None:
    answer = cli(*line.split())
    assert answer.code == 2
    assert f"hint: did you mean {meant}? " in answer.err


def test_a_letter_is_not_taken_for_a_word(cli: CommandLine) -> None:
    answer = cli("quantize", "digits.onnx", "-i", "calib.npz")
    assert answer.code == 2
    assert "hint: see edgekit quantize --help\n" in answer.err


def test_a_format_of_all_layers_is_not_one_of_weights(cli: CommandLine) -> None:
    answer = cli("quantize", "digits.onnx", "--weights", "float16")
    assert answer.code == 2
    assert "hint: the format of all layers is another setting: --dtype f16. known: int8, int4\n" in answer.err
    cli.ok("quantize", "digits.onnx", "--dtype", "f16", "-o", "half.ek")


@pytest.mark.parametrize(
    ("dtype", "formats"),
    [
        *((name, ("f16", "", "")) for name in ("f16", "fp16", "half", "float16", "FP16")),
        *((name, ("bf16", "", "")) for name in ("bf16", "bfloat16")),
        *((name, ("int8", "", "")) for name in ("int8", "s8", "i8")),
        *((name, ("int8", "", "int16")) for name in ("int16", "s16", "w8a16")),
        ("int4", ("int8", "int4", "")),
    ],
)
def test_formats_have_the_names_of_all_frameworks(dtype: str, formats: tuple[str, str, str]) -> None:
    chosen = Settings(dtype=dtype)
    assert (chosen.dtype, chosen.weights, chosen.activations) == formats


def test_formats_of_parts_do_too() -> None:
    chosen = Settings("half", activations="fp32", weights="float16", formats=("i8", "bfloat16", "float"))
    assert (chosen.activations, chosen.weights, chosen.formats) == ("float32", "f16", ("int8", "bf16", "f32"))
    assert Settings(io="float32").io == "float"
    with pytest.raises(EdgeKitError, match="unknown activations with f16: int8"):
        Settings("fp16", activations="int8")


def test_what_an_alias_means_is_said(cli: CommandLine) -> None:
    answer = cli.ok("quantize", "digits.onnx", "--dtype", "half")
    assert "note: --dtype half means weights in f16, activations in float32" in answer.err
    assert Path("digits_f16.ek").is_file()
    answer = cli.ok("quantize", "digits.onnx", "--dtype", "int16", "--data", "random")
    assert "note: --dtype int16 means weights in int8, activations in int16" in answer.err
    assert Path("digits_int16.ek").is_file()


def test_raw_data_have_other_names_too(folder: Path) -> None:
    assert edgekit.convert("digits.onnx", raw="u8") == edgekit.convert("digits.onnx", raw="uint8")


def test_short_options_are_the_same_everywhere() -> None:
    """-t is the target, -d the data, -o what is written, -v more, -h help, for every command that has it."""
    short = {"-t": "--target", "-d": "--data", "-o": "--output", "-v": "--verbose", "-h": "--help"}
    for name, options in OPTIONS.items():
        assert {s for s, long in short.items() if long in options} == options & short.keys(), name


def test_short_options_work(cli: CommandLine) -> None:
    cli.ok("estimate", "digits.ek", "-t", "host")
    cli.ok("run", "digits.ek", "-d", "x.npz", "-o", "y.npz")
    cli.ok("report", "digits.ek", "-o", "page.html")
    assert Path("y.npz").is_file()
    assert Path("page.html").is_file()


# Help


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_examples_that_it_understands(cli: CommandLine, name: str) -> None:
    sentence, _, lines = COMMANDS[name].help.partition("\n\n")
    assert sentence in " ".join(cli.ok(name, "--help").out.split())
    assert lines
    for line in lines.splitlines():
        first, verb, *words = shlex.split(line, comments=True)
        assert (first, verb) == ("edgekit", name)
        assert line in cli(name, "-h").out
        COMMANDS[name].make_context(name, command_line._own_options(words)[1])


def test_commands_and_options_stand_in_groups(cli: CommandLine) -> None:
    titles = re.findall(r"^(\w.*):$", cli.ok("--help").out, re.MULTILINE)
    assert titles == ["Options", *(panel.value for panel in Panel)]
    titles = re.findall(r"^(\w.*):$", cli.ok("build", "--help").out, re.MULTILINE)
    assert titles == ["Examples", "Arguments", "Options", "Generated code", "Reading the model", "General"]


# Hints


def _hints() -> list[tuple[str, str]]:
    """Every text in the source that is given as a hint, with where it stands."""
    found = []
    for path, tree in parsed((path for stage in STAGES for path in (ROOT / stage).rglob("*.py")), "(?i)hint"):
        for node in ast.walk(tree):
            values: list[ast.expr] = []
            if (isinstance(node, ast.keyword) and node.arg == "hint") or (
                isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).lower().strip("_") == "hint"
            ):
                values = [node.value]
            for value in values:
                text = "".join(
                    part.value
                    for part in ast.walk(value)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                )
                text = re.sub(r"llama-quantize[^:;,]*", "", text)  # another program, with options of its own
                found.append((f"{path.relative_to(ROOT)}:{value.lineno}", text))
    return found


def test_hints_name_commands_and_options_that_exist() -> None:
    hints = _hints()
    assert len(hints) > 100
    anywhere = {"--debug", "--trust", "--version", "--help"}  # on a command line
    every = set.union(*OPTIONS.values()) | anywhere
    wrong = []
    for where, text in hints:
        verbs = re.findall(r"\bedgekit ([a-z]+)\b(?! it)", text)
        options = re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)
        wrong += [f"{where}: edgekit {verb}" for verb in verbs if verb not in COMMANDS]
        wrong += [f"{where}: {option}" for option in options if option not in every]
        # Options behind a command belong to it.
        for verb, rest in re.findall(r"edgekit ([a-z]+)((?: [^;:,]*)?)", text):
            mine = re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest)
            known = OPTIONS.get(verb, every) | anywhere
            wrong += [f"{where}: {verb} {o}" for o in mine if o not in known]
    assert wrong == []


# Completion


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the command line says before it leaves at once, as it does where shells ask."""
    with pytest.raises(SystemExit) as left:
        command_line.execute(words)
    assert not left.value.code
    return capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_there_is_a_completion_script(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    monkeypatch.setattr("shellingham.detect_shell", lambda: (shell, ""))
    assert "_EDGEKIT_COMPLETE" in _said(capsys, "--show-completion")


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("edgekit qu", {"quantize"}),
        ("edgekit build --opt", {"--optimize"}),
        ("edgekit build x.onnx -t cortex-m0", {"cortex-m0plus"}),
        ("edgekit build x.onnx --package ard", {"arduino"}),
        ("edgekit explain E030", {"E0301", "E0302"}),
    ],
)
def test_bash_completes_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], typed: str, completed: set[str]
) -> None:
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
    monkeypatch.setenv("_EDGEKIT_COMPLETE", "complete_bash")
    assert set(_said(capsys).split()) == completed
