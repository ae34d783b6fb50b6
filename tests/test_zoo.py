"""The smallest model files of benchmarks/zoo_models give what the runtimes of their formats give."""

import dataclasses
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.tools import require, require_module

from benchmarks.zoo_files import AbsentError, ModelFile, cut, given, listed, with_drawn_weights

COUNT = 10  # that lie beside the tests, and some that packages bring, where these are installed
FROM_PACKAGES = 3
_COPIES = "One small network, by eight frameworks"  # one file of each format stands for all


def smallest() -> list[ModelFile]:
    """The smallest that can be told right from wrong."""
    models = [m for m in sorted(listed(), key=lambda m: m.bytes) if not m.drawn_weights and not m.note]
    copies = [m for m in models if m.group == _COPIES]
    kept = [next(m for m in copies if m.format == format) for format in ("ONNX", "TFLite")]
    others = [m for m in models if m not in copies]
    kept += [m for m in others if not m.package][: COUNT - len(kept)]
    return kept + [m for m in others if m.package][:FROM_PACKAGES]


@pytest.mark.parametrize("model", smallest(), ids=lambda model: model.title)
def test_model_of_the_zoo_is_right(model: ModelFile, tmp_path: Path) -> None:
    require("gcc")
    require_module("onnxruntime")
    require_module("ai_edge_litert")
    if model.profile == "tflm":
        require_module("tflite_micro")
    from benchmarks.zoo_measure import judge

    try:
        judged = judge(model, tmp_path)
    except AbsentError as error:
        pytest.skip(str(error))
    assert judged.refused == ""
    assert judged.fault == ""
    assert judged.compared > 0.3


def test_a_wrong_network_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The peer gets another weight than EdgeKit."""
    require("gcc")
    require_module("onnxruntime")
    from benchmarks import zoo_measure
    from benchmarks.zoo_peers import OnnxRuntime

    (model,) = (model for model in listed() if model.title == "digits example")
    path, other = model.ready(tmp_path), tmp_path / "other.onnx"
    changed = onnx.load(path)
    weights = next(x for x in changed.graph.initializer if len(x.dims) == 4)
    data = numpy_helper.to_array(weights).copy()
    data.flat[0] += 0.05
    weights.CopyFrom(numpy_helper.from_array(data, weights.name))
    onnx.save(changed, other)
    monkeypatch.setattr(zoo_measure, "peer", lambda _, graph, *rest: OnnxRuntime(other, graph))
    judged = zoo_measure.judge(model, tmp_path)
    assert "is off by" in judged.fault
    assert judged.compared > 0.5


def test_differences_count_in_what_the_runtime_differs_from_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sine of numbers of millions is what rounding errors make of it."""
    require("gcc")
    require_module("onnxruntime")
    from benchmarks import zoo_measure

    random = np.random.default_rng(0)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 3])
    data = (random.standard_normal((64, 3)) * 3e6).astype(np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["z"]), helper.make_node("Sin", ["z"], ["y"])]
    graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(data, "w")])
    file = tmp_path / "sensitive.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), file)
    (model,) = given([file])
    judged = zoo_measure.judge(model, tmp_path)
    assert judged.fault == ""
    assert "ONNX Runtime differs from itself by" in judged.refused

    monkeypatch.setattr("benchmarks.zoo_peers.OnnxRuntime.others", lambda *_: iter(()))
    assert "y is off by" in zoo_measure.judge(model, tmp_path).fault


def test_a_file_is_cut_at_a_tensor(tmp_path: Path) -> None:
    """What is left ends before the last operator, and gives what goes into it."""
    interpreters = require_module("ai_edge_litert.interpreter")
    file = Path(__file__).parent / "frontends/samples/tf/net_f32.tflite"
    plain = interpreters.OpResolverType.BUILTIN_REF
    whole = interpreters.Interpreter(
        model_path=str(file), experimental_op_resolver_type=plain, experimental_preserve_all_tensors=True
    )
    whole.allocate_tensors()
    inside = whole._get_ops_details()[-1]["inputs"][0]
    name = next(t["name"] for t in whole.get_tensor_details() if t["index"] == inside)
    made = interpreters.Interpreter(
        model_content=cut(file.read_bytes(), name), experimental_op_resolver_type=plain
    )
    made.allocate_tensors()
    shape = made.get_input_details()[0]["shape"]
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for interpreter in (whole, made):
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
    (output,) = made.get_output_details()
    assert output["name"] == name
    assert np.array_equal(made.get_tensor(output["index"]), whole.get_tensor(inside))


