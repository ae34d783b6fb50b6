"""Settings of layers, which the file holds as text: each becomes what the parameter of a handler says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any

from edgekit.converters.file_formats.text_numbers import integer, number
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

Ints = Sequence[int]
Floats = Sequence[float]
Texts = Sequence[str]
_DTYPES = {
    "boolean": DType.BOOL,
    "f16": DType.F16,
    "bf16": DType.BF16,
    "f32": DType.F32,
    "f64": DType.F64,
    "i4": DType.S4,
    "i8": DType.S8,
    "i16": DType.S16,
    "i32": DType.S32,
    "i64": DType.S64,
    "u4": DType.U4,
    "u8": DType.U8,
    "u16": DType.U16,
    "u32": DType.U32,
    "u64": DType.U64,
}
_FLAGS = {"true": True, "false": False, "1": True, "0": False}
# Ways of padding, as ONNX calls them.
_PADDINGS = {
    "explicit": "NOTSET",
    "notset": "NOTSET",
    "same_upper": "SAME_UPPER",
    "same_lower": "SAME_LOWER",
    "valid": "VALID",
}
_BROADCAST = "auto_broadcast"  # of most layers of two operands
# What a layer may say of how it was made, or of what only its own runtime asks.
_IGNORED = {"element_type_hint", "originalLayersNames"}


def dtype_named(text: str) -> DType:
    """The element type of this name."""
    if text not in _DTYPES:
        raise EdgeKitError("E0204", f"element type {text[:40]} is not supported")
    return _DTYPES[text]


def arguments(handler: Callable[..., Any], settings: Mapping[str, str], **known: Any) -> dict[str, Any]:
    """The settings of a layer for its handler, with what is `known` of the layer and the handler asks for."""
    takes = signature(handler).parameters
    found: dict[str, Any] = {key: value for key, value in known.items() if key in takes}
    for key, text in settings.items():
        if key == _BROADCAST and key not in takes:
            _check_broadcast(text)
        elif key not in _IGNORED:
            parse = _PARSERS[takes[key].annotation] if key in takes else str
            found[key] = parse(text)
    return found


def dims(text: str) -> list[int | None] | None:
    """A shape, in which sizes may be open: `1,3,?,8..32`; None where even their number is."""
    parts = [part.strip() for part in text.strip("[]{} ").split(",")] if text.strip() else []
    if "..." in parts:
        return None
    return [int(part) if part.isdecimal() else None for part in parts]


def padding(auto_pad: str) -> str:
    """A way of padding, as ONNX calls it."""
    if auto_pad.lower() not in _PADDINGS:
        raise EdgeKitError("E0401", f"padding by {auto_pad[:20]!r}")
    return _PADDINGS[auto_pad.lower()]


def _check_broadcast(text: str) -> None:
    if text not in ("numpy", "none"):
        raise EdgeKitError("E0205", f"operands that broadcast by {text[:20]} are not supported")


def _int(text: str) -> int:
    return integer(text.strip(), "a setting")


def _float(text: str) -> float:
    return number(text.strip(), "a setting")


def _bool(text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise EdgeKitError("E0401", f"{text[:40]!r} should be true or false")
    return _FLAGS[text.lower()]


def _each(text: str) -> Iterator[str]:
    return (part.strip() for part in text.split(",")) if text.strip() else iter(())


def _ints(text: str) -> Ints:
    return tuple(_int(part) for part in _each(text))


def _floats(text: str) -> Floats:
    return tuple(_float(part) for part in _each(text))


def _texts(text: str) -> Texts:
    return tuple(_each(text))


# By the annotations of handlers.
_PARSERS: Mapping[str, Callable[[str], Any]] = {
    "int": _int,
    "float": _float,
    "bool": _bool,
    "str": str,
    "DType": dtype_named,
    "_Ints": _ints,
    "_Floats": _floats,
    "_Texts": _texts,
}
