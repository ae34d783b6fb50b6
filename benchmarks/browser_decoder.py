"""A decoder and a sentence encoder with random weights, as engines in browsers read them.

The decoder is the Llama of 15 million parameters of benchmarks.llama_cpp with a byte-level BPE. The encoder
has the sizes of MiniLM-L6: six layers, 384 wide, 12 heads. For ONNX Runtime both are made of its own fused
operators (com.microsoft), the decoder with the inputs and outputs that transformers.js expects.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

from benchmarks.llama_cpp import Size
from edgekit.core.types import Array

PROMPT = " ".join(["abc", "def", "ghi", "jkl", "mno", "pqr", "stu", "vwx"] * 2) + "."  # 32 tokens
_EPSILON = 1e-5


def vocabulary(count: int) -> tuple[list[str], list[str]]:
    """Tokens and merges: bytes as GPT-2 writes them, then words of two letters and more."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    letters = {byte: chr(byte) for byte in shown} | {byte: chr(256 + i) for i, byte in enumerate(hidden)}
    tokens, merges = [letters[byte] for byte in range(256)], []
    longer = (word for length in (2, 3, 4) for word in product(ascii_lowercase, repeat=length))
    for word, _ in zip(longer, range(count - 256), strict=False):
        tokens.append("".join(word))
        merges.append(f"{''.join(word[:-1])} {word[-1]}")
    return tokens, merges


