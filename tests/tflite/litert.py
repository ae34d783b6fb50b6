"""What LiteRT's reference kernels compute, and what EdgeKit does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from support.tflite_writer import Operator, Tensor
from support.tools import require_module

from edgekit.converters.tflite import reader as tflite_reader
from edgekit.core.ir import Graph
from edgekit.core.types import Array


def litert(content: bytes, inputs: Sequence[Array], reference: bool = True) -> list[Array]:
    """The results of LiteRT's reference kernels, or of its fast ones."""
    return litert_steps(content, [inputs], reference)[0]


def litert_steps(
    content: bytes, steps: Sequence[Sequence[Array]], reference: bool = True
) -> list[list[Array]]:
    """The results of successive runs, between which variables last."""
    package = require_module("ai_edge_litert.interpreter")
    kinds = package.OpResolverType
    resolver = kinds.BUILTIN_REF if reference else kinds.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    # Without tensors of their own, some operators write over what others still read.
    interpreter = package.Interpreter(
        model_content=content, experimental_op_resolver_type=resolver, experimental_preserve_all_tensors=True
    )
    interpreter.allocate_tensors()
    interpreter.reset_all_variables()
    results = []
    for inputs in steps:
        for detail, data in zip(interpreter.get_input_details(), inputs, strict=True):
            interpreter.set_tensor(detail["index"], data)
        interpreter.invoke()
        results.append([interpreter.get_tensor(d["index"]).copy() for d in interpreter.get_output_details()])
    return results


def inputs_of(op: Operator, rng: np.random.Generator) -> list[Array]:
    """Random data; of 256 bytes all of them."""
    return [_data(t, rng) for t in op.inputs if t is not None and t.data is None and not t.variable]


def _data(t: Tensor, rng: np.random.Generator) -> Array:
    if t.shape == (256,) and t.dtype == "int8":
        return np.arange(-128, 128).astype(np.int8)
    if t.dtype == "bool":
        return rng.integers(0, 2, t.shape).astype(np.bool_)
    if t.dtype.startswith("float"):
        return rng.standard_normal(t.shape).astype(t.dtype) * 3
    if t.scale:
        low, high = np.iinfo(t.dtype).min, np.iinfo(t.dtype).max
        return rng.integers(low, high + 1, t.shape).astype(t.dtype)
    return rng.integers(-9, 10, t.shape).astype(t.dtype)


def converted(content: bytes, folder: Path, name: str) -> Graph:
    path = folder / f"{name}.tflite"
    path.write_bytes(content)
    return tflite_reader.convert(path, name=name)


def named(graph: Graph, inputs: Sequence[Array]) -> Mapping[str, Array]:
    return dict(zip(graph.inputs, inputs, strict=True))
