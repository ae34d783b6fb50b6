"""Programs in which kernels that fit the same calls take turns, so that each computes some."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

from edgekit.codegen.kernels import sources
from edgekit.codegen.kernels.kernel_files import Variant
from edgekit.core.ops import Call
from edgekit.core.target import Target


@contextmanager
def in_turns() -> Iterator[None]:
    taken: dict[tuple[str, ...], int] = {}
    seen = Counter[tuple[str, ...]]()

    def next_one(call: Call, found: Sequence[Variant], target: Target, operands: Sequence[str]) -> Variant:
        files = tuple(variant.file for variant in found)
        asked = (call.args[0].name, *files)
        if asked not in taken:  # rules of lowering ask more than once
            taken[asked] = seen[files]
            seen[files] += 1
        return found[taken[asked] % len(found)]

    with patch.object(sources, "cheapest", next_one):
        yield
