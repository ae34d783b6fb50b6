"""Progress of long work: who wants to follow it gets a message for each step."""

from collections.abc import Callable

Progress = Callable[[str], None]
