"""Handlers with attributes drawn at random compute what torch or numpy computes.

What one reader says of an operator, others say in their words: a family has one reference for all of them.
"""

import zlib

import pytest
from frontends.random_attributes import movement, reductions, windows
from support.handler_cases import check
from support.random_attributes import Draw

from edgekit.converters.caffe import ops
from edgekit.converters.keras import function_ops
from edgekit.converters.keras import ops as keras_ops
from edgekit.converters.mindir import ops as mindir_ops
from edgekit.converters.mxnet import ops as mxnet_ops
from edgekit.converters.paddle import ops as paddle_ops
from edgekit.converters.torch_export import ops as torch_ops

PACKAGES = {
    "caffe": ops,
    "keras": function_ops,
    "keras_layers": keras_ops,
    "mindspore": mindir_ops,
    "mxnet": mxnet_ops,
    "paddle": paddle_ops,
    "torch": torch_ops,
}
FAMILIES = (*windows.FAMILIES, *movement.FAMILIES, *reductions.FAMILIES)
DRAWS = 8


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_attributes_mean_what_they_say(family: windows.Family) -> None:
    for seed in range(DRAWS):
        for reader, case in family(Draw(zlib.crc32(family.__name__.encode()), seed)):
            try:
                check(PACKAGES[reader], case)
            except Exception as error:
                error.add_note(f"{reader}: {case.kind} {case.settings}, seed {seed}")
                raise
