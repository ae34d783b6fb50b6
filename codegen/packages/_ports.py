"""The one description of a model that templates of all languages get: ports, memory, sizes, options."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import edgekit
from edgekit.codegen.compilation import library_objects
from edgekit.codegen.packages import PackageRequest
from edgekit.codegen.packages._classes import by_output, in_java
from edgekit.codegen.packages._words import meaning
from edgekit.codegen.printing.names import apart, build_target, namespace
from edgekit.codegen.printing.render import model_origin
from edgekit.codegen.program import Port
from edgekit.codegen.verification import verify
from edgekit.core.escape import Code

VERSION = "1.0.0"  # of what is packed: the first one
_FRACTION_BITS = {"ek_f16": 10, "ek_bf16": 7}


def values(
    request: PackageRequest, types: Mapping[str, str], keywords: Collection[str] = ()
) -> dict[str, Any]:
    """What templates know, in the words of a language: `types` names elements, a name that is among
    `keywords` gets an underscore."""
    program = request.program
    inputs = [_port(port, "input", types, keywords) for port in program.inputs]
    outputs = [_port(port, "output", types, keywords) for port in program.outputs]
    ports = [*inputs, *outputs]
    classes = by_output(program, request.content.classes)
    for port in ports:
        port["classes"] = list(classes.get(port["c"], ()))
        port["java_classes"] = list(in_java(port["classes"]))
    for port, pascal in zip(ports, _pascal_case(port["c"] for port in ports), strict=True):
        port["pascal"] = pascal
    level = verify.LEVEL[request.optimize]
    return {
        "name": program.name,
        "id": identifier(program.name, keywords),  # in the language
        "pascal": next(_pascal_case([program.name])),
        "lower": re.sub("[^a-z0-9]+", "-", program.name.lower()).strip("-") or "model",
        "guard": program.name.upper(),
        "cmake_target": build_target(program.name),
        "meson_target": build_target(program.name, "meson"),
        "namespace": namespace(program.name),  # in C++
        "version": edgekit.__version__,
        "package_version": VERSION,
        "origin": model_origin(program),
        "target": program.target.name,
        "target_description": program.target.description,
        "inputs": inputs,
        "outputs": outputs,
        "ports": ports,
        "has_integers": any(port["integers"] for port in ports),
        "has_halves": any(port["fraction"] for port in outputs),
        "classes": classes,  # names of values, by the output
        "has_state": bool(program.states),
        "takes_batches": not program.states
        and all(port["shape"][:1] == [1] and port["size"] for port in ports),
        "is_quantized": any(value.type.quant for value in program.graph.values.values()),
        "state_bytes": program.state_bytes,
        "arena_bytes": program.arena_bytes,
        "align": program.target.align,
        "weight_bytes": program.weight_bytes,
        "sizes": request.sizes,
        "compiler": request.compiler,
        "level": level.removeprefix("-O"),
        "options": [level, *library_objects.FLOATS, *program.target.cflags],
        # The same for compilers behind a list of options: those of the processor, and macros.
        "flags": [level, *(flag for flag in program.target.cflags if flag.startswith("-m"))],
        "defines": [
            Code(flag[2:].replace("=", " ", 1)) for flag in program.target.cflags if flag.startswith("-D")
        ],
    }


def _port(port: Port, kind: str, types: Mapping[str, str], keywords: Collection[str]) -> dict[str, Any]:
    dtype = port.type.dtype
    # What a language has no type for is an integer of the same bits.
    is_unsigned = dtype.c.startswith("u") and types[dtype.c] == types[dtype.c[1:]]
    is_bits = dtype.c.startswith("ek_") and types[dtype.c] == types["uint16_t"]
    fraction = _FRACTION_BITS.get(dtype.c, 0) if is_bits or types[dtype.c] == dtype.c else 0
    words = f"the bits of {dtype.name.lower()}" if is_bits else meaning(port.type.quant)
    return {
        "kind": kind,
        "name": port.name,
        "c": port.c,  # the parameter in C
        "id": identifier(port.c, keywords),  # and in the language
        "ctype": dtype.c,
        "type": Code(types[dtype.c]),
        "fraction": fraction,  # bits of it, where an element is the bits of a float of 16 bits
        "is_unsigned": is_unsigned,  # but its type is not
        "size": port.type.size,
        "shape": list(port.type.shape),
        "integers": port.integers,
        "meaning": ", ".join([words] * bool(words) + ["unsigned"] * is_unsigned),
    }


def identifier(name: str, keywords: Collection[str]) -> str:
    """A name that is public in every language, and no keyword of this one."""
    return apart(f"t{name}" if name.startswith("_") else name, keywords)


def public_headers(made: Mapping[str, bytes], header: str) -> list[str]:
    """The headers that a header leads to: those that programs need beside it."""
    found: list[str] = []
    left = [header]
    while left:
        inner = re.findall(r'#include "(edgekit/.*)"', made[left.pop()].decode())
        new = [path for path in inner if path not in found]
        found += new
        left += new
    return sorted(found)


def _pascal_case(names: Iterable[str]) -> Iterator[str]:
    """Names in capitals, as public ones are in Go and C#: Conv1 of conv_1, and Conv1_ of conv1 behind it."""
    taken: set[str] = set()
    for name in names:
        pascal = "".join(word.capitalize() for word in name.split("_"))
        while pascal in taken:
            pascal += "_"
        taken.add(pascal)
        yield pascal
