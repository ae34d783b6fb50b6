"""Random quantized networks of convolutions, pools and sums, whose layers can run as loops over rows."""

import numpy as np
from support.chains import Chain

from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Add
from edgekit.core.ops.conv2d import Conv2d

_SAME = (1, 1, 1, 1)


def random_row_network(seed: int) -> Graph:
    """Layers with all kinds of windows, between residual blocks; some results are outputs, too."""
    chain = Chain(seed, (1, int(np.random.default_rng(seed).integers(14, 40)), 9, 4))
    outputs = []
    for _ in range(chain.pick(3, 4, 5)):
        match chain.pick(0, 1, 2, 3, 4):
            case 0:
                chain.pooling()
            case 1 | 2:
                chain.convolution()
            case _:
                _residual(chain)
        if chain.image()[1] < 3 or chain.image()[3] > 64:
            chain.layer(Conv2d(), 8, 1, 1, chain.image()[3])
            break
        if chain.pick(0, 0, 0, 1):
            outputs.append(chain.last)
    _residual(chain)
    return chain.builder.graph(f"rows{seed}", ["x"], list(dict.fromkeys([*outputs, chain.last])))


def _residual(chain: Chain) -> None:
    """A 3x3 and a depthwise layer beside what they read, at times behind a layer of its own."""
    start, depth = chain.last, chain.image()[3]
    chain.layer(Conv2d(pads=_SAME), 8, 3, 3, depth)
    chain.layer(Conv2d(pads=_SAME, groups=8), 8, 3, 3, 1)
    if chain.pick(0, 1):
        chain.layer(Conv2d(), depth, 1, 1, 8)
        chain.add(Add(), start)
        return
    inner, chain.last = chain.last, start
    chain.layer(Conv2d(), 8, 1, 1, depth)
    chain.add(Add(), inner)
