"""Paths of Keras layers, from the names that TensorFlow gives operators, such as `model/block_1/conv/Conv2D`.

Converters join the names of operators that they fuse by semicolons, the last one first, and add those of
constants that equal another layer's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_WRAPPERS = re.compile(r"^((Stateful)?PartitionedCall(_\d+)?/)+")
_COUNTERS = re.compile(r"(__\d+)?(:\d+)?$")
# By which TensorFlow groups the operators of one layer: they are no layers themselves.
_GROUPS = {
    "batchnorm",
    "moments",
    "Tensordot",
    "einsum",
    "Gelu",
    "BiasAdd",
    "ReadVariableOp",
    "Reshape",
    "shape",
    "strided_slice",
    "clip_by_value",
}
# What multiplies, where TensorFlow has another word for it.
_WORDS = {"fullyconnected": "matmul", "gemm": "matmul", "transposeconv": "conv"}
_PREFIX = 3  # letters in common, as of conv2d and convolution


@dataclass(frozen=True)
class NamedOperator:
    """What a file says of an operator: its kind, its name (or those of its results), that of its weights."""

    kind: str
    names: Sequence[str]
    weights: str = ""


def layer_paths(operators: Sequence[NamedOperator]) -> list[str]:
    """The path of the layer of each operator, as the model's author knows it: without the name of the model,
    which all have in common. Empty where the names say nothing."""
    paths = [_layer(operator) for operator in operators]
    roots = {path.partition("/")[0] for path in paths if path}
    if len(roots) > 1 or not all("/" in path for path in paths if path):
        return paths
    return [path.partition("/")[2] for path in paths]


def _layer(operator: NamedOperator) -> str:
    """The layer whose operators are most among those of this name, if they are of this kind."""
    word = "".join(re.findall("[a-z0-9]+", operator.kind.lower()))
    word = _WORDS.get(word, word)
    found = [part for name in operator.names for part in _parts(name)]
    of_kind = [layer for layer, leaf in found if _is_of_kind(leaf, word)]
    counts = Counter(layer for layer, _ in found)
    if of_kind:
        return max(reversed(of_kind), key=counts.__getitem__)
    if found:
        return found[-1][0]
    of_weights = [layer for layer, leaf in _parts(operator.weights) if _is_of_kind(leaf, word)]
    return of_weights[-1] if of_weights else ""


def _parts(name: str) -> Iterator[tuple[str, str]]:
    """Of each operator of a name: its layer and what is left, such as `conv2d`."""
    for part in name.split(";"):
        *scopes, leaf = _COUNTERS.sub("", _WRAPPERS.sub("", part)).strip("/").split("/")
        while scopes and re.sub(r"_\d+$", "", scopes[-1]) in _GROUPS:
            scopes.pop()
        if scopes:
            yield "/".join(scopes), leaf.lower()


def _is_of_kind(leaf: str, kind: str) -> bool:
    return leaf[:_PREFIX] == kind[:_PREFIX]
