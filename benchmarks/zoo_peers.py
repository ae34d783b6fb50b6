"""ONNX Runtime, LiteRT and TFLite Micro on a file of the zoo: their outputs, and one run of one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from edgekit.core.ir import Graph
from edgekit.core.types import Array

_ARENA = 1 << 20  # bytes that TFLite Micro works in

Sample = Mapping[str, Array]


class Peer(Protocol):
    """A runtime with a model in it."""

    name: str

    def outputs(self, samples: Sequence[Sample]) -> list[list[Array]]:
        """Of each sample, in the order of the graph's outputs; states go from one to the next."""

    def runner(self, sample: Sample) -> Callable[[], Any] | None:
        """What runs the model once, on inputs that are in place; None where its time says nothing."""


def peer(path: Path, graph: Graph, profile: str, constants: Mapping[str, float]) -> Peer:
    """The runtime of the file's own format; `constants` are inputs that the graph has no more."""
    if profile == "tflm":
        return TfliteMicro(path, graph)
    return LiteRt(path, graph) if path.suffix == ".tflite" else OnnxRuntime(path, graph, constants)


@dataclass
class OnnxRuntime:
    """ONNX models."""

    path: Path
    graph: Graph
    constants: Mapping[str, float] = field(default_factory=dict)
    name: str = "ONNX Runtime"

    def _session(self) -> Any:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(self.path, options, ["CPUExecutionProvider"])

    def outputs(self, samples: Sequence[Sample]) -> list[list[Array]]:
        session = self._session()
        fixed = self._fixed(session)
        return [[np.asarray(y) for y in session.run(None, {**sample, **fixed})] for sample in samples]

    def runner(self, sample: Sample) -> Callable[[], Any]:
        session = self._session()
        binding = session.io_binding()
        for name, x in {**sample, **self._fixed(session)}.items():
            binding.bind_cpu_input(name, np.ascontiguousarray(x))
        for y in session.get_outputs():
            binding.bind_output(y.name)
        return lambda: session.run_with_iobinding(binding)

    def _fixed(self, session: Any) -> dict[str, Array]:
        """Inputs that are constants for EdgeKit, in the types that the file gives them."""
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

        interpreter = self._interpreter(experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
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

    def runner(self, sample: Sample) -> None:
        return None
