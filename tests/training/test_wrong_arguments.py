"""Whatever is given to a function of edgekit.torch: it works, or an EdgeKitError refuses it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from support.wrong_calls import ARRAYS, X, faults_of, small, wrong_calls
from torch import nn

import edgekit.torch as ek

CALLS = 300
TENSORS = (
    *(torch.from_numpy(x) for x in ARRAYS if x.dtype.kind in "fi"),
    *(
        torch.zeros(2, 4).bfloat16(),
        torch.zeros(2, 4, dtype=torch.complex64),
        torch.zeros(2, 5),
        torch.zeros(()),
    ),
)
MODULES = (nn.Linear(5, 2), nn.Identity(), nn.GRU(4, 3), nn.Linear, nn.Sequential(nn.Linear(4, 2)).double())


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def public() -> list[Callable[..., Any]]:
    """Functions, classes that users make, and methods of objects that they get."""
    x = torch.from_numpy(X[:, 0])
    qat = ek.prepare_qat(small(), calibration=[x])
    best = ek.Best(small(), [x], lambda y: y.sum(dim=1))
    pruned = ek.prune(network(), x, [x], ratio=0.5)

    def forward(inputs: torch.Tensor) -> Any:
        return qat(inputs)

    made = {
        ek.Qat: [forward, qat.convert],
        ek.Best: [ek.Best, best.offer],
        ek.PrunedModule: [pruned.mask, pruned.shrink],
    }
    known = [getattr(ek, name) for name in ek.__all__]
    return [use for one in known for use in made.get(one, [one])]


def test_no_call_ends_with_anything_but_an_edgekit_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    x = torch.from_numpy(X[:, 0])
    known = {
        **dict.fromkeys(("example_inputs", "inputs", "student", "teacher"), x),
        **{name: [x] for name in ("calibration", "samples")},
        **dict.fromkeys(("start", "graph"), small()),
        "model": network(),
        "score": lambda y: y.sum(dim=1),
        "ratio": 0.5,
    }
    near = {"Tensor": TENSORS, "Module": MODULES, "Iterable": ([x, "y"], [None], TENSORS, "x.npy")}
    faults, refused = faults_of(wrong_calls(public(), known, CALLS, near))
    assert not faults, "\n".join(faults)
    assert refused > CALLS // 2
