"""Libraries of decoders for OpenCL: a prompt by one entry, then token by token, on device and CPU."""

from pathlib import Path

import numpy as np
import pytest
from support.gpu_library import OK, GpuLibrary
from support.language_models import folder
from support.opencl import opencl
from support.small_decoders import decoder, quantized
from support.tools import require

import edgekit
from edgekit.core.simulate import Session
from edgekit.core.types import Array

PROMPT, TEXT, WORDS = 16, 64, 40
RECENT = 12  # words that are not said again


@pytest.fixture(autouse=True)
def has_tools() -> None:
    opencl()
    require("gcc")


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("llama", "int8 dynamic"),
        ("llama", "int4 dynamic"),
        ("llama", "int4 weights"),
        ("smollm3", "int8 dynamic"),
    ],
)
def test_texts_are_those_of_the_cpu(name: str, format: str, tmp_path: Path) -> None:
    """64 tokens, of which each is the most probable one that was not there for a while."""
    where = folder(name)(tmp_path)
    main, prefill = (quantized(decoder(where, n, PROMPT + TEXT), format) for n in (1, PROMPT))
    made = tmp_path / "out"
    report = edgekit.build(
        main, made, target="opencl", optimize="size", entries={"prefill": prefill}, verify=False
    )
    assert report.gpu is not None
    assert not report.gpu.segments
    assert report.gpu.weight_bytes < 0.6 * 4 * sum(data.size for _, data in main.constants())  # not widened
    prompt = np.random.default_rng(2).integers(0, WORDS, PROMPT).astype(np.int32)
    texts = {on_device: text_of(made, prompt, on_device=on_device) for on_device in (True, False)}
    assert texts[True] == texts[False] == simulated(Session(main), prompt)
    assert len(set(texts[True])) > RECENT


def text_of(made: Path, prompt: Array, *, on_device: bool) -> list[int]:
    library = GpuLibrary(made, "net", on_device=on_device)
    assert (library.status == OK) == on_device
    stream = library.stream()
    logits, text = library.run("prefill", [prompt, number(0)], "logits", stream), list[int]()
    for position in range(PROMPT, PROMPT + TEXT):
        text.append(following(logits, text))
        logits = library.run("", [number(text[-1]), number(position)], "logits", stream)
    library.end(stream)
    return text


def simulated(session: Session, prompt: Array) -> list[int]:
    """Token by token, the prompt as well."""
    text: list[int] = []
    for position in range(PROMPT + TEXT):
        token = int(prompt[position]) if position < PROMPT else text[-1]
        logits = session.run({"token": number(token), "position": number(position)})["logits"]
        if position >= PROMPT - 1:
            text.append(following(logits[0], text))
    return text[:TEXT]


def following(logits: Array, text: list[int]) -> int:
    """Random networks would write one word only."""
    return int(np.where(np.isin(np.arange(WORDS), text[-RECENT:]), -np.inf, logits).argmax())


def number(value: int) -> Array:
    return np.array([value], np.int32)
