"""Every error code is explained once, by an example that gives it, and says what to do."""

import ast
import doctest
import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.command_line import CommandLine
from support.onnx_models import model, node
from support.sources import parsed
from support.tools import ROOT, require

from edgekit import explanations

STAGES = ("edgekit", "converters", "quantize", "codegen")
EXAMPLE = re.compile(r"^```(console|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TINY = 'base = "cortex-m4"\nmemory = {flash = "8K", ram = "8K"}\n'


def raised() -> set[str]:
    """The codes that the source gives to errors."""
    every = (path for stage in STAGES for path in (ROOT / stage).rglob("*.py"))
    return {
        node.value
        for _, tree in parsed(every, r"E\d{4}")
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and re.fullmatch(r"E\d{4}", str(node.value))
    }


def test_every_code_is_explained_and_no_other() -> None:
    assert set(explanations.sections()) == raised()


@pytest.mark.parametrize("code", explanations.sections())
def test_an_explanation_has_an_example_and_says_what_to_do(code: str) -> None:
    section = explanations.sections()[code]
    ((_, example),) = EXAMPLE.findall(section)
    assert f"error: {code} " in example
    assert section.count("**What to do:** ") == 1
    assert code in explanations.explain(code)
    assert "`" not in explanations.explain(code)


@pytest.fixture
def broken(cli: CommandLine, dynamic: Path) -> CommandLine:
    """The folder that the page speaks of."""
    good = Path("digits.onnx").read_bytes()
    Path("damaged.onnx").write_bytes(good[: len(good) // 2])
    onnx.save(model([node("Unheard", "x", "y")]), "strange.onnx")
    images = np.load("x.npz")["x"]
    np.savez("dtype.npz", x=images.astype(np.float64))
    np.savez("key.npz", X=images)
    np.savez("none.npz", x=images[:0])
    np.savez("nan.npz", x=np.where(images > 0, np.nan, images))
    np.savez("pickled.npz", x=np.array([{}], dtype=object))
    Path("bare.toml").write_text('compilers = ["no-such-compiler"]')
    Path("tiny.toml").write_text(TINY)
    Path("taken").mkdir()
    Path("taken/digits.h").write_text("mine")
    return cli


def test_examples_give_what_the_page_shows(broken: CommandLine) -> None:
    require("gcc")
    checker = doctest.OutputChecker()
    examples = [
        text
        for kind, text in EXAMPLE.findall("\n".join(explanations.sections().values()))
        if kind == "console"
    ]
    assert len(examples) > 15
    others = {}
    for example in examples:
        line, _, expected = example.removeprefix("$ ").partition("\n")
        answer = broken(*shlex.split(line)[1:])
        said = answer.out + answer.err
        if not answer.code or not checker.check_output(expected, said, doctest.ELLIPSIS):
            others[line] = said
    assert others == {}


def test_explain_takes_a_code_as_people_type_it(cli: CommandLine) -> None:
    whole = cli.ok("explain", "E0205").out
    assert whole.startswith("E0205: an operator is not supported in this form\n")
    assert cli.ok("explain", "0205").out == cli.ok("explain", "e0205").out == whole
    assert cli.ok("explain", "E0205", "--json").json["code"] == "E0205"
    assert "did you mean E0205? known: E0100" in cli("explain", "E205").err
