"""Kernels as Metal: a library for each kernel, whose constants are function constants.

Nothing runs it yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from edgekit.codegen.gpu.ast import Expr, Kernel, Kind
from edgekit.codegen.gpu.dialect import Dialect, used

_SCALARS = {"f32": "float", "i32": "int", "u32": "unsigned", "bool": "bool"}
_VECTORS = {"f32": "metal::float4", "i32": "metal::int4", "u32": "metal::uint4", "bool": "metal::bool4"}
_DOT4 = """\
static int ek_dot4(unsigned a, unsigned b, int total)
{
    const metal::int4 x = metal::int4(metal::uint4(a << 24u, a << 16u, a << 8u, a)) >> metal::int4(24);
    const metal::int4 y = metal::int4(metal::uint4(b << 24u, b << 16u, b << 8u, b)) >> metal::int4(24);
    const metal::int4 p = x * y;
    return total + p.x + p.y + p.z + p.w;
}
"""
_HALVES = """\
static float ek_half(unsigned word, int i)
{
    return float(as_type<metal::half2>(word)[i]);
}
static metal::float4 ek_half4(unsigned a, unsigned b)
{
    return metal::float4(ek_half(a, 0), ek_half(a, 1), ek_half(b, 0), ek_half(b, 1));
}
static unsigned ek_halves(float a, float b)
{
    return as_type<unsigned>(metal::half2(half(a), half(b)));
}
"""


class Metal(Dialect):
    """Names of the language are spelled in full, because many of them are good names for variables."""

    functions: ClassVar[dict[str, str]] = {
        "min": "metal::min",
        "max": "metal::max",
        "mulhi": "metal::mulhi",
        "clz": "metal::clz",
        "sqrt": "metal::precise::sqrt",
        "floor": "metal::floor",
        "abs": "metal::fabs",
        "round": "metal::rint",
        "dot4": "ek_dot4",
        "half": "ek_half({0}, {1})",
        "half4": "ek_half4({0}, {1})",
        "halves": "ek_halves",
    }

    def type(self, kind: Kind) -> str:
        return (_VECTORS if kind.lanes == 4 else _SCALARS)[kind.scalar]

    def convert(self, kind: Kind, x: Expr) -> str:
        return f"{self.type(kind)}({self.expr(x)})"

    def bits(self, kind: Kind, x: Expr) -> str:
        return f"as_type<{self.type(kind)}>({self.expr(x)})"

    def vector(self, kind: Kind, parts: Sequence[str]) -> str:
        return f"{self.type(kind)}({', '.join(parts)})"

    def select(self, condition: Expr, yes: Expr, no: Expr) -> str:
        if yes.kind.lanes == 4:
            return f"metal::select({self.expr(no)}, {self.expr(yes)}, {self.expr(condition)})"
        return f"({self.expr(condition)} ? {self.expr(yes)} : {self.expr(no)})"

    def barrier(self) -> str:
        return "metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup)"


_METAL = Metal()


def library(kernel: Kernel) -> str:
    """The library of a kernel, with the function ek_<name>, to be compiled without fast math. Buffers are
    numbered 0, 1, ...; the first function constants are <buffer>_at, the element of what is bound that is
    the buffer's first, then come those of the kernel."""
    names = [(b.start, "int") for b in kernel.buffers]
    names += [(c.text, _METAL.type(c.kind)) for c in kernel.constants]
    parts = ["#include <metal_stdlib>"]
    parts += [f"constant {type} {name} [[function_constant({i})]];" for i, (name, type) in enumerate(names)]
    operations = {op for op, _ in used(kernel)}
    parts += [_DOT4] if "dot4" in operations else []
    parts += [_HALVES] if operations & {"half", "half4", "halves"} else []
    parameters = [
        f"device {'' if b.writes else 'const '}{_METAL.type(b.kind)} *{b.name} [[buffer({i})]]"
        for i, b in enumerate(kernel.buffers)
    ]
    parameters += [
        "metal::uint3 ek_group [[threadgroup_position_in_grid]]",
        "metal::uint3 ek_groups [[threadgroups_per_grid]]",
        "unsigned ek_within [[thread_index_in_threadgroup]]",
    ]
    parts += [
        f"[[max_total_threads_per_threadgroup({kernel.group})]]",
        f"kernel void ek_{kernel.name}({', '.join(parameters)})",
        "{",
        *(f"    threadgroup {_METAL.type(s.kind)} {s.name}[{s.size}];" for s in kernel.shared),
        "    const int group_number = int(ek_group.y * ek_groups.x + ek_group.x);",
        "    const int within = int(ek_within);",
        f"    const int item = group_number * {kernel.group} + within;",
        *_METAL.lines(kernel.body),
        "}",
    ]
    return "\n".join(parts) + "\n"
