"""Kernels as CUDA C, for nvcc, NVRTC and clang: one function of a program for each, that needs no header.

It is C++17. Negative numbers are shifted to the left, which these compilers do as C++20 says; signed sums and
products do not overflow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from edgekit.codegen.gpu.ast import Expr, Kernel, Kind
from edgekit.codegen.gpu.dialect import Dialect, used

_SCALARS = {"f32": "float", "i32": "int", "u32": "unsigned", "bool": "bool"}
# CUDA has vectors, but nothing to compute with them.
_VECTOR = """\
template <class T> struct alignas(4 * sizeof(T)) ek_x4
{
    T x, y, z, w;
};
template <class T> __device__ inline ek_x4<T> ek_splat(T a)
{
    return {a, a, a, a};
}
template <class T, class U> __device__ inline ek_x4<T> ek_convert(ek_x4<U> a)
{
    return {(T)a.x, (T)a.y, (T)a.z, (T)a.w};
}
template <class T> __device__ inline ek_x4<T> ek_select(ek_x4<bool> c, ek_x4<T> a, ek_x4<T> b)
{
    return {c.x ? a.x : b.x, c.y ? a.y : b.y, c.z ? a.z : b.z, c.w ? a.w : b.w};
}
"""
_SIGN = """\
template <class T> __device__ inline ek_x4<T> operator%(ek_x4<T> a)
{
    return {%a.x, %a.y, %a.z, %a.w};
}
"""
_BINARY = """\
template <class T, class U> __device__ inline auto operator@(ek_x4<T> a, ek_x4<U> b)
{
    return ek_x4<decltype(a.x @ b.x)>{a.x @ b.x, a.y @ b.y, a.z @ b.z, a.w @ b.w};
}
"""
_BITS = """\
template <class T, class U> __device__ inline T ek_bits(U a)
{
    static_assert(sizeof(T) == sizeof(U), "bits stay");
    T b;
    memcpy(&b, &a, sizeof b);
    return b;
}
"""
# Without CUDA's header of floats of 16 bits, whose bits are those of 32, 112 exponents further down.
_HALVES = """\
__device__ inline float ek_half(unsigned word, int i)
{
    const unsigned bits = word >> 16 * i & 0xFFFFu, size = (bits & 0x7FFFu) << 13;
    const unsigned scaled = ek_bits<unsigned>(ek_bits<float>(size) * 0x1p112f);
    return ek_bits<float>((size < 0xF800000u ? scaled : size | 0x7F800000u) | (bits & 0x8000u) << 16);
}
__device__ inline unsigned ek_half_bits(float x)
{
    const unsigned bits = ek_bits<unsigned>(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7FFFFFFFu;
    if (size > 0x7F800000u)
        return sign | 0x7E00u;
    if (size >= 0x47800000u)
        return sign | 0x7C00u;
    if (size < 0x38800000u)
        return sign | (unsigned)rintf(ek_bits<float>(size) * 0x1p24f);
    return sign | (((size + 0xFFFu + (size >> 13 & 1u)) >> 13) - (112u << 10));
}
__device__ inline unsigned ek_halves(float a, float b)
{
    return ek_half_bits(a) | ek_half_bits(b) << 16;
}
"""
_HALF4 = """\
__device__ inline ek_x4<float> ek_half4(unsigned a, unsigned b)
{
    return {ek_half(a, 0), ek_half(a, 1), ek_half(b, 0), ek_half(b, 1)};
}
"""
_SPELLED = {"and": "&&", "or": "||", "neg": "-", "not": "!"}
_SIGNS = ("neg", "~", "not")


class Cuda(Dialect):
    functions: ClassVar[dict[str, str]] = {
        "min": "min",
        "max": "max",
        "clz": "(unsigned)__clz((int){0})",
        "sqrt": "sqrtf",
        "floor": "floorf",
        "abs": "fabsf",
        "round": "rintf",
        "dot4": "__dp4a((int){0}, (int){1}, {2})",
        "half": "ek_half({0}, {1})",
        "halves": "ek_halves",
    }

    def type(self, kind: Kind) -> str:
        scalar = _SCALARS[kind.scalar]
        return f"ek_x4<{scalar}>" if kind.lanes == 4 else scalar

    def convert(self, kind: Kind, x: Expr) -> str:
        if kind.lanes == 4:
            return f"ek_convert<{_SCALARS[kind.scalar]}>({self.expr(x)})"
        return f"({self.type(kind)})({self.expr(x)})"

    def bits(self, kind: Kind, x: Expr) -> str:
        return f"ek_bits<{self.type(kind)}>({self.expr(x)})"

    def vector(self, kind: Kind, parts: Sequence[str]) -> str:
        if len(parts) == 1:
            return f"ek_splat({parts[0]})"
        return f"{self.type(kind)}{{{', '.join(parts)}}}"

    def select(self, condition: Expr, yes: Expr, no: Expr) -> str:
        if yes.kind.lanes == 4:
            return f"ek_select({self.expr(condition)}, {self.expr(yes)}, {self.expr(no)})"
        return f"({self.expr(condition)} ? {self.expr(yes)} : {self.expr(no)})"

    def barrier(self) -> str:
        return "__syncthreads()"

    def function(self, name: str, kind: Kind, args: Sequence[str]) -> str:
        if kind.lanes == 4:
            return f"ek_{name}({', '.join(args[:2])})"  # of four halves, not where they are
        if name == "mulhi":
            return f"{'__umulhi' if kind.scalar == 'u32' else '__mulhi'}({', '.join(args)})"
        return super().function(name, kind, args)


_CUDA = Cuda()


def program(kernels: Sequence[Kernel]) -> str:
    """A function ek_<name> for each kernel. Its arguments are each buffer and its first element, then the
    constants; blocks are of as many threads as the kernel's work-groups are of items. Bytes are multiplied
    by an instruction of compute capability 6.1."""
    operations = {operation for kernel in kernels for operation in used(kernel)}
    return "\n".join([*_helpers(operations), *map(_function, kernels)])


def _helpers(operations: set[tuple[str, Kind]]) -> list[str]:
    """What the language lacks of these operations."""
    names = {op for op, _ in operations}
    has_halves = names & {"half", "half4", "halves"}
    parts = [_BITS] * bool("bits" in names or has_halves) + [_HALVES] * bool(has_halves)
    if all(kind.lanes == 1 for _, kind in operations):
        return parts
    parts += [_VECTOR] + [_HALF4] * ("half4" in names)
    for op in sorted({op for op, kind in operations if kind.lanes == 4}):
        if op in _SIGNS:
            parts.append(_SIGN.replace("%", _SPELLED.get(op, op)))
        elif op in _SPELLED or not op.isalnum():
            parts.append(_BINARY.replace("@", _SPELLED.get(op, op)))
    functions = {
        (op, kind) for op, kind in operations if kind.lanes == 4 and op in (*_CUDA.functions, "mulhi")
    }
    return [*parts, *(_lanes(op, kind) for op, kind in sorted(functions, key=str))]


def _lanes(op: str, kind: Kind) -> str:
    """A function on four numbers, from the one on one."""
    names = ["a", "b"] if op in ("min", "max", "mulhi") else ["a"]
    parameters = ", ".join(f"{_CUDA.type(kind)} {name}" for name in names)
    each = (_CUDA.function(op, kind.one, [f"{name}.{lane}" for name in names]) for lane in "xyzw")
    lines = [
        f"__device__ inline {_CUDA.type(kind)} ek_{op}({parameters})",
        "{",
        f"    return {{{', '.join(each)}}};",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _function(kernel: Kernel) -> str:
    parameters = []
    for b in kernel.buffers:
        parameters += [f"{'' if b.writes else 'const '}{_CUDA.type(b.kind)} *__restrict__ {b.name}"]
        parameters += [f"int {b.start}"]
    parameters += [f"{_CUDA.type(c.kind)} {c.text}" for c in kernel.constants]
    lines = [
        f'extern "C" __global__ void __launch_bounds__({kernel.group})',
        f"ek_{kernel.name}({', '.join(parameters)})",
        "{",
        *(f"    __shared__ {_CUDA.type(s.kind)} {s.name}[{s.size}];" for s in kernel.shared),
        "    const int group_number = (int)(blockIdx.y * gridDim.x + blockIdx.x);",
        "    const int within = (int)threadIdx.x;",
        f"    const int item = group_number * {kernel.group} + within;",
        *_CUDA.lines(kernel.body),
        "}",
    ]
    return "\n".join(lines) + "\n"
