"""Random ONNX networks that onnxruntime quantizes, against onnxruntime.

EdgeKit's integer layers may be one unit off (ADR 0009), and later layers see that unit. So a result may
be off by two units of its own scale, by half of what quantization itself changed, or by what it
changes in ONNX Runtime when results of integer layers, and values that are dequantized on the way, get a
unit of noise, whichever is most: a wrong zero point, scale, axis or layout is further off, a rounding is not.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto
from support.quantized_models import SCHEMES, Scheme
from support.random_models import Dice
from support.random_networks import onnx_layers, onnx_moves
from support.random_networks.judge import distance
from support.random_networks.onnx_net import OnnxNet, run
from support.random_networks.trial import Recipe, RuntimeRefusalError, Trial, Truth, UnfitError
from support.tools import require_module

from edgekit.converters.onnx.reader import convert
from edgekit.core.types import Array

_TRIES = 6
_SAMPLES = 6
_SHARE = 0.5  # of what quantization changed
_LAYERS = (
    onnx_layers.conv_block, onnx_layers.conv_block, onnx_layers.residual, onnx_layers.gate,
    onnx_layers.dense_block, onnx_layers.pool, onnx_layers.global_pool, onnx_layers.linear, onnx_layers.gemm,
    onnx_layers.classifier, onnx_layers.to_sequence, onnx_moves.transpose, onnx_moves.reshape,
    onnx_moves.flatten, onnx_moves.concat, onnx_moves.pad, onnx_moves.slice_, onnx_moves.split,
)  # fmt: skip
_SKIPPED = 3  # of the steps: quantized networks are shorter


def make(recipe: Recipe) -> Trial:
    dice = Dice(recipe.seed)
    net = OnnxNet(dice, dice.pick(13, 17))
    shape = dice.pick(
        (1, dice.roll(1, 8), dice.roll(4, 11), dice.roll(4, 11)),
        (2, dice.roll(3, 17)),
        (1, dice.roll(2, 7), 9),
    )
    net.input(dice.normal(*shape))
    for step in recipe.steps[_SKIPPED:]:
        net.dice = Dice(recipe.seed, step)
        for _ in range(_TRIES):
            if net.attempt(net.dice.pick(*_LAYERS)):
                break
    if not net.nodes:
        raise UnfitError
    outputs = net.loose_ends()[-1:]
    plain = net.model(outputs)
    dynamic = dice.roll(0, 4) == 0
    (real,) = run(plain, [net.inputs])
    quantized = _quantized(plain, net, None if dynamic else dice.pick(*SCHEMES))
    if any(_counts_beyond_padding(node) for node in quantized.graph.node):
        raise UnfitError
    (right,) = run(quantized, [net.inputs])
    kinds = frozenset(node.op_type for node in quantized.graph.node)
    noisy = [_with_noise(quantized, net.inputs, seed) for seed in (1, 2)]
    slack = [_slack(quantized, y, *others) for y, *others in zip(right, real, *noisy, strict=True)]
    return Trial(
        recipe,
        kinds,
        net.inputs,
        Truth(right, [0.0] * len(right), [False] * len(right)),
        lambda: convert(quantized),
        slack,
    )


def _counts_beyond_padding(node: NodeProto) -> bool:
    """onnxruntime's kernels for integers and floats differ there: see tests/onnx/test_quantized_models.py."""
    found = {a.name: a.i for a in node.attribute}
    is_average = node.op_type in ("AveragePool", "QLinearAveragePool")
    return is_average and bool(found.get("ceil_mode")) and bool(found.get("count_include_pad"))


def _slack(proto: ModelProto, right: Array, real: Array, *noisy: Array) -> float:
    constants = _constants(proto)
    last = {name: node for node in proto.graph.node for name in node.output}[proto.graph.output[0].name]
    scale = (
        constants.get(last.input[1]) if last.op_type == "DequantizeLinear" else None
    )  # or found at run time
    unit = 0.0 if scale is None else float(np.max(scale))
    return max(2.001 * unit, _SHARE * distance(right, real), *(distance(right, y) for y in noisy))


def _constants(proto: ModelProto) -> dict[str, Array]:
    return {t.name: onnx.numpy_helper.to_array(t) for t in proto.graph.initializer}


