"""Every mistake gets a code, a sentence, a hint, the right exit code, and leaves nothing behind."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from support.command_line import CommandLine
from support.onnx_models import model, node
from support.tools import require

import edgekit
from edgekit import settings
from edgekit.codegen.execution import driver
from edgekit.core.errors import MAX_CHARACTERS

# A command line, its exit code, and words that the person who wrote it needs.
MISTAKES = [
    ("buld digits.ek", 2, "E0100 No such command 'buld'"),
    ("build", 2, "E0100 Missing argument 'MODEL'."),
    ("build digits.ek --optimise size", 2, "E0100 No such option: --optimise"),
    ("build digits.ek --optimize fast", 2, "E0100 Invalid value for '--optimize': 'fast' is not one of"),
    ("build digits.ek --shape", 2, "E0100 Option '--shape' requires an argument"),
    ("run digits.ek", 2, "E0101 give either --data or --text"),
    ("convert nothing.onnx", 2, "E0104 cannot read nothing.onnx: No such file"),
    ("build nothing.ek", 2, "E0104 cannot read nothing.ek: No such file"),
    ("convert /dev/null", 2, "E0104 cannot read /dev/null: it is not a regular file"),
    ("convert .", 3, "E0206 . is a folder"),
    ("convert x.npz", 3, "E0206 x.npz is of no known format"),
    ("convert damaged.onnx", 4, "E0401 damaged.onnx is no ONNX file or is damaged"),
    ("inspect damaged.ek", 4, "E0401 damaged.ek is damaged"),
    ("convert digits.onnx -o digits.onnx", 2, "E0105 cannot write digits.onnx: graphs go into .ek files"),
    ("convert digits.onnx -o folder.ek", 2, "E0105 cannot write"),
    ("convert digits.onnx -o nowhere/digits.ek", 2, "E0105 cannot write"),
    ("convert digits.onnx --name 3d", 2, "E0103 3d is not a C identifier"),
    ("convert digits.onnx --shape x", 2, "E0103 --shape x is no shape"),
    ("convert digits.onnx --shape x=1,,8", 2, "E0103 --shape x=1,,8 is no shape"),
    ("convert digits.onnx --shape x=1,-8", 2, "E0103 --shape x=1,-8 is no shape"),
    ("convert digits.onnx --shape x=1 --shape x=2", 2, "E0103 --shape binds x twice"),
    ("convert digits.onnx --shape xx=1,1,8,8", 2, "did you mean x?"),
    ("convert digits.onnx --shape x=1,1,9,9", 2, "E0103 shape [1, 1, 9, 9] does not fit input x"),
    ("build digits.ek --shape x=1,1,8,8", 2, "E0103 digits is converted already"),
    ("inspect dynamic.onnx", 3, "hint: bind it: --dim n=N"),
    ("build digits.ek --target hots", 2, "did you mean host? known: "),
    ("build digits.ek --target nothing.toml", 2, "E0106 no target file nothing.toml"),
    ("build digits.ek --target wrong.toml", 2, "E0106 target wrong"),
    ("build digits.ek -o x.npz", 2, "E0105 cannot write into x.npz: it is not a folder"),
    ("build digits.ek -o x.npz/out", 2, "E0105 cannot write into"),
    ("run digits.ek --data nothing.npz", 2, "E0104 cannot read nothing.npz: No such file"),
    ("run digits.ek --data .", 2, "E0104 cannot read .: it is not a regular file"),
    ("run digits.ek --data digits.onnx", 4, "E0401 digits.onnx is no .npz or .npy file"),
    ("run digits.ek --data pickled.npz", 4, "E0404 pickled.npz holds pickled objects"),
    ("run digits.ek --data key.npz", 2, "digits has no input named X\nhint: did you mean x? inputs: x"),
    ("run digits.ek --data key.npz", 2, "E0101 input x is missing\nhint: x is f32[1,1,8,8]"),
    ("run digits.ek --data shape.npz", 2, "E0102 input x is [8,8], the model takes f32[1,1,8,8]"),
    ("run digits.ek --data dtype.npz", 2, "hint: save it as x.astype('float32')"),
    ("run digits.ek --data x.npz -o y.txt", 2, "E0105 cannot write y.txt: arrays go into .npz or .npy"),
    ("run digits.ek --data x.npz -o nowhere/y.npz", 2, "E0105 cannot write"),
    ("verify digits.ek --data key.npz", 2, "E0108 digits has no input named X"),
    ("diff digits.ek two.onnx", 2, "E0102 digits and two differ in the number of inputs: 1 and 2"),
    (
        "diff digits.ek one.onnx",
        2,
        "E0102 the inputs differ: x is f32[1,1,8,8] in digits, x is f32[2,3] in one",
    ),
    ("verify digits.ek --target bare.toml --trust", 5, "E0501 no compiler for target bare"),
    (
        "run digits.ek --data x.npz --target bare.toml --trust",
        5,
        "hint: put one of them on PATH",
    ),
    ("build digits.ek --target bare.toml --trust --verify", 5, "E0501 no compiler for target bare"),
]


@pytest.fixture
def mistakes(cli: CommandLine, folder: Path, dynamic: Path) -> CommandLine:
    """A folder in which everything can go wrong."""
    good = Path("digits.onnx").read_bytes()
    Path("damaged.onnx").write_bytes(good[: len(good) // 2])
    Path("damaged.ek").write_bytes(Path("digits.ek").read_bytes()[:1000])
    Path("folder.ek").mkdir()
    Path("bare.toml").write_text('compilers = ["no-such-compiler"]')
    Path("wrong.toml").write_text("isa = 3")
    images = np.load("x.npz")["x"]
    np.savez("key.npz", X=images)
    np.savez("shape.npz", x=images[0, 0])
    np.savez("dtype.npz", x=images.astype(np.float64))
    np.savez("pickled.npz", x=np.array([{}], dtype=object))
    onnx.save(model([node("Relu", "x", "y")]), "one.onnx")
    onnx.save(two_inputs(), "two.onnx")
    return cli


def two_inputs() -> onnx.ModelProto:
    from support.onnx_models import tensor

    return model([node("Add", "a b", "y")], inputs=[tensor("a", [2]), tensor("b", [2])])


@pytest.mark.parametrize(("line", "code", "words"), MISTAKES, ids=[line for line, _, _ in MISTAKES])
def test_mistake_is_explained(mistakes: CommandLine, line: str, code: int, words: str) -> None:
    before = content(Path())
    answer = mistakes(*line.split())
    assert words in answer.err
    assert answer.code == code
    assert answer.err.startswith("error: E")
    assert answer.out == ""
    assert content(Path()) == before


def content(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder below."""
    return {str(p): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))}


