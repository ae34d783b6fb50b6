"""A recorded Llama as graphs for one token and for several, in each format that decoders have."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import edgekit
from edgekit import Graph

FORMATS: Mapping[str, dict[str, Any]] = {
    "f32": {},
    "bf16": {"dtype": "bf16"},
    "int8 dynamic": {"dtype": "int8", "activations": "dynamic"},
    "int8 dynamic, int8 caches": {"dtype": "int8", "activations": "dynamic", "kv_cache": "int8"},
    "int4 dynamic": {"dtype": "int4", "activations": "dynamic"},
    "int4 weights": {"dtype": "int4", "activations": "float32"},
}


def decoder(folder: Path, tokens: int = 1, positions: int = 32, **more: int) -> Graph:
    dims = {"positions": positions, "tokens": tokens, "logits": 1, **more}
    return edgekit.convert(folder, dims=dims, name="net")


def quantized(graph: Graph, format: str) -> Graph:
    return edgekit.quantize_model(graph, None, **FORMATS[format])[0] if FORMATS[format] else graph
