"""Plans -> what pages are told: JavaScript's tables of kernels, dispatches and entries with their memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from edgekit.codegen.gpu import wgsl
from edgekit.codegen.gpu.ast import GpuKernel
from edgekit.codegen.gpu.memory import ALIGN, Region, Span
from edgekit.codegen.gpu.plan import CpuSegment, Dispatch, GpuPlan
from edgekit.codegen.printing.literal import stored
from edgekit.core.escape import Code

_GROUPS = 65535  # the most in one direction
_MIN_BUFFER_BYTES = 16  # bytes of a buffer
_MEMORY, _WEIGHTS, _STATES = range(3)  # the buffers


@dataclass(frozen=True)
class Web:
    """One buffer holds the arena, and behind it those inputs and outputs of the entry that runs which kernels
    use, another one the weights, and one of each stream the states. Other inputs and outputs are arrays of
    JavaScript only."""

    plans: tuple[GpuPlan, ...]  # of the entries, the main one first

    @cached_property
    def entries(self) -> tuple[WebEntry, ...]:
        arena, found, first, segment, tensor = max(p.arena_bytes for p in self.plans), [], 0, 0, 0
        for each in self.plans:
            found.append(WebEntry(each, arena, first, segment, tensor))
            first, segment = found[-1].end, segment + len(each.segments)
            tensor += sum(len(segment.spans) for segment in each.segments)
        return tuple(found)

    @property
    def memory_bytes(self) -> int:
        return max(entry.memory_bytes for entry in self.entries)

    @property
    def read_bytes(self) -> int:
        """The most that is read from the device at once: what a segment reads, or the outputs."""
        return max(_MIN_BUFFER_BYTES, *(size for entry in self.entries for size in entry.read_bytes))

    @property
    def state_bytes(self) -> int:
        """Of a stream."""
        return self.plans[0].state_bytes

    @property
    def weights(self) -> bytes:
        """Behind them is what states start from, but for zeros."""
        weights = self.plans[0].weights.ljust(_MIN_BUFFER_BYTES, b"\0")  # no buffer is empty
        return weights + b"".join(data for _, data in self._starts)

    @property
    def weight_bytes(self) -> int:
        return len(self.weights)

    @property
    def starts(self) -> Code:
        """As JavaScript, what a stream begins with that is not zero: where it is in the weights, where it
        goes, and its bytes."""
        at, rows = self.weight_bytes - sum(len(data) for _, data in self._starts), []
        for start, data in self._starts:
            rows.append([at, start, len(data)])
            at += len(data)
        return Code(json.dumps(rows))

    @cached_property
    def _starts(self) -> list[tuple[int, bytes]]:
        found = []
        for state in self.plans[0].graph.states:
            raw = np.ascontiguousarray(stored(state.start)).tobytes()
            if any(raw):
                found.append((self.plans[0].states[state.input], raw + b"\0" * (-len(raw) % 4)))
        return found

    @property
    def largest_buffer(self) -> int:
        return max(self.memory_bytes, self.weight_bytes, self.state_bytes)

    @property
    def largest_piece(self) -> int:
        """What a kernel sees at once."""
        return max(size for entry, d in self._dispatches for _, _, size, _ in entry.pieces(d))

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
            for kernel in self._kernels
        ]

    @cached_property
    def functions(self) -> list[str]:
        """What several kernels use, each text once."""
        return list(dict.fromkeys(text for kernel in self._kernels for text in wgsl.functions(kernel)))

    @cached_property
    def pipelines(self) -> list[Code]:
        """Each module with these constants once, as JavaScript: [module, constants]."""
        return list(dict.fromkeys(self._pipeline(*each) for each in self._dispatches))

    @property
    def dispatches(self) -> list[dict[str, str]]:
        """Each as JavaScript: [pipeline, groups in two directions, of each buffer a piece of memory]."""
        places = {pipeline: i for i, pipeline in enumerate(self.pipelines)}
        rows = []
        for entry, d in self._dispatches:
            x, y = in_two_directions(d.groups)
            pieces = [piece[:3] for piece in entry.pieces(d)]
            row = Code(json.dumps([places[self._pipeline(entry, d)], x, y, pieces]))
            rows.append({"row": row, "comment": f"{d.operator} by {d.kernel.name}"})
        return rows

    @property
    def segments(self) -> list[dict[str, Any]]:
        """CPU segments of all entries."""
        return [row for entry in self.entries for row in entry.segments]

    @property
    def _dispatches(self) -> list[tuple[WebEntry, Dispatch]]:
        return [(entry, d) for entry in self.entries for d in entry.plan.dispatches]

    @cached_property
    def _kernels(self) -> tuple[GpuKernel, ...]:
        """Each kernel once."""
        return tuple({d.kernel.name: d.kernel for _, d in self._dispatches}.values())

    def _pipeline(self, entry: WebEntry, d: Dispatch) -> Code:
        number = [k.name for k in self._kernels].index(d.kernel.name)
        return Code(json.dumps([number, _plain(entry.constants(d))]))


@dataclass(frozen=True)
class WebEntry:
    """An entry of the library: where its inputs and outputs are, and what runs."""

    plan: GpuPlan
    arena_bytes: int  # of the library
    first: int  # of its dispatches
    first_segment: int
    first_tensor: int  # of those in the module of the segments

    @property
    def end(self) -> int:
        """The dispatch behind its last one."""
        return self.first + len(self.plan.dispatches)

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """Where they start."""
        return _behind(self.arena_bytes, self._sizes("input"))

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        return _behind(self.arena_bytes + sum(self._sizes("input")), self._sizes("output"))

    @property
    def input_starts(self) -> list[int | None]:
        """None for those that are not on the device."""
        return [start if n else None for start, n in zip(self.inputs, self._sizes("input"), strict=True)]

    @property
    def memory_bytes(self) -> int:
        return self.arena_bytes + sum(self._sizes("input")) + sum(self._sizes("output"))

    @property
    def read_bytes(self) -> Iterator[int]:
        """Of what is read from the device at once, each time."""
        for segment in self.plan.segments:
            yield sum(span.size for span in self._inputs(segment) if not self._is_host(span))
        yield sum(self._sizes("output"))

    @property
    def fetched(self) -> Code:
        """As JavaScript, the outputs that are read from the device: where they start, and which ones they
        are."""
        starts = zip(self.outputs, self._sizes("output"), strict=True)
        return Code(json.dumps([[start, i] for i, (start, size) in enumerate(starts) if size]))

    @property
    def segments(self) -> list[dict[str, Any]]:
        """CPU segments as JavaScript. Each tensor has a number in their module, and is fetched from the
        device or taken from an array before the segment runs, and sent there or kept afterwards."""
        rows, first = [], self.first_tensor
        for segment in self.plan.segments:
            inputs = self._inputs(segment)
            tensors = [
                (self._is_host(span), [*self._place(span), first + i, span.size])
                for i, span in enumerate(segment.spans)
            ]
            reads, writes = tensors[: len(inputs)], tensors[len(inputs) :]
            row: dict[str, Any] = {"before": self.first + segment.before, "comment": segment.in_words}
            lists = {
                "fetched": [tensor for is_host, tensor in reads if not is_host],
                "taken": [tensor for is_host, tensor in reads if is_host],
                "sent": [tensor for is_host, tensor in writes if not is_host],
                "kept": [tensor for is_host, tensor in writes if is_host],
            }
            rows.append(row | {name: Code(json.dumps(found)) for name, found in lists.items()})
            first += len(tensors)
        return rows

    def _inputs(self, segment: CpuSegment) -> tuple[Span, ...]:
        return segment.spans[: len(segment.graph.inputs)]

    def _is_host(self, span: Span) -> bool:
        """Does JavaScript have what a segment reads or writes there?"""
        return span.where == "input" or not self.plan.uses(span)

    def _place(self, span: Span) -> tuple[int, int]:
        """The array, which is an input, or behind these an output; or the buffer on the device. And where the
        span starts in it."""
        if self._is_host(span):
            return span.number + len(self.plan.graph.inputs) * (span.where == "output"), span.offset
        return self._on_device(span)

    def _on_device(self, span: Span) -> tuple[int, int]:
        """The buffer, and where the span starts in it."""
        match span.where:
            case "weights":
                return _WEIGHTS, span.offset
            case "states":
                return _STATES, span.offset
        start = {"arena": (0,), "input": self.inputs, "output": self.outputs}[span.where][span.number]
        return _MEMORY, start + span.offset

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
        """For each buffer of a kernel (the buffer of the page, where it starts there, its size, and how many
        bytes of it are in front of the span)."""
        pieces = []
        for span in d.spans:
            buffer, at = self._on_device(span)
            rest = at % ALIGN
            pieces.append((buffer, at - rest, span.size + rest, rest))
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


def _plain(constants: Mapping[str, float]) -> dict[str, float]:
    """Numbers of Python, whatever they were."""
    return {name: int(value) if value == int(value) else float(value) for name, value in constants.items()}
