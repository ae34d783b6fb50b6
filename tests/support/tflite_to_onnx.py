"""Translate the float MLPerf Tiny networks from TFLite to ONNX, so that the ONNX path can be tried on them.

It knows the seven operators those files use and shares no code with EdgeKit's own TFLite converter.
Activations stay NHWC, and each spatial operator sits between two Transposes, as other translators leave it;
or all is NCHW without a Transpose, the form that suits other ONNX compilers best.
Needs ai-edge-litert, for its copy of the TFLite schema.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx
from ai_edge_litert import schema_py_generated as schema
from onnx import helper, numpy_helper

Array = npt.NDArray[Any]
Layout = Literal["NHWC", "NCHW"]

NHWC_TO_NCHW, NCHW_TO_NHWC = [0, 3, 1, 2], [0, 2, 3, 1]
OHWI_TO_OIHW, ONE_HWC_TO_C1HW = [0, 3, 1, 2], [3, 0, 1, 2]


def translate(path: Path, layout: Layout = "NHWC") -> onnx.ModelProto:
    """The ONNX model of a float TFLite file; its input and output keep their names."""
    model = _float_model(path)
    graph = model.subgraphs[0]
    net = _Net(model, graph, layout)
    for operator in graph.operators:
        name = _operator_name(model, operator)
        if name not in _EMIT:
            raise ValueError(f"{path.name}: this test tool does not know {name}")
        _EMIT[name](net, operator, operator.builtinOptions)
    onnx_graph = helper.make_graph(
        net.nodes, path.stem, net.values(graph.inputs), net.values(graph.outputs), net.initializers
    )
    result = helper.make_model(onnx_graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(result, full_check=True)
    return result


def float_tflite(path: Path) -> bytes:
    """The same TFLite file with all weights as floats, which is the network that `translate` means.

    The keyword-spotting file stores some weights as int8; the TFLite interpreter would then round the
    activations as well.
    """
    import flatbuffers

    builder = flatbuffers.Builder(0)
    builder.Finish(_float_model(path).Pack(builder), b"TFL3")
    return bytes(builder.Output())


@dataclass
class _Net:
    """The ONNX graph under construction."""

    model: Any
    graph: Any
    layout: Layout
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)

    def name(self, index: int) -> str:
        return str(self.graph.tensors[index].name.decode())

    def shape(self, index: int) -> list[int]:
        return [int(size) for size in self.graph.tensors[index].shape]

    def data(self, index: int) -> Array:
        return _data(self.model, self.graph.tensors[index])

    def values(self, indices: list[int]) -> list[onnx.ValueInfoProto]:
        infos = []
        for index in indices:
            shape = self.shape(index)
            if self.layout == "NCHW" and len(shape) == 4:
                shape = [shape[axis] for axis in NHWC_TO_NCHW]
            infos.append(helper.make_tensor_value_info(self.name(index), onnx.TensorProto.FLOAT, shape))
        return infos

    def constant(self, name: str, data: Array) -> str:
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(data), name))
        return name

    def add(self, op: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(
            helper.make_node(op, inputs, [output], name=f"{op}_{len(self.nodes)}", **attributes)
        )
        return output

    def activated(self, kind: int, output: str, emit: Callable[[str], str]) -> str:
        """Let `emit` write its result under `output`, with the fused activation behind it."""
        match kind:
            case schema.ActivationFunctionType.NONE:
                return emit(output)
            case schema.ActivationFunctionType.RELU:
                return self.add("Relu", [emit(f"{output}/linear")], output)
        raise ValueError(f"this test tool does not know fused activation {kind}")

    def spatial(self, op: str, operands: list[str], output: str, **attributes: Any) -> str:
        """An operator that ONNX defines for NCHW only."""
        if self.layout == "NCHW":
            return self.add(op, operands, output, **attributes)
        x = self.add("Transpose", operands[:1], f"{output}/nchw_in", perm=NHWC_TO_NCHW)
        y = self.add(op, [x, *operands[1:]], f"{output}/nchw_out", **attributes)
        return self.add("Transpose", [y], output, perm=NCHW_TO_NHWC)


def _conv(net: _Net, operator: Any, options: Any, perm: list[int], groups: int) -> None:
    x, w, b = (int(index) for index in operator.inputs)
    y = int(operator.outputs[0])
    weights = net.data(w).transpose(perm)
    strides = [options.strideH, options.strideW]
    dilations = [options.dilationHFactor, options.dilationWFactor]
    operands = [net.name(x), net.constant(net.name(w), weights), net.constant(net.name(b), net.data(b))]
    attributes = {
        "kernel_shape": list(weights.shape[2:]),
        "strides": strides,
        "dilations": dilations,
        "pads": _pads(options.padding, net.shape(x)[1:3], weights.shape[2:], strides, dilations),
        "group": groups,
    }
    net.activated(
        options.fusedActivationFunction,
        net.name(y),
        lambda output: net.spatial("Conv", operands, output, **attributes),
    )


def _conv_2d(net: _Net, operator: Any, options: Any) -> None:
    _conv(net, operator, options, OHWI_TO_OIHW, groups=1)


def _depthwise_conv_2d(net: _Net, operator: Any, options: Any) -> None:
    _conv(net, operator, options, ONE_HWC_TO_C1HW, groups=net.shape(operator.inputs[0])[3])


def _average_pool_2d(net: _Net, operator: Any, options: Any) -> None:
    x, y = operator.inputs[0], operator.outputs[0]
    kernel, strides = [options.filterHeight, options.filterWidth], [options.strideH, options.strideW]
    net.spatial(
        "AveragePool",
        [net.name(x)],
        net.name(y),
        kernel_shape=kernel,
        strides=strides,
        pads=_pads(options.padding, net.shape(x)[1:3], kernel, strides, [1, 1]),
    )


def _fully_connected(net: _Net, operator: Any, options: Any) -> None:
    x, w, b = (int(index) for index in operator.inputs)
    operands = [net.name(x), net.constant(net.name(w), net.data(w)), net.constant(net.name(b), net.data(b))]
    net.activated(
        options.fusedActivationFunction,
        net.name(operator.outputs[0]),
        lambda output: net.add("Gemm", operands, output, transB=1),
    )


def _add(net: _Net, operator: Any, options: Any) -> None:
    operands = [net.name(index) for index in operator.inputs]
    net.activated(
        options.fusedActivationFunction,
        net.name(operator.outputs[0]),
        lambda output: net.add("Add", operands, output),
    )


def _reshape(net: _Net, operator: Any, options: Any) -> None:
    x, shape = operator.inputs
    assert net.layout == "NHWC" or net.shape(x)[1:3] == [1, 1], "else the order of elements changes"
    new_shape = net.constant(net.name(shape), net.data(shape).astype(np.int64))
    net.add("Reshape", [net.name(x), new_shape], net.name(operator.outputs[0]))


def _softmax(net: _Net, operator: Any, options: Any) -> None:
    assert options.beta == 1
    net.add("Softmax", [net.name(operator.inputs[0])], net.name(operator.outputs[0]), axis=-1)


_EMIT: dict[str, Callable[[_Net, Any, Any], None]] = {
    "CONV_2D": _conv_2d,
    "DEPTHWISE_CONV_2D": _depthwise_conv_2d,
    "AVERAGE_POOL_2D": _average_pool_2d,
    "FULLY_CONNECTED": _fully_connected,
    "ADD": _add,
    "RESHAPE": _reshape,
    "SOFTMAX": _softmax,
}


def _pads(padding: int, size: Any, kernel: Any, strides: list[int], dilations: list[int]) -> list[int]:
    """ONNX pads [top, left, bottom, right]; TFLite's SAME puts the odd one behind."""
    if padding == schema.Padding.VALID:
        return [0, 0, 0, 0]
    before, after = [], []
    for n, k, stride, dilation in zip(size, kernel, strides, dilations, strict=True):
        total = max(0, (-(-n // stride) - 1) * stride + (k - 1) * dilation + 1 - n)
        before.append(total // 2)
        after.append(total - total // 2)
    return before + after


def _operator_name(model: Any, operator: Any) -> str:
    code = model.operatorCodes[operator.opcodeIndex]
    number = max(code.builtinCode, code.deprecatedBuiltinCode)  # files older than 2020 have only the latter
    names: dict[int, str] = {value: name for name, value in vars(schema.BuiltinOperator).items()}
    return names[number]


def _float_model(path: Path) -> Any:
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)
    (graph,) = model.subgraphs
    for tensor in graph.tensors:
        if tensor.type == schema.TensorType.INT8:
            scale = np.asarray(tensor.quantization.scale, dtype=np.float32)
            assert not np.any(tensor.quantization.zeroPoint), "weights are symmetric"
            along = [1] * len(tensor.shape)
            along[tensor.quantization.quantizedDimension] = -1
            values = _data(model, tensor).astype(np.float32) * scale.reshape(along)
            model.buffers[tensor.buffer].data = np.frombuffer(values.tobytes(), np.uint8)
            tensor.type, tensor.quantization = schema.TensorType.FLOAT32, None
    return model


def _data(model: Any, tensor: Any) -> Array:
    dtypes: dict[int, type[np.generic]] = {
        schema.TensorType.FLOAT32: np.float32,
        schema.TensorType.INT32: np.int32,
        schema.TensorType.INT8: np.int8,
    }
    raw = bytes(model.buffers[tensor.buffer].data)
    return np.frombuffer(raw, dtypes[tensor.type]).reshape(tensor.shape)
