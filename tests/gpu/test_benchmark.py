"""The script for a GPU that is lent runs here on software, so that it is ready when there is one."""

import re
import time

import numpy as np
import onnx
import pytest
from support.opencl import opencl
from support.webgpu import webgpu

from benchmarks import gpu, gpu_networks
from benchmarks.gpu_ceilings import Effort
from benchmarks.gpu_networks import Network
from edgekit import api
from edgekit.codegen.gpu.plan import plan
from edgekit.core.builder import Builder
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.types import DType, Type

LITTLE = Effort(1 << 8, 1 << 6)


@pytest.fixture(autouse=True)
def devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Software compiles quickly, and no other engine is beside."""
    opencl()
    webgpu()
    for module in (gpu, gpu_networks):
        monkeypatch.setattr(module, "find_spec", lambda name: None)


def network() -> Network:
    b, random = Builder(), np.random.default_rng(0)
    x = b.input("x", Type(DType.F32, (1, 4, 4, 4)))
    w = random.normal(size=(8, 3, 3, 4)).astype(np.float32)
    y = b.one(Conv2d((1, 1), (1, 1, 1, 1), lo=0.0), x, b.const(w), b.const(np.zeros(8, np.float32)))
    real = b.graph("net", [x], [y])
    integers, _ = api.quantize_model(real, "random", calibrate="minmax", strict_int8=True)
    return Network("little", gpu_networks._forms(real, integers), onnx.ModelProto(), transposed=False)


def test_whole_networks_come_first_then_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    little = network()
    first, *more = gpu.section([little], "libOpenCL.so.1", time.process_time, effort=LITTLE)
    assert len(more) == len(little.forms) + 1
    (row,) = re.findall(r"^\| little \|(.*)\|$", first, re.MULTILINE)
    measured = [float(word.replace(",", "")) for word in row.split("|")]
    assert len(measured) == 1 + len(little.forms)
    assert all(us > 0 for us in measured)
    for form, graph in little.forms.items():
        for d in plan(graph).dispatches:
            assert f"| little, {form} | {d.kernel.name} |" in more[-1]
    said = capsys.readouterr().out
    for name in ("opencl", "webgpu"):
        numbers = said.partition(f"[{name}]\n")[2].splitlines()[:5]
        assert [line.split(" = ")[0] for line in numbers] == ["launch", "load", "bytes", "floats", "integers"]


def test_nothing_begins_when_time_is_up() -> None:
    assert list(gpu.section([network()], "libOpenCL.so.1", time.process_time, minutes=-1)) == []
