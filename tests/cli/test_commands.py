"""Each command does what it says, prints what people want to know, and says the same as JSON."""

import hashlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.command_line import DIGITS, CommandLine
from support.onnx_models import model, node
from support.tools import require

import edgekit
from edgekit import save
from edgekit.codegen.compilation import toolchain
from edgekit.core.builder import Builder
from edgekit.core.ops.reshape import Reshape
from edgekit.core.target import Target
from edgekit.core.types import DType, Quant, Type


def test_version(cli: CommandLine) -> None:
    assert cli.ok("--version").out == f"edgekit {edgekit.__version__}\n"


def test_without_a_command_the_help_is_talk(cli: CommandLine) -> None:
    answer = cli()
    assert answer.code == 2
    assert answer.out == ""
    assert "Usage: edgekit" in answer.err


def test_every_command_explains_itself_on_one_line(cli: CommandLine) -> None:
    _, *panels, _ = cli.ok("--help").out.partition("Look at")[2].split(":\n")
    lines = [line for panel in panels for line in panel.partition("\n\n")[0].splitlines()]
    assert len(lines) >= 9
    assert [line for line in lines if not line.endswith(".") or "..." in line] == []


# convert


def test_convert_makes_the_ek_file_that_python_makes(cli: CommandLine, folder: Path) -> None:
    (folder / "digits.ek").unlink()
    answer = cli.ok("convert", "digits.onnx")
    assert "digits.ek: digits, 9 operators, 25,256 B of weights" in answer.out
    assert edgekit.load("digits.ek") == edgekit.convert("digits.onnx")


def test_convert_names_the_file_and_the_model(cli: CommandLine, folder: Path) -> None:
    assert cli.ok("convert", "digits.onnx", "--name", "kws", "--json").json["file"] == "kws.ek"
    assert edgekit.load("kws.ek").name == "kws"
    cli.ok("convert", "digits.onnx", "-o", "other.ek")
    assert edgekit.load("other.ek").name == "digits"


def test_convert_warns_of_weights_that_hold_nan(cli: CommandLine, folder: Path) -> None:
    weights = np.array([[1, 2, 3], [4, np.nan, 6]], np.float32)
    onnx.save(model([node("Add", "x w", "y")], {"w": weights}), "broken.onnx")
    answer = cli.ok("convert", "broken.onnx")
    assert "warning: NaN is among the weights, in w: did training diverge?" in answer.err
    assert "warning" not in cli.ok("convert", "digits.onnx").err


def test_convert_binds_shapes(cli: CommandLine, dynamic: Path) -> None:
    found = cli.ok("convert", dynamic, "--shape", "x=2,5", "--json").json
    assert found["inputs"] == {"x": {"dtype": "f32", "shape": [2, 5]}}


def test_the_content_of_a_file_decides_what_it_is(cli: CommandLine, folder: Path) -> None:
    (folder / "digits.onnx").rename("model.bin")
    (folder / "digits.ek").rename("graph.bin")
    assert cli.ok("inspect", "model.bin", "--json").json["macs"] == 173760
    assert cli.ok("inspect", "graph.bin", "--json").json["macs"] == 173760


# inspect


def test_inspect_says_what_integers_stand_for(cli: CommandLine, folder: Path) -> None:
    b = Builder()
    x = b.input("x", Type(DType.U8, (1, 4), Quant((0.0625,), (3,))))
    save(b.graph("ports", [x], [b.one(Reshape((4,)), x)]), folder / "ports.ek")
    assert "input       x  u8[1,4], scale 0.0625, zero 3\n" in cli.ok("inspect", "ports.ek").out
    found = cli.ok("inspect", "ports.ek", "--json").json["inputs"]["x"]
    assert found == {"dtype": "u8", "shape": [1, 4], "scale": 0.0625, "zero": 3}


