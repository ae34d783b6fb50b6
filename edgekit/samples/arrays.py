"""Arrays in files, .npz by input name or .npy for one input: checked against a graph, cut into samples."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from edgekit.core import atomic, files, suggest
from edgekit.core.arguments import array
from edgekit.core.errors import EdgeKitError, raise_all
from edgekit.core.ir import Graph
from edgekit.core.types import Array, DType, Type
from edgekit.samples import array_headers, array_layouts

Arrays = Mapping[str, Array]
T = TypeVar("T")
# Arrays of these names lie beside the inputs in many files, and are classes of the samples.
_LABELS = ("label", "labels")
_SIGNATURES = (b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06")  # .npy, .npz, empty .npz
# Zip files store a date; the oldest that they know makes equal arrays equal files.
_DATE = (1980, 1, 1, 0, 0, 0)


def load(path: Path, graph: Graph) -> dict[str, Array]:
    """The inputs of a graph from a file."""
    return by_input(_read(path), path.name, graph)


def by_input(content: Array | dict[str, Array], where: str, graph: Graph) -> dict[str, Array]:
    """What a file or a caller gives, by the input that it is for: a single array is for the only one."""
    if isinstance(content, dict):
        return {name: x for name, x in content.items() if name in graph.inputs or name not in _LABELS}
    if len(graph.inputs) != 1:
        names = ", ".join(graph.inputs)
        raise EdgeKitError(
            "E0108",
            f"{where} holds one array, {graph.name} has {len(graph.inputs)} inputs",
            hint=f"write an .npz with the keys {names}, or give a dict of arrays with them",
        )
    return {graph.inputs[0]: content}


def _read(path: Path) -> Array | dict[str, Array]:
    """An array, or arrays by name."""
    return guarded(path, lambda: _load(path))


def _load(path: Path) -> Array | dict[str, Array]:
    array_headers.of_file(path)  # before numpy makes room for what they promise
    with files.opened(path) as file:
        content = np.load(file, allow_pickle=False)
        return content if isinstance(content, np.ndarray) else {name: content[name] for name in content.files}


def guarded(path: Path, read: Callable[[], T]) -> T:
    """What `read` makes of a file, or an error that says what is wrong with the file. Pickled objects are
    refused: they are programs."""
    try:
        with files.opened(path) as file:
            start = file.read(max(map(len, _SIGNATURES)))
        if not start.startswith(_SIGNATURES):
            raise _no_arrays(path)
        return read()
    except (EdgeKitError, MemoryError):
        raise
    except OSError as error:
        if not error.strerror:
            raise _no_arrays(path) from None
        raise EdgeKitError("E0104", f"cannot read {path}: {error.strerror}") from None
    except Exception:  # numpy and zipfile let through whatever a damaged file makes them stumble over
        raise _no_arrays(path) from None


def _no_arrays(path: Path) -> EdgeKitError:
    return EdgeKitError(
        "E0401", f"{path.name} is no .npz or .npy file, or is damaged", hint="numpy.savez makes one"
    )


def save(path: Path, arrays: Arrays) -> None:
    """Write all arrays or nothing, a single one as .npy where the name says so. Same arrays, same bytes."""
    check_destination(path, len(arrays))
    if path.suffix.lower() == ".npy":
        (array,) = arrays.values()
        atomic.write(path, [_npy(array)])
        return
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", _DATE), _npy(array))
    atomic.write(path, [buffer.getvalue()])


def check_destination(path: Path, count: int) -> None:
    """Refuse a file name that `save` cannot write; asked before the work is done."""
    if path.suffix.lower() not in (".npz", ".npy"):
        raise EdgeKitError("E0105", f"cannot write {path.name}: arrays go into .npz or .npy files")
    if path.suffix.lower() == ".npy" and count != 1:
        raise EdgeKitError("E0105", f"{path.name} takes one array, here are {count}", hint="write an .npz")


def _npy(array: Array) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.ascontiguousarray(array).reshape(array.shape), allow_pickle=False)
    return buffer.getvalue()


def samples(graph: Graph, given: Arrays) -> list[dict[str, Array]]:
    """The inputs of each run. Arrays have the shape of their input, or a dimension in front that counts
    samples; where that of the model is a batch of 1, it counts them itself."""
    arrays = {name: array(x, f"input {name}") for name, x in given.items()}
    counts = sample_counts(graph, arrays)
    total = next((count for count in counts.values() if count is not None), 1)
    return [
        {
            name: as_input(name, graph.type(name), arrays[name] if count is None else arrays[name][i])
            for name, count in counts.items()
        }
        for i in range(total)
    ]


def sample_counts(graph: Graph, given: Arrays) -> dict[str, int | None]:
    """How many samples each array holds, by its type and shape; None where it is one for all."""
    raise_all(list(_name_faults(graph, given)))
    counts: dict[str, int | None] = {}
    faults: list[EdgeKitError] = []
    for name in graph.inputs:
        try:
            counts[name] = _count(name, graph.type(name), given[name])
        except EdgeKitError as error:
            faults += [error, *error.also]
            error.also = []
    raise_all(faults)
    several = {name: count for name, count in counts.items() if count is not None}
    if len(set(several.values())) > 1:
        listed = ", ".join(f"{name}: {count}" for name, count in several.items())
        raise EdgeKitError("E0108", f"inputs differ in the number of samples ({listed})")
    return counts


def labels(path: Path) -> Array:
    """The only array of a file, or the one that is called so."""
    content = _read(path)
    if not isinstance(content, dict):
        return content
    chosen = [x for name, x in content.items() if name in _LABELS] or list(content.values())
    if len(chosen) != 1:
        names = ", ".join(content)
        raise EdgeKitError("E0108", f"{path.name} holds {len(chosen)} arrays, not one", hint=names)
    return chosen[0]


def _name_faults(graph: Graph, given: Arrays) -> Iterator[EdgeKitError]:
    for name in given:
        if name not in graph.inputs:
            hint = suggest.hint(name, graph.inputs, "inputs")
            yield EdgeKitError("E0108", f"{graph.name} has no input named {name}", hint=hint)
    for name in graph.inputs:
        if name not in given:
            yield EdgeKitError("E0101", f"input {name} is missing", hint=f"{name} is {graph.type(name)}")


def as_input(name: str, type: Type, sample: Array) -> Array:
    """One sample as an input takes it."""
    return _typed(name, type, sample).reshape(type.shape)


def _count(name: str, type: Type, array: Array) -> int | None:
    """How many samples are in an array? None: it is a sample itself. One error tells all that is wrong."""
    faults: list[EdgeKitError] = []
    try:
        array = _typed(name, type, array)
    except EdgeKitError as error:
        faults.append(error)
    if not array_layouts.fits(array.shape, type.shape):
        found = ",".join(map(str, array.shape))
        hint = array_layouts.hint(array.shape, type.shape)
        faults.append(EdgeKitError("E0102", f"input {name} is [{found}], the model takes {type}", hint=hint))
    raise_all(faults)
    return array_layouts.sample_count(array.shape, type.shape)


def _typed(name: str, type: Type, array: Array) -> Array:
    """The array in the input's element type: never converted, only narrow types get back the names that files
    do not keep."""
    wanted = type.dtype.numpy
    if array.dtype == wanted:
        return array
    if array.dtype.kind == "V" and array.dtype.itemsize == wanted.itemsize and wanted.kind == "V":
        return array.view(wanted)
    cast = f"save it as x.astype('{wanted}')" if wanted.isbuiltin else f"the model takes {type.dtype.value}"
    if type.dtype.is_float and array.dtype.kind in "iu":
        cast += (
            ", normalized as in training; a model that takes raw data is made with --raw, --mean and --std"
        )
    try:
        found = DType.of(array.dtype).value
    except (KeyError, TypeError):
        found = str(array.dtype)
    raise EdgeKitError("E0102", f"input {name} is {found}, the model takes {type}", hint=cast)


def together(graph: Graph, given: Arrays, results: Sequence[Arrays]) -> dict[str, Array]:
    """The outputs of all runs: as they are for one sample, else joined as the inputs were."""
    one = all(np.asarray(given[name]).shape == graph.type(name).shape for name in graph.inputs)
    joined: dict[str, Array] = {}
    for name in graph.outputs:
        type = graph.type(name)
        parts = [result[name] for result in results]
        if one:
            joined[name] = parts[0]
        elif type.rank and type.shape[0] == 1 and _batched(graph, given):
            joined[name] = (
                np.concatenate(parts) if parts else np.empty((0, *type.shape[1:]), type.dtype.numpy)
            )
        else:
            joined[name] = np.stack(parts) if parts else np.empty((0, *type.shape), type.dtype.numpy)
    return joined


def _batched(graph: Graph, given: Arrays) -> bool:
    """Did the first dimension of the inputs itself count samples, rather than one in front of it?"""
    return all(np.asarray(given[name]).ndim == graph.type(name).rank for name in graph.inputs)
