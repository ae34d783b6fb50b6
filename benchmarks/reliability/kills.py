"""Kills build, quantize and tune at random times, looks at what is left, and runs the same command again.

The tests kill at each file operation (tests/cli/test_crashes.py). Here, time decides, as when memory or power
ends: the process and the compilers that it started are killed together, or it alone. Each trial is a line of
build/reliability/kills.jsonl, so that a run that was interrupted goes on where it ended.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np
from onnx import save
from support.onnx_models import model, node, tensor

from benchmarks.results import RELIABILITY, commit, cumulated, write_section
from edgekit import EdgeKitError, cli, load
from edgekit.codegen.compilation.publish import MANIFEST
from edgekit.core import files

ROOT = Path(__file__).parents[2]
STATE = ROOT / "build" / "reliability" / "kills.jsonl"
COMMANDS: dict[str, tuple[str, ...]] = {
    "build": ("build", "net.onnx", "-o", "out"),
    "quantize": ("quantize", "net.onnx", "--data", "x.npz", "-o", "out/net.ek"),
    "tune": ("tune", "net.onnx", "--data", "x.npz", "-o", "out", "--budget", "2", "--jobs", "1"),
}
OTHER_SETTINGS = {"build": ("--optimize", "size"), "quantize": ("--dtype", "int16")}  # of an earlier command
_MORE = 1.1  # of the time that a command takes: some kills come too late
_OWN = ".edgekit-"  # in names of what a killed command leaves, and the next one clears away


def prepare(folder: Path) -> None:
    """A small network and its samples."""
    rng = np.random.default_rng(1)
    constants = {
        "w": rng.standard_normal((4, 8)).astype(np.float32),
        "b": rng.standard_normal(4).astype(np.float32),
    }
    nodes = [node("Gemm", "x w b", "s", transB=1), node("Relu", "s", "y")]
    save(model(nodes, constants, inputs=[tensor("x", (1, 8))]), folder / "net.onnx")
    np.savez(folder / "x.npz", x=rng.standard_normal((16, 1, 8)).astype(np.float32))


def run(folder: Path, words: Sequence[str], seconds: float = 1e9, alone: bool = False) -> int:
    """The exit code of a command line in a process of its own, which is killed after so many seconds."""
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        os.chdir(folder)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        os._exit(cli.execute(list(words)))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(min(0.002, max(0, end - time.monotonic())))
    os.kill(child, signal.SIGKILL) if alone else _kill_group(child)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _kill_group(child: int) -> None:
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:  # it has not become one yet
        os.kill(child, signal.SIGKILL)


def content(folder: Path) -> dict[str, str]:
    """Digests of what a reader takes for results."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in found}
    return {
        name: sha256(path.read_bytes()).hexdigest()
        for name, path in names.items()
        if not any(part.startswith(_OWN) for part in Path(name).parts)
    }


