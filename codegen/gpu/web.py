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
from edgekit.codegen.gpu.memory import ALIGN, Region, Span
from edgekit.codegen.gpu.plan import CpuSegment, Dispatch, GpuPlan
from edgekit.core.escape import Code

_GROUPS = 65535  # the most in one direction
_MIN_BUFFER_BYTES = 16  # bytes of a buffer


@dataclass(frozen=True)
class Web:
    """One buffer holds the arena, and behind it those inputs and outputs of the model that kernels use,
    another one the weights. Other inputs and outputs are arrays of JavaScript only."""

    plan: GpuPlan

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """Where they start."""
        return _behind(self.plan.arena_bytes, self._sizes("input"))

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        return _behind(self.plan.arena_bytes + sum(self._sizes("input")), self._sizes("output"))

    @property
    def inputs_on_device(self) -> list[bool]:
        return [size > 0 for size in self._sizes("input")]

    @property
    def memory_bytes(self) -> int:
        return self.plan.arena_bytes + sum(self._sizes("input")) + sum(self._sizes("output"))

    @property
    def read_bytes(self) -> int:
        """The most that is read from the device at once: what a segment reads, or the outputs."""
        fetched = [
            sum(span.size for span in self._inputs(segment) if not self._is_host(span))
            for segment in self.plan.segments
        ]
        return max(*fetched, sum(self._sizes("output")), _MIN_BUFFER_BYTES)

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

    @property
    def fetched(self) -> Code:
        """As JavaScript, the outputs that are read from the device: where they start, and where they go."""
        starts = zip(self.outputs, self._sizes("output"), strict=True)
        rows = (f"[{start}, results[{i}]]" for i, (start, size) in enumerate(starts) if size)
        return Code(f"[{', '.join(rows)}]")

    @property
    def segments(self) -> list[dict[str, Any]]:
        """CPU segments as JavaScript. Each tensor has a number in their module, and is fetched from the
        device or taken from an array before the segment runs, and sent there or kept afterwards."""
        rows, first = [], 0
        for segment in self.plan.segments:
            inputs = self._inputs(segment)
            tensors = [(*self._place(span), first + i, span.size) for i, span in enumerate(segment.spans)]
            reads, writes = tensors[: len(inputs)], tensors[len(inputs) :]
            row: dict[str, Any] = {"before": segment.before, "comment": segment.in_words}
            lists = {
                "fetched": [rest for array, *rest in reads if array is None],
                "taken": [tensor for tensor in reads if tensor[0] is not None],
                "sent": [rest for array, *rest in writes if array is None],
                "kept": [tensor for tensor in writes if tensor[0] is not None],
            }
            rows.append(row | {name: Code(json.dumps(found)) for name, found in lists.items()})
            first += len(tensors)
        return rows

    def _inputs(self, segment: CpuSegment) -> tuple[Span, ...]:
        return segment.spans[: len(segment.graph.inputs)]

    def _is_host(self, span: Span) -> bool:
        """Does JavaScript have what a segment reads or writes there?"""
        return span.where == "input" or not self.plan.uses(span)

    def _place(self, span: Span) -> tuple[int | None, int]:
        """The array, None for memory on the device, and where the span starts in it. Arrays are inputs, and
        outputs behind them."""
        if self._is_host(span):
            return span.number + len(self.plan.graph.inputs) * (span.where == "output"), span.offset
        start = {"arena": (0,), "output": self.outputs}
        return None, start[span.where][span.number] + span.offset

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

    def _sizes(self, where: Region) -> list[int]:
        """What inputs or outputs take in memory, with what is behind them."""
        graph = self.plan.graph
        sizes = [graph.type(name).bytes for name in (graph.inputs if where == "input" else graph.outputs)]
        return [
            -(-max(size, 1) // ALIGN) * ALIGN * self.plan.uses(Span(where, i, 0, size))
            for i, size in enumerate(sizes)
        ]


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
