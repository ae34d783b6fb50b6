"""The examples of docs/language-models.md give what the page shows."""

import ctypes
import doctest
import re
import shlex
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.command_line import CommandLine
from support.generated import compiled
from support.language_models import folder as model_folder
from support.opencl import opencl
from support.tools import ROOT

import edgekit
from edgekit.core.simulate import Session

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
    opencl()  # verifies
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


# Writes a text of 12 tokens behind 6, on a device if there is one.
WRITES = """
#include <stdio.h>

int main(int argc, char **argv)
{
    struct ek_gpu_config config = {.allow_cpu_device = 1, .library = argc > 1 ? argv[1] : NULL};
    enum ek_gpu_status status;
    struct ek_gpu *const gpu = tiny_llama_gpu_create(&config, &status);
    int32_t text[12] = {5, 1, 7, 3, 2, 9};
    if (!gpu || write_text(gpu, text, 6, 12))
        return 1;
    for (int i = 0; i < 12; i++)
        printf("%d ", (int)text[i]);
    tiny_llama_gpu_destroy(gpu);
    return status ? 2 : 0;
}
"""


def test_a_text_on_a_gpu(cli: CommandLine, tiny_llama: Path, folder: Path) -> None:
    opencl()
    made = folder / "gpu-library"
    entry = ["--entry", "prefill:tokens=4:logits=1", "--no-verify"]
    cli.ok("build", "tiny-llama", "--dim", "positions=16", "--target", "opencl", *entry, "-o", made)
    (made / "user.c").write_text(blocks("c")[1] + WRITES)
    units = [unit.name for unit in sorted(made.glob("*.c")) if "selftest" not in unit.name]
    compiled(made, "cc", "-std=c99", "-O1", "-I.", "-o", "user", *units, "-lm", "-ldl")
    session, text = Session(edgekit.convert("tiny-llama", dims={"positions": 16})), [5, 1, 7, 3, 2, 9]
    for at in range(11):
        step = {"token": np.array([text[at]], np.int32), "position": np.array([at], np.int32)}
        best = int(session.run(step)["logits"].argmax())
        text += [best] * (at + 1 == len(text))
    for arguments, code in (((), 0), (("/none/libOpenCL.so",), 2)):
        done = subprocess.run([made / "user", *arguments], capture_output=True, text=True)
        assert ([*map(int, done.stdout.split())], done.returncode) == (text, code)
