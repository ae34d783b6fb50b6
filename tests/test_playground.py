"""What the playground asks of EdgeKit, and what it brings instead of compiled packages."""

import base64
import importlib.util
import io
import json
import shutil
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import defs
from onnx.external_data_helper import convert_model_to_external_data
from support.nets import Net
from support.onnx_models import model, node
from support.tools import ROOT

from edgekit import EdgeKitError, save
from edgekit.core import simulate
from edgekit.core.ops.cast import Cast
from edgekit.core.ops.dense import Dense
from edgekit.core.types import Array, DType
from edgekit.playground import assembly, session
from edgekit.playground.session import Session, answer

DIGITS = ROOT / "examples" / "digits"


@pytest.fixture
def opened() -> Session:
    made = Session()
    made.open({"digits.onnx": (DIGITS / "digits.onnx").read_bytes()})
    return made


def test_all_operators_that_are_missing_are_counted() -> None:
    kinds = ["Warp", "Relu", "Bend", "Warp", "Warp", "Warp", "Warp"]
    names = ["x", *(f"v{i}" for i in range(len(kinds) - 1)), "y"]
    nodes = [node(kind, a, b) for kind, a, b in zip(kinds, names[:-1], names[1:], strict=True)]
    found = answer(lambda: Session().open({"m.onnx": model(nodes).SerializeToString()}))
    assert found["error"].startswith("E0201 EdgeKit does not know 2 kinds of operators of this model")
    assert found["missing"] == [
        {"name": "Warp", "count": 5, "places": ["node Warp_v0", "node Warp_v3", "node Warp_v4"]},
        {"name": "Bend", "count": 1, "places": ["node Bend_v2"]},
    ]
    one = answer(lambda: Session().open({"m.onnx": model([node("Bend", "x", "y")]).SerializeToString()}))
    assert one["error"].startswith("E0201 EdgeKit does not know an operator of this model")


def test_bindings() -> None:
    assert session.bound("x=1,3,224,224 sequence=64") == ({"x": [1, 3, 224, 224]}, {"sequence": 64})
    assert session.bound("--shape a=b=2,3 --dim n=4") == ({"a=b": [2, 3]}, {"n": 4})
    assert session.bound("  ") == ({}, {})
    for wrong in ("x", "x=", "=3", "x=1,b"):
        with pytest.raises(EdgeKitError, match="binds nothing"):
            session.bound(wrong)


