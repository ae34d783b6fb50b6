"""A window that is the whole image is read as one row; one that padding lets slide is not."""

import pytest
from support.nets import Net

from edgekit.codegen.lowering.lower import lower
from edgekit.core import target as targets
from edgekit.core.ops import Call
from edgekit.core.ops.pool2d import Pool2d

WHOLE, ONE_ROW = (4, 3), (1, 12)


@pytest.mark.parametrize("kind", ["mean", "max"])
@pytest.mark.parametrize(
    ("pads", "window"),
    [((0, 0, 0, 0), ONE_ROW), ((0, 0, 1, 0), WHOLE), ((0, 0, 0, 1), WHOLE), ((1, 0, 0, 0), WHOLE)],
)
def test_only_one_result_is_read_as_a_row(
    kind: str, pads: tuple[int, int, int, int], window: tuple[int, int]
) -> None:
    net = Net()
    y = net(Pool2d(kind, WHOLE, pads=pads), net.x(1, *WHOLE, 5))
    (layer,) = lower(net.done(y), targets.load("host"))
    (call,) = layer.steps
    assert isinstance(call, Call)
    assert (call.params["k_h"], call.params["k_w"]) == window
