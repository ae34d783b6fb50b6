"""The work that an operator states bounds the time that numpy takes for it, whatever multiplies the work."""

import importlib
import pkgutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ops.cases.while_loop import COUNTED, START, STEP, YES, word
from support.op_cases import Case, case

from edgekit.core.errors import EdgeKitError
from edgekit.core.ops import Op
from edgekit.core.ops.activations import Erf
from edgekit.core.ops.arithmetic import Add, Pow
from edgekit.core.ops.attention import CachedAttention
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.conv_transpose2d import ConvTranspose2d
from edgekit.core.ops.cumulative import Cumulative
from edgekit.core.ops.dense import Dense
from edgekit.core.ops.det import Det
from edgekit.core.ops.fft import Fft
from edgekit.core.ops.gather import Gather, GatherND
from edgekit.core.ops.grid_sample import GridSample
from edgekit.core.ops.layer_norm import LayerNorm
from edgekit.core.ops.matmul import MatMul
from edgekit.core.ops.max_roi_pool import MaxRoiPool
from edgekit.core.ops.non_max_suppression import NonMaxSuppression
from edgekit.core.ops.pool2d import ArgMaxPool2d, Pool2d
from edgekit.core.ops.rank import ArgExtreme, TopK
from edgekit.core.ops.recurrent import Rnn
from edgekit.core.ops.reduce import Reduce
from edgekit.core.ops.resample import Resample
from edgekit.core.ops.roi_align import RoiAlign
from edgekit.core.ops.scatter import Scatter, ScatterND
from edgekit.core.ops.softmax import Softmax
from edgekit.core.ops.transpose import Transpose
from edgekit.core.types import Array, DType

# Nanoseconds of a busy machine for a step, at most, and what an evaluation takes that does little.
_STEP, _START = 12e-9, 0.05
_HALF = DType.F16.numpy


def zeros(*shape: int, dtype: Any = np.float32) -> Array:
    return np.zeros(shape, dtype)


def drawn(*shape: int) -> Array:
    return np.random.default_rng(0).standard_normal(shape, np.float32)


def whole(*shape: int) -> Array:
    return np.random.default_rng(0).integers(0, 1000, shape)


BOXES = (np.arange(600)[None, :, None] + np.array([0, 0, 1, 1])).astype(np.float32)
SCORES = np.ones((1, 1, 600), np.float32), np.float32(0.5), np.float32(0.1)
BOX, EDGE = np.array([[0, 0, 60, 60]], np.float32), np.array([[0, 0, 0, 60, 60]], np.float32)
# A tenth of a second each, by what multiplies the work.
CASES = {
    "pool": case(Pool2d("max", (50, 50)), zeros(1, 200, 200, 1)),
    "pool of sums": case(Pool2d("mean", (50, 50)), zeros(1, 200, 200, 1)),
    "pool of half floats": case(Pool2d("max", (40, 40)), zeros(1, 100, 100, 1, dtype=_HALF)),
    "places of a pool": case(ArgMaxPool2d((20, 20), (1, 1, 1, 1)), zeros(1, 120, 120, 1)),
    "convolution": case(Conv2d(), zeros(1, 200, 200, 1), zeros(1, 50, 50, 1), zeros(1)),
    "convolution of channels": case(Conv2d(groups=64), zeros(1, 40, 40, 64), zeros(64, 9, 9, 1), zeros(64)),
    "convolution of half floats": case(
        Conv2d(), zeros(1, 60, 60, 1, dtype=_HALF), zeros(1, 20, 20, 1, dtype=_HALF), zeros(1, dtype=_HALF)
    ),
    "transposed convolution": case(
        ConvTranspose2d((200, 200)), zeros(1, 2, 2, 1), zeros(1, 199, 199, 1), zeros(1)
    ),
    "dense": case(Dense(), zeros(500, 500), zeros(500, 500), zeros(500)),
    "dense of half floats": case(
        Dense(), zeros(1, 5000, dtype=_HALF), zeros(1, 5000, dtype=_HALF), zeros(1, dtype=_HALF)
    ),
    "product": case(MatMul(), zeros(500, 500), zeros(500, 500)),
    "product of integers": case(MatMul(), whole(300, 300).astype(np.int32), whole(300, 300).astype(np.int32)),
    "running sum": case(Cumulative("sum", 0), zeros(1000, 1000)),
    "rows": case(Gather(0), zeros(1000, 1), whole(1 << 20, 1)),
    "elements": case(Gather(0), zeros(1000, 1000), whole(1000, 1000)),
    "places": case(GatherND(), zeros(1000), whole(1 << 20, 1)),
    "updates": case(Scatter(0), zeros(1000, 1000), whole(1000, 1000), zeros(1000, 1000)),
    "sums of updates": case(Scatter(0, "add"), zeros(1000, 500), whole(1000, 500), zeros(1000, 500)),
    "updates by places": case(ScatterND("max"), zeros(1000), whole(1 << 19, 1), zeros(1 << 19)),
    "updates of half floats": case(
        ScatterND("add"), zeros(1, dtype=_HALF), zeros(5000, 1, dtype=np.int64), zeros(5000, dtype=_HALF)
    ),
    "largest": case(TopK(0, 1 << 19), drawn(1 << 19)),
    "largest of rows": case(TopK(1, 1), drawn(700, 700)),
    "largest one": case(ArgExtreme(0), drawn(10_000, 1)),
    "filter": case(Resample(0), zeros(1000, 10), zeros(1000, 500, dtype=np.int32), zeros(1000, 500)),
    "points": case(GridSample("cubic"), zeros(1, 9, 9, 2), drawn(1, 200, 200, 2)),
    "samples": case(RoiAlign((10, 10), 5, 1, 0), zeros(1, 60, 60, 4), BOX, zeros(1, dtype=np.int64)),
    "boxes": case(MaxRoiPool((50, 50), 1), zeros(1, 60, 60, 4), EDGE),
    "whole images": case(MaxRoiPool((1, 1), 1), zeros(1, 600, 600, 4), np.tile(10 * EDGE, (20, 1))),
    "suppression": case(NonMaxSuppression(600, 600), BOXES, *SCORES),
    "soft suppression": case(NonMaxSuppression(100, 100, decay=-1.0), BOXES, *SCORES),
    "determinant": case(Det(), drawn(300, 300)),
    "determinant of half floats": case(Det(), drawn(60, 60).astype(_HALF)),
    "Fourier transform": case(Fft(1 << 14), drawn(1 << 15)),
    "recurrence": case(Rnn(), zeros(5000, 1, 3), zeros(3, 3), zeros(1, 3)),
    "attention": case(
        CachedAttention(0.1), drawn(1, 1, 500, 8), drawn(1, 1, 500, 8), drawn(1, 1, 500, 8), np.arange(500)
    ),
    "softmax": case(Softmax(), drawn(1000, 300)),
    "softmax of half floats": case(Softmax(), drawn(1, 50_000).astype(_HALF)),
    "norm": case(LayerNorm(1e-5), drawn(1000, 300), zeros(300), zeros(300)),
    "total of half floats": case(Reduce("sum", (0,)), zeros(10_000, 1, dtype=_HALF)),
    "error function": case(Erf(), drawn(1 << 19)),
    "outer sum": case(Add(), zeros(1500, 1), zeros(1, 1500)),
    "outer power": case(Pow(), np.ones((700, 1), np.float32), np.ones((1, 700), np.float32)),
    "other order": case(Transpose((1, 0)), zeros(1500, 1500)),
    "loop": case(COUNTED, YES, word(0), START, word(1), word(1000), STEP),
}


