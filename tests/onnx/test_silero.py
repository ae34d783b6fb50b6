"""The voice detector of the package silero-vad: a network for each sample rate, in branches of one If."""

import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from support.tools import require, require_module

from edgekit import build, inspection
from edgekit.codegen.compilation.build import run
from edgekit.converters.onnx.reader import convert
from edgekit.converters.read import read
from edgekit.core import simulate, target
from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.passes.simplify import simplify
from edgekit.core.types import Array

PACKAGE = "silero-vad==6.2.3"
STATE = (2, 1, 128)
KEPT = {"state": "stateN"}
WINDOW = {16000: 576, 8000: 288}
NEAR = 2e-5


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default file of the package, without the packages that it needs to run."""
    folder = tmp_path_factory.mktemp("silero")
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "-d", str(folder), PACKAGE]
    if subprocess.run(pip, capture_output=True, timeout=120, check=False).returncode:
        pytest.skip(f"pip cannot bring {PACKAGE}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract("silero_vad/data/silero_vad.onnx", folder))


def graph_at(path: Path, rate: int) -> Graph:
    shapes = {"input": (1, WINDOW[rate]), "state": STATE}
    return simplify(convert(path, shapes=shapes, constants={"sr": rate}))


def windows(rate: int) -> list[Array]:
    """Silence, noise, and a tone with harmonics that comes and goes."""
    rng = np.random.default_rng(rate)
    time = np.arange(6 * WINDOW[rate]) / rate
    voice = sum(np.sin(2 * np.pi * 180 * k * time) / k for k in range(1, 6)) * (np.sin(9 * time) > 0)
    noisy = (0.2 * voice + 0.02 * rng.standard_normal(time.size)).astype(np.float32)
    return list(noisy.reshape(6, 1, WINDOW[rate]))


def stream(path: Path, rate: int) -> tuple[list[dict[str, Array]], list[tuple[Array, Array]]]:
    """The inputs of ONNX Runtime, window by window with the state of the last one, and its outputs."""
    session = require_module("onnxruntime").InferenceSession(str(path), providers=["CPUExecutionProvider"])
    state = np.zeros(STATE, np.float32)
    inputs, outputs = [], []
    for x in windows(rate):
        inputs.append({"input": x, "state": state})
        output, state = session.run(None, {**inputs[-1], "sr": np.array(rate)})
        outputs.append((output, state))
    return inputs, outputs


def assert_near(found: Mapping[str, Array], expected: tuple[Array, Array]) -> None:
    for name, right in zip(("output", "stateN"), expected, strict=True):
        np.testing.assert_allclose(found[name], right, rtol=0, atol=NEAR, err_msg=name)


@pytest.mark.parametrize("rate", WINDOW)
def test_a_sample_rate_chooses_its_network(detector: Path, rate: int) -> None:
    """Each carries its own state on."""
    graph = graph_at(detector, rate)
    assert graph.inputs == ("input", "state")
    state = np.zeros(STATE, np.float32)
    for inputs, expected in zip(*stream(detector, rate), strict=True):
        found = simulate.run(graph, {**inputs, "state": state})
        state = found["stateN"]
        assert_near(found, expected)


def test_its_state_is_kept(detector: Path) -> None:
    graph = read(detector, shapes={"input": (1, 576), "state": STATE}, constants={"sr": 16000}, states=KEPT)
    assert graph.inputs == ("input",)
    assert graph.outputs == ("output",)
    session = simulate.Session(simplify(graph))
    for inputs, (expected, _) in zip(*stream(detector, 16000), strict=True):
        found = session.run({"input": inputs["input"]})
        np.testing.assert_allclose(found["output"], expected, rtol=0, atol=NEAR)


def test_c_follows_onnx_runtime_over_several_states(detector: Path) -> None:
    require("cc")
    inputs, outputs = stream(detector, 16000)
    found = run(graph_at(detector, 16000), target.load("host"), inputs)
    for ours, expected in zip(found, outputs, strict=True):
        assert_near(ours, expected)


def test_the_library_passes_its_self_test(detector: Path, tmp_path: Path) -> None:
    """Of its one output, two noisy runs by chance show less rounding than a correct kernel has."""
    require("cc")
    report = build(graph_at(detector, 16000), tmp_path / "net", verify=True)
    assert report.verification is not None


def test_the_branch_of_the_other_rate_has_no_valid_shape(detector: Path) -> None:
    graph = convert(detector, shapes={"input": (1, WINDOW[16000]), "state": STATE})
    assert "--const sr=N says which is meant" in inspection.one_sided(graph)


def test_a_rate_whose_branch_has_no_valid_shape_is_refused(detector: Path) -> None:
    shapes = {"input": (1, WINDOW[16000]), "state": STATE}
    with pytest.raises(EdgeKitError, match=r"does not fit input f32\[1,576\] and state") as caught:
        convert(detector, shapes=shapes, constants={"sr": 8000})
    options = "--const sr=N, or bind what fits else_branch: --shape input=N,N --shape state=2,N,128"
    assert caught.value.hint == f"choose then_branch by {options}"
