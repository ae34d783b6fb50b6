"""ONNX models to damage, and seeded ways to damage them: in their structure, and in their bytes."""

from collections.abc import Callable, Mapping
from functools import cache
from random import Random
from typing import Any

import numpy as np
from onnx import AttributeProto, ModelProto, NodeProto, TensorProto, helper
from support.onnx_models import INT64, function, model, node, tensor
from support.tools import ROOT

# What breaks arithmetic and allocations.
NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    7,
    64,
    255,
    -128,
    1 << 15,
    1 << 20,
    1 << 31,
    -(1 << 31),
    (1 << 62),
    (1 << 63) - 1,
    -(1 << 63),
]
FLOATS = [0.0, -0.0, -1.0, 1e-45, 1e38, float("nan"), float("inf"), -float("inf")]
TYPES = [t for t in TensorProto.DataType.values() if t]


def weights(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def convolutions() -> ModelProto:
    """An image classifier."""
    return model(
        [
            node(
                "Conv",
                "x w b",
                "c",
                pads=[1, 1, 1, 1],
                strides=[1, 1],
                dilations=[1, 1],
                group=1,
                kernel_shape=[3, 3],
            ),
            node("BatchNormalization", "c scale bias mean var", "n", epsilon=1e-5),
            node("Relu", "n", "r"),
            node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]),
            node("Conv", "p d", "e", group=4),
            node("Clip", "e low high", "k"),
            node("GlobalAveragePool", "k", "g"),
            node("Flatten", "g", "f", axis=1),
            node("Gemm", "f m v", "h", transB=1, alpha=0.5),
            node("Softmax", "h", "y", axis=-1),
        ],
        {
            "w": weights(4, 3, 3, 3),
            "b": weights(4),
            "scale": weights(4),
            "bias": weights(4),
            "mean": weights(4),
            "var": abs(weights(4)),
            "d": weights(4, 1, 1, 1),
            "low": np.float32(0),
            "high": np.float32(6),
            "m": weights(5, 4),
            "v": weights(5),
        },
        inputs=[tensor("x", ["batch", 3, 8, 8])],
    )


def shapes() -> ModelProto:
    """Everything that exporters compute of shapes."""
    return model(
        [
            node("Shape", "x", "s"),
            node("Gather", "s zero", "n", axis=0),
            node("Unsqueeze", "n first", "u"),
            node("Concat", "u minus", "to", axis=0),
            node("Reshape", "x to", "r"),
            node("Slice", "r start end axes steps", "l"),
            node("Pad", "l pads value", "p", mode="constant"),
            node("Tile", "p times", "t"),
            node("ConstantOfShape", "s", "c", value=helper.make_tensor("", 1, [1], [2.0])),
            node("Range", "from until by", "i"),
            node("Cast", "i", "f", to=1),
            node("Expand", "one wide", "e"),
            node("Where", "cond f e", "h"),
            node("Transpose", "t", "q", perm=[1, 0]),
            node("ReduceMean", "c", "m", axes=[0, 1, 2], keepdims=0),
            node("Add", "h m", "z"),
            node("Split", "q parts", "y v", axis=0),
        ],
        {
            "zero": 0,
            "first": [0],
            "minus": [-1],
            "start": [0],
            "end": [1 << 62],
            "axes": [1],
            "steps": [2],
            "pads": [0, 1, 0, 1],
            "value": np.float32(1),
            "times": [2, 1],
            "from": 0,
            "until": 6,
            "by": 1,
            "one": np.ones(1, np.float32),
            "wide": [6],
            "cond": np.array([True, False] * 3),
            "parts": [2, 6],
        },
        inputs=[tensor("x", [2, 3, 4])],
        outputs=["y", "v", "z"],
    )


def attention() -> ModelProto:
    """Embedding, attention, normalization, a function and some indexing."""
    gelu = function("Half", [node("Erf", "a", "e"), node("Mul", "a e", "b")])
    return model(
        [
            node("Gather", "table i", "x", axis=0),
            node("LayerNormalization", "x scale bias", "n", axis=-1, epsilon=1e-5),
            node("MatMul", "n w", "q"),
            node("Transpose", "n", "k", perm=[0, 2, 1]),
            node("Einsum", "q k", "s", equation="bij,bjk->bik"),
            node("Softmax", "s", "a", axis=2),
            node("MatMul", "a n", "o"),
            node("Half", "o", "g", domain="local"),
            node("Add", "g x", "r"),
            node("ReduceSum", "r axes", "m", keepdims=1),
            node("TopK", "m two", "top which", axis=1),
            node("ArgMax", "r", "best", axis=-1, keepdims=0),
            node("OneHot", "best depth onoff", "hot", axis=-1),
            node("CumSum", "hot zero", "y", exclusive=0),
        ],
        {
            "table": weights(10, 4),
            "scale": weights(4),
            "bias": weights(4),
            "w": weights(4, 4),
            "axes": [2],
            "two": [2],
            "depth": 4,
            "onoff": np.array([0, 1], np.float32),
            "zero": 1,
        },
        inputs=[tensor("i", [1, 5], INT64)],
        outputs=["y", "top", "which"],
        functions=[gelu],
    )


