"""What integers of inputs and outputs stand for, in words."""

from __future__ import annotations

from edgekit.core.types import Quant


def meaning(quant: Quant | None) -> str:
    """A formula, where there is one; empty where numbers are themselves."""
    if not quant:
        return ""
    if len(quant.scale) > 1:
        return "a scale for each channel"
    return f"{float(quant.scale[0]):.6g} * (integer - {int(quant.zero[0])})"
