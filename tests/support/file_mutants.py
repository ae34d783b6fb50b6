"""Damaged model files of every format, one for each seed, and what EdgeKit makes of them."""

from __future__ import annotations

import resource
import shutil
import signal
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from types import FrameType
from zipfile import ZipFile

import numpy as np
from support import ek_mutants, gguf_files, mutants, tflite_mutants
from support.damage import damaged
from support.exports import SAMPLES, exports, open_inputs
from support.hostile_files import PYTHON
from support.recorded import recorded
from support.tflite_writer import Operator
from tflite import integer_cases, real_cases

from edgekit import api
from edgekit.codegen.compilation.build import generate
from edgekit.codegen.compilation.publish import write
from edgekit.codegen.program import compile_graph
from edgekit.converters import frontend
from edgekit.converters.caffe import ops
from edgekit.converters.keras import ops as keras_ops
from edgekit.converters.mindir import ops as mindir_ops
from edgekit.converters.mxnet import ops as mxnet_ops
from edgekit.converters.openvino import ops as openvino_ops
from edgekit.converters.paddle import ops as paddle_ops
from edgekit.converters.stablehlo import ops as stablehlo_ops
from edgekit.converters.tensorflow import ops as tensorflow_ops
from edgekit.converters.torch_export import ops as torch_export_ops
from edgekit.core import ek_file, target
from edgekit.core.errors import EdgeKitError, Exit
from edgekit.core.ir import Graph

SECONDS = 10  # of processor time, so that a busy machine breaks no mutant
MEMORY = 2 << 30
REFUSALS = (Exit.USAGE, Exit.UNSUPPORTED, Exit.MALFORMED)
_RECORDED = SAMPLES.with_name("recorded")
# What is read with an even seed is saved and loaded, the others are compiled into calls; one of so many
# becomes C text, which takes longer than all before.
_PRINTED = 8
_OPERATORS = {
    "Caffe": ops,
    "JAX StableHLO": stablehlo_ops,
    "Keras": keras_ops,
    "MindSpore": mindir_ops,
    "MXNet": mxnet_ops,
    "OpenVINO": openvino_ops,
    "PaddlePaddle": paddle_ops,
    "PyTorch": torch_export_ops,
    "TensorFlow": tensorflow_ops,
}
_TFLITE: Mapping[str, Callable[[np.random.Generator], Operator]] = {
    **integer_cases.ALL,
    **{f"real {kind}": make for kind, make in real_cases.CASES.items()},
}


# Formats whose models tests write: their files by name. Those of ncnn are recorded ones alone.
_WRITTEN: Mapping[str, Callable[[], Mapping[str, Mapping[str, bytes]]]] = {
    "GGUF": gguf_files.models,
    "ncnn": dict,
}


@dataclass(frozen=True)
class Base:
    """A model before it is damaged: its files by name, the first of which is converted."""

    name: str
    files: Mapping[str, bytes]
    shapes: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Mutant:
    """A damaged model, and how it came to be."""

    how: str
    files: Mapping[str, bytes]
    shapes: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: the code that refused it, "" where it was read, and what is wrong there."""

    code: str
    fault: str = ""


@cache
def formats() -> list[str]:
    """All formats that EdgeKit reads, its own included."""
    return sorted({"EdgeKit", "transformers", *_WRITTEN, *(e.format for e in exports())})


@cache
def bases(format: str) -> Sequence[Base]:
    """The models of a format that are damaged: the shared net, and layers of many kinds."""
    made = [Base(e.name, _contents(e.files), e.shapes) for e in exports() if e.format == format]
    made += [Base(name, files, {}) for name, files in _WRITTEN.get(format, dict)().items()]
    return made + [base for found, base in _recorded_bases() if found == format]


@cache
def _recorded_bases() -> Sequence[tuple[str, Base]]:
    """The recorded models of all formats, with their format."""
    made: list[tuple[str, Base]] = []
    for archive in sorted(_RECORDED.glob("*.zip")):
        with tempfile.TemporaryDirectory() as folder:
            with ZipFile(archive) as zip:
                zip.extractall(folder)
            made += [
                (model.format, _recorded_base(f"{archive.stem}/{model.name}", model.path))
                for model in recorded(Path(folder))
            ]
    return made


def _recorded_base(name: str, path: Path) -> Base:
    beside = [p for p in sorted(path.parent.rglob("*")) if p.is_file() and p != path and p.name != "io.npz"]
    with np.load(path.parent / "io.npz") as io:
        shapes = {k: io[f"x{i}"].shape for i, k in enumerate(open_inputs(path))}
    return Base(name, _contents([path, *beside]), shapes)


def _contents(files: Sequence[Path]) -> Mapping[str, bytes]:
    """What is in files, by their names in the folder of the first."""
    return {p.relative_to(files[0].parent).as_posix(): p.read_bytes() for p in files}


@cache
def _weights(format: str) -> Sequence[float]:
    """How often each base is taken: large ones take longer, and break no other way."""
    return [1 / max(len(content) for content in base.files.values()) ** 1.5 for base in bases(format)]


def mutant(format: str, seed: int, folder: Path) -> Mutant:
    """The damaged model of a seed; `folder` is for files in the making."""
    rng = Random(f"{format} {seed}")
    match format:
        case "EdgeKit":
            how, raw = ek_mutants.mutant(rng, folder)
            return Mutant(how, {"net.ek": raw}, {})
        case "ONNX" if rng.random() < 0.8:
            how, raw = mutants.mutant(seed)
            return Mutant(how, {"net.onnx": raw}, {})
        case "TFLite" if rng.random() < 0.8:
            how, raw = tflite_mutants.mutant(seed, _TFLITE)
            return Mutant(how, {"net.tflite": raw}, {})
    (base,) = rng.choices(bases(format), _weights(format))
    first = next(iter(base.files))
    chosen = rng.choice([first, first, *base.files])
    content = damaged(base.files[chosen], rng, operators(format))
    return Mutant(f"{chosen} of {base.name}", {**base.files, chosen: content}, base.shapes)


def prepare(format: str) -> None:
    """What all mutants of a format share, before processes part."""
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(3):
            judge(format, seed, Path(folder))


@cache
def operators(format: str) -> Sequence[str]:
    """The names of operators that may take each other's place."""
    package = _OPERATORS.get(format)
    return sorted(frontend.handlers(package)) if package else ()


