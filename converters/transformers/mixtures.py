"""Mixtures of experts by config.json: how many there are, and how many a token runs through."""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.transformers.families import Family
from edgekit.converters.transformers.settings import check_size, flag_of, positive
from edgekit.core.errors import EdgeKitError

MAX_EXPERTS = 1 << 10


@dataclass(frozen=True)
class Mixture:
    """Of one layer. Shares that do not add up to 1 are those of a softmax over all experts."""

    experts: int
    chosen: int  # by each token
    hidden: int  # width of an expert
    normalizes: bool
    shared: int  # width of a network that all tokens run through as well, or 0
    router: str  # how shares follow from scores
    scale: float  # of all shares
    margin: float  # relative to the largest score, of those that count


def mixtures(config: Record, family: Family, layers: int) -> list[Mixture | None]:
    """Of each layer, None where it has one MLP."""
    if "router" not in family.names:
        return [None] * layers
    experts, chosen = (positive(config, key) for key in ("num_experts", "num_experts_per_tok"))
    check_size(config, experts, MAX_EXPERTS, "experts")
    if chosen > experts:
        raise EdgeKitError("E0401", f"a token cannot choose {chosen} of {experts} experts", config.where)
    mixture = Mixture(
        experts,
        chosen,
        positive(config, family.experts_hidden),
        flag_of(config, family.normalizes),
        _shared(config, family),
        family.router,
        _finite(config, "routed_scaling_factor", 1.0),
        2 * _finite(config, "router_jitter_noise", 0.0),
    )
    if "down" not in family.names:
        return [mixture] * layers
    every, dense = positive(config, "decoder_sparse_step", 1), config.integers("mlp_only_layers", [])
    first = config.integer("first_k_dense_replace", 0)
    return [
        mixture if i >= first and (i + 1) % every == 0 and i not in dense else None for i in range(layers)
    ]


def _shared(config: Record, family: Family) -> int:
    """The width of the shared network, alone or as that of so many experts."""
    if "shared_down" not in family.names:
        return 0
    if "n_shared_experts" in config:
        return config.integer("n_shared_experts") * positive(config, family.experts_hidden)
    return config.integer("shared_expert_intermediate_size")


def _finite(config: Record, key: str, default: float) -> float:
    found = config.number(key, default)
    if not 0 <= found < math.inf:
        raise EdgeKitError("E0401", f"{key} is {found:g}", config.where)
    return found