def test_inspect_tells_what_is_in_a_model(cli: CommandLine) -> None:
    found = cli.ok("inspect", "digits.onnx", "--json").json
    assert found["inputs"] == {"x": {"dtype": "f32", "shape": [1, 1, 8, 8]}}
    assert found["outputs"] == {"y": {"dtype": "f32", "shape": [1, 10]}}
    assert found["parameters"] == 12 * 10 + 16 * 109 + 24 * 145 + 10 * 97
    assert found["weight_bytes"] == 4 * found["parameters"]
    assert found["macs"] == 64 * 12 * 9 + 64 * 16 * 108 + 16 * 24 * 144 + 960
    assert sum(found["operators"].values()) == len(found["layers"]) == 9
    assert found["operators"]["Conv2d"] == 3
    assert found["arena"]["bytes"] >= found["arena"]["lower_bound"] > 0
    assert found["source"]["sha256"] == hashlib.sha256(Path("digits.onnx").read_bytes()).hexdigest()


def test_inspect_shows_the_same_to_people(cli: CommandLine) -> None:
    short = cli.ok("inspect", "digits.ek").out
    assert "parameters  6,314 in 25,256 B" in short
    assert "MACs        173,760" in short
    assert "node_softmax" not in short
    assert "node_softmax" in cli.ok("inspect", "digits.ek", "--verbose").out


# build


@pytest.mark.quick  # a model's way from its file to code that is compiled and compared
def test_build_measures_and_verifies(cli: CommandLine, folder: Path) -> None:
    require("gcc")
    found = cli.ok("build", "digits.onnx", "--target", "host", "--json").json
    assert found["folder"] == "digits"
    assert found["flash_bytes"] == found["code_bytes"] + found["constant_bytes"]
    assert found["constant_bytes"] >= found["weight_bytes"] == 25256
    assert found["stack_bytes"] > 0
    assert found["verification"]["relative_error"] < 1e-4
    assert found["macs"] == sum(layer["macs"] for layer in found["layers"]) == 173760
    assert sum(layer["weight_bytes"] for layer in found["layers"]) == 25256
    assert sorted(found["files"]) == sorted(
        str(path.relative_to("digits")) for path in Path("digits").rglob("*") if path.is_file()
    )


def test_build_tells_people_what_they_must_know(cli: CommandLine) -> None:
    require("gcc")
    answer = cli.ok("build", "digits.ek", "-t", "host", "-o", "out", "--optimize", "size", "--verbose")
    words = [line.split()[0] for line in answer.out.splitlines() if line]
    assert words[:8] == ["library", "flash", "arena", "peak", "stack", "MACs", "verified", "call"]
    assert "off the simulator" in answer.out
    assert answer.err == ""


@pytest.mark.parametrize("weights", ["c", "bin"])
def test_weights_are_text_or_binary_on_demand(cli: CommandLine, weights: str) -> None:
    require("gcc")
    files = cli.ok("build", "digits.ek", "--weights", weights, "--json").json["files"]
    assert ("digits_weights.bin" in files) == (weights == "bin")
    assert ("digits_weights.c" in files) == (weights == "c")


def test_size_is_smaller_than_speed(cli: CommandLine) -> None:
    require("gcc")
    goals = {
        goal: cli.ok("build", "digits.ek", "-o", goal, "--optimize", goal, "--no-verify", "--json").json
        for goal in ("size", "speed")
    }
    assert goals["size"]["code_bytes"] < goals["speed"]["code_bytes"]


def test_no_verify_says_so(cli: CommandLine) -> None:
    require("gcc")
    answer = cli.ok("build", "digits.ek", "--no-verify")
    assert "verified  no: verification was switched off" in answer.out


# run, verify, diff


@pytest.mark.parametrize("target", [None, "host"])
def test_run_recognises_digits(cli: CommandLine, folder: Path, target: str | None) -> None:
    if target:
        require("gcc")
    where = ["--target", target] if target else []
    found = cli.ok("run", "digits.ek", "--data", "x.npz", *where, "--json").json["outputs"]["y"]
    with np.load(DIGITS / "test.npz") as held_out:
        assert np.argmax(found, axis=1).tolist() == held_out["label"][:3].tolist()


def test_run_tells_of_outputs_that_are_no_numbers(cli: CommandLine, folder: Path) -> None:
    with np.load("x.npz") as data:
        samples = data["x"].copy()
    samples[1] = np.nan
    np.savez("nan.npz", x=samples)
    found = cli.ok("run", "digits.onnx", "--data", "nan.npz")
    outputs = cli.ok("run", "digits.onnx", "--data", "nan.npz", "--json").json["outputs"]
    ((name, values),) = outputs.items()
    count, size = int(np.isnan(np.array(values, np.float64)).sum()), np.array(values).size
    assert 0 < count < size
    assert f"warning: {count} of {size} values of output {name} are NaN" in found.err