def test_files_of_the_list_are_where_it_says(tmp_path: Path) -> None:
    assert len({model.sha256 for model in listed()}) == len(listed())
    for model in listed():
        if model.origin == "checkout":
            assert model.ready(tmp_path).stat().st_size == model.bytes


def test_another_version_of_a_file_is_not_taken(tmp_path: Path) -> None:
    model = ModelFile("", "x", "checkout", "examples/digits/digits.onnx", 1, "00" * 32)
    with pytest.raises(AbsentError, match="is another version"):
        model.ready(tmp_path)
    with pytest.raises(AbsentError, match="the package no_such_package is not installed"):
        ModelFile("", "x", "no_such_package", "a.onnx", 1, "").ready(tmp_path)
    with pytest.raises(AbsentError, match=r"a\.onnx is not here"):
        ModelFile("", "x", "checkout", "a.onnx", 1, "").ready(tmp_path)


def test_weights_are_drawn_where_a_file_has_constants() -> None:
    shape = numpy_helper.from_array(np.array([4, 3], np.int64), "shape")
    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["w"]),
        helper.make_node("MatMul", ["x", "w"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in (("x", [1, 4]), ("y", [1, 3])))
    made = with_drawn_weights(helper.make_model(helper.make_graph(nodes, "g", [x], [y], [shape])))
    assert [node.op_type for node in made.graph.node] == ["MatMul"]
    (weights,) = made.graph.initializer
    assert weights.name == "w"
    assert len(np.unique(numpy_helper.to_array(weights))) == 12


def test_int8_is_judged_before_a_softmax_at_the_end() -> None:
    """The logits that ONNX Runtime and the simulator give are the same, and the sum of none is 1."""
    onnxruntime = require_module("onnxruntime")
    from benchmarks.zoo_int8 import cut_softmax, judged_values
    from edgekit import api

    path = Path(__file__).parent.parent / "examples/digits/digits.onnx"
    graph = api.convert(path)
    x = np.random.default_rng(0).random(graph.type("x").shape).astype(np.float32)
    (ours,) = judged_values(graph, {"x": x})
    model = cut_softmax(onnx.load(path))
    assert "Softmax" not in [node.op_type for node in model.graph.node]
    (theirs,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    assert np.allclose(ours, theirs, atol=1e-4)
    assert abs(ours.sum() - 1) > 0.1


def test_only_missing_columns_of_the_zoo_are_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import zoo_measure
    from benchmarks.zoo_measure import RIGHT, SIZES, Columns, Judged, Result
    from benchmarks.zoo_peers import OnnxRuntime
    from edgekit import api

    (model,) = (model for model in listed() if model.title == "digits example")
    columns = Columns(rounds=5, int8_seconds=9, int8_macs=10**6)
    assert columns.missing(None) == columns.all()
    assert columns.all() == [RIGHT, SIZES, columns.times, columns.int8, columns.int8_peer]
    assert Columns(0, 0, 0).missing(None) == [RIGHT, SIZES]
    other = Columns(rounds=6, int8_seconds=9, int8_macs=10**6)
    kept = [RIGHT, SIZES, columns.times, columns.int8_peer]
    known = Result("", 1, ratio=3.5, flash=7, int8_peer="30.2", columns=kept)
    assert columns.missing(known) == [columns.int8]
    assert other.missing(known) == [other.times, columns.int8]

    asked = []
    graph = api.convert(model.ready(tmp_path))
    judged = Judged(graph, (), 0, "", 1.0, OnnxRuntime(tmp_path, graph))
    monkeypatch.setattr(zoo_measure, "read", lambda *_: judged)
    monkeypatch.setattr(zoo_measure, "judge", lambda *_: pytest.fail("whether it is right is known"))
    monkeypatch.setattr(zoo_measure, "_ratio", lambda *_: pytest.fail("times are known"))
    monkeypatch.setattr(zoo_measure, "_sizes", lambda *_: pytest.fail("sizes are known"))
    monkeypatch.setattr(zoo_measure, "int8_quality", lambda *a: asked.append(a) or "40.1")
    monkeypatch.setattr(
        zoo_measure, "int8_quality_of_onnx_runtime", lambda *_: pytest.fail("that of the peer is known")
    )
    result = zoo_measure.measure(model, "digits", tmp_path, columns, known)
    assert len(asked) == 1
    assert (result.int8, result.int8_peer, result.ratio, result.flash) == ("40.1", "30.2", 3.5, 7)
    assert columns.missing(result) == []
    assert Columns(rounds=0, int8_seconds=0, int8_macs=0).with_those_of(result) == list(result.columns)


def test_results_of_the_zoo_are_kept_beside_those_of_other_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import zoo
    from benchmarks.zoo_measure import Result

    monkeypatch.setattr(zoo, "_JOURNAL", tmp_path / "build" / "zoo.json")
    zoo.keep("a", Result("a", 1, columns=("sizes",)))
    zoo.keep("b", Result("b", 2))
    zoo.keep("a", Result("a", 3))
    assert {key: result.bytes for key, result in zoo.known().items()} == {"a": 3, "b": 2}


def test_an_empty_cell_says_whether_it_was_measured() -> None:
    from benchmarks.zoo import _row
    from benchmarks.zoo_measure import RIGHT, SIZES, Columns, Result

    columns = Columns(rounds=5, int8_seconds=9, int8_macs=10**6)
    measured = Result(
        "net", 2_000, compared=1.0, flash=3_000, ram=4_000, macs=5_000_000, int8="40.1", peer="LiteRT"
    )
    known = dataclasses.replace(measured, columns=columns.all())
    assert _row(known) == ["net", "2", "yes", "3.0", "4.0", "5.00", "40.1", "-", "-"]
    right = Result("net", 2_000, peer="LiteRT", columns=[RIGHT])
    assert _row(right)[3:] == ["?"] * 6
    assert _row(dataclasses.replace(right, columns=[RIGHT, SIZES, columns.times]))[3:] == ["-"] * 3 + [
        "?",
        "?",
        "-",
    ]


def test_rows_of_int8_by_default_tell_what_is_not_reached() -> None:
    from benchmarks.zoo_quantize import Row, cells, section

    slow = Row("slow", "2026-01-02", 30_000_000, "", 2.0, 50.0, 400.4, 31.25, 0.9, 0.8, "build the floats")
    small = dataclasses.replace(slow, title="small", pass_seconds=0.01, seconds=1.0, measured=1.25)
    refused = Row("refused", "2026-01-02", fault="E0408 NaN", machine="a machine")
    assert cells(slow) == ["slow", "30.00", "25.0", "400", "31.2", "0.90", "0.80", "2026-01-02"]
    assert cells(small)[2] == "100.0 (1.0 s)"
    assert cells(refused) == ["refused", "0.00", "E0408 NaN", "-", "-", "-", "-", "2026-01-02"]
    text = section([slow, small, refused], rounds=5)
    assert "Of 3 files 1 have no figures. Of 2 quantized ones 1 are at least as fast as in floats" in text
    assert "Of 1 whose pass takes 1 s and more, 0 took at most 20 passes" in text
    assert "- slow: build the floats" in text
    assert "- small" not in text


def test_a_page_keeps_the_sections_of_other_scripts(tmp_path: Path) -> None:
    from benchmarks.results import sections_of, write_section

    page = tmp_path / "zoo.md"
    assert sections_of(page) == ""
    page.write_text("# Zoo\n", encoding="utf-8")
    assert sections_of(page) == ""
    write_section("zoo_quantize", "int8", "text", on=page)
    assert page.read_text(encoding="utf-8") == f"# Zoo\n\n{sections_of(page)}"


def test_the_quality_of_int8_is_the_mean_of_several_calibrations(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import zoo_int8

    first: list[int] = []
    found = iter(["40.0", "37.0", "34.0", "36.0", "more than 9 s"])
    monkeypatch.setattr(
        zoo_int8, "within", lambda _seconds, _work, given: first.append(given[-1]) or next(found)
    )
    assert zoo_int8._mean(9, None, ("net",)) == "37.0"
    assert first == [100, 132, 164]
    assert zoo_int8._mean(9, None, ("net",)) == "more than 9 s"