def judge(format: str, seed: int, folder: Path) -> Verdict:
    """Read a mutant; save it and load it, or compile it for this machine, and write the C of some."""
    made = mutant(format, seed, folder)
    path = folder / next(iter(made.files))
    write(made.files, folder)
    how = f"{format} {seed}: {made.how}"
    stage = "reading"
    try:
        with limited(), warnings.catch_warnings():
            warnings.simplefilter("error")
            graph = api.convert(path, shapes=dict(made.shapes) or None)
            if seed % 2 == 0:
                stage = "saving"
                if not _comes_back(graph, folder):
                    return Verdict("", f"{how}: the .ek file holds another graph")
            else:
                stage = "compiling"
                program = compile_graph(graph, target.load("host"))
                if seed % _PRINTED == 1:
                    stage = "writing C"
                    generate(program, "size")
    except EdgeKitError as error:
        return Verdict(error.code, _refusal_fault(error, how, stage))
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        return Verdict("", f"{how}, {stage}\n{traceback.format_exc()}")
    finally:
        for one in folder.iterdir():
            shutil.rmtree(one) if one.is_dir() else one.unlink()
    return Verdict("")


def _comes_back(graph: Graph, folder: Path) -> bool:
    """Does an .ek file give the graph that was saved? Bytes decide: NaN differs from itself."""
    first, second = folder / "again.ek", folder / "twice.ek"
    ek_file.save(graph, first)
    ek_file.save(ek_file.load(first), second)
    return first.read_bytes() == second.read_bytes()


def _refusal_fault(error: EdgeKitError, how: str, stage: str) -> str:
    """What is wrong with a refusal, if anything."""
    cause = error.__cause__
    while cause is not None:
        if isinstance(cause, AssertionError | TimeoutError | MemoryError):
            return f"{how}, {stage}: {error}\n{traceback.format_exc()}"
        cause = cause.__cause__
    if error.exit_code not in REFUSALS or not error.message:
        return f"{how}, {stage}: {error}\n{traceback.format_exc()}"
    if PYTHON.search(str(error)):
        return f"{how}, {stage}: Python's words: {error}"
    if stage == "saving":
        return f"{how}: the .ek file is refused: {error}"
    return ""


def accepted(format: str, seed: int, folder: Path) -> Graph | None:
    """The graph of a mutant that is read; None where it is refused."""
    made = mutant(format, seed, folder)
    write(made.files, folder)
    try:
        with limited():
            return api.convert(folder / next(iter(made.files)), shapes=dict(made.shapes) or None)
    except EdgeKitError:
        return None
    finally:
        for one in folder.iterdir():
            shutil.rmtree(one) if one.is_dir() else one.unlink()


@contextmanager
def limited() -> Iterator[None]:
    """Within, so much processor time ends in a TimeoutError."""

    def too_slow(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"more than {SECONDS} s of processor time")

    before = signal.signal(signal.SIGPROF, too_slow)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def limit_memory() -> None:
    """From now on, this process may take so much memory beside what it has; what asks for more is refused it.
    A process that imported large frameworks before has gigabytes of addresses already."""
    statm = Path("/proc/self/statm")
    has = int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 0
    resource.setrlimit(resource.RLIMIT_AS, (has + MEMORY, has + MEMORY))
