"""`edgekit tune`: what it finds is what is built, it goes on after interruptions, and it says what binds."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from support.command_line import DIGITS, CommandLine
from support.tools import require

from edgekit import api
from edgekit.core.errors import Exit
from edgekit.tuning import workers
from edgekit.tuning.problem import Outcome, Point, TuningProblem

MODEL = DIGITS / "digits.onnx"
SHORT = ("--data", "x.npy", "--jobs", "1", "-o", "out")


def test_what_is_chosen_is_what_is_built(
    cli: CommandLine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("gcc")
    limits = ("--flash", "30K", "--max-drop", "60%", "--labels", "y.npy")
    found = cli.ok("tune", MODEL, *SHORT, *limits, "--budget", "2", "--json").json
    assert len(found["tried"]) == 2
    best = found["best"]["result"]
    assert best["flash"] <= 30 << 10
    assert found["budget"]["accuracy"] - best["accuracy"] <= 0.6
    whole, half = found["tried"]
    assert (whole["point"]["left"], whole["share"]) == (100, 1.0)
    assert half["share"] == half["result"]["macs"] / whole["result"]["macs"] <= 0.5

    page = Path("out/report.html").read_text()
    assert page.count("<circle") == 2 * len(found["tried"])
    assert not re.search(r"src\s*=|href=\"[^#]|https?:|url\(|@import", page), "a page that needs nothing else"
    assert "edgekit build digits_int8.ek --target host" in page

    # The same again tries only what is new, and the front grows by that.
    tried: list[Point] = []
    evaluate = workers.evaluate

    def noted(problem: TuningProblem, point: Point) -> Outcome:
        tried.append(point)
        return evaluate(problem, point)

    monkeypatch.setattr(workers, "evaluate", noted)
    more = cli.ok("tune", MODEL, *SHORT, *limits, "--budget", "3", "--json").json
    assert len(tried) == 1
    assert [one["point"] for one in more["tried"][:2]] == [one["point"] for one in found["tried"]]
    for before, after in zip(found["tried"], more["tried"], strict=False):
        if not before["with_all"] and not after["with_all"]:
            assert after == {**before, "on_front": after["on_front"]}

    chosen = more["best"]["result"]
    monkeypatch.chdir("out")
    built = cli.ok("build", "digits.ek", "-o", "library", "--no-verify", "--json").json
    assert built["flash_bytes"] == chosen["flash"]
    assert built["arena_bytes"] + built["stack_bytes"] == chosen["ram"]
    judged, labels = np.load("../x.npy")[3::4], np.load("../y.npy")[3::4]
    right = (api.run("digits.ek", judged)["y"].argmax(axis=-1).reshape(-1) == labels).mean()
    assert right == chosen["accuracy"]


def test_the_accuracy_of_the_float_model_comes_first(cli: CommandLine) -> None:
    require("gcc")
    np.save("wrong.npy", (np.load("y.npy") + 1) % 10)
    answer = cli("tune", MODEL, *SHORT, "--labels", "wrong.npy", "--budget", "1")
    lines = answer.err.splitlines()
    said = next(i for i, line in enumerate(lines) if line.startswith("the float model has "))
    assert said < lines.index("measuring how sensitive layers are")
    assert "the float model has" not in cli("tune", MODEL, *SHORT, "--budget", "1").err


def test_an_impossible_budget_names_the_closest_point_and_what_binds(cli: CommandLine) -> None:
    require("gcc")
    answer = cli("tune", MODEL, *SHORT, "--flash", "1K", "--min-sqnr", "5", "--budget", "1")
    assert answer.code == Exit.GATE
    assert "E0606" in answer.err
    assert "flash is bound by layer" in answer.err
    assert "closest" in answer.out
    assert not Path("out/digits.ek").exists()
    assert "beyond its limit" in Path("out/report.html").read_text()
    assert len([json.loads(line) for line in Path("out/journal.jsonl").read_text().splitlines()]) == 1


def test_the_ranges_of_what_is_chosen_are_those_of_all_samples(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample that judges is far larger than the others: in the model that is written nothing clips it."""
    require("gcc")
    x = np.load("x.npy")
    x[3] *= 1.7
    np.save("x.npy", x)
    found = cli.ok("tune", MODEL, *SHORT, "--budget", "1", "--json").json
    assert found["best"]["with_all"]
    (name,) = (graph := api.load("out/digits.ek")).inputs
    quant = next(
        v.type.quant for v in graph.values.values() if v.type.quant and v.type.shape == graph.type(name).shape
    )
    assert quant is not None
    assert quant.scale[0] * (127 - quant.zero[0]) >= x.max() * 0.99 > x[np.arange(len(x)) != 3].max() * 1.5
    known = json.loads(Path("out/journal.jsonl").read_text())["result"]
    assert known["digest"] != found["best"]["result"]["digest"]


