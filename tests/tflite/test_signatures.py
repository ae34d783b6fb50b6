"""TFLite files with several entries, and task bundles that hold several files."""

from __future__ import annotations

import shlex
import zipfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
import pytest
from support.command_line import CommandLine
from support.tflite_writer import Operator, Tensor, constant, model
from support.tools import require_module

from edgekit import convert
from edgekit.core import simulate
from edgekit.core.errors import EdgeKitError

X = np.array([[1, -2, 3]], np.float32)


def entry(kind: str, number: float) -> bytes:
    """A model of one operator and a constant."""
    operands = [Tensor((1, 3)), constant([number], "float32")]
    return model(Operator(kind, operands, [Tensor((1, 3))], f"{kind.title()}Options"))


def joined(entries: Mapping[str, bytes]) -> bytes:
    """One file whose signatures call their input `value` and their output after themselves."""
    s: Any = require_module("ai_edge_litert.schema_py_generated")
    parts = [s.ModelT.InitFromPackedBuf(content, 0) for content in entries.values()]
    whole = parts[0]
    whole.signatureDefs = []
    for number, (name, part) in enumerate(zip(entries, parts, strict=True)):
        (graph,) = part.subgraphs if number else whole.subgraphs[:1]
        if number:
            for tensor in graph.tensors:
                tensor.buffer += len(whole.buffers)
            for operator in graph.operators:
                operator.opcodeIndex += len(whole.operatorCodes)
            whole.buffers += part.buffers
            whole.operatorCodes += part.operatorCodes
            whole.subgraphs.append(graph)
        made = s.SignatureDefT()
        made.signatureKey, made.subgraphIndex = name.encode(), number
        made.inputs, made.outputs = [s.TensorMapT()], [s.TensorMapT()]
        made.inputs[0].name, made.inputs[0].tensorIndex = b"value", graph.inputs[0]
        made.outputs[0].name, made.outputs[0].tensorIndex = name.encode(), graph.outputs[0]
        whole.signatureDefs.append(made)
    builder = flatbuffers.Builder(1024)
    builder.Finish(whole.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def two_entries(folder: Path) -> Path:
    path = folder / "two.tflite"
    path.write_bytes(joined({"plus": entry("ADD", 2), "times": entry("MUL", 5)}))
    return path


def bundle(folder: Path) -> Path:
    path = folder / "hand.task"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("detector.tflite", entry("ADD", 2))
        archive.writestr("deep/landmarks", entry("MUL", 5))
        archive.writestr("labels.txt", "left\nright\n")
    return path


@pytest.mark.parametrize("name", ["plus", "times"])
def test_a_signature_is_what_litert_runs(tmp_path: Path, name: str) -> None:
    path = two_entries(tmp_path)
    interpreter = require_module("ai_edge_litert.interpreter").Interpreter(str(path))
    expected = interpreter.get_signature_runner(name)(value=X)
    found = simulate.run(convert(path, signature=name), {"value": X})
    assert found.keys() == expected.keys() == {name}
    np.testing.assert_array_equal(found[name], expected[name])


def test_several_signatures_are_listed(tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match="the file has 2 signatures: plus, times") as caught:
        convert(two_entries(tmp_path))
    assert caught.value.hint == "choose one: --signature plus or --signature times"
    with pytest.raises(EdgeKitError, match="E0103 --signature names minus") as caught:
        convert(two_entries(tmp_path), signature="minus")
    assert "plus" in caught.value.hint


def test_the_only_signature_needs_no_name(tmp_path: Path) -> None:
    path = tmp_path / "one.tflite"
    path.write_bytes(joined({"plus": entry("ADD", 2)}))
    (plain,) = simulate.run(convert(path), {"x0": X}).values()
    (named,) = simulate.run(convert(path, signature="plus"), {"value": X}).values()
    assert plain.tolist() == named.tolist() == [[3, 0, 5]]


def test_a_signature_of_a_subgraph_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    s: Any = require_module("ai_edge_litert.schema_py_generated")
    made = s.ModelT.InitFromPackedBuf(two_entries(tmp_path).read_bytes(), 0)
    made.signatureDefs[1].subgraphIndex = 7
    builder = flatbuffers.Builder(1024)
    builder.Finish(made.Pack(builder), b"TFL3")
    (tmp_path / "wrong.tflite").write_bytes(bytes(builder.Output()))
    with pytest.raises(EdgeKitError, match="holds no graph 7"):
        convert(tmp_path / "wrong.tflite", signature="times")


def test_the_models_of_a_bundle_are_listed_by_paths_that_work(tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match=r"E0103 hand\.task holds 2 models") as caught:
        convert(bundle(tmp_path))
    paths = shlex.split(caught.value.hint.removeprefix("name one of them: ").replace(", ", " "))
    results = [simulate.run(convert(path), {"x0": X})["y0"].tolist() for path in paths]
    assert results == [[[3, 0, 5]], [[5, -10, 15]]]
    assert convert(paths[0]).source.file == "detector.tflite"


def test_a_bundle_of_one_model_is_that_model(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "one.task", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("net.tflite", entry("ADD", 2))
    assert simulate.run(convert(tmp_path / "one.task"), {"x0": X})["y0"].tolist() == [[3, 0, 5]]


def test_a_bundle_without_models_says_so(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "none.task", "w") as archive:
        archive.writestr("labels.txt", "a thumb")
    with pytest.raises(EdgeKitError) as caught:
        convert(tmp_path / "none.task")
    assert caught.value.message == "none.task holds no TFLite model"
    assert caught.value.hint == "it holds labels.txt"
    with zipfile.ZipFile(tmp_path / "empty.task", "w"):
        pass
    with pytest.raises(EdgeKitError, match=r"empty\.task") as caught:
        convert(tmp_path / "empty.task")
    assert caught.value.hint == "it is empty"


def nested(folder: Path) -> Path:
    """A bundle of a task whose steps have bundles of their own, as that of gestures has."""
    path = folder / "gesture.task"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(bundle(folder), "hand.task")
        archive.writestr("gesture.tflite", entry("MUL", 7))
    return path


def test_the_models_of_bundles_in_a_bundle_are_read(tmp_path: Path) -> None:
    with pytest.raises(EdgeKitError, match=r"E0103 gesture\.task holds 3 models") as caught:
        convert(nested(tmp_path))
    paths = shlex.split(caught.value.hint.removeprefix("name one of them: ").replace(", ", " "))
    results = [simulate.run(convert(path), {"x0": X})["y0"].tolist() for path in paths]
    assert results == [[[3, 0, 5]], [[5, -10, 15]], [[7, -14, 21]]]


def test_a_damaged_bundle_in_a_bundle_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "gesture.task", "w") as archive:
        archive.writestr("hand.task", bundle(tmp_path).read_bytes()[:-100])
    with pytest.raises(EdgeKitError, match=r"E0401 the archive in the archive is no archive .*") as caught:
        convert(tmp_path / "gesture.task")
    assert caught.value.where == "member hand.task"


def test_a_zip_bomb_in_a_bundle_may_unpack_to_no_more_than_the_file(tmp_path: Path) -> None:
    """Twice 60-fold would be 3,600-fold."""
    inside = BytesIO()
    with zipfile.ZipFile(inside, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.tflite", b"\x1c\0\0\0TFL3" + bytes(1 << 27))
    with zipfile.ZipFile(tmp_path / "bomb.task", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("hand.task", inside.getvalue())
    assert (tmp_path / "bomb.task").stat().st_size < 1 << 15
    with pytest.raises(EdgeKitError, match=r"E0402 the archive has .* and unpacks to 134217736") as caught:
        convert(tmp_path / "bomb.task")
    assert caught.value.where == "member hand.task"


@pytest.mark.parametrize("path", ["hand.task/missing.tflite", "two.tflite/x", "hand.task/labels.txt"])
def test_a_path_that_leads_to_no_model_is_refused(tmp_path: Path, path: str) -> None:
    bundle(tmp_path), two_entries(tmp_path)
    with pytest.raises(EdgeKitError, match=r"E0103 hand.task holds no model|E0104 cannot read"):
        convert(tmp_path / path)


def test_commands_take_signatures_and_members(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cli = CommandLine(capsys)
    two_entries(tmp_path), bundle(tmp_path)
    np.save("value.npy", X)
    assert "--signature plus or --signature times" in cli("convert", "two.tflite").err
    assert "times" in cli.ok("convert", "two.tflite", "--signature", "times").out
    assert "-10" in cli.ok("run", "two.tflite", "--signature", "times", "--input", "value.npy").out
    assert "-10" in cli.ok("run", "hand.task/deep/landmarks", "--input", "value.npy").out
    assert "its signature is fixed" in cli("convert", "two.ek", "--signature", "times").err


@pytest.mark.parametrize(
    "words",
    [
        ["inspect"], ["estimate"], ["bench"], ["quantize", "--data", "x.npz"], ["prune", "--ratio", "50%"],
        ["tune", "--max-drop", "1%"],
    ],
    ids=lambda words: words[0],
)  # fmt: skip
def test_commands_that_read_models_choose_an_entry(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """A name of none comes to the reader, which refuses it."""
    answer = CommandLine(capsys)(*words, two_entries(tmp_path), "--signature", "minus")
    assert "--signature names minus" in answer.err


def test_an_entry_is_compared_with_what_was_converted_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--signature is for the file that has entries, not for the .ek beside it."""
    cli, path, made = CommandLine(capsys), two_entries(tmp_path), tmp_path / "plus.ek"
    cli.ok("convert", path, "--signature", "plus", "-o", made)
    table = cli.ok("diff", path, made, "--signature", "plus").out.splitlines()
    layer, _, _, alone, accumulated, *_ = table[1].split()
    assert (layer, alone, accumulated) == ("add_0", "exact", "exact")
