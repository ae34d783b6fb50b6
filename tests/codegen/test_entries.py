"""Libraries of several entries share weights, states and arena, and each computes what its graph does."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.entry_library import Library
from support.language_models import folder as model_folder
from support.language_models import members
from support.small_decoders import FORMATS, decoder, quantized
from support.tools import require_module

import edgekit
from edgekit import EdgeKitError
from edgekit.codegen.entries import with_entries
from edgekit.codegen.entry_summaries import entry_summaries
from edgekit.codegen.program import Program, compile_graph
from edgekit.core import target as targets
from edgekit.core.text.sampler import Sampler
from edgekit.generation import continued

PROMPT = 10  # tokens, of which two full runs of prefill read eight


@pytest.mark.parametrize("family", ["llama", "qwen3", "mistral-windows", "qwen2-windows"])
def test_prompts_that_prefill_reads_have_the_logits_of_transformers(family: str, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    folder = model_folder(family)(tmp_path / "model")
    with np.load(io.BytesIO(members(family)["io.npz"])) as stored:
        tokens, expected = stored["x0"], stored["y0"]
    chunk = {"chunk": 4} if "windows" in family else {}
    main, prefill = (decoder(folder, tokens, **chunk) for tokens in (1, 4))
    edgekit.build(main, tmp_path / "out", entries={"prefill": prefill}, verify=False)
    library = Library(tmp_path / "out")
    for _ in range(2):  # a second text over the first one
        library.call("net_reset", library.state)
        for at in (0, 4):
            found = library.step("net_prefill_run", tokens[at : at + 4], at)
            np.testing.assert_allclose(found, expected[at + 3], rtol=1e-4, atol=1e-5)
        for at in range(8, tokens.size):
            found = library.step("net_run", tokens[at : at + 1], at)
            np.testing.assert_allclose(found, expected[at], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("format", FORMATS)
def test_entries_of_every_format_write_the_tokens_of_the_simulator(format: str, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    folder = model_folder()(tmp_path / "model")
    main, prefill = (quantized(decoder(folder, tokens), format) for tokens in (1, 4))
    report = edgekit.build(main, tmp_path / "out", entries={"prefill": prefill})
    (entry,) = report.entries
    assert entry.added_weights == 16  # the positions of four tokens
    assert entry.repeated_weights == {}
    assert report.verification is not None
    assert [output.name for output in report.verification.outputs] == ["logits", "prefill.logits"]
    library = Library(tmp_path / "out")
    library.call("net_reset", library.state)
    text = [int(token) for token in np.random.default_rng(0).integers(0, 40, PROMPT)]
    expected = [*continued(main, text, Sampler(), 12, prefill)]
    assert expected == [*continued(main, text, Sampler(), 12)]
    for at in (0, 4):
        library.step("net_prefill_run", np.array(text[at : at + 4]), at)
    for at in range(8, PROMPT + 11):
        logits = library.step("net_run", np.array(text[at : at + 1]), at)
        if at + 1 == len(text):
            text.append(int(logits.argmax()))
    assert text[PROMPT:] == expected


def programs(folder: Path, target: str, format: str = "f32", **more: Any) -> Program:
    main, prefill = (quantized(decoder(folder, tokens), format) for tokens in (1, 16))
    program = compile_graph(main, replace(targets.load(target), **more))
    return with_entries(program, {"prefill": prefill})


@pytest.mark.parametrize("format", ["f32", "int8 dynamic", "int4 dynamic"])
@pytest.mark.parametrize("target", ["cortex-m7", "aarch64-dotprod", "x86-64-avx2", "wasm32-simd"])
def test_matrices_lie_alike_for_one_token_and_for_sixteen(target: str, format: str, tmp_path: Path) -> None:
    program = programs(model_folder()(tmp_path), target, format)
    (entry,) = program.entries
    assert [c.name for c in entry.constants if c.type.rank > 1] == []
    assert entry.states == program.states
    assert program.arena_bytes == entry.arena.size > program.arena.size


def image_model(path: Path, channels: int = 3) -> Path:
    """A network for images of any size."""
    rng = np.random.default_rng(3)
    w = rng.normal(size=(8, channels, 3, 3)).astype(np.float32)
    d = rng.normal(size=(5, 8)).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv", pads=[1, 1, 1, 1], strides=[2, 2]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["g"]),
        helper.make_node("Flatten", ["g"], ["f"]),
        helper.make_node("Gemm", ["f", "d"], ["y"], name="classes", transB=1),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, channels, "height", "width"])
    made = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 5])
    weights = [onnx.numpy_helper.from_array(w, "w"), onnx.numpy_helper.from_array(d, "d")]
    graph = helper.make_graph(nodes, "net", [given], [made], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_two_sizes_of_images_share_all_weights(tmp_path: Path) -> None:
    runtime = require_module("onnxruntime")
    model = image_model(tmp_path / "net.onnx")
    small, large = (edgekit.convert(model, shapes={"x": (1, 3, n, n)}) for n in (12, 20))
    report = edgekit.build(small, tmp_path / "out", entries={"large": large})
    assert report.entries[0].added_weights == 0
    library = Library(tmp_path / "out")
    session = runtime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    for run, size in (("net_run", 12), ("net_large_run", 20)):
        x = np.random.default_rng(size).normal(size=(1, 3, size, size)).astype(np.float32)
        y = np.zeros(5, np.float32)
        library.call(run, x, y, library.arena)
        np.testing.assert_allclose(y, session.run(None, {"x": x})[0][0], rtol=1e-4, atol=1e-5)


def test_an_entry_without_states_may_be_beside_one_with_them(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    main = decoder(model_folder()(tmp_path / "model"))
    image = edgekit.convert(image_model(tmp_path / "image.onnx"), dims={"height": 8, "width": 8})
    report = edgekit.build(main, tmp_path / "out", entries={"encode": image})
    assert report.entries[0].added_weights > 0
    text = (tmp_path / "out" / "net_encode.h").read_text()
    assert "void net_encode_run(const float *x, float *y, void *arena);" in text


def test_tensors_that_entries_read_in_different_layouts_are_counted(tmp_path: Path) -> None:
    program = programs(model_folder()(tmp_path), "cortex-m7")
    other = "model.layers.1.mlp.gate_proj.weight"
    turned = [replace(c, data=c.data[::-1].copy()) if c.name == other else c for c in program.constants]
    (found,) = entry_summaries(replace(program, constants=tuple(turned)), "speed")
    (whole,) = entry_summaries(program, "speed")
    size = program.graph.type(other).bytes
    assert (found.repeated_weights, whole.repeated_weights) == ({other: size}, {})
    assert found.added_weights == whole.added_weights + size


@pytest.mark.parametrize(
    ("name", "words", "hint"),
    [
        ("pre-fill", "no name for an entry", "prefill:tokens=16"),
        ("2nd", "no name for an entry", "no digit first"),
        ("Prefill", "no name for an entry", "lower-case"),
        ("weights", "libraries have that name already", "weights_entry"),
        ("run", "libraries have that name already", "run_entry"),
    ],
)
def test_names_that_c_cannot_have_are_refused(name: str, words: str, hint: str, tmp_path: Path) -> None:
    main = decoder(model_folder()(tmp_path))
    with pytest.raises(EdgeKitError, match=words) as caught:
        edgekit.build(main, tmp_path / "out", entries={name: main})
    assert caught.value.code == "E0103"
    assert hint in caught.value.hint
    assert not (tmp_path / "out").exists()


def test_entries_with_other_states_are_refused(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    folder = model_folder()(tmp_path / "model")
    main, longer = decoder(folder), decoder(folder, 4, positions=16)
    image = edgekit.convert(image_model(tmp_path / "image.onnx"), dims={"height": 8, "width": 8})
    program = compile_graph(main, targets.load("host"))
    with pytest.raises(
        EdgeKitError, match=r"state keys_0 is f32\[1,2,32,4\] in net and f32\[1,2,16,4\]"
    ) as caught:
        with_entries(program, {"prefill": longer})
    assert "--dim positions=32" in caught.value.hint
    (tmp_path / "windows").mkdir()
    folder = model_folder("mistral-windows")(tmp_path / "windows")
    with pytest.raises(EdgeKitError, match=r"state keys_0 is f32\[1,2,66,4\]") as caught:
        with_entries(compile_graph(decoder(folder), targets.load("host")), {"prefill": decoder(folder, 128)})
    assert "--dim chunk=128" in caught.value.hint
    fewer = replace(longer, states=main.states[:2])
    with pytest.raises(EdgeKitError, match=r"state keys_1 is .* in net and missing in entry prefill"):
        with_entries(program, {"prefill": fewer})
    with pytest.raises(EdgeKitError, match="state keys_0 is missing in image and") as caught:
        with_entries(compile_graph(image, targets.load("host")), {"decode": main})
    assert "build the model with the states" in caught.value.hint
    other = replace(main.states[0], initial=replace(main.states[0].initial, data=main.states[0].start + 1))
    with pytest.raises(EdgeKitError, match="starts from other numbers"):
        with_entries(program, {"prefill": replace(main, states=(other, *main.states[1:]))})


def test_packages_of_one_entry_refuse_more(tmp_path: Path) -> None:
    main = decoder(model_folder()(tmp_path))
    with pytest.raises(EdgeKitError, match="a package python has one run function") as caught:
        edgekit.build(main, tmp_path / "out", entries={"prefill": main}, package=["python"])
    assert caught.value.code == "E0103"
