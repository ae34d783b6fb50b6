"""What `quantize` warns about, by topic."""

from edgekit.quantize.outcome import Quantization

SLOWER = "times as long as the float model"


def besides_speed(found: Quantization) -> tuple[str, ...]:
    """All warnings but the one that int8 takes longer than floats, as it does in networks of a few layers."""
    return tuple(text for text in found.warnings if SLOWER not in text)
