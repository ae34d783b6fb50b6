"""ONNX Runtime, LiteRT and TFLite Micro on a file of the zoo: their outputs, and one run of one thread."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnx
from onnx import numpy_helper

from edgekit.core.ir import Graph
from edgekit.core.types import Array

_ARENA = 1 << 20  # bytes that TFLite Micro works in

_MOVED = 1e-6  # of an input of floats: as far as another order of sums moves it
_SEEDS = 2

Sample = Mapping[str, Array]


def moved(samples: Sequence[Sample]) -> Iterator[list[Sample]]:
    """The samples with other rounding errors in inputs of floats."""
    for seed in range(_SEEDS):
        random = np.random.default_rng(seed)
        yield [{name: _moved(x, random) for name, x in sample.items()} for sample in samples]


def _moved(x: Array, random: np.random.Generator) -> Array:
    if x.dtype not in (np.float32, np.float16):
        return x
    by = max(_MOVED, float(np.finfo(x.dtype).eps))
    return (x * (1 + by * random.choice((-1, 1), x.shape))).astype(x.dtype)


class Peer(Protocol):
    """A runtime with a model in it."""

    name: str

    def outputs(self, samples: Sequence[Sample]) -> list[list[Array]]:
        """Of each sample, in the order of the graph's outputs; states go from one to the next."""

    def others(self, samples: Sequence[Sample]) -> Iterator[list[list[Array]]]:
        """The same with other rounding errors: of its other kernels, on inputs and weights that are moved."""

    def runner(self, sample: Sample) -> Callable[[], Any] | None:
        """What runs the model once, on inputs that are in place; None where its time says nothing."""


def peer(path: Path, graph: Graph, profile: str, constants: Mapping[str, float]) -> Peer:
    """The runtime of the file's own format; `constants` are inputs that the graph has no more."""
    if profile == "tflm":
        return TfliteMicro(path, graph)
    return LiteRt(path, graph) if path.suffix == ".tflite" else OnnxRuntime(path, graph, constants)


def _with_moved_weights(model: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    """The model with other rounding errors in weights and scales."""
    random = np.random.default_rng(seed)
    for x in model.graph.initializer:
        if x.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16):
            x.CopyFrom(numpy_helper.from_array(_moved(numpy_helper.to_array(x), random), x.name))
    return model


@dataclass
class OnnxRuntime:
    """ONNX models."""

    path: Path
    graph: Graph
    constants: Mapping[str, float] = field(default_factory=dict)
    name: str = "ONNX Runtime"

    def _session(self, *, is_optimized: bool = True) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        if not is_optimized:
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return onnxruntime.InferenceSession(self.path, options, ["CPUExecutionProvider"])

    def outputs(self, samples: Sequence[Sample], *, is_optimized: bool = True) -> list[list[Array]]:
        session = self._session(is_optimized=is_optimized)
        fixed = self.fixed(session)
        return [[np.asarray(y) for y in session.run(None, {**sample, **fixed})] for sample in samples]

    def others(self, samples: Sequence[Sample]) -> Iterator[list[list[Array]]]:
        yield self.outputs(samples, is_optimized=False)
        yield from map(self.outputs, moved(samples))
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(_SEEDS):
                path = Path(folder) / self.path.name
                onnx.save(_with_moved_weights(onnx.load(self.path), seed), path)
                yield replace(self, path=path).outputs(samples)

    def runner(self, sample: Sample) -> Callable[[], Any]:
        session = self._session()
        binding = session.io_binding()
        for name, x in {**sample, **self.fixed(session)}.items():
            binding.bind_cpu_input(name, np.ascontiguousarray(x))
        for y in session.get_outputs():
            binding.bind_output(y.name)
        return lambda: session.run_with_iobinding(binding)

    def fixed(self, session: Any = None) -> dict[str, Array]:
        """Inputs that are constants for EdgeKit, in the types that the file gives them."""
        session = session or self._session()
        types = {
            x.name: {"tensor(int64)": np.int64, "tensor(int32)": np.int32}.get(x.type, np.float32)
            for x in session.get_inputs()
        }
        return {name: np.array(value, types[name]) for name, value in self.constants.items()}


@dataclass
class LiteRt:
    """TFLite models. The integers that count are those of the reference kernels, the time that of XNNPACK."""

    path: Path
    graph: Graph
    name: str = "LiteRT"

    def _interpreter(self, **options: Any) -> Any:
        from ai_edge_litert.interpreter import Interpreter

        interpreter = Interpreter(model_path=str(self.path), num_threads=1, **options)
        details = interpreter.get_input_details()
        for x, name in zip(details, self.graph.inputs, strict=True):
            interpreter.resize_tensor_input(x["index"], self.graph.type(name).shape)
        interpreter.allocate_tensors()
        return interpreter

    def _set(self, interpreter: Any, sample: Sample) -> None:
        for x, name in zip(interpreter.get_input_details(), self.graph.inputs, strict=True):
            interpreter.set_tensor(x["index"], sample[name])

    def outputs(self, samples: Sequence[Sample]) -> list[list[Array]]:
        from ai_edge_litert.interpreter import OpResolverType

        return self._outputs(samples, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)

    def others(self, samples: Sequence[Sample]) -> Iterator[list[list[Array]]]:
        yield self._outputs(samples)
        yield from map(self.outputs, moved(samples))

    def _outputs(self, samples: Sequence[Sample], **options: Any) -> list[list[Array]]:
        interpreter = self._interpreter(**options)
        results = []
        for sample in samples:
            self._set(interpreter, sample)
            interpreter.invoke()
            results.append(
                [interpreter.get_tensor(y["index"]).copy() for y in interpreter.get_output_details()]
            )
        return results

    def runner(self, sample: Sample) -> Callable[[], Any]:
        interpreter = self._interpreter()
        self._set(interpreter, sample)
        interpreter.invoke()
        run: Callable[[], Any] = interpreter.invoke
        return run


@dataclass
class TfliteMicro:
    """TFLite models that LiteRT refuses, or crashes on. Its interpreter here has reference kernels alone."""

    path: Path
    graph: Graph
    name: str = "TFLite Micro"

    def outputs(self, samples: Sequence[Sample]) -> list[list[Array]]:
        from tflite_micro import runtime

        interpreter = runtime.Interpreter.from_file(str(self.path), arena_size=_ARENA)
        results = []
        for sample in samples:
            for i, name in enumerate(self.graph.inputs):
                interpreter.set_input(sample[name], i)
            interpreter.invoke()
            results.append([interpreter.get_output(i).copy() for i in range(len(self.graph.outputs))])
        return results

    def others(self, samples: Sequence[Sample]) -> Iterator[list[list[Array]]]:
        yield from ()

    def runner(self, sample: Sample) -> None:
        return None
