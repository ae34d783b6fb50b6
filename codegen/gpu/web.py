"""Plan -> what a page needs to run it by WebGPU: modules, pipelines, dispatches with their memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

from edgekit.codegen.gpu import wgsl
from edgekit.codegen.gpu.ast import GpuKernel
from edgekit.codegen.gpu.plan import ALIGN, Dispatch, GpuPlan
from edgekit.core.escape import Code

WEBGPU = "webgpu"
_GROUPS = 65535  # the most in one direction
_MIN_BUFFER_BYTES = 16  # bytes of a buffer


@dataclass(frozen=True)
class Web:
    """One buffer holds the arena, and behind it inputs and outputs of the model, another one the weights."""

    plan: GpuPlan

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """Where they start."""
        return _behind(self.plan.arena_bytes, self._sizes(self.plan.graph.inputs))

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """Where they start, one behind the other: they are read at once."""
        start = self.plan.arena_bytes + sum(self._sizes(self.plan.graph.inputs))
        return _behind(start, self._sizes(self.plan.graph.outputs))

    @property
    def memory_bytes(self) -> int:
        return self.outputs[0] + self.result_bytes

    @property
    def result_bytes(self) -> int:
        """Of all outputs."""
        return sum(self._sizes(self.plan.graph.outputs))

    @property
    def weights(self) -> bytes:
        return self.plan.weights.ljust(_MIN_BUFFER_BYTES, b"\0")  # no buffer is empty

    @property
    def weight_bytes(self) -> int:
        return len(self.weights)

    @property
    def largest_buffer(self) -> int:
        return max(self.memory_bytes, self.weight_bytes)

    @property
    def largest_piece(self) -> int:
        """What a kernel sees at once."""
        return max(size for d in self.plan.dispatches for _, _, size, _ in self.pieces(d))

    @property
    def modules(self) -> list[dict[str, Any]]:
        """The text of each kernel, and which functions go in front of it."""
        texts = self.functions
        return [
            {
                "name": kernel.name,
                "code": wgsl.body(kernel),
                "functions": Code([texts.index(text) for text in wgsl.functions(kernel)]),
                "dot4": str(wgsl.takes_dot4(kernel)).lower(),
                "buffers": len(kernel.buffers),
            }
            for kernel in self.plan.kernels
        ]

    @cached_property
    def functions(self) -> list[str]:
        """What several kernels use, each text once."""
        return list(dict.fromkeys(text for kernel in self.plan.kernels for text in wgsl.functions(kernel)))

    @cached_property
    def pipelines(self) -> list[Code]:
        """Each module with these constants once, as JavaScript: [module, constants]."""
        return list(dict.fromkeys(map(self._pipeline, self.plan.dispatches)))

    @property
    def dispatches(self) -> list[dict[str, str]]:
        """Each as JavaScript: [pipeline, groups in two directions, of each buffer a piece of memory]."""
        places = {pipeline: i for i, pipeline in enumerate(self.pipelines)}
        rows = []
        for d in self.plan.dispatches:
            x, y = in_two_directions(d.groups)
            pieces = [piece[:3] for piece in self.pieces(d)]
            row = Code(json.dumps([places[self._pipeline(d)], x, y, pieces]))
            rows.append({"row": row, "comment": f"{d.operator} by {d.kernel.name}"})
        return rows

    def _pipeline(self, d: Dispatch) -> Code:
        return Code(json.dumps([_index(self.plan, d.kernel), _plain(self.constants(d))]))

    def constants(self, d: Dispatch) -> Mapping[str, float]:
        """Those of the kernel, and where its buffers start within pieces of memory."""
        constants: Mapping[str, float] = dict(d.values) | {
            buffer.start: rest // buffer.kind.bytes
            for buffer, (*_, rest) in zip(d.kernel.buffers, self.pieces(d), strict=True)
            if rest
        }
        assert all(map(isfinite, constants.values())), f"{d.kernel.name}: JavaScript takes finite constants"
        return constants

    def pieces(self, d: Dispatch) -> list[tuple[int, int, int, int]]:
        """For each buffer (0: memory or 1: weights, where it starts, its size, and how many bytes of it are
        in front of the span)."""
        start = {"arena": (0,), "weights": (0,), "input": self.inputs, "output": self.outputs}
        pieces = []
        for span in d.spans:
            at = start[span.where][span.number] + span.offset
            rest = at % ALIGN
            pieces.append((int(span.where == "weights"), at - rest, span.size + rest, rest))
        return pieces

    def _sizes(self, names: tuple[str, ...]) -> list[int]:
        """What tensors take, with what is behind them."""
        return [-(-max(self.plan.graph.type(name).bytes, 1) // ALIGN) * ALIGN for name in names]


def in_two_directions(groups: int) -> tuple[int, int]:
    """Work-groups that are at least so many."""
    y = -(-groups // _GROUPS)
    return -(-groups // y), y


def _behind(start: int, sizes: list[int]) -> tuple[int, ...]:
    """Where each starts that lies behind the other."""
    return tuple(start + sum(sizes[:i]) for i in range(len(sizes)))


def _index(plan: GpuPlan, kernel: GpuKernel) -> int:
    return [k.name for k in plan.kernels].index(kernel.name)


def _plain(constants: Mapping[str, float]) -> dict[str, float]:
    """Numbers of Python, whatever they were."""
    return {name: int(value) if value == int(value) else float(value) for name, value in constants.items()}
