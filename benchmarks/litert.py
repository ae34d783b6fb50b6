"""What LiteRT's quantizers make of a float TFLite file: int8, a scale for each channel of weights.

Two of them there are: the converter's, which tensorflow brings, and ai-edge-quantizer. Neither is needed by
anything else here: `pip install edgekit-compiler[rivals]`.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from benchmarks.float_tflite import INPUT, SIGNATURE
from edgekit.core.types import Array

Quantizer = Callable[[bytes, Sequence[Array]], bytes]
CONVERTER, EDGE_QUANTIZER = "LiteRT converter", "LiteRT ai-edge-quantizer"


def quantizers() -> Mapping[str, Sequence[Quantizer]]:
    """Both tools, each with its ways to do it; a tool that is not installed has none."""
    found: dict[str, Sequence[Quantizer]] = {CONVERTER: (), EDGE_QUANTIZER: ()}
    if find_spec("tensorflow"):
        found[CONVERTER] = (_converter, _old_converter)
    if find_spec("ai_edge_quantizer"):
        ways = ("MIN_MAX_UNIFORM_QUANT", "OCTAV", "GPTQ")
        found[EDGE_QUANTIZER] = tuple(_edge_quantizer(way, whole) for way in ways for whole in (False, True))
    return found


def _converter(model: bytes, samples: Sequence[Array]) -> bytes:
    """As TFLiteConverter does it after its conversion."""
    calibrator, convert = _tensorflow()
    ready = calibrator.Calibrator(calibrator.add_intermediate_tensors(model))
    calibrated = ready.calibrate(lambda: ([x] for x in samples))
    return bytes(convert.mlir_quantize(calibrated))


def _old_converter(model: bytes, samples: Sequence[Array]) -> bytes:
    """As TFLiteConverter does it with `experimental_new_quantizer = False`."""
    import tensorflow

    calibrator, _ = _tensorflow()
    ready = calibrator.Calibrator(model)
    float32 = tensorflow.float32
    made = ready.calibrate_and_quantize(lambda: ([x] for x in samples), float32, float32, allow_float=False)
    return bytes(made)


def _tensorflow() -> tuple[Any, Any]:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from tensorflow.lite.python import convert
    from tensorflow.lite.python.optimize import calibrator

    return calibrator, convert


def _edge_quantizer(algorithm: str, whole_range: bool) -> Quantizer:
    """The recipe static_wi8_ai8; GPTQ, which is for dense layers only, leaves the others to minmax. The tool
    averages the ranges of samples, which is often too narrow; `whole_range` takes all that was seen."""

    def quantize(model: bytes, samples: Sequence[Array]) -> bytes:
        from ai_edge_quantizer import quantizer, recipe
        from ai_edge_quantizer.algorithm_manager import AlgorithmName
        from ai_edge_quantizer.qtyping import TFLOperationName

        first = AlgorithmName.MIN_MAX_UNIFORM_QUANT if algorithm == "GPTQ" else AlgorithmName[algorithm]
        tool = quantizer.Quantizer(bytearray(model), recipe.static_wi8_ai8(first))
        if algorithm == "GPTQ":
            tool.add_static_config(".*", TFLOperationName.FULLY_CONNECTED, 8, 8, algorithm_key="GPTQ")
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            seen = tool.calibrate(_data(samples), num_threads=1)
            if whole_range:
                for name, ends in _whole_ranges(model, samples).items():
                    if "min" in seen.get(name, ()):
                        seen[name] |= ends
            return bytes(tool.quantize(seen).quantized_model)

    return quantize


def _data(samples: Sequence[Array]) -> dict[str, list[dict[str, Array]]]:
    return {SIGNATURE: [{INPUT: x} for x in samples]}


def _whole_ranges(model: bytes, samples: Sequence[Array]) -> dict[str, dict[str, Array]]:
    """The least and the largest value of each tensor."""
    from ai_edge_quantizer import calibrator, recipe, recipe_manager
    from ai_edge_quantizer.utils import qsv_utils

    manager = recipe_manager.RecipeManager()
    manager.load_quantization_recipe(recipe.static_wi8_ai8())
    tool = calibrator.Calibrator(model, num_threads=1, qsv_update_func=qsv_utils.min_max_update)
    tool.calibrate(_data(samples), manager)
    return {
        name: {end: seen[end] for end in ("min", "max")}
        for name, seen in tool.get_model_qsvs().items()
        if "min" in seen
    }


def input_shape(model: bytes) -> tuple[int, ...]:
    """The shape of the only input."""
    (x,) = Interpreter(model_content=model).get_input_details()
    return tuple(int(n) for n in x["shape"])


def is_int8(model: bytes) -> bool:
    """Whether everything between input and output is done in integers."""
    interpreter = Interpreter(model_content=model)
    ends = {end["index"] for end in (*interpreter.get_input_details(), *interpreter.get_output_details())}
    inner = (t for t in interpreter.get_tensor_details() if t["index"] not in ends)
    return all(np.dtype(tensor["dtype"]).kind == "i" for tensor in inner)


def answers(model: bytes, samples: Sequence[Array]) -> list[Array]:
    """What LiteRT's reference kernels compute, as real numbers."""
    interpreter = Interpreter(
        model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF, num_threads=1
    )
    interpreter.allocate_tensors()
    (x_is,), (y_is,) = interpreter.get_input_details(), interpreter.get_output_details()
    found = []
    for sample in samples:
        interpreter.set_tensor(x_is["index"], integers(sample, x_is))
        interpreter.invoke()
        found.append(reals(interpreter.get_tensor(y_is["index"]), y_is))
    return found


def integers(x: Array, tensor: Mapping[str, Any]) -> Array:
    if tensor["dtype"] == np.float32:
        return x
    scale, zero = tensor["quantization"]
    limits = np.iinfo(tensor["dtype"])
    codes = np.clip(np.rint(x / np.float32(scale)) + zero, limits.min, limits.max)
    found: Array = codes.astype(tensor["dtype"])
    return found


def reals(y: Array, tensor: Mapping[str, Any]) -> Array:
    if tensor["dtype"] == np.float32:
        return y
    scale, zero = tensor["quantization"]
    real: Array = (y.astype(np.float32) - np.float32(zero)) * np.float32(scale)
    return real