def test_errors_are_json_for_scripts(mistakes: CommandLine) -> None:
    answer = mistakes("run", "digits.ek", "--data", "key.npz", "--json")
    assert answer.code == 2
    assert [error["code"] for error in answer.json["errors"]] == ["E0108", "E0101"]
    assert answer.err.startswith("error: E0108")


def test_usage_errors_are_json_too(cli: CommandLine) -> None:
    answer = cli("build", "--json")
    assert answer.json["errors"][0]["message"] == "Missing argument 'MODEL'."
    assert answer.json["errors"][0]["hint"] == "see edgekit build --help"


def test_all_unsupported_operators_are_listed(cli: CommandLine) -> None:
    nodes = [node("Unheard", f"x{i or ''}", f"x{i + 1}") for i in range(9)] + [node("Strange", "x9", "y")]
    onnx.save(model(nodes), "strange.onnx")
    answer = cli("convert", "strange.onnx")
    assert answer.code == 3
    lines = answer.err.splitlines()
    assert lines[0] == "error: E0201 unsupported op Unheard   node Unheard_x1"
    assert lines[5] == "error: E0201 and 4 more of these"
    assert lines[6] == "error: E0201 unsupported op Strange   node Strange_y"
    assert lines[7].startswith("hint: ")
    assert len(lines) == 8
    assert len(cli("convert", "strange.onnx", "--json").json["errors"]) == 10


def test_text_of_a_model_does_not_steer_the_terminal(cli: CommandLine) -> None:
    onnx.save(model([node("\033[2J\r", "x", "y")]), "nasty.onnx")
    assert "\033" not in cli("convert", "nasty.onnx").err
    nasty = node("Relu", "x", "y")
    nasty.name = "\033[2J"
    onnx.save(model([nasty]), "nasty.onnx")
    assert "\033" not in cli.ok("inspect", "nasty.onnx", "--verbose").out


