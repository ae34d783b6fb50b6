"""What is tuned: a model with its data and the board; what can be varied, and what a variation comes to."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from itertools import chain
from typing import Literal

import numpy as np

import edgekit
from edgekit.codegen.memory.sharing import Ports
from edgekit.core.ir import Graph
from edgekit.core.target import Optimize, Target
from edgekit.quantize.calibration.sample_batches import Sample
from edgekit.quantize.integers.integer_io import Io

INT4, INT8, INT16, BF16, F32 = LEVELS = ("int4", "int8", "int16", "bf16", "f32")
# When an emulator counts instructions: for every point, or where a kernel is not calibrated.
Count = Literal["always", "missing", "never"]
BASES = (INT4, INT8, BF16, F32)  # formats of a whole model
WHOLE = 100  # percent
_LONGEST = 100  # characters of a file name, without what is behind them


def file_stem(name: str) -> str:
    """The name of a model as that of a file, which leads nowhere else."""
    return re.sub(r"[^\w.+ -]+", "_", name)[:_LONGEST].lstrip(".") or "model"


@dataclass(frozen=True, order=True)
class Point:
    """One way to make the model smaller and faster."""

    left: int = WHOLE  # percent of the multiplications that pruning leaves
    base: str = INT8  # the format of all layers
    better: tuple[tuple[str, str], ...] = ()  # layers in better formats, by name
    optimize: Optimize = "speed"


@dataclass(frozen=True)
class LargestLayer:
    """The layer that takes most of something."""

    layer: str
    amount: int


@dataclass(frozen=True)
class Result:
    """What a point comes to. Flash and RAM are exact; instructions are, where they were counted."""

    accuracy: float | None  # the share of samples that are right; None where there are no classes
    sqnr_db: float  # of the worst output, against that of the model as it came
    flash: int
    ram: int
    instructions: int | None
    instructions_error: float
    macs: int
    largest: LargestLayer | None = None  # in flash
    fullest: LargestLayer | None = None  # at which most of the RAM is in use
    slowest: LargestLayer | None = None
    lost: int = 0  # samples that the model as it came has right, and this one wrong
    won: int = 0  # the other way round
    judged: int = 0  # samples that accuracy is a share of; 0: accuracy is exact
    digest: str = ""  # of the graph that was built: equal ones are one variant


@dataclass(frozen=True)
class Fault:
    """Why a point came to nothing; `fatal` where others would not either."""

    code: str
    message: str
    hint: str
    fatal: bool = False


Outcome = Result | Fault


def graph_digest(graph: Graph) -> str:
    """Names what a graph computes."""
    followers = [(state.input, state.output) for state in graph.states]
    state = hashlib.sha256(repr((graph.inputs, graph.outputs, graph.nodes, followers)).encode())
    starts = ((held.input, held.start) for held in graph.states)
    for name, data in chain(graph.constants(), starts):
        state.update(f"{name} {graph.type(name)}".encode())
        state.update(np.ascontiguousarray(data).view(np.uint8).tobytes() if data.size else b"")
    return state.hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class TuningProblem:
    """A model, and what is known of it. The memory of the target is what the model may take."""

    graph: Graph
    samples: Sequence[Sample]  # that models are fitted and calibrated with
    judged: Sequence[Sample]  # that they are judged by
    earlier: Sequence[Sample]  # the steps of a stream before those
    labels: Sequence[int]  # of those; none where the model has no classes
    target: Target
    ports: Ports = "caller"
    io: Io = "float"
    count: Count = "never"

    @cached_property
    def digest(self) -> str:
        """Names all that results depend on."""
        state = hashlib.sha256(edgekit.__version__.encode())
        state.update(graph_digest(self.graph).encode())
        for sample in (*self.samples, *self.judged):
            for name, array in sorted(sample.items()):
                state.update(f"{name} {array.dtype} {array.shape}".encode())
                state.update(np.ascontiguousarray(array).tobytes())
        state.update(repr((len(self.samples), tuple(self.labels), self.ports, self.io, self.count)).encode())
        state.update(repr(astuple(self.target)).encode())
        return state.hexdigest()[:16]

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TuningProblem) and other.digest == self.digest