@pytest.mark.parametrize("name", CASES)
def test_no_operator_takes_longer_than_it_says(name: str) -> None:
    found = CASES[name]
    outs = found.op.infer(*found.types)
    began = time.process_time()
    with np.errstate(all="ignore"):
        found.op.eval(*found.operands)
    assert time.process_time() - began < _START + _STEP * found.op.work(found.types, outs)


def _all_cases() -> list[Case]:
    families = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent / "cases")])]
    return [c for family in families for c in importlib.import_module(f"ops.cases.{family}").CASES]


def test_work_counts_every_element_and_product() -> None:
    for found in _all_cases():
        outs = found.op.infer(*found.types)
        work, least = found.op.work(found.types, outs), found.op.run_work(found.types, outs)
        assert least >= sum(t.size for t in (*found.types, *outs)), found
        assert work >= found.op.macs(*found.types), found
        assert least <= work or work == 0, found


def test_what_multiplies_work_is_timed() -> None:
    """Operators that state work of their own are among the cases, unless a relative computes alike."""
    alike = {"DenseGroupwise", "DynamicDense", "DynamicQuantizeDense"}  # dense layers in groups
    alike |= {"Gru", "Lstm", "LstmS8", "DynamicQuantizeLstm"}  # step by step as Rnn
    alike |= {"QuantizedCachedAttention", "RmsNorm", "RfftSplit", "IrfftMerge", "FilterBank", "RoundedSqrt"}
    states = {type(c.op).__name__ for c in _all_cases() if _states_work(type(c.op))}
    assert states - alike <= {type(c.op).__name__ for c in CASES.values()}


def _states_work(op: type[Op]) -> bool:
    return op.macs is not Op.macs or op.work not in (Op.work, Add.work)


def test_data_that_ask_for_more_than_a_run_may_take() -> None:
    """Where boxes and conditions decide, they are counted while the operator runs."""
    far = np.array([[0, 0, 1e9, 1e9]], np.float32)
    found = case(RoiAlign((1, 1), 0, 1, 0), zeros(1, 4, 4, 1), np.tile(far, (9, 1)), zeros(9, dtype=np.int64))
    with pytest.raises(EdgeKitError, match="E0402 with these data, it takes more than 275 billion steps"):
        found.op.eval(*found.operands)
