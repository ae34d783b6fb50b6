"""Operators that read or give indices, on devices: searches, the best of rows, elements by index."""

from collections.abc import Callable

import numpy as np
import pytest
from ops.cases.indexing import CASES
from support.gpu_calls import Device, assert_computes
from support.op_cases import Case, as_graph, case, normal, whole
from support.opencl import kernel_device
from support.webgpu import webgpu

from edgekit.core.ops.cast import Cast
from edgekit.core.ops.gather import Gather, GatherND
from edgekit.core.ops.rank import ArgExtreme, TopK
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import DType

DEVICES: dict[str, Callable[[], Device]] = {"opencl": kernel_device, "wgsl": webgpu}
WORDS: tuple[DType, ...] = (DType.F32, DType.S32, DType.U32)  # what items store alone
TYPES = (*WORDS, DType.F16, DType.BF16, DType.S8, DType.U8, DType.BOOL)
FAR = np.array([[0], [-1], [2**31], [-(2**31) - 1], [2**62], [-(2**62)], [3]])


def runs(c: Case) -> bool:
    """Is there a kernel, for something finite?"""
    x, types = c.operands[0], TYPES
    if isinstance(c.op, TopK):
        types = WORDS if c.op.k else ()
    has_work = all(operand.size for operand in c.operands)
    return has_work and DType.of(x.dtype) in types and bool(np.isfinite(x).all())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("op", [ArgExtreme, TopK, Gather, GatherND], ids=lambda op: op.__name__)
def test_results_are_those_of_the_simulator(op: type, device: str) -> None:
    cases = [c for c in CASES if isinstance(c.op, op) and runs(c)]
    graph, inputs, _ = as_graph(cases)
    refused = assert_computes(DEVICES[device](), graph, inputs)
    assert len(refused) <= 1, refused  # of more dimensions than kernels have
    assert len(cases) > 4


@pytest.mark.parametrize("device", DEVICES)
def test_indices_become_other_integers_and_move(device: str) -> None:
    """What has no place in 32 bits is cut off, as the simulator does."""
    narrow = [whole(d, 3, 5) for d in (DType.S32, DType.S8, DType.U8, DType.BOOL)]
    cases = [case(Cast(DType.S64), x) for x in narrow]
    cases += [case(Cast(DType.S32), FAR), case(Transpose((1, 0)), whole(DType.S64, 4, 7))]
    graph, inputs, _ = as_graph(cases)
    assert not assert_computes(DEVICES[device](), graph, inputs)


@pytest.mark.parametrize("device", DEVICES)
def test_indices_beyond_32_bits_are_the_ends(device: str) -> None:
    graph, inputs, _ = as_graph([case(Gather(0), normal(DType.F32, 5, 3), FAR)])
    assert not assert_computes(DEVICES[device](), graph, inputs)