def test_without_a_compiler_the_sources_are_written_all_the_same(cli: CommandLine) -> None:
    Path("bare.toml").write_text('compilers = ["no-such-compiler"]')
    answer = cli.ok("build", "digits.ek", "--target", "bare.toml", "--trust")
    assert Path("digits/digits.c").is_file()
    assert "code unknown: not compiled" in answer.out
    assert "note: written, but not verified: no compiler for target bare" in answer.err
    assert "put one of them on PATH" in answer.err


def test_a_target_that_runs_elsewhere_is_built_but_not_verified(cli: CommandLine) -> None:
    require("gcc")
    Path("board.toml").write_text('compilers = ["gcc"]\nrunner = "none"')
    answer = cli.ok("build", "digits.ek", "--target", "board.toml", "--json", "--trust")
    assert answer.json["code_bytes"] > 0
    assert answer.json["unverified"] == "target board runs under none, which is not installed"
    assert cli("verify", "digits.ek", "--target", "board.toml", "--trust").code == 5


def test_wrong_code_is_a_missed_gate_and_is_not_written(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("gcc")
    right = driver.Driver.run_each

    def wrong(self, program, samples):
        for outputs in right(self, program, samples):
            yield {name: array + 1 for name, array in outputs.items()}

    monkeypatch.setattr(driver.Driver, "run_each", wrong)
    for line in (["build", "digits.ek"], ["verify", "digits.ek"]):
        answer = cli(*line)
        assert answer.code == 1
        assert "E0601 the compiled code differs from the simulator by 1 in output y" in answer.err
    assert not Path("digits").exists()


def test_a_broken_self_test_is_a_missed_gate(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    require("gcc")
    from edgekit.codegen.verification import selftest_source

    render = selftest_source.render

    def broken(*given):
        return render(*given).replace(b"return 0;", b"return 7;")

    monkeypatch.setattr(selftest_source, "render", broken)
    answer = cli("verify", "digits.ek")
    assert answer.code == 1
    assert "E0601 the self-test of digits fails (7)" in answer.err


# Bugs of ours


def test_a_bug_is_a_sentence(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def bug(*_: object) -> None:
        raise KeyError("a thing that must be there")

    monkeypatch.setattr(settings, "shapes", bug)
    answer = cli("inspect", "digits.ek")
    assert answer.code == 70
    assert (
        "error: E7001 a bug of EdgeKit: KeyError: 'a thing that must be there'   test_errors.py:"
        in answer.err
    )
    assert "hint: please report it" in answer.err
    assert "Traceback" not in answer.err
    for line in (["--debug", "inspect", "digits.ek"], ["inspect", "digits.ek", "--debug"]):
        answer = cli(*line)
        assert answer.code == 70
        assert "Traceback" in answer.err


def test_a_lack_of_memory_is_no_bug(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def hungry(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(settings, "shapes", hungry)
    assert cli("inspect", "digits.ek").code == 4


def test_an_interruption_is_quiet(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(settings, "shapes", interrupt)
    answer = cli("inspect", "digits.ek")
    assert answer.code == 130
    assert "Traceback" not in answer.err


def test_exit_codes_are_those_of_the_design() -> None:
    codes = {
        code: edgekit.EdgeKitError(f"{code}01", "").exit_code for code in ("E01", "E02", "E03", "E04", "E05")
    }
    assert codes == {"E01": 2, "E02": 3, "E03": 3, "E04": 4, "E05": 5}
    assert edgekit.EdgeKitError("E0601", "").exit_code == 1
    assert edgekit.EdgeKitError("E7001", "").exit_code == 70


def test_names_that_are_longer_than_a_screen_are_cut() -> None:
    long = "x" * 10**5
    text = str(edgekit.EdgeKitError("E0401", f"operand {long} is missing", f"node {long} end", "the hint"))
    assert len(text) < 3 * MAX_CHARACTERS
    assert all(
        words in text for words in ("operand xxx", "is missing", "node xxx", "end", "the hint", " [...] ")
    )