def write_tokenizer(count: int, folder: Path) -> None:
    """tokenizer.json: byte-level BPE as GPT-2 has it."""
    tokens, merges = vocabulary(count)
    bytes_: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True}
    model = {"type": "BPE", "vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges}
    text = {"added_tokens": [], "pre_tokenizer": bytes_, "decoder": bytes_, "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(text), encoding="utf-8")


class _Net:
    """An ONNX graph in the making, of which each node has one result that is used."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def __call__(self, op: str, *inputs: str, results: int = 1, domain: str = "", **attributes: Any) -> Any:
        names = [f"{op}_{len(self.nodes)}_{i}" for i in range(results)]
        node = helper.make_node(op, inputs, names, domain=domain, name=names[0], **attributes)
        self.nodes.append(node)
        return names[0] if results == 1 else names

    def fused(self, op: str, *inputs: str, results: int = 1, **attributes: Any) -> Any:
        return self(op, *inputs, results=results, domain="com.microsoft", **attributes)

    def weight(self, name: str, values: Array) -> str:
        self.weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def model(self, inputs: dict[str, tuple[int, Any]], outputs: dict[str, Any]) -> onnx.ModelProto:
        given = [helper.make_tensor_value_info(name, *what) for name, what in inputs.items()]
        made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, s) for name, s in outputs.items()]
        graph = helper.make_graph(self.nodes, "net", given, made, self.weights)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def decoder(size: Size, positions: int) -> onnx.ModelProto:
    """Logits of the last token, by GroupQueryAttention with past and present."""
    net, weights = _Net(), {name: values for name, _, values in size.weights()}
    heads, each = size.heads, size.width // size.heads

    def linear(x: str, name: str) -> str:
        product: str = net("MatMul", x, net.weight(name, weights[f"{name}.weight"].T))
        return product

    def norm(name: str) -> str:
        return net.weight(name, weights[f"{name}.weight"])

    angles = np.outer(np.arange(positions), 10000.0 ** (-np.arange(0, each, 2) / each))
    turned = [net.weight(f.__name__, f(angles).astype(np.float32)) for f in (np.cos, np.sin)]
    one, last = net.weight("one", np.array([1], np.int64)), net.weight("last", np.array([-1], np.int64))
    far = net.weight("far", np.array([2**31], np.int64))
    total = net("ReduceSum", "attention_mask", one, keepdims=0)
    rows = net("Cast", net("Sub", total, one), to=TensorProto.INT32)
    whole = net("Gather", net("Shape", "attention_mask"), net.weight("at", np.array(1, np.int64)), axis=0)
    counts = rows, net("Cast", whole, to=TensorProto.INT32)
    table = net.weight("embed", weights["model.embed_tokens.weight"])
    stream, first = net("Gather", table, "input_ids"), norm("model.layers.0.input_layernorm")
    x = net("SimplifiedLayerNormalization", stream, first, epsilon=_EPSILON)
    ports: dict[str, Any] = {}
    for i in range(size.layers):
        own = f"model.layers.{i}."
        q, k, v = (linear(x, f"{own}self_attn.{name}_proj") for name in "qkv")
        past = [f"past_key_values.{i}.{kind}" for kind in ("key", "value")]
        ports |= {name: (TensorProto.FLOAT, [1, heads, "past", each]) for name in past}
        attention = {"num_heads": heads, "kv_num_heads": heads, "do_rotary": 1}
        node = net.fused("GroupQueryAttention", q, k, v, *past, *counts, *turned, results=3, **attention)
        net.nodes[-1].output[1:] = [f"present.{i}.{kind}" for kind in ("key", "value")]
        mixed = linear(node[0], f"{own}self_attn.o_proj")
        x, stream = _skip(net, mixed, stream, norm(f"{own}post_attention_layernorm"))
        gate, up = (linear(x, f"{own}mlp.{name}_proj") for name in ("gate", "up"))
        gate = net("Mul", gate, net("Sigmoid", gate))
        down = linear(net("Mul", gate, up), f"{own}mlp.down_proj")
        following = f"model.layers.{i + 1}.input_layernorm" if i + 1 < size.layers else "model.norm"
        x, stream = _skip(net, down, stream, norm(following))
    x = net("Slice", x, last, far, one)
    net("MatMul", x, net.weight("lm_head", weights["model.embed_tokens.weight"].T))
    net.nodes[-1].output[0] = "logits"
    tokens = {"input_ids": (TensorProto.INT64, [1, "new"]), "attention_mask": (TensorProto.INT64, [1, "all"])}
    cache = {name.replace("past_key_values", "present"): [1, heads, "all", each] for name in ports}
    return net.model(tokens | ports, {"logits": [1, 1, size.words]} | cache)


def _skip(net: _Net, x: str, stream: str, weight: str) -> tuple[str, str]:
    """The norm of a sum, and the sum."""
    found = net.fused("SkipSimplifiedLayerNormalization", x, stream, weight, results=4, epsilon=_EPSILON)
    net.nodes[-1].output[1] = net.nodes[-1].output[2] = ""
    return found[0], found[3]


def encoder(tokens: int, *, fused: bool) -> onnx.ModelProto:
    """Vectors of words, by MultiHeadAttention and SkipLayerNormalization, or by operators of ONNX itself."""
    net, numbers, width, hidden, heads = _Net(), np.random.default_rng(1), 384, 1536, 12
    each = width // heads

    def random(name: str, *shape: int) -> str:
        values = numbers.standard_normal(shape, np.float32) / np.float32(math.sqrt(shape[-1]))
        return net.weight(name, values.T if len(shape) > 1 and not name.endswith("table") else values)

    def linear(x: str, name: str, outputs: int, inputs: int) -> str:
        product = net("MatMul", x, random(f"{name}.weight", outputs, inputs))
        found: str = net("Add", product, random(f"{name}.bias", outputs))
        return found

    def norm(x: str, name: str, skip: str = "") -> str:
        ends = net.weight(f"{name}.scale", np.ones(width, np.float32)), random(f"{name}.shift", width)
        if skip and fused:
            found: str = net.fused("SkipLayerNormalization", x, skip, *ends, epsilon=1e-12)
            return found
        plain: str = net("LayerNormalization", net("Add", x, skip) if skip else x, *ends, epsilon=1e-12)
        return plain

    def by_heads(x: str, order: tuple[int, ...] = (0, 2, 1, 3)) -> str:
        shape = net.weight(f"shape_{x}", np.array([1, tokens, heads, each], np.int64))
        found: str = net("Transpose", net("Reshape", x, shape), perm=order)
        return found

    def attention(q: str, k: str, v: str) -> str:
        if fused:
            found: str = net.fused("MultiHeadAttention", q, k, v, num_heads=heads)
            return found
        scale = net.weight(f"scale_{q}", np.array(1 / math.sqrt(each), np.float32))
        scores = net("Mul", net("MatMul", by_heads(q), by_heads(k, (0, 2, 3, 1))), scale)
        mixed = net("Transpose", net("MatMul", net("Softmax", scores), by_heads(v)), perm=(0, 2, 1, 3))
        flat: str = net("Reshape", mixed, net.weight(f"flat_{q}", np.array([1, tokens, width], np.int64)))
        return flat

    words = net("Gather", random("words.table", 30522, width), "input_ids")
    x = norm(net("Add", words, random("positions.table", tokens, width)), "embeddings")
    for i in range(6):
        q, k, v = (linear(x, f"layer.{i}.{name}", width, width) for name in ("query", "key", "value"))
        x = norm(linear(attention(q, k, v), f"layer.{i}.output", width, width), f"layer.{i}.norm", x)
        wide = net("Gelu", linear(x, f"layer.{i}.up", hidden, width))
        x = norm(linear(wide, f"layer.{i}.down", width, hidden), f"layer.{i}.last", x)
    net.nodes[-1].output[0] = "last_hidden_state"
    return net.model(
        {"input_ids": (TensorProto.INT64, [1, tokens])}, {"last_hidden_state": [1, tokens, width]}
    )


def write_onnx(model: onnx.ModelProto, format: str, path: Path) -> None:
    """f32; q8: ONNX Runtime's dynamic quantization; q4: groups of 32 weights, inputs in 8 bits, and the table
    of embeddings in 8 bits."""
    whole = path.with_suffix(".whole.onnx")
    onnx.save(model, whole)
    # Types of results of com.microsoft are not inferred.
    settings: dict[str, Any] = {"weight_type": QuantType.QInt8}
    settings["extra_options"] = {"DefaultTensorType": TensorProto.FLOAT}
    match format:
        case "q4":
            maker = MatMulNBitsQuantizer(model, 4, block_size=32, is_symmetric=True, accuracy_level=4)
            maker.process()
            onnx.save(maker.model.model, whole)
            quantize_dynamic(whole, path, op_types_to_quantize=["Gather"], **settings)
            whole.unlink()
        case "q8":
            quantize_dynamic(whole, path, per_channel=True, **settings)
            whole.unlink()
        case _:
            whole.rename(path)


def token_ids() -> Iterator[int]:
    """Of the prompt: each word is a token of its own, as is the space before it."""
    tokens, _ = vocabulary(32_000)
    numbers = {token: i for i, token in enumerate(tokens)}
    for i, word in enumerate(PROMPT.removesuffix(".").split()):
        yield from ([numbers["Ġ"]] if i else []) + [numbers[word]]
    yield numbers["."]
