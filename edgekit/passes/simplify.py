"""All passes, over and over until none of them finds anything to do."""

from __future__ import annotations

import numpy as np

from edgekit.ir import Graph
from edgekit.passes import Pass, drop_dead, settle
from edgekit.passes.affine import affine
from edgekit.passes.algebra import algebra
from edgekit.passes.channels import dead_channels
from edgekit.passes.clamps import clamps
from edgekit.passes.common import common
from edgekit.passes.constants import constants
from edgekit.passes.idioms import idioms
from edgekit.passes.integer_layers import integer_layers
from edgekit.passes.reshapes import reshapes
from edgekit.passes.rows import rows
from edgekit.passes.transposes import transposes

PASSES: tuple[Pass, ...] = (
    drop_dead,
    constants,
    algebra,
    common,
    transposes,
    rows,
    reshapes,
    idioms,
    affine,
    clamps,
    integer_layers,
    dead_channels,
)


def simplify(graph: Graph) -> Graph:
    """The same function with less work. Float results may differ in the last bits, others do not."""
    with np.errstate(all="ignore"):  # constants may overflow as they would on the device
        return settle(graph, *PASSES)
