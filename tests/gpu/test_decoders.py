"""Decoders on GPUs write the tokens of the simulator: no layer is left to the CPU."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.encoder_decoders import encoder_decoder, halves
from support.gpu_calls import Device
from support.gpu_plans import run, stream
from support.language_models import folder
from support.opencl import opencl
from support.small_decoders import FORMATS, decoder, quantized
from support.webgpu import webgpu

from edgekit.codegen.gpu.plan import GpuPlan, plan
from edgekit.core.simulate import Session
from edgekit.core.types import Array

DEVICES: dict[str, Callable[[], Device]] = {"opencl": opencl, "wgsl": webgpu}
POSITIONS = 64
KERNELS = {"rotary", "swiglu_f32", "scatter_rows_s32"}
ATTENTION = {"cached_attention_fours_s32_1_x1", "cached_attention_s8_fours_s32_1"}


def steps_of(device: Device, planned: GpuPlan) -> Callable[[dict[str, Array]], Array]:
    """Logits of the next tokens of a text."""
    memory = stream(planned)
    return lambda step: run(device, planned, step, memory)["logits"]


def assert_near(found: Array, expected: Array) -> None:
    """Layers of floats add in another order than the simulator."""
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("format", FORMATS)
def test_tokens_of_a_text_are_those_of_the_simulator(format: str, tmp_path: Path) -> None:
    """Each one is the most probable behind the ones before."""
    graph = quantized(decoder(folder()(tmp_path), positions=POSITIONS), format)
    planned = plan(graph)
    assert not planned.segments
    kernels = {d.kernel.name for d in planned.dispatches}
    assert kernels >= KERNELS
    assert len(kernels & ATTENTION) == 1
    session, on_device, token = Session(graph), steps_of(opencl(), planned), 1
    check = np.testing.assert_array_equal if "dynamic" in format else assert_near
    for position in range(POSITIONS):
        step = {"token": np.array([token], np.int32), "position": np.array([position], np.int32)}
        expected, found = session.run(step)["logits"], on_device(step)
        check(found, expected)
        token = int(expected.argmax())
        assert int(found.argmax()) == token


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("format", ["int8 dynamic", "int4 dynamic"])
@pytest.mark.parametrize("name", ["llama", "qwen3", "smollm3"])
def test_several_tokens_a_run(name: str, format: str, device: str, tmp_path: Path) -> None:
    """As prefill reads a prompt."""
    graph = quantized(decoder(folder(name)(tmp_path), 5), format)
    planned = plan(graph)
    assert not planned.segments
    text = np.random.default_rng(5).integers(0, 40, (3, 5)).astype(np.int32)
    session, on_device = Session(graph), steps_of(DEVICES[device](), planned)
    for i, tokens in enumerate(text):
        step = {"token": tokens, "position": np.array([5 * i], np.int32)}
        expected, found = session.run(step)["logits"], on_device(step)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("tokens", [1, 4])
@pytest.mark.parametrize("name", ["mistral-windows", "qwen2-windows"])
def test_sliding_windows(name: str, tokens: int, device: str, tmp_path: Path) -> None:
    graph = decoder(folder(name)(tmp_path), tokens, chunk=4)
    planned = plan(graph)
    assert not planned.segments
    text = np.random.default_rng(5).integers(0, 40, (20 // tokens, tokens)).astype(np.int32)
    session, on_device = Session(graph), steps_of(DEVICES[device](), planned)
    for i, part in enumerate(text):
        step = {"token": part, "position": np.array([tokens * i], np.int32)}
        assert_near(on_device(step), session.run(step)["logits"])


@pytest.mark.parametrize("format", ["f32", "int8 dynamic", "int4 dynamic"])
@pytest.mark.parametrize("name", ["t5", "bart"])
def test_encoders_and_decoders(name: str, format: str) -> None:
    """As transformers exports them: positions are integers of 64 bits, and T5 computes with them."""
    network, both = encoder_decoder(name), halves(name, format)
    memory, logits = network.simulated(*both)
    encoding, decoding = map(plan, both)
    assert not encoding.segments + decoding.segments
    (found,) = run(opencl(), encoding, {"input_ids": network.source}).values()
    assert_near(found, memory)
    states = stream(decoding)
    for i, token in enumerate(network.text):
        step = {"decoder_input_ids": np.array([[token]]), "cache_position": np.array([i])}
        (found,) = run(opencl(), decoding, step | {"encoder_hidden_states": memory}, states).values()
        assert_near(found.reshape(-1), logits[i])
