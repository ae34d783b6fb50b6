"""Random quantized networks have the simulator's bits on every target, by one core and by two."""

from itertools import islice
from pathlib import Path

import pytest
from support import random_cases
from support.each_target import load
from support.random_networks.quantized_on_targets import NAMES, compared, samples
from support.tools import require_module

NETWORKS = 6
_SEEDS = 1000  # to draw from: some are refused, and in some a part stays floats


@pytest.mark.parametrize("first", random_cases.fresh(_SEEDS))
def test_integers_of_one_target(first: int, tmp_path: Path) -> None:
    """Another one for each commit, and all of them each night."""
    require_module("onnxruntime")
    target = load(NAMES[first // _SEEDS % len(NAMES)])
    some = list(islice(samples(range(first, first + _SEEDS)), NETWORKS))
    assert len(some) == NETWORKS
    found = compared(some, target, tmp_path)
    assert not found.different, "\n".join(found.different)
    assert found.equal == 2 * NETWORKS
