"""Every export of the shared net is the same graph with the same weights, and gives the same results."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.canonical import Canonical, canonical
from support.exports import SAMPLES, Export, exports
from support.tools import ROOT

from edgekit.converters import read
from edgekit.core import simulate
from edgekit.core.passes import verify
from edgekit.core.passes.simplify import simplify

# What a conversion may never import, as it would need the framework, or run what a file says.
FRAMEWORKS = {
    *("caffe", "chainer", "flax", "h5py", "jax", "jaxlib", "keras", "mindspore", "mxnet", "ncnn"),
    *("onnxruntime", "openvino", "paddle", "tensorflow", "torch"),
}
FLOAT = [e for e in exports() if not e.is_int8]
INT8 = [e for e in exports() if e.is_int8]


@pytest.fixture(scope="module")
def reference() -> Canonical:
    """The net as PyTorch's ONNX export has it."""
    return canonical(read.read(SAMPLES / "torch" / "net.onnx"))


@pytest.mark.parametrize("export", FLOAT, ids=lambda e: e.name)
def test_export_is_the_shared_net(export: Export, reference: Canonical) -> None:
    graph = read.read(export.path, shapes=export.shapes)
    x, y = export.recorded()
    (name,) = graph.inputs
    (found,) = simulate.run(graph, {name: x.reshape(graph.values[name].type.shape)}).values()
    np.testing.assert_allclose(found, y.reshape(found.shape), atol=1e-5)
    simple = simplify(graph)
    verify(simple)
    same = canonical(graph)
    same.assert_same(reference)
    assert same.digest == reference.digest


@pytest.mark.parametrize("export", INT8, ids=lambda e: e.name)
def test_int8_export_has_integer_layers(export: Export) -> None:
    graph = simplify(read.read(export.path))
    verify(graph)
    layers = [n for n in graph.nodes if type(n.op).__name__ in ("Conv2d", "Dense")]
    assert [graph.values[n.inputs[0]].type.dtype.value for n in layers] == ["s8", "s8"]
    x, y = export.recorded()
    (found,) = simulate.run(graph, {graph.inputs[0]: x}).values()
    # One step of the output's scale: frameworks round sums of floats, devices round sums of integers.
    step = 1 if found.dtype == np.int8 else np.diff(np.unique(y)).min() * 1.001
    assert np.abs(found.astype(np.float64) - y.reshape(found.shape)).max() <= step


@pytest.mark.parametrize("folder", sorted({e.path.parent for e in INT8}), ids=lambda folder: folder.name)
def test_int8_exports_of_one_model_are_one_graph(folder: Path) -> None:
    first, *others = (canonical(read.read(e.path)) for e in INT8 if e.path.parent == folder)
    for other in others:
        other.assert_same(first, rtol=0)


# A bundle holds files of another format, tests/tflite make some; language models have no convolution; nets of
# ncnn have no batch, which makes another graph: tests/frontends/test_ncnn.py compares whole ones.
OTHERS = {"MediaPipe task bundle", "transformers", "GGUF", "ncnn"}


@pytest.mark.parametrize("format", sorted({r.FORMAT for r in read.readers()} - OTHERS))
def test_every_format_has_an_export(format: str) -> None:
    assert format in {e.format for e in exports()}


def test_no_framework_is_imported() -> None:
    """In a process of its own, which has imported nothing yet."""
    script = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "from edgekit import convert\n"
        "for path, shapes in json.loads(sys.argv[1]): convert(path, shapes=shapes)\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))\n"
    )
    paths = json.dumps([(str(e.path), e.shapes) for e in exports()])
    done = subprocess.run([sys.executable, "-c", script, paths], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not set(json.loads(done.stdout)) & FRAMEWORKS
