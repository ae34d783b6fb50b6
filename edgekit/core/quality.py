"""Signal-to-noise ratios in words."""

from __future__ import annotations

import math


def decibels(ratio: float) -> str:
    """A ratio in words; empty where nothing was measured."""
    return "exact" if ratio == math.inf else f"{ratio:.1f} dB" if math.isfinite(ratio) else ""
