"""A layer of Keras as its configuration describes it, and what its handler makes of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.frontend import call, handlers, tensors
from edgekit.converters.keras import function_ops, ops
from edgekit.converters.keras.weights import Weights
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError

MODELS = ("Functional", "Model", "Sequential")
INPUT = "InputLayer"
# What a layer began with, how it is trained, and how it is computed.
_IGNORED = re.compile(
    r".*_(initializer|regularizer|constraint)|name|trainable|dtype|seed|batch_input_shape|batch_shape"
    r"|noise_shape|momentum|synchronized|renorm_(clipping|momentum)|(recurrent_)?dropout|unit_forget_bias"
    r"|unroll|implementation|time_major|use_cudnn|flash_attention|zero_output_for_mask|sparse|ragged|input_dtype"
    r"|(query|key|value)_shape|softmax_robust_masking|lora_(rank|alpha)|autocast|quantization_mode|input_length|activity_regularizer|data_format"
)
_OPERATIONS = re.compile(r"keras\.src\.ops(\.\w+)*|keras\.ops(\.\w+)*")
_OURS = re.compile(r"(tf_)?keras(\.\w+)*")
_LAMBDA = "write what it computes with layers, or with keras.ops in a functional model"
_CUSTOM = "build the model of Keras' own layers; docs/frontends.md lists those that are read"


@dataclass(frozen=True)
class KerasLayer:
    """Its class, its name, and its settings."""

    kind: str
    name: str
    config: Record
    record: Record

    @staticmethod
    def of(record: Record) -> KerasLayer:
        config = record.record("config")
        name = config.text("name", "") or record.text("name", "")
        return KerasLayer(record.text("class_name"), name, config, record)

    @property
    def is_operation(self) -> bool:
        """Is it a function of keras.ops? Older files do not say it, but only layers are trained."""
        if "module" in self.record:
            return _OPERATIONS.fullmatch(self.record.text("module")) is not None
        return "trainable" not in self.config and self.kind not in (*MODELS, INPUT)

    @property
    def handlers(self) -> Mapping[str, Any]:
        package: ModuleType = function_ops if self.is_operation else ops
        return handlers(package)

    def inner(self) -> Iterator[KerasLayer]:
        """The layers that it wraps, or is made of."""
        if self.kind in MODELS:
            yield from map(KerasLayer.of, self.config.records("layers"))
        for key in ("layer", "backward_layer"):
            if isinstance(self.config.fields.get(key), dict):
                yield KerasLayer.of(self.config.record(key))

    def unsupported(self) -> Iterator[tuple[str, str]]:
        """What nothing can be made of, in it and within; refuses at once what would have to be run."""
        where = f"layer {self.name}"
        if self.kind in ("Lambda", "TFOpLambda", "SlicingOpLambda"):
            raise EdgeKitError("E0404", f"{self.kind} holds code, which is never run", where, _LAMBDA)
        package = self.record.text("registered_name", "").rpartition(">")[0]
        module = self.record.text("module", "keras")
        if package not in ("", "keras", "Keras") or not _OURS.fullmatch(module):
            raise EdgeKitError("E0201", f"{self.kind} is a custom class", where, _CUSTOM)
        if self.kind not in (*MODELS, INPUT) and self.kind not in self.handlers:
            yield self.kind, self.name
        for layer in self.inner():
            yield from layer.unsupported()


def apply(
    layer: KerasLayer, operands: Sequence[Any], options: Mapping[str, Any], weights: Weights
) -> tuple[Tensor, ...]:
    """What a layer makes of operands; `options` is what this call of it says beside them."""
    policy = layer.config.fields.get("dtype")
    if isinstance(policy, dict) and policy.get("class_name") not in ("DTypePolicy", "Policy"):
        hint = "quantize the float model with edgekit quantize"
        raise EdgeKitError("E0205", "quantized layers are not supported", f"layer {layer.name}", hint)
    if layer.kind not in layer.handlers:
        raise EdgeKitError("E0205", f"a {layer.kind} within a layer is not supported", f"layer {layer.name}")
    handler = layer.handlers[layer.kind]
    takes = inspect.signature(handler).parameters
    settings = {k: frozen(v) for k, v in layer.config.fields.items() if v is not None}
    settings = {k: v for k, v in settings.items() if k in takes or not _IGNORED.fullmatch(k)}
    settings |= {k: v for k, v in options.items() if v is not None and k != "training"}
    if "weights" in takes:
        settings["weights"] = weights
    return tensors(call(handler, layer.kind, layer.name, operands, settings))


def frozen(value: Any) -> Any:
    """Lists as tuples, as handlers have them."""
    return tuple(map(frozen, value)) if isinstance(value, list) else value
