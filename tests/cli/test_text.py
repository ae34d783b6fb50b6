"""The examples of docs/text.md give what the page shows, and what cannot be run is refused."""

import ctypes
import doctest
import json
import re
import shlex
from pathlib import Path

import pytest
from support import tiny_tokenizer
from support.command_line import CommandLine
from support.generated import C99, STRICT, compiled
from support.language_models import folder as model_folder
from support.tools import ROOT

import edgekit

PAGE = (ROOT / "docs" / "text.md").read_text(encoding="utf-8")


@pytest.fixture
def tiny_llama(folder: Path) -> Path:
    (folder / "tiny-llama").mkdir()
    made = model_folder()(folder / "tiny-llama")
    tiny_tokenizer.write(made)
    return made


def test_commands_and_python_give_what_is_shown(
    cli: CommandLine, tiny_llama: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checker = doctest.OutputChecker()
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        for command in block.removeprefix("$ ").split("\n$ "):
            line, _, expected = command.partition("\n")
            answer = cli(*shlex.split(line)[1:])
            said = answer.out + answer.err
            assert checker.check_output(expected.rstrip() + "\n", said, doctest.ELLIPSIS), said
    shown = re.findall(r"^```python\n(.*?)^```\n\n```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert shown
    for code, expected in shown:
        capsys.readouterr()
        exec(compile(code, "docs/text.md", "exec"), {})
        assert capsys.readouterr().out == expected


def test_c_goes_on_with_a_text_as_python_does(cli: CommandLine, tiny_llama: Path, folder: Path) -> None:
    cli.ok("build", "tiny-llama", "--dim", "positions=32", "-o", "library", "--no-verify")
    library = folder / "library"
    (user,) = re.findall(r"^```c\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (library / "user.c").write_text(user)
    sources = [path.relative_to(library).as_posix() for path in sorted(library.rglob("*.c"))]
    units = [path for path in sources if "selftest" not in path]
    compiled(library, "cc", *C99, *STRICT, "-O1", "-shared", "-fPIC", "-I.", "-o", "user.so", *units, "-lm")
    pieces: list[bytes] = []
    show = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)(
        lambda piece, size: pieces.append(ctypes.string_at(piece, size))
    )
    go_on = ctypes.CDLL(str(library / "user.so")).go_on
    graph = edgekit.convert("tiny-llama", dims={"positions": 32})
    for text in ("once upon", "a", "time " * 5):
        pieces.clear()
        assert go_on(text.encode(), len(text), 20, show) == 0
        expected = edgekit.generate(graph, text, tokens=20, temperature=0.8, top_p=0.95, seed=7)
        assert b"".join(pieces).decode() == "".join(expected)


def test_builds_say_which_tokenizers_c_does_not_have(cli: CommandLine, tiny_llama: Path) -> None:
    changed = tiny_tokenizer.tiny()
    changed["normalizer"] = {"type": "Lowercase"}
    (tiny_llama / "tokenizer.json").write_text(json.dumps(changed))
    said = cli.ok("build", "tiny-llama", "-o", "library", "--no-verify").err
    note = "note: the library has no tokenizer and no sampler: C does not have its normalizer Lowercase"
    assert note in said
    assert not Path("library/tiny_llama_tokenizer.c").exists()


def test_json_has_the_text(cli: CommandLine, tiny_llama: Path) -> None:
    line = ("run", "tiny-llama", "--text", "once", "--tokens", "9")
    assert cli.ok(*line, "--json").json["continuation"] == cli.ok(*line).out.removeprefix("once").rstrip("\n")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "E0101 give either --data or --text"),
        (("--text", "a", "-d", "x.npz"), "E0103 give either --data or --text"),
        (("--text", "a", "-t", "host"), "--text is for the simulator"),
        (
            ("--text", "a" * 40),
            "E0102 the text is 41 tokens, the cache holds 32\nhint: convert with --dim positions=82",
        ),
        (("--text", "a", "--temperature", "-1"), "E0103 temperature is -1.0"),
        (("--text", "a", "--tokens", "0"), "E0103 tokens is 0"),
    ],
)
def test_what_makes_no_sense_is_refused(
    cli: CommandLine, tiny_llama: Path, options: tuple[str, ...], words: str
) -> None:
    answer = cli("run", "tiny-llama", *options)
    assert answer.code == 2
    assert words in answer.err
    assert answer.out == ""


def test_models_without_a_tokenizer_say_so(cli: CommandLine, tiny_llama: Path) -> None:
    file = tiny_llama / "tokenizer.json"
    changed = tiny_tokenizer.tiny()
    changed["model"]["type"] = "WordPiece"
    file.write_text(json.dumps(changed))
    note = "note: tokenizer.json is left out: tokenizers of type WordPiece are not read"
    assert note in cli.ok("convert", "tiny-llama").err
    assert "E0205 tokenizers of type WordPiece" in cli("run", "tiny-llama", "--text", "a").err
    assert "E0101 tiny-llama has no tokenizer" in cli("run", "tiny-llama.ek", "--text", "a").err
    file.write_text("{")
    assert "E0401" in cli("convert", "tiny-llama").err
