"""All passes, over and over until none of them finds anything to do."""

from __future__ import annotations

import numpy as np

from edgekit.core.ir import Graph
from edgekit.core.passes import Pass, drop_dead, settle
from edgekit.core.passes.affine import affine
from edgekit.core.passes.algebra import algebra
from edgekit.core.passes.attention import attention
from edgekit.core.passes.channels import dead_channels
from edgekit.core.passes.clamps import clamps
from edgekit.core.passes.common import common
from edgekit.core.passes.constants import constants
from edgekit.core.passes.embeddings import embeddings
from edgekit.core.passes.idioms import idioms
from edgekit.core.passes.integer_layers import integer_layers
from edgekit.core.passes.low_rank import low_rank
from edgekit.core.passes.reshapes import reshapes
from edgekit.core.passes.rows import rows
from edgekit.core.passes.slices import slices
from edgekit.core.passes.softmax_parts import softmax_parts
from edgekit.core.passes.split_layers import split_layers
from edgekit.core.passes.taps import taps
from edgekit.core.passes.transposes import transposes

PASSES: tuple[Pass, ...] = (
    drop_dead,
    constants,
    algebra,
    common,
    transposes,
    rows,
    reshapes,
    idioms,
    softmax_parts,
    attention,
    affine,
    low_rank,
    clamps,
    taps,
    embeddings,
    slices,
    split_layers,
    integer_layers,
    dead_channels,
)


def simplify(graph: Graph) -> Graph:
    """The same function with less work. Float results may differ in the last bits, others do not."""
    with np.errstate(all="ignore"):  # constants may overflow as they would on the device
        return settle(graph, *PASSES)
