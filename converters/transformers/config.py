"""config.json of a language model: which decoder it describes, in numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.transformers.rope import rope_rates
from edgekit.core import suggest
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

_EXPORT = "torch.export reads what is not in this list: docs/states.md"
# What is made before weights are compared with the configuration: tables of angles, and layers.
_MAX_HEAD = 1 << 16  # numbers
_MAX_LAYERS = 1 << 12


@dataclass(frozen=True)
class Family:
    """How models of one `model_type` differ, and what holds where config.json is silent."""

    qkv_bias: bool = False  # always, whatever attention_bias says
    has_attention_bias: bool = True  # as a setting, which is for o_proj, too
    head_norms: bool = False
    positions: int = 2048
    rope_theta: float = 10000.0
    key_value_heads: int | None = None  # None: as many as there are heads
    head_dim: int | None = None  # None: width / heads
    window: int | None = None
    slides: bool = False  # all layers see a window
    unturned: int | None = None  # one layer in so many has no rotary embedding


FAMILIES: Mapping[str, Family] = {
    "llama": Family(),
    "mistral": Family(
        has_attention_bias=False, positions=131072, key_value_heads=8, window=4096, slides=True
    ),
    "qwen2": Family(qkv_bias=True, has_attention_bias=False, positions=32768, key_value_heads=32),
    "qwen3": Family(head_norms=True, positions=32768, key_value_heads=32, head_dim=128),
    "smollm3": Family(positions=32768, rope_theta=2e6, key_value_heads=4, unturned=4),
}


@dataclass(frozen=True)
class Layer:
    """What differs between the layers of one model."""

    rotates: bool
    window: int | None  # how many positions a token sees, None: all of them


@dataclass(frozen=True)
class Room:
    """How many rows a cache has, and how many of them a query sees: in a ring buffer, or 0 for all that are
    filled. While the tokens of a run are written, the first one of them still sees its whole window."""

    rows: int
    window: int


@dataclass(frozen=True)
class Config:
    """A decoder. `rates` are the angles by which a position turns pairs of a head."""

    words: int
    width: int
    hidden: int
    layers: tuple[Layer, ...]
    heads: int
    shared: int  # heads of keys and values
    size: int  # of a head
    positions: int  # that it was trained for
    epsilon: float
    rates: Array
    qkv_bias: bool
    output_bias: bool
    mlp_bias: bool
    head_norms: bool
    tied: bool | None  # None: config.json does not say

    def rooms(self, positions: int, chunk: int) -> list[Room]:
        """Of the caches of each layer, for texts of so many positions in runs of up to `chunk` tokens."""
        return [
            Room(positions, 0)
            if layer.window is None or layer.window >= positions
            else Room(layer.window + chunk - 1, layer.window)
            for layer in self.layers
        ]


def parse(config: Record) -> Config:
    kind = config.text("model_type")
    if kind not in FAMILIES:
        near = suggest.hint(kind, list(FAMILIES), "model types")
        hint = near or f"{', '.join(FAMILIES)} are read; {_EXPORT}"
        raise EdgeKitError("E0205", f"models of type {kind:.60} are not read", config.where, hint)
    family = FAMILIES[kind]
    _check(config)
    width, heads = (_count(config, key) for key in ("hidden_size", "num_attention_heads"))
    shared = _count(config, "num_key_value_heads", family.key_value_heads or heads)
    size = _count(config, "head_dim", family.head_dim or max(1, width // heads))
    if heads % shared:
        raise EdgeKitError("E0401", f"{heads} heads do not share {shared} of keys", config.where)
    _check_size(config, size, _MAX_HEAD, "numbers in a head")
    if size % 2:
        raise EdgeKitError("E0401", f"heads of {size} numbers have no pairs to turn", config.where)
    own_bias = family.has_attention_bias and config.flag("attention_bias", False)
    return Config(
        words=_count(config, "vocab_size"),
        width=width,
        hidden=_count(config, "intermediate_size"),
        layers=_layers(config, family),
        heads=heads,
        shared=shared,
        size=size,
        positions=_count(config, "max_position_embeddings", family.positions),
        epsilon=float(np.float32(config.number("rms_norm_eps", 1e-6))),
        rates=rope_rates(config, size, family.rope_theta),
        qkv_bias=family.qkv_bias or own_bias,
        output_bias=own_bias,
        mlp_bias=config.flag("mlp_bias", False),
        head_norms=family.head_norms,
        tied=config.flag("tie_word_embeddings") if "tie_word_embeddings" in config else None,
    )


def _check(config: Record) -> None:
    """Refuse what would change the numbers, and is not here."""
    architectures = config.items("architectures", [])
    if architectures and not str(architectures[0]).endswith("ForCausalLM"):
        message = f"{str(architectures[0])[:60]} gives no logits of words"
        raise EdgeKitError("E0205", message, config.where, f"models for causal language are read; {_EXPORT}")
    if "quantization_config" in config:
        message = "weights that transformers has quantized are not read"
        hint = "convert the model that it was made of; EdgeKit quantizes it itself"
        raise EdgeKitError("E0205", message, config.where, hint)
    act = config.text("hidden_act", "silu")
    if act not in ("silu", "swish"):
        raise EdgeKitError("E0203", f"hidden_act {act:.60} is not supported", config.where, _EXPORT)


def _layers(config: Record, family: Family) -> tuple[Layer, ...]:
    count = _count(config, "num_hidden_layers")
    _check_size(config, count, _MAX_LAYERS, "layers")
    rotates, slides = [True] * count, [False] * count
    if family.unturned is not None:
        every = _count(config, "no_rope_layer_interval", family.unturned)
        default = [int((i + 1) % every != 0) for i in range(count)]
        rotates = [flag != 0 for flag in config.integers("no_rope_layers", default)]
    if "layer_types" in config:
        slides = [name == "sliding_attention" for name in config.items("layer_types")]
        unknown = set(map(str, config.items("layer_types"))) - {"sliding_attention", "full_attention"}
        if unknown:
            message = f"layers of type {min(unknown):.60} are not supported"
            raise EdgeKitError("E0203", message, config.where, _EXPORT)
    elif family.slides:
        slides = [True] * count
    elif config.flag("use_sliding_window", False):
        first = config.integer("max_window_layers", 28)
        slides = [i >= first for i in range(count)]
    if len(rotates) != count or len(slides) != count:
        raise EdgeKitError("E0401", f"lists do not say of all {count} layers how they are", config.where)
    has_window = "sliding_window" in config or "sliding_window" not in config.fields
    window = _count(config, "sliding_window", family.window or 4096) if has_window else None
    return tuple(Layer(r, window if s else None) for r, s in zip(rotates, slides, strict=True))


def _check_size(config: Record, count: int, most: int, what: str) -> None:
    if count > most:
        message = f"{count} {what} are absurd: at most {most} are read"
        raise EdgeKitError("E0402", message, config.where)


def _count(config: Record, key: str, default: int | None = None) -> int:
    found = config.integer(key, default)
    if found < 1:
        raise EdgeKitError("E0401", f"{key} is {found}", config.where)
    return found
