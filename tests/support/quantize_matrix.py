"""Networks of one operator each, from the cases that operators have, and every setting of `quantize`."""

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from itertools import product

import numpy as np
from support.nets import Net
from support.op_cases import Case
from support.tools import ROOT

from edgekit.core.errors import EdgeKitError
from edgekit.core.ir import Graph
from edgekit.core.ops.arithmetic import Mul
from edgekit.core.types import Array, DType
from edgekit.quantize.integers.integer_io import KINDS
from edgekit.quantize.mixed_precision.format_search import LADDER
from edgekit.quantize.settings import ACTIVATIONS, EFFORTS, METHODS, WEIGHTS, Settings

SAMPLES = 6


def settings() -> Iterator[dict[str, object]]:
    """Formats with each other and with each effort; other settings one by one."""
    for dtype, activations in ACTIVATIONS.items():
        for chosen in product(activations, WEIGHTS[dtype], EFFORTS):
            options = {"dtype": dtype, **dict(zip(("activations", "weights", "effort"), chosen, strict=True))}
            if _is_known(options):
                yield options
    yield from ({"calibrate": method} for method in METHODS)
    yield from ({"io": kind} for kind in KINDS)
    yield from ({"formats": (name,)} for name in LADDER)
    yield {"strict_int8": True}


def _is_known(options: Mapping[str, object]) -> bool:
    try:
        Settings(**options)  # type: ignore[arg-type]  # of the right kinds
    except EdgeKitError:
        return False
    return True


def cases() -> list[Case]:
    """Of operators whose first operand are several floats that a network may have made."""
    found = []
    for module in pkgutil.iter_modules([str(ROOT / "tests" / "ops" / "cases")]):
        for case in importlib.import_module(f"ops.cases.{module.name}").CASES:
            x = case.operands[0]
            is_real = x.dtype == np.float32 and x.ndim > 0 and 1 < x.size <= 4096 and np.isfinite(x).all()
            if is_real and not any(t.quant for t in case.types) and DType.F32 in _results(case):
                found.append(case)
    return found


def _results(case: Case) -> list[DType]:
    return [t.dtype for t in case.op.infer(*case.types)]


def network(case: Case) -> Graph:
    """The operator behind a factor, so that its input has a range; its other operands are constants."""
    net = Net()
    x = net.x(*case.operands[0].shape)
    others = [net.const(operand, operand.dtype) for operand in case.operands[1:]]
    made = net.add(case.op, net(Mul(), x, 0.75), *others)
    return net.done(*(name for name in made if net.type(name).dtype is DType.F32))


def samples(case: Case, seed: int) -> Mapping[str, Array]:
    """Numbers such as the case has, in another order."""
    x, rng = case.operands[0], np.random.default_rng(seed)
    shuffled = [rng.permutation(x.reshape(-1)).reshape(x.shape) for _ in range(SAMPLES)]
    return {"x": np.stack(shuffled)}
