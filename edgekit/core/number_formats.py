"""Number formats by all the names that frameworks give them: fp16, half and float16 are f16."""

from __future__ import annotations

from collections.abc import Iterable

_ALIASES = {
    "f16": ("fp16", "half", "float16"),
    "bf16": ("bfloat16", "brain16"),
    "f32": ("fp32", "float", "float32", "single"),
    "int4": ("i4", "s4"),
    "int8": ("i8", "s8", "w8a8"),
    "int16": ("i16", "s16", "w8a16", "16x8", "int16x8"),
    "uint8": ("u8",),
    "uint16": ("u16",),
}
_CANONICAL = {alias: name for name, aliases in _ALIASES.items() for alias in aliases}


def canonical(name: str) -> str:
    """The one name of a format; what is not known stays as it is."""
    return _CANONICAL.get(name.lower(), name.lower())


def among(name: str, known: Iterable[str]) -> str:
    """The known name of the same format, or the name itself where there is none."""
    return next((k for k in known if canonical(k) == canonical(name)), name)
