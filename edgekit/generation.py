"""Text of a language model: a step of the decoder for each token, and the next one drawn from its logits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

import numpy as np

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.simulate import Session
from edgekit.core.text.decoder import DecoderForm
from edgekit.core.text.sampler import Sampler
from edgekit.core.text.tokenizer import Tokenizer, TokenStream
from edgekit.core.types import Array

_FORM = "it takes graphs as `edgekit convert FOLDER` makes them: docs/language-models.md"


def pieces(
    graph: Graph, text: str, sampler: Sampler, most: int, prefill: Graph | None = None
) -> Iterator[str]:
    """What a model writes behind a text, piece by piece: `most` tokens, or to the end of the text, or until
    its cache is full. What cannot be run is refused before the first piece is asked for. `prefill` is another
    entry of the model, which reads more tokens in a run."""
    tokenizer = tokenizer_of(graph)
    ids = [*tokenizer.prefix, *tokenizer.encode(text, special=False)]
    stream = tokenizer.stream()
    for token in ids:
        stream.push(token)
    return _shown(tokenizer, stream, continued(graph, ids, sampler, most, prefill))


def _shown(tokenizer: Tokenizer, stream: TokenStream, tokens: Iterator[int]) -> Iterator[str]:
    for token in takewhile(lambda token: token not in tokenizer.stop, tokens):
        if piece := stream.push(token):
            yield piece
    if piece := stream.end():
        yield piece


def continued(
    graph: Graph, ids: Sequence[int], sampler: Sampler, most: int, prefill: Graph | None = None
) -> Iterator[int]:
    """The tokens that follow these, as long as the cache has room."""
    decoder = _Decoder(graph, prefill)
    decoder.check(ids)
    return _drawn(decoder, [*ids], sampler, most)


def _drawn(decoder: _Decoder, text: list[int], sampler: Sampler, most: int) -> Iterator[int]:
    for drawn in range(most):
        token = sampler.next(decoder.logits(text), text, drawn)
        yield token
        if len(text) == decoder.positions:
            return
        text.append(token)


def tokenizer_of(graph: Graph) -> Tokenizer:
    if graph.tokenizer is None:
        message = f"{graph.name} has no tokenizer"
        hint = "edgekit convert FOLDER keeps its tokenizer.json in the .ek file; --data takes token ids"
        raise EdgeKitError("E0101", message, hint=hint)
    return graph.tokenizer


class _Decoder:
    """A decoder in the simulator, and how many tokens it has read."""

    def __init__(self, graph: Graph, prefill: Graph | None = None) -> None:
        form = DecoderForm.of(graph)
        if form is None or form.rows != form.chunk:
            raise EdgeKitError("E0103", f"{graph.name} is no decoder that text can be run with", hint=_FORM)
        self.session = Session(graph)
        self.prefill = prefill and Session(prefill)
        self.front = _prefill_chunk(form, prefill) if prefill else 0
        self.chunk, self.words, self.positions = form.chunk, form.words, form.positions
        self.count = 0

    def check(self, ids: Sequence[int]) -> None:
        if not ids:
            raise EdgeKitError("E0101", "the text has no tokens", hint="give some text to begin with")
        if self.positions is not None and len(ids) > self.positions:
            message = f"the text is {len(ids)} tokens, the cache holds {self.positions}"
            raise EdgeKitError("E0102", message, hint=f"convert with --dim positions={2 * len(ids)}")
        if (largest := max(ids)) >= self.words:
            message = f"the tokenizer gives token {largest}, the model has {self.words} words"
            raise EdgeKitError("E0102", message, hint="is tokenizer.json that of this model?")

    def logits(self, text: Sequence[int]) -> Array:
        """The logits behind a text, of which the last call has read the front."""
        while self.prefill and self.count + self.front <= len(text):
            logits = self._prefilled(self.prefill, text[self.count :][: self.front])
            if self.count == len(text):
                return logits
        while True:
            # A padded run must not reach beyond the cache: near its end, some tokens are read again.
            begin = self.count
            if self.positions is not None:
                begin = max(0, min(begin, self.positions - self.chunk))
            part = text[begin : begin + self.chunk]
            token = np.array([*part, *[0] * (self.chunk - len(part))], np.int32)
            run = self.session.run({"token": token, "position": np.array([begin], np.int32)})
            self.count = begin + len(part)
            if self.count == len(text):
                last: Array = run["logits"][len(part) - 1]
                return last

    def _prefilled(self, prefill: Session, part: Sequence[int]) -> Array:
        """The logits behind as many tokens as the entry takes; the caches of the two are one."""
        position = np.array([self.count], np.int32)
        prefill.states = self.session.states
        run = prefill.run({"token": np.array(part, np.int32), "position": position})
        self.session.states = prefill.states
        self.count += len(part)
        logits: Array = run["logits"][-1]
        return logits


def _prefill_chunk(decoder: DecoderForm, prefill: Graph) -> int:
    """How many tokens the entry that reads a prompt takes in a run."""
    form = DecoderForm.of(prefill)
    if form is None or not form.reads_for(decoder):
        message = f"{prefill.name} is no prefill of this decoder"
        raise EdgeKitError("E0103", message, hint="--entry prefill:tokens=16 makes one of the same model")
    return form.chunk