def fault_after_kill(command: str, out: Path, before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """What is not whole in the folder of a command that was killed."""
    found = content(out) if out.exists() else {}
    if command == "build" and MANIFEST in found and found not in (before, after):
        return "the manifest is there, and the files are not those of one build"
    if command == "quantize" and "net.ek" in found:
        try:
            load(out / "net.ek")
        except EdgeKitError as error:
            return f"the model cannot be read: {error.code}"
        if found["net.ek"] not in (before.get("net.ek"), after["net.ek"]):
            return "another model than before and after"
    if command == "tune" and (out / "journal.jsonl").exists():
        *whole, _ = (out / "journal.jsonl").read_bytes().split(b"\n")
        try:
            [files.json_of(line) for line in whole]
        except ValueError:
            return "a line of the journal in front of the last one is damaged"
    return ""


def fault_of_next(command: str, folder: Path, after: Mapping[str, str]) -> str:
    """What is wrong when the same command runs again."""
    code = run(folder, COMMANDS[command])
    if code:
        return f"the next one ends with exit code {code}"
    found = content(folder / "out")
    # Logs and reports of searches differ from run to run.
    same = set(after) | set(found)
    kept = same if command == "build" else {name for name in after if name.endswith((".ek", ".toml"))}
    wrong = [name for name in sorted(kept) if found.get(name) != after.get(name)]
    if wrong:
        return f"the next one left {wrong[0]} otherwise"
    left = [path.name for path in (folder / "out").rglob(f"*{_OWN}*")]
    return f"the next one left {left[0]}" if left else ""


class Bench:
    """A command, what it makes in how many seconds, and what an earlier one with other settings made."""

    def __init__(self, command: str, folder: Path) -> None:
        self.command, self.folder = command, folder
        started = time.monotonic()
        self.after = self._made(COMMANDS[command], "new")
        self.seconds = time.monotonic() - started
        other = OTHER_SETTINGS.get(command)
        self.before = self._made((*COMMANDS[command], *other), "old") if other else {}

    def _made(self, words: Sequence[str], name: str) -> dict[str, str]:
        made = self.folder / name
        made.mkdir()
        prepare(made)
        (made / "out").mkdir()
        if code := run(made, words):
            raise SystemExit(f"edgekit {' '.join(words)} ended with exit code {code}")
        return content(made / "out")

    def trial(self, rng: random.Random) -> dict[str, object]:
        """A kill: what was left, and whether the next one succeeds."""
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        has_old = bool(self.before) and rng.random() < 0.5
        prepare(folder)
        if has_old:
            shutil.copytree(self.folder / "old" / "out", folder / "out")
        else:
            (folder / "out").mkdir()
        at = rng.uniform(0, self.seconds * _MORE)
        code = run(folder, COMMANDS[self.command], at, alone=rng.random() < 0.3)
        fault = "" if code in (0, -signal.SIGKILL) else f"exit code {code}"
        fault = fault or fault_after_kill(
            self.command, folder / "out", self.before if has_old else {}, self.after
        )
        if not fault:
            started = time.monotonic()
            fault = fault_of_next(self.command, folder, self.after)
            self.seconds = time.monotonic() - started  # machines are now busy, now idle
        if not fault:
            shutil.rmtree(folder)
        return {"command": self.command, "at": round(at, 3), "killed": code != 0, "fault": fault}


def kill(count: int, seed: int, minutes: float) -> None:
    """So many trials of each command, or as many as there is time for; this commit had the known ones."""
    STATE.parent.mkdir(parents=True, exist_ok=True)
    end, version = time.monotonic() + 60 * minutes, commit()
    known = {(r["commit"], r["seed"], r["trial"], r["command"]) for r in records()}
    with (
        tempfile.TemporaryDirectory(prefix="edgekit-kills-") as folder,
        STATE.open("a", encoding="utf-8") as log,
    ):
        benches = []
        for command in COMMANDS:
            (Path(folder) / command).mkdir()
            benches.append(Bench(command, Path(folder) / command))
        for i in range(count):
            for bench in benches:
                if (version, seed, i, bench.command) in known:
                    continue
                if time.monotonic() > end:
                    return
                record = bench.trial(random.Random(f"{seed} {i} {bench.command}"))
                log.write(json.dumps({"commit": version, "seed": seed, "trial": i, **record}) + "\n")
                log.flush()
                if record["fault"]:
                    print(record, file=sys.stderr)


def records() -> list[dict[str, object]]:
    if not STATE.exists():
        return []
    return [json.loads(line) for line in STATE.read_text(encoding="utf-8").splitlines()]


def report(found: Sequence[Mapping[str, object]]) -> str:
    """All trials so far, by commit and seed."""
    counts = Counter((str(r["commit"]), str(r["seed"]), str(r["command"])) for r in found if r["killed"])
    faults = Counter((str(r["commit"]), str(r["seed"])) for r in found if r["fault"])
    runs = dict.fromkeys((version, seed) for version, seed, _ in counts)
    rows = [[*run, *(f"{counts[*run, c]:,}" for c in COMMANDS), str(faults[run])] for run in runs]
    header = ["commit", "seed", *COMMANDS, "not whole"]
    return f"""\
Commands on a small network, killed at a random time between their start and their end (SIGKILL, in seven of
ten cases together with the compilers that they started), in a new folder or over the results of an earlier
command. A folder is whole where all files are those of one command, models can be read, and the journal of a
search has no damaged line but the last; the same command then has to succeed with the results of one that
nothing interrupted, and to leave nothing of the killed one behind. Those that ended before their kill are not
counted.

{cumulated("reliability.kills", header, rows, RELIABILITY)}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=350, help="kills of each command")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--report", action="store_true", help="write the section of what is done so far")
    options = parser.parse_args()
    if not options.report:
        kill(options.count, options.seed, options.minutes)
    found = records()
    write_section("reliability.kills", "Kills at random times", report(found), on=RELIABILITY)
    if any(record["fault"] for record in found):
        raise SystemExit("see build/reliability/kills.jsonl for what was not whole")


if __name__ == "__main__":
    main()
