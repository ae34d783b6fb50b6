"""config.json of a language model: which decoder it describes, in numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.transformers.alibi import slopes
from edgekit.converters.transformers.encoder_families import ENCODERS, MODEL
from edgekit.converters.transformers.families import FAMILIES, Family, Storage
from edgekit.converters.transformers.mixture_families import MIXTURES
from edgekit.converters.transformers.mixtures import Mixture, mixtures
from edgekit.converters.transformers.rope import FULL, SLIDING, rope_rates
from edgekit.converters.transformers.seq2seq_families import SEQ2SEQ, Halves
from edgekit.converters.transformers.settings import check_size, flag_of, positive
from edgekit.core import suggest
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array, DType, Type

_EXPORT = "torch.export reads what is not in this list: docs/states.md"
# What is made before weights are compared with the configuration: tables of angles, and layers.
_MAX_HEAD = 1 << 16  # numbers
_MAX_LAYERS = 1 << 12
DECODERS: Mapping[str, Family] = {**FAMILIES, **MIXTURES}
ACTIVATIONS = ("silu", "swish", "gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "relu2")


@dataclass(frozen=True)
class Layer:
    """What differs between the layers of one model."""

    rope: str | None  # which rates its heads turn by
    window: int | None  # how many positions a token sees, None: all of them
    mixture: Mixture | None = None  # of experts, instead of one MLP


@dataclass(frozen=True)
class Room:
    """How many rows a cache has, and how many of them a query sees: in a ring buffer, or 0 for all that are
    filled. While the tokens of a run are written, the first one of them still sees its whole window."""

    rows: int
    window: int


@dataclass(frozen=True)
class Config:
    """A decoder. `rates` are the angles by which a position turns pairs of a head, for each type of layers,
    `slopes` what a score loses for each position between query and key, in each head (ALiBi), and `biases`
    the parts that have one. Numbers at the end scale what they are named after; no cap is 0."""

    family: Family
    names: Mapping[str, str]  # what files call the parts
    storage: Storage
    head: str  # of an encoder: what follows its layers
    words: int
    token_types: int
    width: int
    hidden: int
    layers: tuple[Layer, ...]
    heads: int
    shared: int  # heads of keys and values
    size: int  # of a head
    positions: int  # that it was trained for
    epsilon: float
    activation: str
    rates: Mapping[str, Array]
    slopes: Array | None
    buckets: int  # of distances that share a bias of scores
    farthest: int  # distance from which on all are in one of them
    biases: frozenset[str]
    parallel: bool
    tied: bool | None  # None: config.json does not say
    embedding_scale: float
    attention_scale: float
    scores_cap: float
    residual_scale: float
    logits_scale: float
    logits_cap: float

    def cache(self, rows: int) -> Type:
        """Of keys or values."""
        return Type(DType.F32, (1, self.shared, rows, self.size))

    def rooms(self, positions: int, chunk: int) -> list[Room]:
        """Of the caches of each layer, for texts of so many positions in runs of up to `chunk` tokens."""
        return [
            Room(positions, 0)
            if layer.window is None or layer.window >= positions
            else Room(layer.window + chunk - 1, layer.window)
            for layer in self.layers
        ]


def family_of(config: Record) -> Family | Halves:
    """The row of the table, or those of both halves."""
    kind = config.text("model_type")
    if kind in SEQ2SEQ:
        return SEQ2SEQ[kind](config)
    families = {**DECODERS, **ENCODERS}
    if kind not in families:
        known = [*families, *SEQ2SEQ]
        near = suggest.hint(kind, known, "model types")
        hint = near or f"{', '.join(known)} are read; {_EXPORT}"
        raise EdgeKitError("E0205", f"models of type {kind:.60} are not read", config.where, hint)
    return families[kind]


def parse(config: Record, family: Family) -> Config:
    """The numbers of config.json, as this row of the table reads them."""
    config = _in_words_of_llama(config, family)
    _check(config, family)
    width, heads = (positive(config, key) for key in ("hidden_size", "num_attention_heads"))
    shared = positive(config, "num_key_value_heads", heads)
    size = positive(config, "head_dim", max(1, width // heads))
    if heads % shared:
        raise EdgeKitError("E0401", f"{heads} heads do not share {shared} of keys", config.where)
    check_size(config, size, _MAX_HEAD, "numbers in a head")
    return Config(
        family=family,
        names=_names(config, family),
        storage=family.storage,
        head=_head(config, family),
        words=positive(config, "vocab_size"),
        token_types=positive(config, "type_vocab_size", 1) if "token_types" in family.names else 0,
        width=width,
        hidden=positive(config, "intermediate_size", _ratio(config, family) * width or None),
        layers=_layers(config, family),
        heads=heads,
        shared=shared,
        size=size,
        positions=positive(config, "max_position_embeddings")
        - (family.position_offset if family.heads else 0),
        epsilon=float(np.float32(config.number("rms_norm_eps"))),
        activation=config.text("hidden_act"),
        rates=rope_rates(config, size) if family.rotates != "none" else {},
        slopes=_slopes(config, family, heads),
        **_buckets(config, family),
        biases=_biases(config, family),
        parallel=flag_of(config, family.parallel),
        tied=config.flag("tie_word_embeddings") if "tie_word_embeddings" in config else None,
        **_scales(config, family, width, size),
    )


def _head(config: Record, family: Family) -> str:
    """What follows the layers: the end of the name of the architecture."""
    name = str((config.items("architectures", []) or [""])[0])
    if not family.heads:
        if name and not name.endswith(family.architectures):
            hint = f"those that end in {' or '.join(family.architectures)} are read; {_EXPORT}"
            raise EdgeKitError("E0205", f"{name:.60} gives no logits of words", config.where, hint)
        return ""
    found = next((head for head in family.heads if name.endswith(head)), "" if name else MODEL)
    if not found:
        hint = f"{', '.join(family.heads)} are read; {_EXPORT}"
        raise EdgeKitError("E0205", f"{name:.60} is not read", config.where, hint)
    return found


def _in_words_of_llama(config: Record, family: Family) -> Record:
    """The settings by the names that Llama has for them, and what holds where there are none."""
    nested = config.record(family.nested).fields if family.nested in config else {}
    given = {**nested, **config.fields}
    others = {key: value for key, value in given.items() if key not in family.keys}
    renamed = {name: given[key] for key, name in family.keys.items() if given.get(key) is not None}
    return Record({**family.silent, **others, **renamed}, config.where)


def _check(config: Record, family: Family) -> None:
    """Refuse what would change the numbers, and is not here."""
    if "quantization_config" in config:
        message = "weights that transformers has quantized are not read"
        hint = "convert the model that it was made of; EdgeKit quantizes it itself"
        raise EdgeKitError("E0205", message, config.where, hint)
    for key, needed in family.needs.items():
        if key in config and config.fields[key] != needed:
            message = f"{key} of {str(config.fields[key])[:40]} is not supported"
            raise EdgeKitError("E0203", message, config.where, _EXPORT)
    act = config.text("hidden_act")
    if act not in ACTIVATIONS:
        raise EdgeKitError("E0203", f"hidden_act {act:.60} is not supported", config.where, _EXPORT)


def _biases(config: Record, family: Family) -> frozenset[str]:
    return with_members(part for part, setting in family.biases.items() if flag_of(config, setting))


def _names(config: Record, family: Family) -> Mapping[str, str]:
    if flag_of(config, family.head_norms):
        return family.names
    return {part: name for part, name in family.names.items() if part not in ("q_norm", "k_norm")}


def with_members(parts: Iterable[str]) -> frozenset[str]:
    """These parts, and those that groups among them have."""
    found = frozenset(parts)
    groups = {"qkv": ("q", "k", "v"), "mlp": ("gate", "up", "down"), "gate_up": ("gate", "up")}
    return found.union(*(groups[part] for part in found & groups.keys()))


def _ratio(config: Record, family: Family) -> int:
    return config.integer("expansion_ratio", 4) if family.mlp_ratio else 0


def _slopes(config: Record, family: Family, heads: int) -> Array | None:
    if not family.alibi:
        return None
    check_size(config, heads, _MAX_HEAD, "heads")
    return slopes(heads, positive(config, "alibi_bias_max", 8))


def _buckets(config: Record, family: Family) -> Mapping[str, int]:
    keys = ("relative_attention_num_buckets", "relative_attention_max_distance")
    count, farthest = (positive(config, key) for key in keys) if "relative_bias" in family.names else (0, 0)
    check_size(config, max(count, farthest), _MAX_HEAD, "buckets of distances")
    if count and not 4 <= count < 2 * farthest:
        raise EdgeKitError("E0401", f"{count} buckets do not reach to {farthest}", config.where)
    return {"buckets": count, "farthest": farthest}


def _scales(config: Record, family: Family, width: int, size: int) -> Mapping[str, Any]:
    def own(key: str, neutral: float) -> float:
        found = config.number(key, neutral) if key in family.reads else neutral
        if not math.isfinite(found) or found < 0 or (found == 0 and neutral):
            raise EdgeKitError("E0401", f"{key} is {found:g}", config.where)
        return found

    return {
        "embedding_scale": math.sqrt(width) if family.scales_embedding else own("embedding_multiplier", 1),
        "attention_scale": own("attention_multiplier", own("query_pre_attn_scalar", size) ** -0.5),
        "scores_cap": own("attn_logit_softcapping", 0),
        "residual_scale": own("residual_multiplier", 1),
        "logits_scale": own("logit_scale", 1)
        / (math.sqrt(width) if family.scales_logits else own("logits_scaling", 1)),
        "logits_cap": own("final_logit_softcapping", 0),
    }


def _layers(config: Record, family: Family) -> tuple[Layer, ...]:
    count = positive(config, "num_hidden_layers")
    check_size(config, count, _MAX_LAYERS, "layers")
    slides = _sliding(config, family, count)
    rotates = _rotating(config, family, slides)
    if len(rotates) != count or len(slides) != count:
        raise EdgeKitError("E0401", f"lists do not say of all {count} layers how they are", config.where)
    window = positive(config, "sliding_window") if "sliding_window" in config and any(slides) else None
    return tuple(
        Layer((SLIDING if s else FULL) if r else None, window if s else None, mixture)
        for r, s, mixture in zip(rotates, slides, mixtures(config, family, count), strict=True)
    )


def _sliding(config: Record, family: Family, count: int) -> list[bool]:
    """Which layers have a window."""
    if "layer_types" in config:
        names = config.items("layer_types")
        unknown = set(map(str, names)) - {SLIDING, FULL}
        if unknown:
            message = f"layers of type {min(unknown):.60} are not supported"
            raise EdgeKitError("E0203", message, config.where, _EXPORT)
        return [name == SLIDING for name in names]
    if "sliding_window_pattern" in family.silent and "sliding_window" in config:
        every = positive(config, "sliding_window_pattern")
        return [(i + 1) % every != 0 for i in range(count)]
    if "global_attn_every_n_layers" in family.silent:
        every = positive(config, "global_attn_every_n_layers")
        return [i % every != 0 for i in range(count)]
    if not family.slides and config.flag("use_sliding_window", False):
        first = config.integer("max_window_layers", 28)
        return [i >= first for i in range(count)]
    return [family.slides] * count


def _rotating(config: Record, family: Family, slides: list[bool]) -> list[bool]:
    """Which layers have rotary embeddings."""
    if family.rotates == "sliding":
        return slides
    if family.rotates == "sliding, if any" and "sliding_window" in config:
        return slides
    if "no_rope_layer_interval" in family.silent:
        every = positive(config, "no_rope_layer_interval")
        default = [int((i + 1) % every != 0) for i in range(len(slides))]
        return [flag != 0 for flag in config.integers("no_rope_layers", default)]
    return [family.rotates != "none"] * len(slides)
