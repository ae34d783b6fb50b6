"""Seeded ways to damage .ek files: in their structure, behind a right checksum, and in their bytes."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from support.ek_files import forge, sections, thawed
from support.exports import SAMPLES
from support.mutants import BYTES, FLOATS, NUMBERS
from support.random_graphs import random_network
from support.stateful import random_graph

from edgekit import api
from edgekit.core import ek_file, flatbuffer
from edgekit.core.ops import registry
from edgekit.core.types import DType

_GRAPHS = 12


@cache
def files() -> list[bytes]:
    """Files before they are damaged: random graphs of all kinds of layers, some with states, one of int8."""
    graphs = [random_network(seed, 8, DType.F32) for seed in range(_GRAPHS)]
    graphs += [random_graph(seed) for seed in range(_GRAPHS // 2)]
    graphs.append(api.convert(SAMPLES / "tf" / "net_int8.tflite"))
    made = []
    with tempfile.TemporaryDirectory() as folder:
        for graph in graphs:
            ek_file.save(graph, Path(folder, "net.ek"))
            made.append(Path(folder, "net.ek").read_bytes())
    return made


def mutant(rng: Random, folder: Path) -> tuple[str, bytes]:
    """A damaged file, and how it came to be; `folder` is for files in the making."""
    which = rng.randrange(len(files()))
    raw, path = files()[which], folder / "made.ek"
    if rng.random() < 0.1:
        how = rng.choice(BYTES)
        return f"graph {which}, {how.__name__}", how(raw, rng)
    path.write_bytes(raw)
    structure, data = sections(path)
    if rng.random() < 0.2:
        how = rng.choice(BYTES)
        forge(path, how(structure, rng), data)
        done = f"{how.__name__} of the structure"
    else:
        count = rng.choice([1, 1, 1, 2, 4])
        forge(path, _changed(structure, count, rng), data)
        done = f"{count} changes of the structure"
    made = path.read_bytes()
    path.unlink()
    return f"graph {which}, {done}", made


def _changed(structure: bytes, count: int, rng: Random) -> bytes:
    """The structure with so many changes; those that the writer cannot say are left out."""
    record = flatbuffer.read(ek_file.schema(), structure)
    made = structure
    for _ in range(count):
        changed = _value(thawed(record), rng)
        try:
            made = flatbuffer.write(ek_file.schema(), changed)
        except Exception:  # a number does not fit its field
            continue
        record = changed
    return made


def _value(value: Any, rng: Random) -> Any:
    """Change one place of a tree, of the type that it has."""
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        return value | {key: _value(value[key], rng)}
    if isinstance(value, list) and value:
        i, j = rng.randrange(len(value)), rng.randrange(len(value))
        match rng.randrange(12):
            case 0:
                return value[:i] + value[i + 1 :]
            case 1:
                return [*value[:j], value[i], *value[j:]]
            case 2:
                return [*value[:i], value[j], *value[i + 1 :]]
        return [*value[:i], _value(value[i], rng), *value[i + 1 :]]
    match value:
        case bool():
            return not value
        case int():
            return rng.choice([*NUMBERS, value + 1, value - 1, *range(8)])
        case float():
            return rng.choice([*FLOATS, value * 2, 0.5])
        case str():
            return rng.choice(_texts())
    return value


@cache
def _texts() -> list[str]:
    """Names of operators, of types and of nothing."""
    others = ("", "x", "y", "DType.F32", "\n", "a" * 300)
    return [*sorted(registry()), *(d.value for d in DType), *others]
