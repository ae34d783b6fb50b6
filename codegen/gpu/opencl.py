"""Kernels as OpenCL C 1.2: a function for each kernel, and entries that bring constants, or take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from edgekit.codegen.gpu.ast import Expr, GpuKernel, Kind, number
from edgekit.codegen.gpu.dialect import Dialect, used

_SCALARS = {"f32": "float", "i32": "int", "u32": "uint", "bool": "int"}
# The products of four bytes of two words. The host asks for instructions: macros of extensions are there on
# devices without them, too.
_DOT4 = """\
#if defined(EK_DOT_KHR)
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#define ek_dot4(a, b, total) ((total) + dot_4x8packed_ss_int(a, b))
#elif defined(EK_DOT_ARM)
#pragma OPENCL EXTENSION cl_arm_integer_dot_product_int8 : enable
#define ek_dot4(a, b, total) ((total) + arm_dot(as_char4(a), as_char4(b)))
#else
static inline int ek_dot4(uint a, uint b, int total)
{
    const char4 x = as_char4(a), y = as_char4(b);
    return total + x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
}
#endif
"""
# Without vstore_half, which takes addresses only: drivers are bad at those of variables. A float of 16 bits
# has the bits of one of 32, 112 exponents further down.
_HALVES = """\
static inline uint ek_half_bits(float x)
{
    const uint bits = as_uint(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7FFFFFFFu;
    const uint normal = ((size + 0xFFFu + (size >> 13 & 1u)) >> 13) - (112u << 10);
    const uint small = (uint)rint(as_float(size < 0x38800000u ? size : 0u) * 0x1p24f);
    const uint large = size > 0x7F800000u ? 0x7E00u : 0x7C00u;
    return sign | (size < 0x38800000u ? small : size < 0x47800000u ? normal : large);
}
static inline uint ek_halves(float a, float b)
{
    return ek_half_bits(a) | ek_half_bits(b) << 16;
}
"""
_HELPERS = {"dot4": _DOT4, "halves": _HALVES}


@dataclass(frozen=True)
class Entry:
    """What a host calls: arguments are each buffer and its first element, then, unless `values` says what
    they are, the constants."""

    name: str
    kernel: GpuKernel
    values: Mapping[str, float] | None = None


class OpenCL(Dialect):
    functions: ClassVar[dict[str, str]] = {
        "min": "min",
        "max": "max",
        "mulhi": "mul_hi",
        "clz": "clz",
        "sqrt": "sqrt",
        "floor": "floor",
        "abs": "fabs",
        "round": "rint",
        "dot4": "ek_dot4",
        "halves": "ek_halves",
    }

    def type(self, kind: Kind) -> str:
        return _SCALARS[kind.scalar] + ("4" if kind.lanes == 4 else "")

    def convert(self, kind: Kind, x: Expr) -> str:
        if kind.lanes == 4:
            return f"convert_{self.type(kind)}({self.expr(x)})"
        return f"({self.type(kind)})({self.expr(x)})"

    def bits(self, kind: Kind, x: Expr) -> str:
        return f"as_{self.type(kind)}({self.expr(x)})"

    def vector(self, kind: Kind, parts: Sequence[str]) -> str:
        if kind.scalar == "bool":  # true is 1 as a scalar, and all bits in a vector
            parts = [f"-({part})" for part in parts]
        return f"({self.type(kind)})({', '.join(parts)})"

    def select(self, condition: Expr, yes: Expr, no: Expr) -> str:
        if yes.kind.lanes == 4:
            return f"select({self.expr(no)}, {self.expr(yes)}, {self.expr(condition)})"
        return f"({self.expr(condition)} ? {self.expr(yes)} : {self.expr(no)})"

    def expr(self, e: Expr) -> str:
        if e.op == "half":
            return f"vload_half({e.text}_at * 2 + {self.expr(e.args[2])}, (global const half *){e.text})"
        if e.op == "half4":
            return f"vload_half4({self.expr(e.args[2])}, (global const half *)({e.text} + {e.text}_at))"
        return super().expr(e)

    def barrier(self) -> str:
        return "barrier(CLK_LOCAL_MEM_FENCE)"


_OPENCL = OpenCL()


def program(entries: Sequence[Entry]) -> str:
    """The text of all these entries, each kernel once."""
    kernels = {entry.kernel.name: entry.kernel for entry in entries}
    operations = {op for k in kernels.values() for op, _ in used(k)}
    parts = [text for op, text in _HELPERS.items() if op in operations]
    parts += [_function(kernel) for kernel in kernels.values()]
    parts += [_entry(entry) for entry in entries]
    return "\n".join(parts)


def _function(kernel: GpuKernel) -> str:
    parameters = []
    for b in kernel.buffers:
        parameters += [f"global {'' if b.writes else 'const '}{_OPENCL.type(b.kind)} *{b.name}"]
        parameters += [f"const uint {b.start}"]
    parameters += [f"local {_OPENCL.type(s.kind)} *{s.name}" for s in kernel.shared]
    parameters += [f"const {_OPENCL.type(c.kind)} {c.text}" for c in kernel.constants]
    lines = [
        f"static inline void ek_{kernel.name}({', '.join(parameters)})",
        "{",
        *["#pragma OPENCL FP_CONTRACT OFF"][: kernel.is_exact],
        "    const int group_number = (int)(get_group_id(1) * get_num_groups(0) + get_group_id(0));",
        "    const int within = (int)get_local_id(0);",
        f"    const int item = group_number * {kernel.group} + within;",
        *_OPENCL.lines(kernel.body),
        "}",
    ]
    return "\n".join(lines) + "\n"


def _entry(entry: Entry) -> str:
    kernel = entry.kernel
    parameters, arguments = [], []
    for b in kernel.buffers:
        kind = f"global {'' if b.writes else 'const '}{_OPENCL.type(b.kind)}"
        parameters += [f"{kind} *{b.name}", f"uint {b.start}"]
        arguments += [b.name, b.start]
    arguments += [s.name for s in kernel.shared]
    for c in kernel.constants:
        if entry.values is None:
            parameters.append(f"{_OPENCL.type(c.kind)} {c.text}")
            arguments.append(c.text)
        else:
            arguments.append(_OPENCL.expr(number(entry.values[c.text], c.kind)))
    lines = [
        f"kernel __attribute__((reqd_work_group_size({kernel.group}, 1, 1)))",
        f"void {entry.name}({', '.join(parameters)})",
        "{",
        *(f"    local {_OPENCL.type(s.kind)} {s.name}[{s.size}];" for s in kernel.shared),
        f"    ek_{kernel.name}({', '.join(arguments)});",
        "}",
    ]
    return "\n".join(lines) + "\n"