def test_faults_are_sentences() -> None:
    made = Session()
    assert answer(lambda: made.build("host", "same", "speed"))["error"].startswith("E0101 no model is open")
    assert answer(lambda: made.open({"a.onnx": b"x"}))["error"].startswith("E0401")
    assert answer(lambda: {"y": 1 // 0})["error"].startswith("E7001 a bug of EdgeKit: ZeroDivisionError")


def test_names_of_files_lead_nowhere(tmp_path: Path) -> None:
    made = Session()
    content = (DIGITS / "digits.onnx").read_bytes()
    assert made.open({"../../digits.onnx": content})["name"] == "digits"
    assert list(made.folder.iterdir()) == []


def test_a_model_that_does_not_open_leaves_none(opened: Session) -> None:
    assert "error" in answer(lambda: opened.open({"b.onnx": b"x"}))
    assert answer(lambda: opened.run(0))["error"].startswith("E0101")


def test_files_that_belong_together_are_a_model(tmp_path: Path) -> None:
    """In any order; without one of them, the error says which."""
    content = onnx.load(DIGITS / "digits.onnx")
    convert_model_to_external_data(content, location="weights.bin", size_threshold=0)
    onnx.save(content, tmp_path / "digits.onnx")
    files = {name: (tmp_path / name).read_bytes() for name in ("weights.bin", "digits.onnx")}
    assert Session().open(files)["parameters"] == 6314
    alone = answer(lambda: Session().open({"digits.onnx": files["digits.onnx"]}))
    assert "weights.bin" in alone["error"]
    assert answer(lambda: Session().open({}))["error"].startswith("E0101 no model is given")


def test_samples_are_run_one_after_the_other(opened: Session) -> None:
    assert opened.run(3)["source"] == "random numbers, seed 3"
    assert opened.take_samples("test.npz", (DIGITS / "test.npz").read_bytes()) == {"samples": 450}
    with np.load(DIGITS / "test.npz") as data:
        label = int(data["label"][0])
    first = opened.run(450)
    assert first["source"] == "sample 1 of 450"
    assert first == opened.run(0)
    assert first["outputs"][0]["largest"][0]["index"] == label


def test_what_is_no_number_is_shown() -> None:
    (found,) = session._largest({"y": np.array([1.0, np.inf, np.nan, 1 / 3], np.float32)})
    shown = {one["index"]: one["value"] for one in json.loads(json.dumps(found, allow_nan=False))["largest"]}
    assert shown == {0: "1", 1: "inf", 2: "nan", 3: "0.333333"}


def test_large_weights_are_bytes() -> None:
    """Which the assembler includes: in the zip as they are, on the page in words."""
    net, made = Net(), Session()
    dense = net(Dense(), net.x(1, 600), net.random(600, 600), net.random(600), name="y")
    path = made.folder / "wide.ek"
    save(net.done(dense).with_name("wide"), path)
    made.open({"wide.ek": path.read_bytes()})
    shown = made.build("cortex-m4", "same", "speed")["files"]
    weights = made.files()["wide_weights.bin"]
    assert len(weights) > 4 * 600 * 600
    assert shown["wide_weights.bin"] == f"{len(weights):,} bytes of weights, which the assembler includes"
    with zipfile.ZipFile(io.BytesIO(made.archive())) as archive:
        assert archive.read("wide_weights.bin") == weights


def test_the_module_gets_samples_and_is_compared(opened: Session) -> None:
    """What the page's compiler gets, and verdicts on what a module would give."""
    sources = opened.sources()
    assert {"digits.c", "digits_weights.c", "edgekit_module.c", "bare/common.c"} <= set(sources["arguments"])
    assert {"digits.h", "bare/string.h"} <= sources["files"].keys()
    assert sources["outputs"] == {"y": 40}
    found = opened.run(2)
    x = np.frombuffer(base64.b64decode(found["inputs"]["x"]), np.float32)
    assert np.array_equal(x, simulate.random_inputs(opened.model, 2)["x"].reshape(-1))
    (expected,) = next(iter(simulate.run_each(opened.model, [{"x": x.reshape(1, 1, 8, 8)}]))).values()

    def verdict(y: Array) -> str:
        words = opened.compare(2, {"y": base64.b64encode(y.astype(np.float32).tobytes()).decode()})["verdict"]
        assert isinstance(words, str)
        return words

    assert verdict(expected) == "equal to the simulator, bit by bit"
    assert verdict(expected + np.float32(0.5)) == "at most 0.5 off the simulator"


def test_targets_are_all(opened: Session) -> None:
    assert opened.targets().keys() >= {"cortex-m4", "wasm32-simd", "x86-64-avx2"}


def test_int8_without_samples_says_so(tmp_path: Path) -> None:
    net, made = Net(), Session()
    dense = net(Dense(), net.x(1, 6), net.random(4, 6), net.random(4), name="y")
    save(net.done(dense).with_name("row"), tmp_path / "row.ek")
    made.open({"row.ek": (tmp_path / "row.ek").read_bytes()})
    found = made.build("cortex-m0plus", "int8", "size")
    assert "calibrated with random numbers" in found["report"]
    assert any("s8" in name for name in found["files"])


def test_types_that_numpy_lacks_are_refused() -> None:
    net = Net()
    y = net(Cast(DType.BF16), net.x(1, 4))
    with pytest.raises(EdgeKitError, match="cannot hold bf16"):
        session.only_native(net.done(net(Cast(DType.F32), y, name="y")))


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The stand-in for the compiled part of onnx, with the specification beside it, as in the page."""
    folder = tmp_path_factory.mktemp("onnx")
    files = dict(assembly.site_packages())
    for name in ("onnx/onnx_cpp2py_export.py", "onnx/schemas.json"):
        (folder / Path(name).name).write_bytes(files[name])
    spec = importlib.util.spec_from_file_location("onnx_stand_in", folder / "onnx_cpp2py_export.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    for name in [name for name in sys.modules if name.startswith("onnx_stand_in")]:
        del sys.modules[name]
    shutil.rmtree(folder)


def test_the_specification_of_onnx_is_whole(stand_in: Any) -> None:
    option = defs.OpSchema.FormalParameterOption
    numbers = {option.Single: 0, option.Optional: 1, option.Variadic: 2}
    every = defs.get_all_schemas_with_history()
    assert len(every) > 600
    for schema in every:
        found = stand_in.get_schema(schema.name, schema.since_version, schema.domain)
        assert (found.max_input, found.max_output) == (schema.max_input, schema.max_output)
        assert [
            (p.name, p.option, p.types, p.type_str, p.is_homogeneous, p.min_arity) for p in found.inputs
        ] == [
            (p.name, numbers[p.option], sorted(p.types), p.type_str, p.is_homogeneous, p.min_arity)
            for p in schema.inputs
        ]
        assert {k: (a.type.name, a.required, a._default_value) for k, a in found.attributes.items()} == {
            k: (a.type.name, a.required, a._default_value) for k, a in schema.attributes.items()
        }
        assert found.has_function == schema.has_function
        assert found._function_body == (schema._function_body if schema.has_function else b"")
        assert found.has_context_dependent_function == schema.has_context_dependent_function
    with pytest.raises(stand_in.SchemaError):
        stand_in.get_schema("Conv", 0, "")


def test_the_page_holds_no_native_code() -> None:
    files = dict(assembly.site_packages())
    assert not [name for name in files if name.endswith((".so", ".pyd", ".pyc"))]
    assert "edgekit/runtime_c/kernels" in {"/".join(name.split("/")[:3]) for name in files}
    assert sum(map(len, files.values())) < 24 << 20
