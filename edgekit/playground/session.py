"""What the page asks of EdgeKit: to open a model, to build it for a target, to run it.

Runs in the page's worker. Answers are plain values, which JSON can hold; the page shows them as text."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from edgekit import api, inspection
from edgekit.api.models import target_of
from edgekit.api.samples import RANDOM, named_inputs
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError, bug, raise_all, without_middle
from edgekit.core.ir import Graph
from edgekit.core.target import Optimize
from edgekit.core.types import Array, DType
from edgekit.playground import module
from edgekit.playground.module import Compilation
from edgekit.reports import library_page
from edgekit.reports.library_page import LibraryFigures, PageOptions
from edgekit.samples import arrays

# numpy knows them; the others come with ml_dtypes, which has no build for Pyodide.
_NATIVE = frozenset(["f32", "f64", "f16", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "bool"])
_SHOWN_OUTPUTS, _SHOWN_VALUES, _SHOWN_PLACES = 8, 5, 3
_LONGEST_NAME = 100  # characters
_MAX_SAMPLES = 64  # of calibration, so that a page answers in seconds

Answer = dict[str, Any]


class Session:
    """One page: a model, the samples that the user gave, and the library of the last build."""

    def __init__(self, progress: Callable[[str], None] = lambda step: None) -> None:
        self.progress = progress
        self.folder = Path(mkdtemp(prefix="edgekit-"))
        self.model: Graph | None = None
        self.built: Graph | None = None
        self.samples: dict[str, Array] = {}
        self.library = self.folder / "library"
        self.compilation: Compilation | None = None

    def targets(self) -> Answer:
        """What a model can be built for, by name."""
        return {target.name: target.description for target in api.list_targets()}

    def open(self, files: Mapping[str, bytes], bindings: str = "") -> Answer:
        """Read a model of one file, or of some that belong together: the first of them that is read.
        `bindings` binds what it leaves open, as `x=1,3,224,224 sequence=64`."""
        self.model = self.built = self.compilation = None
        self.samples = {}
        shapes, dims = bound(bindings)
        self.progress("reading the model")
        folder = Path(mkdtemp(dir=self.folder))
        paths = [folder / (Path(name).name or "model") for name in files]
        faults = []
        try:
            for path, data in zip(paths, files.values(), strict=True):
                path.write_bytes(data)
            for path in paths:
                try:
                    self.model = only_native(api.convert(path, shapes=shapes, dims=dims))
                    return described(self.model)
                except EdgeKitError as error:
                    faults.append(error)
        finally:
            shutil.rmtree(folder)
        raise_all(faults)
        raise EdgeKitError("E0101", "no model is given", hint="drop a model file on the page")

    def take_samples(self, name: str, data: bytes) -> Answer:
        """Keep samples of an .npz or .npy file: for int8, and to run."""
        graph = self._opened()
        path = self.folder / Path(name).name
        path.write_bytes(data)
        try:
            given = named_inputs(graph, path)
            count = len(arrays.samples(graph, given))
        finally:
            path.unlink()
        self.samples = {key: np.asarray(value) for key, value in given.items()}
        return {"samples": count}

    def build(self, target: str, dtype: str, optimize: Optimize) -> Answer:
        """Generate the library, and make its report."""
        graph, difference, warnings = self._opened(), None, list[str]()
        if dtype == "int8":
            self.progress("calibrating")
            samples: Any = self._stacked() if self.samples else RANDOM
            graph, found = api.quantize_model(graph, samples, progress=self.progress)
            warnings += found.warnings
            if self.samples:
                self.progress("measuring what int8 changes")
                difference = api.diff(self._opened(), graph, samples, order="graph", progress=self.progress)
        wanted = target_of(target)
        self.progress("generating C")
        shutil.rmtree(self.library, ignore_errors=True)
        made = api.build(
            graph, self.library, target=wanted, optimize=optimize, verify=False, progress=self.progress
        )
        self.built, self.compilation = graph, None
        self.progress("drawing the report")
        figures = replace(LibraryFigures.of(made, wanted, optimize), verified="", compiler="")
        options = PageOptions(graph=graph, difference=difference, warnings=warnings)
        return {
            "report": library_page.render(figures, options),
            "files": {name: _text(data) for name, data in self.files().items()},
        }

    def files(self) -> dict[str, bytes]:
        """The generated files."""
        found = sorted(path for path in self.library.rglob("*") if path.is_file())
        return {str(path.relative_to(self.library)): path.read_bytes() for path in found}

    def archive(self) -> bytes:
        """The generated files in a zip."""
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in self.files().items():
                archive.writestr(zipfile.ZipInfo(name), data)
        return made.getvalue()

    def run(self, index: int) -> Answer:
        """The outputs of the last build for one of the user's samples, or for seeded random numbers."""
        sample, source = self._sample(index)
        outputs = next(iter(simulate.run_each(self._last(), [sample])))
        found: Answer = {"source": source, "outputs": list(_largest(outputs))}
        if self.compilation:
            found["inputs"] = module.given(self.compilation.program, sample)
        return found

    def sources(self) -> Answer:
        """What the compiler of the page makes a module of the last build's model of."""
        self.progress("generating C for WebAssembly")
        self.compilation = module.compilation(self._last())
        return self.compilation.plain() | {"outputs": module.sizes(self.compilation.program)}

    def compare(self, index: int, outputs: Mapping[str, str]) -> Answer:
        """The module's outputs for a sample beside those of the simulator."""
        assert self.compilation
        sample, _ = self._sample(index)
        expected = next(iter(simulate.run_each(self._last(), [sample])))
        return {"verdict": module.compared(module.taken(self.compilation.program, outputs), expected)}

    def _sample(self, index: int) -> tuple[Mapping[str, Array], str]:
        """A sample, and what it is."""
        graph = self._last()
        if not self.samples:
            return simulate.random_inputs(graph, index), f"random numbers, seed {index}"
        given = arrays.samples(graph, self.samples)
        return given[index % len(given)], f"sample {index % len(given) + 1} of {len(given)}"

    def _last(self) -> Graph:
        """What was built last, or is open."""
        return self.built or self._opened()

    def _stacked(self) -> dict[str, Array]:
        """The first samples, counted by a dimension in front."""
        some = arrays.samples(self._opened(), self.samples)[:_MAX_SAMPLES]
        return {name: np.stack([sample[name] for sample in some]) for name in some[0]}

    def _opened(self) -> Graph:
        if self.model is None:
            raise EdgeKitError("E0101", "no model is open", hint="drop a model file on the page")
        return self.model


