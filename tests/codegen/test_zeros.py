"""Modules without their runs of zeros leave the same memory."""

import numpy as np
import pytest
from support.tools import require_module

from edgekit.codegen.compilation import wasm
from edgekit.codegen.packages._zeros import without_zeros

START = 1024


def module(*parts: tuple[int, bytes]) -> bytes:
    """A module that exports one page of memory with these bytes in it."""
    data = b"".join(
        b"\0\x41" + wasm.signed(start) + b"\x0b" + wasm.unsigned(len(part)) + part for start, part in parts
    )
    sections = {
        5: bytes([1, 1, 1, 1]),
        7: bytes([1, 6]) + b"memory" + bytes([2, 0]),
        12: wasm.unsigned(len(parts)),
        11: wasm.unsigned(len(parts)) + data,
    }
    body = b"".join(bytes([kind]) + wasm.unsigned(len(text)) + text for kind, text in sections.items())
    return wasm.MAGIC + bytes([1, 0, 0, 0]) + body


def memory(data: bytes) -> bytes:
    wasmtime = require_module("wasmtime")
    store = wasmtime.Store()
    instance = wasmtime.Instance(store, wasmtime.Module(store.engine, data), [])
    content: bytearray = instance.exports(store)["memory"].read(store, 0, wasm.PAGE)
    return bytes(content)


@pytest.mark.parametrize("seed", range(20))
def test_memory_is_the_same(seed: int) -> None:
    generator = np.random.default_rng(seed)
    parts = []
    at = START
    for _ in range(generator.integers(1, 4)):
        pieces = [
            generator.integers(1, 256, generator.integers(0, 300)).astype(np.uint8).tobytes()
            + bytes(int(generator.integers(0, 40)))
            for _ in range(generator.integers(1, 6))
        ]
        parts.append((at, b"".join(pieces)))
        at += len(parts[-1][1]) + int(generator.integers(0, 50))
    before = module(*parts)
    after = without_zeros(before)
    assert memory(after) == memory(before)
    assert len(after) <= len(before)


def test_zeros_are_gone() -> None:
    ends = bytes([1, 2]), bytes([3])
    shorter = without_zeros(module((START, ends[0] + bytes(500) + ends[1])))
    assert shorter == module((START, ends[0]), (START + 502, ends[1]))
    assert memory(without_zeros(module((START, bytes(100))))) == bytes(wasm.PAGE)


def test_short_runs_stay() -> None:
    data = module((START, b"a" + bytes(11) + b"b"), (4096, b"c"))
    assert without_zeros(data) is data


@pytest.mark.parametrize("value", [0, 1, 63, 64, 127, 128, 8191, 8192, 65535, 2**31 - 1])
def test_numbers_are_read_as_they_are_written(value: int) -> None:
    assert wasm.read_unsigned(wasm.unsigned(value), 0) == (value, len(wasm.unsigned(value)))
    assert wasm.read_unsigned(wasm.signed(value), 0) == (value, len(wasm.signed(value)))


@pytest.mark.parametrize(("value", "text"), [(-1, "7f"), (-64, "40"), (-65, "bf7f"), (64, "c000")])
def test_signs(value: int, text: str) -> None:
    assert wasm.signed(value) == bytes.fromhex(text)