def test_run_writes_what_it_would_print(cli: CommandLine, folder: Path) -> None:
    printed = cli.ok("run", "digits.ek", "--data", "x.npz", "--json").json["outputs"]["y"]
    cli.ok("run", "digits.ek", "--data", "x.npz", "-o", "y.npz")
    cli.ok("run", "digits.ek", "--data", "x.npz", "-o", "y.npy")
    with np.load("y.npz") as written:
        assert written.files == ["y"]
        assert written["y"].dtype == np.float32
        assert written["y"].tolist() == np.float32(printed).tolist()
        assert np.load("y.npy").tobytes() == written["y"].tobytes()


def test_run_writes_the_same_bytes_for_the_same_input(cli: CommandLine, folder: Path) -> None:
    for name in ("a.npz", "b.npz"):
        cli.ok("run", "digits.ek", "--data", "x.npz", "-o", name)
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes()


def test_verify_compares_and_leaves_nothing(cli: CommandLine, folder: Path) -> None:
    require("gcc")
    before = sorted(folder.iterdir())
    found = cli.ok("verify", "digits.onnx", "--target", "host", "--json").json
    assert found["samples"] == 6
    assert [output["name"] for output in found["outputs"]] == ["y"]
    assert cli.ok("verify", "digits.ek", "--data", "x.npz", "--optimize", "size").out.startswith("verified")
    assert sorted(folder.iterdir()) == before


def test_diff_of_a_model_and_its_conversion_is_nothing(cli: CommandLine) -> None:
    found = cli.ok("diff", "digits.onnx", "digits.ek", "--data", "x.npz", "--json").json
    assert found["exact"]
    assert found["samples"] == 3
    assert [(d["name"], d["max_error"], d["sqnr_db"]) for d in found["outputs"]] == [("y", 0, None)]
    assert len(found["layers"]) == 9
    assert "all outputs equal" in cli.ok("diff", "digits.onnx", "digits.ek").out


# doctor, targets, demo


def test_doctor_knows_packages_and_compilers(cli: CommandLine) -> None:
    found = cli.ok("doctor", "--json").json
    packages = {package["name"]: package for package in found["packages"]}
    assert packages["numpy"]["version"] == np.__version__
    assert packages["ziglang"]["extra"] == "toolchain"
    assert "pytest" not in packages
    assert [target["name"] for target in found["targets"]] == [t.name for t in edgekit.list_targets()]
    assert "numpy" in cli.ok("doctor").out


def test_targets_are_listed(cli: CommandLine) -> None:
    assert "host" in cli.ok("targets").out
    assert "host" in [target["name"] for target in cli.ok("targets", "--json").json["targets"]]


def test_demo_goes_all_the_way(cli: CommandLine, folder: Path) -> None:
    require("gcc")
    answer = cli.ok("demo", "-o", "kept")
    assert "449 of 450 are right." in answer.out
    assert "void digits_run(" in answer.out
    assert "are right in int8" in answer.out
    assert edgekit.load("kept/digits.ek").name == "digits"
    assert edgekit.load("kept/digits_int8.ek").name == "digits"
    assert Path("kept/size/digits.c").is_file()
    assert Path("kept/int8/digits.c").is_file()
    assert Path("kept/speed/digits.c").is_file()
    assert Path("kept/cortex-m4/digits.c").is_file()
    assert Path("kept/report.html").is_file()


def test_without_a_compiler_demo_and_doctor_say_so(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(target: Target) -> None:
        raise edgekit.EdgeKitError("E0501", f"no compiler for target {target.name}", hint="install one")

    monkeypatch.setattr(toolchain, "find", none)
    story = cli.ok("demo").out
    assert "no: no compiler for target host; install one" in story
    assert "recognised by the simulator" in story
    assert "449 of 450 are right." in story
    (host,) = (t for t in cli.ok("doctor", "--json").json["targets"] if t["name"] == "host")
    assert (host["compiler"], host["runs_here"], host["hint"]) == ("", False, "install one")
