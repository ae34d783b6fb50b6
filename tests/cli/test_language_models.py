"""The examples of docs/language-models.md give what the page shows."""

import ctypes
import doctest
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.generated import compiled
from support.language_models import folder as model_folder
from support.tools import ROOT

PAGE = (ROOT / "docs" / "language-models.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def tiny_llama(folder: Path) -> Path:
    (folder / "tiny-llama").mkdir()
    return model_folder()(folder / "tiny-llama")


def test_commands_take_the_folder(cli: CommandLine, tiny_llama: Path) -> None:
    checker = doctest.OutputChecker()
    np.savez("text.npz", token=np.ones((8, 1), np.int32), position=np.arange(8, dtype=np.int32)[:, None])
    for block in blocks("console"):
        line, _, expected = block.removeprefix("$ ").partition("\n")
        answer = cli(*shlex.split(line)[1:])
        said = answer.out + answer.err
        assert checker.check_output(expected, said, doctest.ELLIPSIS), said
    tiny_llama.rename("tiny-0.2")
    cli.ok("convert", "tiny-0.2")
    assert Path("tiny-0.2.ek").exists()


def test_steps_in_python_and_in_c(
    cli: CommandLine, tiny_llama: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (text,) = blocks("python")
    exec(compile(text, "docs/language-models.md", "exec"), {})
    expected = capsys.readouterr().out.strip()
    cli.ok("build", "tiny-llama", "--dim", "positions=16", "-o", "library", "--no-verify")
    (folder / "library" / "user.c").write_text(blocks("c")[0])
    units = [p.relative_to("library").as_posix() for p in sorted(Path("library").rglob("*.c"))]
    units = [unit for unit in units if "selftest" not in unit]
    compiled(
        folder / "library", "cc", "-std=c99", "-O1", "-shared", "-fPIC", "-I.", "-o", "user.so", *units, "-lm"
    )
    user = ctypes.CDLL(str(folder / "library" / "user.so"))
    token, found = 1, []
    for position in range(8):
        token = user.following(token, position)
        found.append(token)
    assert str(found) == expected
