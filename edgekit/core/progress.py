"""Progress of long work: who wants to follow it gets a message for each step."""

from collections.abc import Callable

Progress = Callable[[str], None]


class Milestone(str):
    """A step with a first result: what shows progress leaves it where it can be read."""
