"""The tensors of a decoder's files as the parts that it is computed with, in any order that files have."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from edgekit.converters.semantics.movement import cast
from edgekit.converters.tensor import Tensor
from edgekit.converters.transformers.config import Config
from edgekit.converters.transformers.stored import Stored, each_expert
from edgekit.core.builder import Builder
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import GroupwiseWeights
from edgekit.core.passes.groupwise_weights import digest
from edgekit.core.types import Array, DType

_FLOATS = (DType.F32, DType.F16, DType.BF16)
_HEAD = "lm_head.weight"  # what newer files call it in every family
# Tables that older files store, too.
_COMPUTED = (
    ".rotary_emb.inv_freq",
    "attn.bias",
    "attn.masked_bias",
    "attention.bias",
    "attention.masked_bias",
)
_FUSED = {
    **dict.fromkeys("qkv", "qkv"),
    **{f"{kind}{part}": f"{kind}gate_up" for kind in ("", "expert_", "shared_") for part in ("gate", "up")},
}


class Weights:
    """The tensors of the files, in float32 where they come in fewer bits; each is to be used."""

    def __init__(self, stored: Mapping[str, Stored], config: Config, builder: Builder) -> None:
        self.config, self.builder = config, builder
        self.stored = dict(each_expert(_of_whole_models(stored, config), config.names))
        idle = config.family.left_over
        self.unused = dict.fromkeys(
            name for name in self.stored if not name.endswith(_COMPUTED) and not name.startswith(idle)
        )

    def name(self, part: str, layer: int | None = None) -> str:
        """What the files call a part; one of a fused matrix has its own name behind that of the matrix. Parts
        of experts have a number, as in expert_up.3."""
        names = self.config.names
        part, _, number = part.partition(".")
        own = names[part] if part in names else f"{names[_FUSED[part]]}.{part.split('_')[-1]}"
        own = own.format(number)
        return own if layer is None else f"{names['layers']}.{layer}.{own}"

    def __call__(self, part: str, *shape: int, layer: int | None = None, kind: str = "weight") -> Tensor:
        """A matrix [outputs, inputs], or a vector."""
        hint = f"{self.name(part, layer)}.{kind}"
        part, dot, number = part.partition(".")
        owner = part if part in self.config.names else _FUSED[part]
        outputs = _outputs(owner, self.config, shape[0]) if owner != part else shape[0]
        name = f"{self.name(f'{owner}{dot}{number}', layer)}.{kind}"
        turned = self.config.storage.transposed and layer is not None and len(shape) == 2
        whole = (outputs, *shape[1:])
        one = self._stored(name, whole[::-1] if turned else whole)
        numbers, groups = one.array(), one.groups()
        if turned:
            numbers, groups = np.ascontiguousarray(numbers.T), None
        if (rows := _rows(part, self.config, shape[0])) is not None:
            numbers = numbers[rows]
            groups = groups and GroupwiseWeights(
                groups.integers[rows], groups.scale[rows], None, groups.group
            )
        if groups:
            self.builder.groupwise[digest(numbers)] = groups
        return cast(Tensor(self.builder, self.builder.const(numbers, hint=hint)), DType.F32)

    def leave(self, part: str, layer: int) -> None:
        """To another graph of the same model."""
        for kind in ("weight", "bias"):
            self.unused.pop(f"{self.name(part, layer)}.{kind}", None)

    def named(self, name: str, *shape: int) -> Tensor:
        """A tensor that is no part of all models of a family."""
        numbers = self._stored(name, shape).array()
        return cast(Tensor(self.builder, self.builder.const(numbers, hint=name)), DType.F32)

    def has(self, name: str, kind: str = "weight") -> bool:
        return f"{name}.{kind}" in self.stored

    def rows(self, name: str) -> int:
        """Of a matrix whose size no setting says."""
        return self.stored[name].shape[0] if name in self.stored and self.stored[name].shape else 0

    def _stored(self, name: str, shape: tuple[int, ...]) -> Stored:
        if name not in self.stored:
            raise EdgeKitError("E0401", f"the files have no tensor {name}", hint="is the download complete?")
        one = self.stored[name]
        if one.shape != shape:
            message = f"{name} is of shape {list(one.shape)}, the configuration says {list(shape)}"
            raise EdgeKitError("E0401", message)
        if one.dtype not in _FLOATS:
            raise EdgeKitError("E0204", f"{name} is of type {one.dtype.value}; floats are read")
        self.unused.pop(name, None)
        return one

    def are_tied(self) -> bool:
        """Does the last layer share the weights of the first? By default, if it has none of its own."""
        head, embedding = (f"{self.config.names[part]}.weight" for part in ("head", "embedding"))
        if head not in self.stored:
            return self.config.tied is not False
        if not self.config.tied:
            return False
        own, shared = self.stored[head], self.stored.get(embedding)
        if not (shared and own.shape == shared.shape and np.array_equal(own.array(), shared.array())):
            message = f"{head} differs from {embedding}, and the configuration says that they are tied"
            raise EdgeKitError("E0401", message, hint="is tie_word_embeddings right?")
        self.unused.pop(head)
        return True

    def check_all_used(self) -> None:
        """A tensor without a place belongs to another model than the configuration says."""
        if self.unused:
            names = ", ".join(f"{name:.80}" for name in [*self.unused][:4])
            message = f"the files have {len(self.unused)} tensors that such a model has no place for: {names}"
            raise EdgeKitError("E0205", message, hint="is the configuration that of these weights?")


def _of_whole_models(stored: Mapping[str, Stored], config: Config) -> Mapping[str, Stored]:
    """By the names of whole models: files of one without the last layer leave the first word of names out."""
    stored = {_as_weight_or_bias(name): one for name, one in stored.items()}
    head = f"{config.names.get('head', '')}.weight"
    if "head" in config.names and head not in stored and _HEAD in stored:
        stored = {head if name == _HEAD else name: one for name, one in stored.items()}
    first = f"{config.names['embedding'].split('.')[0]}."
    if any(name.startswith(first) for name in stored):
        return stored
    return {name if name == head else f"{first}{name}": one for name, one in stored.items()}


def _as_weight_or_bias(name: str) -> str:
    """The first files of BERT call those of norms otherwise."""
    return re.sub("LayerNorm.gamma$", "LayerNorm.weight", re.sub("LayerNorm.beta$", "LayerNorm.bias", name))


def _outputs(fused: str, config: Config, outputs: int) -> int:
    """Rows of a fused matrix, of which a part has so many."""
    return (config.heads + 2 * config.shared) * config.size if fused == "qkv" else 2 * outputs


def _rows(part: str, config: Config, outputs: int) -> Array | None:
    """Which rows of the stored matrix a part is, where these are not all of them in order."""
    if part not in _FUSED:
        return None
    rows = None
    if (fused := _FUSED[part]) in config.names:
        rows = np.arange(_outputs(fused, config, outputs))
        if fused != "qkv":
            return np.split(rows, 2)[part.endswith("gate") == config.storage.gate_last]
        if config.storage.grouped:
            groups = rows.reshape(config.shared, -1, config.size)
            rows = {"q": groups[:, :-2], "k": groups[:, -2], "v": groups[:, -1]}[part].reshape(-1)
        else:
            ends = np.cumsum([config.heads * config.size, config.shared * config.size])
            rows = np.split(rows, ends)["qkv".index(part)]
    if not config.storage.pairs_adjacent or part not in ("q", "k"):
        return rows
    turning = 2 * max(rates.size for rates in config.rates.values())
    numbers = np.arange(config.size)
    order = np.concatenate([numbers[:turning:2], numbers[1:turning:2], numbers[turning:]])
    heads = config.heads if part == "q" else config.shared
    in_place = np.arange(heads * config.size) if rows is None else rows
    return in_place.reshape(heads, config.size)[:, order].reshape(-1)
