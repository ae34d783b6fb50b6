"""The classes that a pickle names, found by reading its opcodes: nothing is loaded or imported."""

from __future__ import annotations

import pickletools
import zlib
from collections import deque
from contextlib import suppress
from io import BytesIO
from itertools import islice

from edgekit.core import unpacking

MOST = 1 << 20  # bytes that are looked at: classes stand in front of what they hold
_MOST_OPCODES = 200_000
_PICKLES = 5  # in one file: torch before 1.6 writes a few numbers in front, each as a pickle


def pickle_names(raw: bytes) -> frozenset[str]:
    """What a pickle imports as it is loaded, such as torch.nn.modules.linear.Linear, until its end or the
    first fault. Joblib puts the bytes of arrays in between, which end the reading, too."""
    found: set[str] = set()
    file = BytesIO(raw)
    with suppress(Exception):  # of what is no pickle: pickletools raises what it stumbles over
        for _ in range(_PICKLES):
            _read(file, found)
    return frozenset(found)


def _read(file: BytesIO, found: set[str]) -> None:
    """The names in one pickle."""
    memo: dict[int, str] = {}
    texts = deque([""], maxlen=2)  # the last ones on the stack
    for opcode, argument, _ in islice(pickletools.genops(file), _MOST_OPCODES):
        match opcode.name:
            case "GLOBAL" | "INST":
                found.add(str(argument).replace(" ", "."))
            case "STACK_GLOBAL":
                found.add(".".join(texts))
            case "MEMOIZE":
                memo[len(memo)] = texts[-1]
            case "PUT" | "BINPUT" | "LONG_BINPUT":
                memo[int(argument or 0)] = texts[-1]
            case "GET" | "BINGET" | "LONG_BINGET":
                texts.append(memo.get(int(argument or 0), ""))
            case _ if isinstance(argument, str):
                texts.append(argument)


def unpacked_start(raw: bytes) -> bytes:
    """The first bytes of what zlib packed, as joblib does; none of anything else."""
    with suppress(zlib.error):
        return zlib.decompressobj().decompress(raw, min(MOST, unpacking.limit(len(raw))))
    return b""
