"""Libraries of several entries on GPUs: weights and states are on the device once."""

from pathlib import Path

import numpy as np
import pytest
from support.gpu_library import GpuLibrary
from support.language_models import folder as model_folder
from support.opencl import opencl
from support.small_decoders import FORMATS, decoder, quantized
from support.streams import recurrent, with_segments, without_segments
from support.tools import require

from edgekit import EdgeKitError, api
from edgekit.codegen.entries import with_entries
from edgekit.codegen.gpu.plan import plan
from edgekit.codegen.gpu.selftest import port_checks
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import compile_graph
from edgekit.core import target
from edgekit.core.simulate import Session
from edgekit.core.text.sampler import Sampler
from edgekit.generation import continued

TOKENS, PROMPT = 12, 10  # that are written, and read before: two full runs of prefill


@pytest.fixture(autouse=True)
def has_tools() -> None:
    opencl()
    require("gcc")


def test_entries_share_weights_states_and_the_stream(tmp_path: Path) -> None:
    main, several = recurrent(), recurrent(frames=4)
    how = {"target": "opencl", "optimize": "size", "verify": True}
    report = api.build(main, tmp_path, entries={"frames": several}, **how)
    assert report.verification is not None
    assert [output.name for output in report.verification.outputs] == ["y", "frames.y"]
    assert report.gpu is not None
    assert report.gpu.weight_bytes == len(plan(main).weights)
    x = np.random.default_rng(0).normal(size=(9, 5)).astype(np.float32)
    for on_device in (True, False):
        library = GpuLibrary(tmp_path, "recurrent", on_device=on_device)
        assert (library.status == 0) == on_device
        streams = [library.stream() for _ in range(2)]
        for shift, stream in enumerate(streams):  # the second one begins with another frame
            library.reset(stream)
            frames = np.roll(x, -shift, axis=0)
            found = library.run("frames", [frames[:4]], "y", stream)
            session = Session(main)
            right = [session.run({"x": frame[None]})["y"] for frame in frames]
            np.testing.assert_allclose(found, right[3][0], atol=1e-5)
            for i in range(4, 9):
                found = library.run("", [frames[i]], "y", stream)
                np.testing.assert_allclose(found, right[i][0], atol=1e-5)
        library.end(*streams)


@pytest.mark.parametrize("format", FORMATS)
def test_decoders_write_the_tokens_of_the_simulator(format: str, tmp_path: Path) -> None:
    """Two texts in turns, of which prefill reads the beginning."""
    (tmp_path / "model").mkdir()
    folder = model_folder()(tmp_path / "model")
    main, prefill = (quantized(decoder(folder, tokens), format) for tokens in (1, 4))
    how = {"target": "opencl", "optimize": "size", "verify": True}
    report = api.build(main, tmp_path / "out", entries={"prefill": prefill}, **how)
    assert report.gpu is not None
    assert report.gpu.segments == ()
    library = GpuLibrary(tmp_path / "out", "net")
    assert library.status == 0
    rng = np.random.default_rng(0)
    texts = [[int(token) for token in rng.integers(0, 40, PROMPT)] for _ in range(2)]
    expected = [[*continued(main, text, Sampler(), TOKENS, prefill)] for text in texts]
    streams = [library.stream() for _ in texts]

    def step(entry: str, k: int, at: int, count: int) -> int:
        inputs = [np.array(texts[k][at : at + count], np.int32), np.array([at], np.int32)]
        logits = library.run(entry, inputs, "logits", streams[k])
        return int(logits.argmax())

    for at in (0, 4):
        for k in range(2):
            step("prefill", k, at, 4)
    for at in range(8, PROMPT + TOKENS - 1):
        for k in range(2):
            token = step("", k, at, 1)
            if at + 1 == len(texts[k]):
                texts[k].append(token)
    assert [text[PROMPT:] for text in texts] == expected
    library.end(*streams)


@pytest.mark.parametrize("format", [name for name in FORMATS if "int" in name])
def test_integers_are_integers_on_the_device(format: str, tmp_path: Path) -> None:
    """Tables and layers; norms stay floats."""
    graph = decoder(model_folder()(tmp_path))
    wide, narrow = (
        compile_graph(each, target.load("opencl")).gpu_plans[0].weights
        for each in (graph, quantized(graph, format))
    )
    assert len(narrow) < 0.4 * len(wide)


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "bf16"])
def test_the_cpu_has_the_code_of_targets_for_processors(format: str, tmp_path: Path) -> None:
    """With idioms as one call, and tables that are stored once."""
    graph = quantized(decoder(model_folder()(tmp_path)), format)
    pages, plain = (
        render(compile_graph(graph, target.load(name)), "speed") for name in ("webgpu", "wasm32-simd")
    )
    assert pages["net.c"].replace(b"webgpu", b"wasm32-simd") == plain["net.c"]
    assert pages["net_weights.c"].replace(b"webgpu", b"wasm32-simd") == plain["net_weights.c"]


@pytest.mark.parametrize(("format", "tolerance"), [("f32", "0.0001f"), ("int8 dynamic", "0.05f")])
def test_the_self_test_expects_integers_that_round_in_another_way(
    format: str, tolerance: str, tmp_path: Path
) -> None:
    """Where floats become integers in each run: a decoder would compute on the CPU by chance."""
    checks = port_checks(quantized(decoder(model_folder()(tmp_path)), format))
    assert checks["logits"].tolerance == tolerance


def test_states_stay_on_the_cpu_only_where_all_entries_have_them_there() -> None:
    """An entry that computes on the device what the other one computes on the CPU."""
    program = compile_graph(with_segments(), target.load("opencl"))
    alone, both = (with_entries(program, entries) for entries in ({}, {"same": with_segments()}))
    assert set(alone.gpu_plans[0].states) == {"later", "before", "sent"}
    assert [set(found.states) for found in both.gpu_plans] == [{"later", "before", "sent"}] * 2
    assert [part.name for part in both.segments] == ["segmented_cpu1", "segmented_same_cpu1"]
    other = with_entries(program, {"other": without_segments()})
    assert [set(found.states) for found in other.gpu_plans] == [{"own", "later", "before", "sent"}] * 2
    assert [found.segments != () for found in other.gpu_plans] == [True, False]


@pytest.mark.parametrize("name", ["cpu1", "gpu_weights", "prefill_gpu"])
def test_names_of_the_path_for_gpus_are_refused(name: str) -> None:
    main = recurrent()
    with pytest.raises(EdgeKitError, match="libraries have that name already") as caught:
        with_entries(compile_graph(main, target.load("opencl")), {name: main})
    assert f"{name}_entry" in caught.value.hint
    assert with_entries(compile_graph(main, target.load("host")), {name: main}).entries
