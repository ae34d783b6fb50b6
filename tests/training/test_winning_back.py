"""benchmarks/training.py in short: training wins back what rounding to 4 bits costs, to the bit in C."""

from dataclasses import replace
from typing import Any

import pytest
from support.tools import ROOT, require, require_module
from torch import nn

import edgekit.torch as ek
from edgekit import api


@pytest.fixture
def training(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark."""
    require_module("sklearn")
    monkeypatch.syspath_prepend(str(ROOT))
    from benchmarks import training

    return training


@pytest.mark.usefixtures("torch_settings")
@pytest.mark.parametrize(("name", "floats"), [("small digits", (6, 1e-2)), ("transformer", (4, 3e-3))])
def test_training_wins_back_what_four_bits_cost(training: Any, name: str, floats: tuple[int, float]) -> None:
    require("gcc")
    from examples import common

    common.seed_everything(1)
    (task,) = (replace(task, integers=(3, 3e-3)) for task in training.TASKS if task.name == name)
    every, (epochs, rate) = task.data(), floats
    centred = len(every.train) // 5
    known = replace(
        every,
        train=every.train[:centred],
        labels=every.labels[:centred],
        test=every.test[:450],
        wanted=every.wanted[:450],
    )
    model = task.network()
    common.fit(model, nn.CrossEntropyLoss(), known.train, known.labels, epochs=epochs, rate=rate)
    calibration = known.train[:16].numpy()
    start = ek.prepare_qat(model, known.train[:1], calibration, target="int4").convert()
    made = training.trained(model, start, known, calibration, "int4", task)
    assert training.accuracy(made, known) > training.accuracy(start, known) + 0.01
    assert api.verify(made, inputs=known.test[:20]).max_error == 0
