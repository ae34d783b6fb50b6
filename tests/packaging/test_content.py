"""What users know of their data, in packages: names of classes, and a sample that examples classify."""

import json
import re
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.command_line import DIGITS, CommandLine
from support.language_packages import CLASSES, several, stream
from support.nets import Net
from support.node_tools import node_tools, output
from support.npm_packages import DIGITS as DIGITS_ONNX
from support.npm_packages import DIGITS_DATA, package, small_digits
from support.tools import require, require_module

from edgekit import EdgeKitError, build, convert
from edgekit.codegen import packages
from edgekit.codegen.packages import Content
from edgekit.codegen.verification.selftest import prepare
from edgekit.core import simulate
from edgekit.core.ir import Graph
from edgekit.core.ops.reshape import Reshape
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
    values = packages.description("rust", program, types, content=Content(("a", "b", "c")))
    assert [port["classes"] for port in values["outputs"]] == [["a", "b", "c"], *([[]] * 8)]
    with pytest.raises(EdgeKitError, match="there are 4 class names"):
        packages.check_content(program, Content(tuple("abcd")))


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


@pytest.mark.parametrize("model", [small_digits, lambda: several().graph, lambda: stream().graph])
def test_the_example_for_node_checks_and_classifies(model: Callable[[], Graph], tmp_path: Path) -> None:
    """Bytes of floats of 16 bits are numbers to it."""
    require_module("ziglang")
    graph = model()
    classes = CLASSES if graph.name == "digits" else ()
    made = package(graph, tmp_path, classes=classes)
    said = output([require("node"), "example/classify.mjs"], made).splitlines()
    expected = simulate.run(graph, prepare(graph).samples[0])
    best = [np.asarray(expected[name], np.float64).argmax() for name in graph.outputs]
    assert [line.split()[1] for line in said] == [str(index) for index in best]
    if classes:
        assert said[0].endswith(f" ({CLASSES[best[0]]})")
    given = {path.name for path in (made / "example").glob("*.bin")}
    first = min(path for path in (made / "example/check").glob("*.bin") if path.name not in given)
    first.write_bytes(bytes(255 - byte for byte in first.read_bytes()))
    done = subprocess.run([require("node"), "example/classify.mjs"], cwd=made, capture_output=True, text=True)
    assert f"{graph.name} is WRONG in this engine" in done.stderr


def test_a_sample_is_what_examples_classify(tmp_path: Path) -> None:
    """Of several the first."""
    require("gcc")
    with np.load(DIGITS_DATA) as data:
        x = data["x"][:3]
    found = build(convert(DIGITS_ONNX), tmp_path, package=("python", "cmake"), samples=x, verify=False)
    assert [one.kind for one in found.packages] == ["python", "cmake"]
    assert (tmp_path / "cmake/digits/example/x.bin").read_bytes() == x[0].tobytes()
    (wheel,) = (tmp_path / "python/digits").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("digits/sample/x.bin") == x[0].tobytes()


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (np.full((1, 1, 8, 8), np.nan, np.float32), "E0108 the sample of input x has NaN or infinity"),
        (np.zeros((1, 7), np.float32), "E0102 input x is"),
        (np.zeros((1, 1, 8, 8)), "E0102 input x is f64"),
    ],
)
def test_another_sample_is_refused(x: np.ndarray, said: str, tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match=re.escape(said)):
        build(convert(DIGITS_ONNX), tmp_path / "out", package=("python",), samples=x)
    assert not (tmp_path / "out").exists()


def test_a_large_sample_stays_out_of_flash(tmp_path: Path) -> None:
    for size, has_sample in ((1 << 15, True), (1 << 16, False)):
        net = Net()
        graph = net.done(net(Reshape((size,)), net.x(1, size))).with_name("wide")
        build(graph, tmp_path / str(size), target="cortex-m4", package=("arduino",), verify=False)
        inside = tmp_path / str(size) / "arduino/wide"
        assert (inside / "src/wide_sample.h").is_file() == has_sample
        sketch = (inside / "examples/Run/Run.ino").read_text()
        assert ("wide_sample_x[i]; // your data" in sketch) == has_sample
