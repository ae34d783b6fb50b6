"""What tuning leaves in its folder: the model, how to build it, a report, and the journal."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path

from edgekit.core import ek_file, files
from edgekit.core import target as targets
from edgekit.core.arguments import check_fields
from edgekit.core.errors import EdgeKitError
from edgekit.core.target import Target
from edgekit.core.transaction import transaction
from edgekit.tuning import evaluate, page
from edgekit.tuning.budget import Budget
from edgekit.tuning.problem import Point, TuningProblem, file_stem
from edgekit.tuning.tune import Tuned

JOURNAL = "journal.jsonl"
BOARD = "board.toml"
SETTINGS = "edgekit.toml"
REPORT = "report.html"
EARLIER = "earlier"  # a folder for what another search chose, as long as nothing fits in this one
_MAX_BYTES = 1 << 31  # of a file that is set aside
_MAX_SECONDS = 1e15  # of a run: its instructions are still a number


@dataclass(frozen=True)
class Limits:
    """What users ask for; None where nothing is asked."""

    flash: int | None = None  # bytes; None: what the target has
    ram: int | None = None
    seconds: float | None = None  # of a run
    instructions: int | None = None
    max_drop: float | None = None  # of accuracy, as a share of the samples
    min_sqnr: float | None = None  # dB

    def __post_init__(self) -> None:
        check_fields(self)
        if self.seconds is not None and not 0 <= self.seconds < _MAX_SECONDS:
            raise EdgeKitError("E0103", f"seconds is {self.seconds}", hint=f"from 0 to {_MAX_SECONDS:.0e}")

    def on(self, target: Target) -> tuple[Budget, Target]:
        """The limits in numbers that are measured, and the target with the memory that may be used."""
        asked = {"flash": self.flash, "ram": self.ram}
        memory = target.memory | {bank: size for bank, size in asked.items() if size is not None}
        instructions = self.instructions
        if self.seconds is not None:
            if target.pace is None:
                raise EdgeKitError(
                    "E0101",
                    f"it is not known how long an instruction takes on {target.name}",
                    hint="measure a run on the board: clock and cycles_per_instruction go into its .toml; "
                    "or limit instructions: --latency 3M",
                )
            instructions = int(1e3 * self.seconds / target.pace.milliseconds(1))
        budget = Budget(memory.get("flash"), memory.get("ram"), instructions, self.max_drop, self.min_sqnr)
        return budget, replace(target, memory=memory)


def claimed(folder: Path) -> Path:
    """The folder, which is new, empty, or from an earlier search."""
    if folder.exists() and (
        not folder.is_dir() or (any(folder.iterdir()) and not (folder / JOURNAL).is_file())
    ):
        hint = "name a new one with -o"
        raise EdgeKitError("E0105", f"{folder} holds something else than an earlier search", hint=hint)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EdgeKitError("E0105", f"cannot make {folder}: {error.strerror}") from None
    return folder


def write(folder: Path, problem: TuningProblem, found: Tuned | None) -> None:
    """The report, and where a point fits, its model and what builds it as it was measured. All of it belongs
    together, so all of it changes or nothing. Where no point fits, the choice of an earlier search is set
    aside."""
    model = f"{file_stem(problem.graph.name)}{ek_file.SUFFIX}"
    with transaction(folder) as changes:
        if found is None or found.best is None:
            if _has(folder, model):
                for name in (name for name in (model, BOARD, SETTINGS, REPORT) if _has(folder, name)):
                    changes.write(f"{EARLIER}/{name}", files.read(folder / name, _MAX_BYTES, folder))
            changes.removed |= {model, BOARD, SETTINGS, REPORT}
        if found is None:
            return
        changes.write(REPORT, page.render(found).encode())
        changes.removed -= {REPORT}
        if found.best is None:
            return
        point = found.best.point
        graph = evaluate.model(problem, point, with_all=found.best.with_all)
        ek_file.save(graph, changes.new / model)
        changes.write(BOARD, board(problem.target).encode())
        changes.write(SETTINGS, _settings(problem, point).encode())


def _has(folder: Path, name: str) -> bool:
    """Is there a file of this name, and no link?"""
    return (folder / name).is_file() and files.is_within(folder, folder / name)


def board(target: Target) -> str:
    """A file of a target: what it has in common with its processor is left to that."""
    has_base = target.core in targets.names()
    base = targets.load(target.core) if has_base else Target("")
    lines = [f"base = {json.dumps(target.core)}"] * has_base
    for field in fields(Target):
        value = getattr(target, field.name)
        if field.name in ("name", "core") or value == getattr(base, field.name):
            continue
        lines.append(f"{field.name} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items()) + " }"
    return json.dumps(value)  # of text, numbers and lists of text the same


def _settings(problem: TuningProblem, point: Point) -> str:
    """So that `edgekit build` in this folder makes what was measured."""
    lines = []
    for command in ("build", "estimate", "verify", "bench"):
        lines += [f"[{command}]", f'target = "{BOARD}"', f'optimize = "{point.optimize}"']
        lines += [f'ports = "{problem.ports}"'] * (command != "bench") + [""]
    return "\n".join(lines[:-1]) + "\n"
