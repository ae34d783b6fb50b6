"""Calibration samples as training loops have them: batches, tuples with labels, dicts, a DataLoader."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import edgekit.torch as ek
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.samples.batches import arrays_of

X = torch.randn(12, 5, generator=torch.Generator().manual_seed(0))
LABELS = torch.arange(12)
NAME = "input"  # of the network below


@cache
def network() -> Graph:
    return ek.convert(nn.Linear(5, 3), (X[:1],))


@pytest.mark.parametrize(
    "calibration",
    [
        X,
        X.numpy(),
        X.split(1),
        X.split(5),
        [(X[:7], LABELS[:7]), (X[7:], LABELS[7:])],
        [{NAME: X, "label": LABELS}],
        {NAME: X, "label": LABELS},
        [((X,), LABELS)],
        [({NAME: X}, LABELS)],
        X.numpy().astype(np.float64),
        DataLoader(TensorDataset(X, LABELS), batch_size=5),
        DataLoader(TensorDataset(X), batch_size=12),
    ],
    ids=[
        "tensor",
        "array",
        "samples",
        "batches",
        "labels",
        "dict",
        "no list",
        "tuple in front",
        "dict in front",
        "doubles",
        "loader",
        "one batch",
    ],
)
def test_samples_are_found_in_what_training_loops_have(calibration: Iterable[Any]) -> None:
    found = arrays_of(network(), calibration)
    assert {sample[NAME].shape for sample in found} == {(1, 5)}
    np.testing.assert_array_equal(np.concatenate([sample[NAME] for sample in found]), X.numpy())


def test_missing_inputs_are_named() -> None:
    with pytest.raises(EdgeKitError, match=f"lacks {NAME}"):
        arrays_of(network(), [{"picture": X}])
    with pytest.raises(EdgeKitError, match="has 0 of 1 inputs"):
        arrays_of(network(), [()])


def test_a_loader_with_labels_calibrates_quantization_aware_training() -> None:
    loader = DataLoader(TensorDataset(X, LABELS), batch_size=4)
    assert ek.prepare_qat(nn.Linear(5, 3), (X[:1],), loader)(X).shape == (12, 3)
