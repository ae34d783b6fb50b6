"""benchmarks/training.py in short: training wins back what plain rounding to 4 bits costs."""

from dataclasses import replace

import pytest
import torch
from support.tools import ROOT, require_module
from torch import nn

import edgekit.torch as ek


@pytest.mark.usefixtures("torch_settings")
def test_training_wins_back_what_four_bits_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    require_module("sklearn")
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import training
    from examples import common

    common.seed_everything(1)
    every = training.data()
    known = replace(
        every,
        train=every.train[:1347],
        labels=every.labels[:1347],
        test=every.test[:450],
        wanted=every.wanted[:450],
    )
    model = training.separable()
    common.fit(model, nn.CrossEntropyLoss(), known.train, known.labels, epochs=6, rate=1e-2)
    calibration = known.train[:16]
    start = ek.prepare_qat(model, (known.train[:1],), torch.split(calibration, 1), target="int4").convert()
    made = training.trained(model, known, calibration.numpy(), "int4", 3)
    assert training.accuracy(made, known) > training.accuracy(start, known) + 0.01
