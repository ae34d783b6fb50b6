"""What a killed command left is judged: whole, or which fault it has."""

import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from benchmarks.reliability import kills
from edgekit.codegen.compilation.publish import MANIFEST
from edgekit.converters.onnx.reader import convert
from edgekit.core import ek_file


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with something of each command."""
    folder = tmp_path_factory.mktemp("killed")
    kills.prepare(folder)
    ek_file.save(convert(folder / "net.onnx"), folder / "net.ek")
    (folder / MANIFEST).write_text("{}")
    (folder / "journal.jsonl").write_bytes(b'{"a": 1}\n{"a"')
    return folder


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("command", "damage", "fault"),
    [
        ("build", lambda out: cut(out / "net.onnx"), "not those of one build"),
        ("build", lambda out: (out / "more.c").touch(), "not those of one build"),
        ("build", lambda out: ((out / MANIFEST).unlink(), cut(out / "net.onnx")), ""),
        ("quantize", lambda out: cut(out / "net.ek"), "cannot be read"),
        (
            "quantize",
            lambda out: ek_file.save(convert(out / "net.onnx").with_name("b"), out / "net.ek"),
            "another",
        ),
        ("tune", lambda out: (out / "journal.jsonl").write_bytes(b'{"a"\n{"a": 1}\n'), "damaged"),
    ],
)
def test_faults_after_a_kill(
    command: str, damage: Callable[[Path], object], fault: str, out: Path, tmp_path: Path
) -> None:
    after, left = kills.content(out), tmp_path / "out"
    shutil.copytree(out, left)
    (left / ".edgekit-new").mkdir()
    (left / ".edgekit-new" / "part").touch()
    assert kills.fault_after_kill(command, left, {}, after) == ""
    damage(left)
    found = kills.fault_after_kill(command, left, {}, after)
    assert fault in found
    assert bool(found) == bool(fault)


def test_interrupted_runs_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    class Bench:
        def __init__(self, command: str, folder: Path) -> None:
            self.command = command

        def trial(self, rng: random.Random) -> dict[str, object]:
            made.append(f"{self.command} {rng.random()}")
            return {"command": self.command, "at": 0.0, "killed": True, "fault": ""}

    monkeypatch.setattr(kills, "Bench", Bench)
    monkeypatch.setattr(kills, "STATE", tmp_path / "kills.jsonl")
    monkeypatch.setattr(kills, "commit", lambda: "abc")
    kills.kill(2, seed=5, minutes=1)
    kills.kill(3, seed=5, minutes=1)
    assert len(made) == len(set(made)) == 3 * len(kills.COMMANDS)
    kills.kill(1, seed=5, minutes=1)
    assert len(kills.records()) == len(made)
    monkeypatch.setattr(kills, "commit", lambda: "def")
    kills.kill(1, seed=5, minutes=1)
    assert len(made) == 4 * len(kills.COMMANDS)


def test_kills_follow_the_time_that_a_command_takes_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, limits = [0.0], list[float]()

    def run(folder: Path, words: Sequence[str], seconds: float = 0, alone: bool = False) -> int:
        clock[0] += 100 if not limits else 1  # busy at first, then idle
        limits.append(seconds)
        return 0

    monkeypatch.setattr(kills, "run", run)
    monkeypatch.setattr(kills.time, "monotonic", lambda: clock[0])
    bench = kills.Bench("tune", tmp_path)
    for trial in range(4):
        bench.trial(random.Random(trial))
    _, first, _, *others = limits
    assert bench.seconds == 1
    assert 2 < first < 110
    assert all(seconds <= 1.1 for seconds in others)
