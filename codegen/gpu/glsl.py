"""Kernels as GLSL for Vulkan: a shader for each kernel, whose constants are specialization constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from edgekit.codegen.gpu.ast import Expr, Kernel, Kind
from edgekit.codegen.gpu.dialect import Dialect, used

_SCALARS = {"f32": "float", "i32": "int", "u32": "uint", "bool": "bool"}
_VECTORS = {"f32": "vec4", "i32": "ivec4", "u32": "uvec4", "bool": "bvec4"}
_COMPARISONS = {
    "<": "lessThan",
    "<=": "lessThanEqual",
    ">": "greaterThan",
    ">=": "greaterThanEqual",
    "==": "equal",
    "!=": "notEqual",
}
_HELPERS = """\
{i} ek_mulhi({i} a, {i} b)
{{
    {i} high, low;
    imulExtended(a, b, high, low);
    return high;
}}
{u} ek_mulhi({u} a, {u} b)
{{
    {u} high, low;
    umulExtended(a, b, high, low);
    return high;
}}
"""
_CLZ = """\
uint ek_clz(uint x)
{
    return uint(31 - findMSB(x));
}
"""
_DOT4 = """\
int ek_dot4(uint a, uint b, int total)
{
    const ivec4 x = ivec4(uvec4(a << 24u, a << 16u, a << 8u, a)) >> 24;
    const ivec4 y = ivec4(uvec4(b << 24u, b << 16u, b << 8u, b)) >> 24;
    const ivec4 p = x * y;
    return total + p.x + p.y + p.z + p.w;
}
"""
_HALVES = """\
float ek_half(uint word, int i)
{
    return unpackHalf2x16(word >> uint(i * 16)).x;
}
vec4 ek_half4(uint a, uint b)
{
    return vec4(unpackHalf2x16(a), unpackHalf2x16(b));
}
uint ek_halves(float a, float b)
{
    return packHalf2x16(vec2(a, b));
}
"""


class Glsl(Dialect):
    functions: ClassVar[dict[str, str]] = {
        "min": "min",
        "max": "max",
        "mulhi": "ek_mulhi",
        "clz": "ek_clz",
        "sqrt": "sqrt",
        "floor": "floor",
        "abs": "abs",
        "round": "roundEven",
        "dot4": "ek_dot4",
        "half": "ek_half({0}, {1})",
        "half4": "ek_half4({0}, {1})",
        "halves": "ek_halves",
    }

    def type(self, kind: Kind) -> str:
        return (_VECTORS if kind.lanes == 4 else _SCALARS)[kind.scalar]

    def literal(self, e: Expr) -> str:
        return e.text + {"u32": "u"}.get(e.kind.scalar, "")

    def convert(self, kind: Kind, x: Expr) -> str:
        return f"{self.type(kind)}({self.expr(x)})"

    def bits(self, kind: Kind, x: Expr) -> str:
        functions = {
            ("f32", "i32"): "floatBitsToInt",
            ("f32", "u32"): "floatBitsToUint",
            ("i32", "f32"): "intBitsToFloat",
            ("u32", "f32"): "uintBitsToFloat",
        }
        return f"{functions.get((x.kind.scalar, kind.scalar), self.type(kind))}({self.expr(x)})"

    def vector(self, kind: Kind, parts: Sequence[str]) -> str:
        return f"{self.type(kind)}({', '.join(parts)})"

    def select(self, condition: Expr, yes: Expr, no: Expr) -> str:
        if yes.kind.lanes == 4:
            return f"mix({self.expr(no)}, {self.expr(yes)}, {self.expr(condition)})"
        return f"({self.expr(condition)} ? {self.expr(yes)} : {self.expr(no)})"

    def binary(self, op: str, a: Expr, b: Expr) -> str:
        if a.kind.lanes == 4 and op in _COMPARISONS:
            return f"{_COMPARISONS[op]}({self.expr(a)}, {self.expr(b)})"
        return super().binary(op, a, b)

    def barrier(self) -> str:
        return "barrier()"


_GLSL = Glsl()


def shader(kernel: Kernel) -> str:
    """The shader of a kernel. Buffers are bindings 0, 1, ... of set 0; the first constants are
    <buffer>_at, the element of the binding that is the buffer's first, then come those of the kernel."""
    parts = ["#version 450", f"layout(local_size_x = {kernel.group}) in;"]
    for i, b in enumerate(kernel.buffers):
        block = f"{_GLSL.type(b.kind)} {b.name}[];"
        parts.append(f"layout(std430, set = 0, binding = {i}) buffer ek_binding_{i} {{ {block} }};")
    names = [(b.start, "int") for b in kernel.buffers]
    names += [(c.text, _GLSL.type(c.kind)) for c in kernel.constants]
    parts += [
        f"layout(constant_id = {i}) const {type} {name} = {type}(0);" for i, (name, type) in enumerate(names)
    ]
    parts += [f"shared {_GLSL.type(s.kind)} {s.name}[{s.size}];" for s in kernel.shared]
    operations = used(kernel)
    lanes = {kind.lanes for op, kind in operations if op == "mulhi"}
    for count in sorted(lanes):
        signed, unsigned = _GLSL.type(Kind("i32", count)), _GLSL.type(Kind("u32", count))
        parts.append(_HELPERS.format(i=signed, u=unsigned))
    names_of = {op for op, _ in operations}
    parts += [text for op, text in (("clz", _CLZ), ("dot4", _DOT4)) if op in names_of]
    parts += [_HALVES] if names_of & {"half", "half4", "halves"} else []
    parts += [
        "void main()",
        "{",
        "    const int group_number = int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x);",
        "    const int within = int(gl_LocalInvocationID.x);",
        f"    const int item = group_number * {kernel.group} + within;",
        *_GLSL.lines(kernel.body),
        "}",
    ]
    return "\n".join(parts) + "\n"
