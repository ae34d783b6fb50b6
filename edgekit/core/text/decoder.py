"""The form of graphs that text can be run with: a token and its position in, logits out, caches as states."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.core.ir import Graph, State
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import DType


@dataclass(frozen=True)
class DecoderForm:
    """How many tokens a run takes, of how many of them, the last ones, it gives logits, how many words have
    one, and how many positions the caches hold: None where all are ring buffers, and a text has no end."""

    chunk: int
    rows: int
    words: int
    positions: int | None

    def reads_for(self, decoder: DecoderForm) -> bool:
        """May this entry of a library read the prompt of that one?"""
        return (self.words, self.positions) == (decoder.words, decoder.positions)

    @staticmethod
    def of(graph: Graph) -> DecoderForm | None:
        """None for other graphs, also where another entry writes what this one reads: it needs a source."""
        names = (*graph.inputs, *graph.outputs)
        if names != ("token", "position", "logits") or graph.type("logits").rank != 2:
            return None
        caches = [state for state in graph.states if state.initial.type.rank == 4]
        if not caches or any(graph.type(name).dtype is not DType.S32 for name in graph.inputs):
            return None
        if any(_stays(graph, state) for state in caches):
            return None
        positions = min(
            (s.initial.type.shape[2] for s in caches if s.output not in _rings(graph)), default=None
        )
        rows, words = graph.type("logits").shape
        return DecoderForm(graph.type("token").size, rows, words, positions)


def _stays(graph: Graph, state: State) -> bool:
    """Does a run leave the state as it is?"""
    node = graph.producer(state.output)
    return node is None or (isinstance(node.op, Reshape) and node.inputs == (state.input,))


def _rings(graph: Graph) -> set[str]:
    """Keys and values in ring buffers."""
    windows = (n for n in graph.nodes if isinstance(n.op, CachedAttention) and n.op.window)
    return {name for node in windows for name in node.inputs[1:3]}