def quantized() -> ModelProto:
    """Conversions around layers, and layers over integers, of ONNX and of onnxruntime."""
    net = model(
        [
            node("QuantizeLinear", "x s z", "q"),
            node("DequantizeLinear", "q s z", "xr"),
            node("DequantizeLinear", "w ws wz", "wr", axis=0),
            node("Conv", "xr wr", "c", pads=[1, 1, 1, 1]),
            node("Relu", "c", "r"),
            node("QuantizeLinear", "r s z", "k"),
            node("QLinearConv", "k s z w ws wz s z b", "l"),
            node("MaxPool", "l", "p", kernel_shape=[2, 2]),
            node("QLinearAdd", "p s z p s z s z", "a", domain="com.microsoft"),
            node("QLinearConcat", "s z a s z p s z", "j", axis=1, domain="com.microsoft"),
            node("Flatten", "j", "f"),
            node("QLinearMatMul", "f s z m s mz s z", "y"),
            node("DequantizeLinear", "y s z", "v"),
        ],
        {
            "s": np.float32(0.1),
            "z": np.uint8(120),
            "w": np.arange(-13, 14, dtype=np.int8).reshape(3, 1, 3, 3).repeat(3, 1),
            "ws": np.asarray([0.1, 0.2, 0.05], np.float32),
            "wz": np.zeros(3, np.int8),
            "b": np.asarray([5, -300, 70000], np.int32),
            "m": np.arange(-60, 60, 10, dtype=np.int8).reshape(6, 2),
            "mz": np.int8(0),
        },
        inputs=[tensor("x", [1, 3, 4, 4])],
        outputs=["v", "y"],
    )
    net.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return net


@cache
def models() -> Mapping[str, bytes]:
    """The models before they are damaged."""
    made = {
        make.__name__: make().SerializeToString() for make in (convolutions, shapes, attention, quantized)
    }
    return {**made, "digits": (ROOT / "examples/digits/digits.onnx").read_bytes()}


def mutant(seed: int) -> tuple[str, bytes]:
    """A damaged model, and how it came to be."""
    rng = Random(seed)
    name = rng.choice(sorted(models()))
    raw = models()[name]
    if seed % 3 == 0:
        how = rng.choice(BYTES)
        return f"{seed}: {name}, {how.__name__}", how(raw, rng)
    proto = ModelProto.FromString(raw)
    done = []
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        change = rng.choice(STRUCTURE)
        change(proto, rng)
        done.append(change.__name__)
    return f"{seed}: {name}, {', '.join(done)}", proto.SerializeToString()


# Bytes