def answer(work: Callable[[], Answer]) -> Answer:
    """What a call gives, or the error as the page shows it."""
    try:
        return work()
    except EdgeKitError as error:
        missing = list(missing_operators(error))
        if not missing:
            return {"error": str(error)}
        kinds = f"{len(missing)} kinds of operators" if len(missing) > 1 else "an operator"
        hint = "docs/ops.md lists those that it knows; replace these layers before the export"
        return {"error": f"E0201 EdgeKit does not know {kinds} of this model: {hint}", "missing": missing}
    except MemoryError:
        return {"error": "E0402 the model needs more memory than a page has"}
    except Exception as error:  # a bug of ours: a sentence, as on the command line
        return {"error": str(bug(error, "please report it, with the model if you can"))}


def missing_operators(error: EdgeKitError) -> Iterator[Answer]:
    """What a model has and EdgeKit does not know, each kind with the nodes that are of it."""
    faults = [each for each in (error, *error.also) if each.code == "E0201"]
    for message in dict.fromkeys(fault.message for fault in faults):
        places = [fault.where for fault in faults if fault.message == message]
        yield {
            "name": without_middle(message.removeprefix("unsupported op "), _LONGEST_NAME),
            "count": len(places),
            "places": [without_middle(place, _LONGEST_NAME) for place in places[:_SHOWN_PLACES]],
        }


def bound(text: str) -> tuple[dict[str, list[int]], dict[str, int]]:
    """The shapes of inputs and the sizes of dimensions in `x=1,3,224,224 sequence=64`: one number is a
    dimension's, several are a shape. The options that hints name may stand before them."""
    shapes, dims = dict[str, list[int]](), dict[str, int]()
    for word in text.split():
        if word in ("--shape", "--dim"):
            continue
        name, is_bound, numbers = word.rpartition("=")
        try:
            sizes = [int(number) for number in numbers.split(",")]
        except ValueError:
            sizes = []
        if not (is_bound and name and sizes):
            raise EdgeKitError("E0101", f"{word} binds nothing", hint="x=1,3,224,224 or sequence=64")
        if len(sizes) == 1:
            dims[name] = sizes[0]
        else:
            shapes[name] = sizes
    return shapes, dims


def only_native(graph: Graph) -> Graph:
    """The graph, if numpy itself has all its types of numbers."""
    found = {value.type.dtype for value in graph.values.values()} - {DType(name) for name in _NATIVE}
    if found:
        names = ", ".join(sorted(dtype.value for dtype in found))
        raise EdgeKitError(
            "E0202", f"this page cannot hold {names}", hint="edgekit build takes it on your machine"
        )
    return graph


def _text(data: bytes) -> str:
    """To read on the page."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return f"{len(data):,} bytes of weights, which the assembler includes"


def described(graph: Graph) -> Answer:
    """What is in a model."""
    found = inspection.inspect(graph, target_of("host"))
    return {
        "name": found.name,
        "format": found.source.format,
        "inputs": {name: str(type) for name, type in found.inputs.items()},
        "outputs": {name: str(type) for name, type in found.outputs.items()},
        "layers": len(found.layers),
        "operators": dict(found.operators),
        "parameters": found.parameters,
        "macs": found.macs,
        "missing": found.missing,
    }


def _largest(outputs: Mapping[str, Array]) -> Iterator[Answer]:
    """The largest values of each output, and where they are."""
    for name, values in list(outputs.items())[:_SHOWN_OUTPUTS]:
        flat = values.reshape(-1).astype(np.float64)
        order = np.argsort(-flat, kind="stable")[:_SHOWN_VALUES]
        yield {
            "name": name,
            "shape": list(values.shape),
            "largest": [{"index": int(i), "value": f"{flat[i]:.6g}"} for i in order],  # JSON has no infinity
        }
