"""A device's own measurements of its runs, beside the estimate."""

from enum import StrEnum


class Unit(StrEnum):
    """What the numbers of a log are."""

    CYCLES = "cycles"
    US = "us"
    MS = "ms"
    NS = "ns"
    INSTRUCTIONS = "instructions"
    TICKS = "ticks"
