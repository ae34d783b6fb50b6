"""An encoder is an entry beside its decoder: T5 and BART as transformers exports them, in one library."""

from pathlib import Path

import numpy as np
import pytest
from support.encoder_decoders import WIDTH, WORDS, encoder_decoder, halves
from support.entry_library import Library
from support.nets import kinds

import edgekit
from edgekit.codegen.entries import with_entries
from edgekit.codegen.entry_summaries import entry_summaries
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_a_text_has_the_logits_of_torch(name: str, tmp_path: Path) -> None:
    network = encoder_decoder(name)
    report = edgekit.build(
        network.decoder, tmp_path / "out", entries={"encode": network.encoder}, verify=False
    )
    assert [entry.name for entry in report.entries] == ["encode"]
    library = Library(tmp_path / "out")
    for memory, logits in (
        network.simulated(network.encoder, network.decoder),
        network.by_library(library),
        network.by_library(library),  # a second text
    ):
        np.testing.assert_allclose(memory, network.memory, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(logits, network.logits, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["t5", "bart"])
def test_integers_are_those_of_the_simulator(name: str, tmp_path: Path) -> None:
    network = encoder_decoder(name)
    encoder, decoder = halves(name, "int8 dynamic")
    edgekit.build(decoder, tmp_path / "out", entries={"encode": encoder}, verify=False)
    expected = network.simulated(encoder, decoder)
    for found, right, floats in zip(
        network.by_library(Library(tmp_path / "out")), expected, (network.memory, network.logits), strict=True
    ):
        np.testing.assert_allclose(found, right, rtol=1e-4, atol=1e-5)
        assert np.square(right - floats).mean() < np.square(floats).mean() / 1000  # 30 dB


@pytest.mark.parametrize("format", ["f32", "int8 dynamic"])
@pytest.mark.parametrize("target", ["host", "x86-64-avx2", "aarch64-dotprod", "cortex-m7", "cortex-m55"])
@pytest.mark.parametrize("name", ["t5", "bart"])
def test_the_table_of_both_is_stored_once(name: str, target: str, format: str) -> None:
    """BART multiplies by it, too, as the kernel of that product has it; T5 looks tokens up."""
    encoder, decoder = halves(name, format)
    program = with_entries(compile_graph(decoder, targets.load(target)), {"encode": encoder})
    (entry,) = program.entries
    assert all(c.type.shape != (WORDS, WIDTH) for c in entry.constants)
    assert any(c.type.shape == (WORDS, WIDTH) for c in entry.read_constants)
    (summary,) = entry_summaries(program, "speed")
    assert summary.repeated_weights == {}


def test_attention_of_bart_reads_the_rows_of_its_caches_that_are_filled() -> None:
    assert kinds(encoder_decoder("bart").decoder).count("CachedAttention") == 2
