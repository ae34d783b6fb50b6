"""A model whose inputs and outputs are integers of many kinds, and programs that quantize for it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from support.nets import Net

from edgekit.codegen.lowering.compact_weights import fit
from edgekit.codegen.program import Program
from edgekit.core import target as targets
from edgekit.core.ops.quantize import Dequantize, Quantize
from edgekit.core.ops.reshape import Reshape
from edgekit.core.types import Array, DType, Quant, Type

PORTS = {
    "x": Type(DType.S8, (1, 3), Quant((0.0625,), (-128,))),
    "bytes": Type(DType.U8, (3,), Quant((0.1,), (128,), rounding="tfl")),
    "wide": Type(DType.S16, (3,), Quant((1e-05,), (0,))),
    "symmetric": Type(DType.S8, (3,), Quant((3.0,), (5,), rounding="tfl")),
    "plain": Type(DType.S16, (3,)),
}
CASES = [name for name, type in PORTS.items() if type.quant]


def program(target: str = "host") -> Program:
    net = Net()
    net.inputs += [net.input(name, type) for name, type in PORTS.items()]
    return fit(
        net.done(*(net.one(Reshape((1, 3)), name) for name in net.inputs)).with_name("integers"),
        targets.load(target),
    )


def numbers() -> Array:
    """Ties and their neighbours of each scale, around each limit, what is no number, and any bits."""
    found = [np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, -1e-45, 3.4e38, -3.4e38], np.float32)]
    for name in CASES:
        quant, low, high = PORTS[name].quant, *limits(name)
        assert quant
        steps = [*range(-4, 5), *range(low - quant.zero[0] - 3, low - quant.zero[0] + 4)]
        steps += range(high - quant.zero[0] - 3, high - quant.zero[0] + 4)
        for part in (0, 0.25, 0.5, 0.75):
            exact = ((np.array(steps) + part) * np.float32(quant.scale[0])).astype(np.float32)
            found += [
                exact,
                np.nextafter(exact, np.float32(np.inf)),
                np.nextafter(exact, np.float32(-np.inf)),
            ]
    rng = np.random.default_rng(5)
    found += [rng.integers(0, 2**32, 500, dtype=np.uint64).astype(np.uint32).view(np.float32)]
    found += [rng.normal(0, size, 500).astype(np.float32) for size in (0.1, 3, 100)]
    return np.concatenate(found)


def limits(name: str) -> tuple[int, int]:
    """The least and the largest integer of an input."""
    found = np.iinfo(PORTS[name].dtype.numpy)
    return int(found.min), int(found.max)


def integers(name: str) -> Array:
    """What the simulator makes of the numbers."""
    given, type = numbers(), replace(PORTS[name], shape=(len(numbers()),))
    (made,) = Quantize(type.dtype).integer([given], [Type(DType.F32, given.shape)], [type])
    return made


def reals(name: str) -> Array:
    """What the simulator makes of these integers."""
    (made,) = Dequantize().integer([integers(name)], [PORTS[name]], [])
    return made


def given(folder: Path) -> None:
    (folder / "numbers").write_bytes(numbers().tobytes())


def check(folder: Path) -> None:
    """A program in a language wrote NAME.integers and NAME.reals for each integer input."""
    for name in CASES:
        found = np.fromfile(folder / f"{name}.integers", PORTS[name].dtype.numpy)
        np.testing.assert_array_equal(found, integers(name), name)
        found = np.fromfile(folder / f"{name}.reals", np.float32)
        np.testing.assert_array_equal(found.view(np.uint32), reals(name).view(np.uint32), name)