def flip(raw: bytes, rng: Random) -> bytes:
    changed = bytearray(raw)
    for _ in range(rng.randint(1, 8)):
        changed[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def cut(raw: bytes, rng: Random) -> bytes:
    return raw[: rng.randrange(len(raw))]


def repeat(raw: bytes, rng: Random) -> bytes:
    start, end = sorted(rng.sample(range(len(raw)), 2))
    return raw[:end] + raw[start:end] + raw[end:]


def insert(raw: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(raw))
    return raw[:at] + rng.randbytes(rng.randint(1, 16)) + raw[at:]


BYTES: list[Callable[[bytes, Random], bytes]] = [flip, flip, cut, repeat, insert]

# Structure


def a_node(proto: ModelProto, rng: Random) -> NodeProto:
    nodes: list[NodeProto] = [*proto.graph.node, *(n for f in proto.functions for n in f.node)]
    return rng.choice(nodes or [NodeProto()])


def a_name(proto: ModelProto, rng: Random) -> str:
    names: list[str] = [name for n in proto.graph.node for name in (*n.input, *n.output)]
    return rng.choice(names or ["x"])


def drop_node(proto: ModelProto, rng: Random) -> None:
    if proto.graph.node:
        del proto.graph.node[rng.randrange(len(proto.graph.node))]


def duplicate_node(proto: ModelProto, rng: Random) -> None:
    proto.graph.node.insert(rng.randint(0, len(proto.graph.node)), a_node(proto, rng))


def move_node(proto: ModelProto, rng: Random) -> None:
    if proto.graph.node:
        moved = proto.graph.node.pop(rng.randrange(len(proto.graph.node)))
        proto.graph.node.insert(rng.randint(0, len(proto.graph.node)), moved)


def change_operator(proto: ModelProto, rng: Random) -> None:
    others = [n.op_type for n in proto.graph.node]
    a_node(proto, rng).op_type = rng.choice(
        [*others, "Identity", "Loop", "If", "LSTM", "Sub", "NoSuchOp", ""]
    )


def rewire(proto: ModelProto, rng: Random) -> None:
    chosen = a_node(proto, rng)
    side = rng.choice([chosen.input, chosen.output])
    if side:
        side[rng.randrange(len(side))] = rng.choice([a_name(proto, rng), "", "nowhere"])


def change_count(proto: ModelProto, rng: Random) -> None:
    chosen = a_node(proto, rng)
    side = rng.choice([chosen.input, chosen.output])
    if side and rng.random() < 0.5:
        del side[rng.randrange(len(side))]
    else:
        side.append(a_name(proto, rng))


def change_attribute(proto: ModelProto, rng: Random) -> None:
    attributes = [a for n in proto.graph.node for a in n.attribute]
    if not attributes:
        return
    chosen = rng.choice(attributes)
    if chosen.type == AttributeProto.INT:
        chosen.i = rng.choice(NUMBERS)
    elif chosen.type == AttributeProto.FLOAT:
        chosen.f = rng.choice(FLOATS)
    elif chosen.type == AttributeProto.STRING:
        chosen.s = rng.choice([b"", b"\xff", b"reflect", b"SAME_UPPER", b"ij,jk", b"..." * 99])
    elif chosen.type == AttributeProto.INTS and chosen.ints:
        chosen.ints[rng.randrange(len(chosen.ints))] = rng.choice(NUMBERS)
        if rng.random() < 0.3:
            chosen.ints.append(rng.choice(NUMBERS))
        elif rng.random() < 0.3:
            del chosen.ints[0]


def break_attribute(proto: ModelProto, rng: Random) -> None:
    chosen = a_node(proto, rng)
    kind = rng.randrange(3)
    if kind == 0 and chosen.attribute:
        del chosen.attribute[rng.randrange(len(chosen.attribute))]
    elif kind == 1 and chosen.attribute:
        rng.choice(chosen.attribute).type = rng.choice(AttributeProto.AttributeType.values())
    else:
        name = rng.choice(["axis", "axes", "kernel_shape", "to", "group", "unknown"])
        chosen.attribute.add().CopyFrom(
            helper.make_attribute(name, rng.choice([1, 1.5, "text", [1, 2], [0.5]]))
        )


def change_constant(proto: ModelProto, rng: Random) -> None:
    """Other values, often the ones that decide shapes."""
    constants = list(proto.graph.initializer)
    small = [t for t in constants if t.data_type == TensorProto.INT64]
    chosen = rng.choice((small if rng.random() < 0.7 else constants) or constants or [TensorProto()])
    if chosen.data_type == TensorProto.INT64:
        count = max(1, len(chosen.raw_data) // 8)
        chosen.raw_data = np.array([rng.choice(NUMBERS) for _ in range(count)], np.int64).tobytes()
    else:
        chosen.raw_data = np.array(
            rng.choices(FLOATS, k=max(1, len(chosen.raw_data) // 4)), np.float32
        ).tobytes()


def break_constant(proto: ModelProto, rng: Random) -> None:
    """Another shape, type or size."""
    if not proto.graph.initializer:
        return
    chosen = rng.choice(proto.graph.initializer)
    kind = rng.randrange(4)
    if kind == 0:
        chosen.dims.append(rng.choice(NUMBERS))
    elif kind == 1 and chosen.dims:
        chosen.dims[rng.randrange(len(chosen.dims))] = rng.choice(NUMBERS)
    elif kind == 2:
        chosen.data_type = rng.choice(TYPES)
    else:
        chosen.raw_data = chosen.raw_data[: rng.randint(0, len(chosen.raw_data))]


def drop_constant(proto: ModelProto, rng: Random) -> None:
    if proto.graph.initializer:
        del proto.graph.initializer[rng.randrange(len(proto.graph.initializer))]


def change_input(proto: ModelProto, rng: Random) -> None:
    if not proto.graph.input:
        return
    chosen = rng.choice(proto.graph.input).type.tensor_type
    kind = rng.randrange(4)
    if kind == 0:
        chosen.elem_type = rng.choice(TYPES)
    elif kind == 1:
        chosen.shape.dim.add().dim_value = rng.choice(NUMBERS)
    elif kind == 2 and chosen.shape.dim:
        del chosen.shape.dim[rng.randrange(len(chosen.shape.dim))]
    elif chosen.shape.dim:
        rng.choice(chosen.shape.dim).dim_value = rng.choice(NUMBERS)


def change_interface(proto: ModelProto, rng: Random) -> None:
    values = rng.choice([proto.graph.input, proto.graph.output])
    if values and rng.random() < 0.3:
        del values[rng.randrange(len(values))]
    elif values:
        rng.choice(values).name = a_name(proto, rng)


def change_version(proto: ModelProto, rng: Random) -> None:
    rng.choice(proto.opset_import).version = rng.choice([*range(6, 28), *NUMBERS])


STRUCTURE: list[Callable[[ModelProto, Random], None]] = [
    drop_node,
    duplicate_node,
    move_node,
    change_operator,
    rewire,
    rewire,
    change_count,
    change_attribute,
    change_attribute,
    change_attribute,
    break_attribute,
    change_constant,
    change_constant,
    change_constant,
    break_constant,
    drop_constant,
    change_input,
    change_input,
    change_interface,
    change_version,
]
