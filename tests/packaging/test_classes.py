"""Names of classes: what `--classes` takes, and where they are in packages for the web."""

import json
from pathlib import Path

import pytest
from support.command_line import DIGITS, CommandLine
from support.language_packages import CLASSES, several
from support.node_tools import node_tools, output
from support.npm_packages import package, small_digits
from support.tools import require, require_module

from edgekit import EdgeKitError
from edgekit.codegen import packages
from edgekit.core.types import DType

TEN = "".join(f"{name}\n" for name in "abcdefghij").encode()


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (TEN[:-2], "python", "no output of digits has as many values: y has 10\nhint: a name for each value"),
        (b"a\n", "python", "E0103 there is 1 class name, and no output"),
        (TEN.replace(b"c", b""), "python", "E0103 the name of class 2 is empty"),
        (TEN.replace(b"c", b"c\0c"), "python", "E0103 the name of class 2 has control characters"),
        (TEN.replace(b"c", b"c\x1b[31m"), "python", "E0103 the name of class 2 has control characters"),
        (TEN.replace(b"c", "c\u2028c".encode()), "python", "the name of class 2 has control characters"),
        (TEN.replace(b"d", b"d" * 300), "python", "E0103 the name of class 3 has 300 characters"),
        (TEN.replace(b"d", b"\xff"), "python", "E0103 names.txt is no UTF-8 at byte 6"),
        (b"\n \n", "python", "E0103 names.txt has no class names"),
        (TEN, "", "E0103 class names belong to a package\nhint: add --package python"),
        (None, "python", "E0104 cannot read names.txt: No such file or directory"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(
    text: bytes | None,
    options: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    if text is not None:
        Path("names.txt").write_bytes(text)
    words = ["--package", options] if options else []
    answer = CommandLine(capsys)(
        "build", DIGITS / "digits.onnx", *words, "--classes", "names.txt", "-o", "out"
    )
    assert answer.code == 2
    assert said in answer.err
    assert not Path("out").exists()


def test_a_folder_is_no_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = CommandLine(capsys)(
        "build", DIGITS / "digits.onnx", "--package", "python", "--classes", tmp_path
    )
    assert "it is not a regular file" in answer.err


def test_names_are_those_of_the_first_output_that_fits() -> None:
    program = several()
    types = {dtype.c: "x" for dtype in DType}
    values = packages.description("rust", program, types, classes=("a", "b", "c"))
    assert [port["classes"] for port in values["outputs"]] == [["a", "b", "c"], *([[]] * 8)]
    with pytest.raises(EdgeKitError, match="there are 4 class names"):
        packages.check_classes(program, tuple("abcd"))


def test_javascript_has_the_names(tmp_path: Path) -> None:
    require_module("ziglang")
    made = package(small_digits(), tmp_path, classes=CLASSES)
    for entry in ("digits.js", "digits.inline.js"):
        script = f'import {{ outputs }} from "./{entry}"; console.log(JSON.stringify(outputs));'
        found = json.loads(output([require("node"), "--input-type=module", "-e", script], made))
        assert found["y"]["classes"] == list(CLASSES)
        assert found["y"]["shape"] == [1, 10]
    (made / "use.ts").write_text(
        'import { outputs } from "./digits.js";\n'
        "export const first: string | undefined = outputs.y.classes?.[0];\n"
    )
    tsc = node_tools() / "node_modules" / ".bin" / "tsc"
    output([str(tsc), "--strict", "--noEmit", "--module", "nodenext", "use.ts"], made)
