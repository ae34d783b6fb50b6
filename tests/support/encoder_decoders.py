"""T5 and BART with random weights as transformers exports them: an encoder and a decoder each."""

import tempfile
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import numpy as np
from support.entry_library import Library
from support.exports import SAMPLES
from support.small_decoders import quantized

import edgekit
from edgekit import Graph
from edgekit.core.simulate import Session
from edgekit.core.types import Array

RECORDED = SAMPLES.with_name("recorded") / "encoder_decoders.zip"
WORDS, WIDTH = 40, 16


class EncoderDecoder:
    """Both halves, and what torch computes: memory of a source, logits of a text behind it."""

    def __init__(self, name: str) -> None:
        with ZipFile(RECORDED) as archive, tempfile.TemporaryDirectory() as folder:
            archive.extractall(folder, [m for m in archive.namelist() if m.startswith(f"{name}/")])
            files = Path(folder, name)
            self.encoder, self.decoder = (
                edgekit.convert(files / f"{half}.pt2", name="net") for half in ("encode", "decode")
            )
            with np.load(files / "io.npz") as stored:
                self.source, self.memory, self.text, self.logits = (
                    stored[x] for x in ("x0", "y0", "x1", "y1")
                )

    def simulated(self, encoder: Graph, decoder: Graph) -> tuple[Array, Array]:
        (memory,) = edgekit.run(encoder, {"input_ids": self.source}).values()
        session, logits = Session(decoder), []
        for i, token in enumerate(self.text):
            step = {"decoder_input_ids": np.array([[token]]), "cache_position": np.array([i])}
            logits += session.run(step | {"encoder_hidden_states": memory}).values()
        return memory, np.concatenate(logits).reshape(-1, WORDS)

    def by_library(self, library: Library) -> tuple[Array, Array]:
        memory, logits = np.zeros_like(self.memory), np.zeros_like(self.logits)
        library.call("net_encode_run", self.source, memory, library.arena)
        library.call("net_reset", library.state)
        for i, token in enumerate(self.text):
            at = np.array([i])
            library.call("net_run", np.array([token]), memory, at, logits[i], library.state, library.arena)
        return memory, logits


@cache
def encoder_decoder(name: str) -> EncoderDecoder:
    """The network `t5` or `bart`."""
    return EncoderDecoder(name)


@cache
def halves(name: str, format: str) -> tuple[Graph, Graph]:
    """Its encoder and its decoder in a format of decoders."""
    network = encoder_decoder(name)
    return quantized(network.encoder, format), quantized(network.decoder, format)
