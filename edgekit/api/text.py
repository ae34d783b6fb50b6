"""The verb that writes text with a language model."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from edgekit import generation
from edgekit.api.models import Model, convert
from edgekit.converters.transformers import FORMAT
from edgekit.converters.transformers.tokenizer import FILE, read_tokenizer
from edgekit.core.arguments import checked
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.text.sampler import Sampler


@checked
def generate(
    model: Model,
    text: str,
    *,
    tokens: int = 128,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 1.0,
    seed: int = 0,
    repetition_penalty: float = 1.0,
    prefill: Model | None = None,
) -> Iterator[str]:
    """What a language model writes behind a text, in the simulator, piece by piece: `tokens` tokens at most.
    The model is a folder with a tokenizer.json, or an .ek file of one. `temperature` 0 takes the best token
    each time; above it, `seed` decides among them. `top_k` keeps so many of the best, `top_p` the fewest that
    have this share of the probability; `repetition_penalty` divides the logits of tokens in the text.
    `prefill` is the same model for more tokens in a run, which reads what fills its runs."""
    sampler = Sampler(temperature, top_k, top_p, seed, repetition_penalty)
    if tokens < 1:
        raise EdgeKitError("E0103", f"tokens is {tokens}", hint="it may be 1 or more")
    graph = convert(model)
    if left_out := None if isinstance(model, Graph) else left_out_tokenizer(model, graph):
        raise left_out
    generation.tokenizer_of(graph)
    front = None if prefill is None else convert(prefill)
    return generation.pieces(graph, text, sampler, tokens, front)


def left_out_tokenizer(model: str | PathLike[str], graph: Graph) -> EdgeKitError | None:
    """Why the graph of a folder has no tokenizer, although the folder has one."""
    path = Path(model)
    folder = path if path.is_dir() else path.parent
    if graph.tokenizer is None and graph.source.format == FORMAT and (folder / FILE).exists():
        try:
            read_tokenizer(folder)
        except EdgeKitError as error:
            return error
    return None
