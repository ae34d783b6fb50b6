"""What the interpreter of TFLite Micro computes."""

from __future__ import annotations

from collections.abc import Sequence

from support.tools import require_module

from edgekit.core.types import Array

ARENA = 1 << 20


def micro_says(content: bytes, runs: Sequence[Sequence[Array]], outputs: int = 1) -> list[list[Array]]:
    """The results of successive runs, between which states last."""
    interpreter = require_module("tflite_micro").runtime.Interpreter.from_bytes(content, arena_size=ARENA)
    results = []
    for inputs in runs:
        for i, x in enumerate(inputs):
            interpreter.set_input(x, i)
        interpreter.invoke()
        results.append([interpreter.get_output(i).copy() for i in range(outputs)])
    return results
