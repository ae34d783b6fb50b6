"""Operators of the domain ai.onnx.ml that tensors can express."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from edgekit.converters.onnx.ops.indexing import ArgMax, Gather
from edgekit.converters.semantics.compose import dense, reduce, softmax
from edgekit.converters.semantics.movement import cast, where
from edgekit.converters.semantics.onnx.activations import Sigmoid
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.activations import Exp
from edgekit.core.ops.arithmetic import Abs, Sqrt
from edgekit.core.ops.logic import Equal, IsNaN, Less
from edgekit.core.reasons import OperandError
from edgekit.core.types import Array, DType

DOMAIN = "ai.onnx.ml"


def ArrayFeatureExtractor(x: Tensor, index: Tensor) -> Tensor:
    count = index.type.size
    shape = (1, count) if x.rank == 1 else (*x.shape[:-1], count)
    return Gather(x, index.reshape(count), axis=-1).reshape(*shape)


def Binarizer(x: Tensor, *, threshold: float = 0.0) -> Tensor:
    return cast(x.like(threshold).apply(Less(), x), x.dtype)


def Imputer(
    x: Tensor,
    *,
    imputed_value_floats: Sequence[float] | None = None,
    imputed_value_int64s: Sequence[int] | None = None,
    replaced_value_float: float = 0.0,
    replaced_value_int64: int = 0,
) -> Tensor:
    """A value in the place of another one, which may be NaN: one for all features, or one for each."""
    is_float = x.dtype.is_float
    values = (imputed_value_floats if is_float else imputed_value_int64s) or [0]
    replaced = replaced_value_float if is_float else replaced_value_int64
    missing = x.apply(IsNaN()) if np.isnan(replaced) else x.apply(Equal(), replaced)
    return where(missing, _by_feature(x, "values", values), x)


def LinearClassifier(
    x: Tensor,
    *,
    coefficients: Sequence[float],
    intercepts: Sequence[float] = (),
    classlabels_ints: Sequence[int] = (),
    classlabels_strings: Sequence[str] = (),
    multi_class: int = 0,
    post_transform: str = "NONE",
) -> tuple[Tensor, Tensor]:
    """The class of the largest score, and all scores; text is the number of a class: text_labels.py."""
    labels = np.array(classlabels_ints or np.arange(len(classlabels_strings)), np.int64)
    classes = len(intercepts) or len(labels)
    if len(labels) != max(classes, 2):
        raise OperandError(f"{len(labels)} labels are not for {classes} rows of coefficients")
    scores = _linear(x, coefficients, intercepts, classes)
    if classes > 1:
        return _labelled(ArgMax(scores, axis=1, keepdims=0), labels), _post(scores, post_transform)
    is_second = cast(scores.like(0).apply(Less(), scores), DType.S32).reshape(scores.shape[0])
    if post_transform == "LOGISTIC":
        pair = [Sigmoid(-scores), Sigmoid(scores)]
    else:  # ONNX Runtime knows no softmax of one score
        scores = _post(scores, "PROBIT" if post_transform == "PROBIT" else "NONE")
        pair = [1 - scores, scores]
    return _labelled(is_second, labels), concat(pair, 1)


def LinearRegressor(
    x: Tensor,
    *,
    coefficients: Sequence[float],
    intercepts: Sequence[float] = (),
    targets: int = 1,
    post_transform: str = "NONE",
) -> Tensor:
    y = _linear(x, coefficients, intercepts, targets)
    return _post(y, post_transform) if targets > 1 or post_transform == "PROBIT" else y


def Normalizer(x: Tensor, *, norm: str = "MAX") -> Tensor:
    """Rows by their largest element, their sum of absolute values or their length; a row of zeros stays."""
    x = cast(x, DType.F32)
    if norm == "MAX":
        by = reduce(x, "max", [-1])
    elif norm == "L1":
        by = reduce(x.apply(Abs()), "sum", [-1])
    elif norm == "L2":
        by = reduce(x * x, "sum", [-1]).apply(Sqrt())
    else:
        raise EdgeKitError("E0203", f"Normalizer: norm {norm[:60]} is not supported")
    return x / where(by.apply(Equal(), 0), by.like(1), by)


def Scaler(
    x: Tensor, *, offset: Sequence[float] | None = None, scale: Sequence[float] | None = None
) -> Tensor:
    """(x - offset) * scale, each one number or as many as there are features."""
    x = cast(x, DType.F32)
    return (x - _by_feature(x, "offset", offset or [0])) * _by_feature(x, "scale", scale or [1])


def ZipMap(
    x: Tensor, *, classlabels_int64s: Sequence[int] = (), classlabels_strings: Sequence[str] = ()
) -> Tensor:
    """Probabilities by class: columns in the order of the classes, in the place of dictionaries."""
    labels = classlabels_int64s or classlabels_strings
    if labels and x.shape[-1:] != (len(labels),):
        raise OperandError(f"{len(labels)} classes are not for {x.type}")
    return x


def _linear(x: Tensor, weights: Sequence[float], biases: Sequence[float], rows: int) -> Tensor:
    """Rows of weights times those of x, which may be a single one."""
    x = cast(x if x.rank > 1 else x.reshape(1, x.type.size), DType.F32)
    if x.rank != 2 or rows < 1 or len(weights) != rows * x.shape[1]:
        raise OperandError(f"{len(weights)} coefficients, {rows} rows, are not for {x.type}")
    if len(biases) not in (0, rows):
        raise OperandError(f"{len(biases)} intercepts are not for {rows} rows of coefficients")
    w = x.new(np.array(weights, np.float32).reshape(rows, x.shape[1]), "w")
    return dense(x, w, x.new(np.array(biases, np.float32), "b") if len(biases) else None)


def _labelled(index: Tensor, labels: Array) -> Tensor:
    index = cast(index, DType.S64)
    return index if np.array_equal(labels, np.arange(len(labels))) else Gather(index.new(labels), index)


def _post(scores: Tensor, kind: str) -> Tensor:
    """What the scores of a row become. PROBIT needs the inverse of erf, which is no operator here."""
    match kind:
        case "NONE":
            return scores
        case "LOGISTIC":
            return Sigmoid(scores)
        case "SOFTMAX":
            return softmax(scores, -1)
        case "SOFTMAX_ZERO":  # 0 has no share
            counts = scores.like(1e-7).apply(Less(), scores.apply(Abs()))
            raised = cast(counts, DType.F32) * (scores - reduce(scores, "max", [-1])).apply(Exp())
            return raised / reduce(raised, "sum", [-1])
    raise EdgeKitError("E0203", f"post_transform {kind[:60]} is not supported")


def _by_feature(x: Tensor, name: str, numbers: Sequence[float]) -> Tensor:
    if len(numbers) > 1 and x.shape[-1:] != (len(numbers),):
        raise OperandError(f"{len(numbers)} numbers of {name} are not for {x.type}")
    return x.like(np.array(numbers))
