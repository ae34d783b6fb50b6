"""How fast a file of the zoo is: EdgeKit's code and the runtime of its format take turns in one process."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.x86 import compare, library
from benchmarks.zoo_peers import Peer, Sample
from edgekit.core.ir import Graph

_OURS = "EdgeKit"


def ratio(graph: Graph, peer: Peer, sample: Sample, target_name: str, rounds: int) -> float | None:
    """The peer's time in ours, both in turns, one thread each; None where its time says nothing."""
    with tempfile.TemporaryDirectory() as folder:
        other = peer.runner(sample)
        if other is None:
            return None
        _, ours, _ = library(graph, target_name, Path(folder), sample)
        runs = {_OURS: ours, peer.name: other}
        return compare(runs, rounds).ratio(peer.name, _OURS)