def _with_noise(proto: ModelProto, inputs: dict[str, Array], seed: int) -> list[Array]:
    """The results where each integer layer, and what is quantized at run time or dequantized, is up to a unit
    off."""
    rng = np.random.default_rng(seed)
    spots = {node.output[0]: _unit(proto, node) for node in proto.graph.node}
    spots = {name: unit for name, unit in spots.items() if unit is not None}
    seen = ModelProto.FromString(proto.SerializeToString())
    del seen.graph.output[:]
    seen.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in spots)
    values = dict(zip(spots, run(seen, [inputs])[0], strict=True)) if spots else {}
    noisy = ModelProto.FromString(proto.SerializeToString())
    del noisy.graph.node[:]
    for node in proto.graph.node:
        noisy.graph.node.append(node)
        if (name := node.output[0]) in spots:
            x = values[name]
            off = (spots[name] * rng.integers(-1, 2, x.shape)).astype(np.float32)
            if x.dtype.kind in "iu":
                least, most = np.iinfo(x.dtype).min, np.iinfo(x.dtype).max
                off = np.clip(x + off, least, most) - x
            noisy.graph.initializer.append(onnx.numpy_helper.from_array(off, f"{name}#off"))
            noisy.graph.node[-1].output[0] = f"{name}#exact"
            to = onnx.helper.np_dtype_to_tensor_dtype(x.dtype)
            noisy.graph.node.extend(
                [
                    onnx.helper.make_node(
                        "Cast", [f"{name}#exact"], [f"{name}#real"], to=onnx.TensorProto.FLOAT
                    ),
                    onnx.helper.make_node("Add", [f"{name}#real", f"{name}#off"], [f"{name}#sum"]),
                    onnx.helper.make_node("Cast", [f"{name}#sum"], [name], to=to),
                ]
            )
    return run(noisy, [inputs])[0]


def _unit(proto: ModelProto, node: NodeProto) -> Array | None:
    """By how much the result of a node may be off; none where nothing is rounded."""
    constants = _constants(proto)
    if node.op_type == "DynamicQuantizeLinear" or node.op_type.startswith("QLinear"):
        return np.ones((), np.float32)
    is_value = node.op_type == "DequantizeLinear" and node.input[0] not in constants
    return constants.get(node.input[1]) if is_value else None


def _quantized(proto: ModelProto, net: OnnxNet, scheme: Scheme | None) -> ModelProto:
    """Statically by a scheme, or dynamically: scales are found at run time then."""
    q: Any = require_module("onnxruntime.quantization")

    class Reader(q.CalibrationDataReader):  # type: ignore[misc]  # no stubs
        def __init__(self) -> None:
            rng = np.random.default_rng(1)
            noise = [
                {name: rng.standard_normal(x.shape).astype(np.float32) for name, x in net.inputs.items()}
                for _ in range(_SAMPLES)
            ]
            self.rest: Iterator[dict[str, Array]] = iter([dict(net.inputs), *noise])

        def get_next(self) -> dict[str, Array] | None:
            return next(self.rest, None)

    logging.getLogger().setLevel(logging.ERROR)  # of advice, for each network
    with tempfile.TemporaryDirectory(prefix="edgekit-") as folder:
        path = Path(folder, "net.onnx")
        try:
            if scheme is None:
                onnx.save(proto, Path(folder, "plain.onnx"))
                # Weights of 7 bits: without VNNI, onnxruntime saturates sums of pairs of larger ones.
                q.quantize_dynamic(
                    Path(folder, "plain.onnx"), path, weight_type=q.QuantType.QInt8, reduce_range=True
                )
            else:
                q.quantize_static(
                    proto,
                    path,
                    Reader(),
                    quant_format=q.QuantFormat.QOperator if scheme.operators else q.QuantFormat.QDQ,
                    per_channel=scheme.per_channel,
                    reduce_range=scheme.operators,
                    activation_type=q.QuantType.QUInt8 if scheme.unsigned else q.QuantType.QInt8,
                    weight_type=q.QuantType.QInt8,
                    extra_options={"ActivationSymmetric": scheme.symmetric},
                )
        except Exception as fault:  # it fails in many ways, which are not ours
            raise RuntimeRefusalError(str(fault)) from None
        return onnx.load(path)
