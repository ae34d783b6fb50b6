"""The rates of rotary position embeddings (RoPE), plain or scaled for longer texts."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from edgekit.converters.file_formats.json_record import Record
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import Array

_KINDS = ("default", "linear", "llama3")
FULL, SLIDING = "full_attention", "sliding_attention"


def rope_rates(config: Record, size: int) -> Mapping[str, Array]:
    """Radians a position, of each pair of a head, for each type of layers. Older files have rope_theta and
    rope_scaling, newer ones rope_parameters with both, and Gemma 3 other rates where layers have a window."""
    rope = next((config.record(k) for k in ("rope_parameters", "rope_scaling") if k in config), None)
    theta = config.number("rope_theta")
    local = config.number("rope_local_base_freq", theta)
    plain = Record({}, config.where)
    if rope is not None and (FULL in rope or SLIDING in rope):
        full, sliding = (rope.record(kind) if kind in rope else plain for kind in (FULL, SLIDING))
    else:
        full = rope or plain
        sliding = plain if "rope_local_base_freq" in config else full
    share = config.number("partial_rotary_factor", 1.0)
    return {FULL: _scaled(full, size, share, theta), SLIDING: _scaled(sliding, size, share, local)}


def _scaled(rope: Record, size: int, share: float, theta: float) -> Array:
    kind = rope.text("rope_type", rope.text("type", "default"))
    if kind not in _KINDS:
        hint = f"{', '.join(_KINDS)} are read; torch.export writes the tables of others"
        raise EdgeKitError("E0203", f"rope_type {kind:.60} is not supported", rope.where, hint)
    share = rope.number("partial_rotary_factor", share)
    turning = int(size * share) if 0 < share <= 1 else 0
    if turning % 2 or not turning:
        message = f"heads of {size} numbers, of which {share:g} turn, have no pairs to turn"
        raise EdgeKitError("E0401", message, rope.where)
    rates = _rates(turning, rope.number("rope_theta", theta))
    if kind == "linear":
        return rates / np.float32(_positive(rope, "factor"))
    return _llama3(rates, rope) if kind == "llama3" else rates


def _rates(size: int, theta: float) -> Array:
    if not 0 < theta < math.inf:
        raise EdgeKitError("E0401", f"rope_theta is {theta:g}")
    return (1 / np.float32(theta) ** (np.arange(0, size, 2, dtype=np.float32) / size)).astype(np.float32)


def _llama3(rates: Array, rope: Record) -> Array:
    """Slow pairs, which do not turn once in the texts of training, are slowed down by a factor; fast ones
    stay, and those between are blended."""
    factor, low, high = (_positive(rope, key) for key in ("factor", "low_freq_factor", "high_freq_factor"))
    trained = _positive(rope, "original_max_position_embeddings")
    if low >= high:
        raise EdgeKitError("E0401", f"low_freq_factor {low:g} is not below {high:g}", rope.where)
    turns = trained * rates / (2 * math.pi)
    blend = np.clip((turns - low) / (high - low), 0, 1)
    return ((1 - blend) * rates / factor + blend * rates).astype(np.float32)


def _positive(rope: Record, key: str) -> float:
    found = rope.number(key)
    if not 0 < found < math.inf:
        raise EdgeKitError("E0401", f"{key} is {found:g}", rope.where)
    return found