def test_an_interrupted_search_sets_the_result_of_another_one_aside(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("gcc")
    cli.ok("tune", MODEL, *SHORT, "--budget", "1")
    before = {
        name: (Path("out") / name).read_bytes() for name in ("digits.ek", "edgekit.toml", "report.html")
    }

    def interrupted(problem: TuningProblem, point: Point) -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "evaluate", interrupted)
    answer = cli("tune", MODEL, *SHORT, "--flash", "1M", "--budget", "1")
    assert answer.code == 130
    assert answer.err.endswith("has what was tried: the same command goes on from there\n")
    assert not Path("out/digits.ek").exists()
    assert {name: (Path("out/earlier") / name).read_bytes() for name in before} == before


def test_ctrl_c_says_how_to_go_on(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was tried before is kept, and the same command does not try it again."""
    require("gcc")
    tried: list[Point] = []
    evaluate = workers.evaluate

    def interrupted_at_the_second(problem: TuningProblem, point: Point) -> Outcome:
        tried.append(point)
        if len(tried) == 2:
            raise KeyboardInterrupt
        return evaluate(problem, point)

    monkeypatch.setattr(workers, "evaluate", interrupted_at_the_second)
    words = ("tune", MODEL, *SHORT, "--max-drop", "1%", "--budget", "2")
    answer = cli(*words)
    assert answer.code == 130
    journal = Path("out/journal.jsonl")
    hint = (
        f"interrupted; {journal} has what was tried, out the best of it: the same command goes on from there"
    )
    assert answer.err.splitlines()[-1] == hint
    assert (
        "1 variants, judged by 6 samples so far: the search was not finished"
        in Path("out/report.html").read_text()
    )
    monkeypatch.chdir("out")
    assert cli.ok("build", "digits.ek", "-o", "library", "--no-verify", "--json").json["flash_bytes"]
    shutil.rmtree("library")
    monkeypatch.chdir("..")
    assert len(journal.read_text().splitlines()) == 1

    answer = cli(*words)
    assert tried[1:] == [tried[1]] * 2
    lines = answer.err.splitlines()
    assert "tried 1 of 2" in [line.partition(",")[0] for line in lines], "plain lines without a terminal"
    assert len(lines) == len(set(lines))
    assert re.search(r"accuracy [\d.]+% ±[\d.]+%, before 100.00%", answer.out)
    assert answer.code == Exit.UNDECIDED, "by 6 samples"
    assert "E0608 6 samples show the change of accuracy to ±" in answer.err
    assert "which leaves open whether it keeps 1.0%\nhint: give 784 samples or more" in answer.err
    assert Path("out/digits.ek").exists()
    assert "so far" not in Path("out/report.html").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "tuning needs calibration data"),
        (["--data", "x.npy", "--latency", "soon"], "is not a time"),
        (["--data", "x.npy", "--latency", "20ms"], "how long an instruction takes"),
        (["--data", "x.npy", "--budget", "none"], "is not a count"),
        (["--data", "x.npy", "--jobs", "0"], "is not a count"),
        (["--data", "x.npy", "--max-drop", "150%"], "is not a share"),
        (["--data", "x.npy", "-o", "."], "something else"),
    ],
)
def test_what_makes_no_sense(cli: CommandLine, words: list[str], said: str) -> None:
    answer = cli("tune", MODEL, *words)
    assert answer.code == Exit.USAGE
    assert said in answer.err
    assert not Path("digits_tuned").exists()


def test_a_quantized_model_leaves_nothing_to_try(cli: CommandLine) -> None:
    cli.ok("quantize", MODEL, "--data", "x.npy", "--calibrate", "minmax", "-o", "small.ek")
    answer = cli("tune", "small.ek", "--data", "x.npy")
    assert answer.code == Exit.UNSUPPORTED
    assert "tune the float model" in answer.err
