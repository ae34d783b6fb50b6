"""The cases of onnx's own test suites: a model, its inputs, and the outputs to expect."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, TypeProto, ValueInfoProto, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import DATA_DIR, load_model_tests
from support import object_cache

from edgekit.core.types import Array
from edgekit.onnx_backend import input_names

# Beside the node suite: models that PyTorch exported when it and ONNX were young, and a few made by hand.
_FOLDERS = ("simple", "pytorch-operator", "pytorch-converted")


@dataclass(frozen=True)
class Case:
    """One run of a model. Inputs and outputs that are lists are sequences, and None is an absent optional."""

    name: str
    kind: str  # node, or a folder of models
    model: ModelProto
    inputs: Mapping[str, Any]
    expected: tuple[Any, ...]
    rtol: float
    atol: float

    @property
    def tensors(self) -> dict[str, Array]:
        """The inputs that are tensors."""
        return {name: x for name, x in self.inputs.items() if isinstance(x, np.ndarray)}


@cache
def cases() -> tuple[Case, ...]:
    """Every case of the installed onnx; names differ. onnx computes them by its reference, for seconds: they
    are kept."""
    kept = object_cache.exports([Path(__file__)])
    if kept and (path := kept / "cases.pickle").exists():
        return tuple(pickle.loads(path.read_bytes()))
    made = tuple(_computed())
    if kept:
        new = path.with_suffix(f".{os.getpid()}")
        new.write_bytes(pickle.dumps(made))
        os.replace(new, path)
    return made


def _computed() -> Iterator[Case]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its generators divide by zero on purpose
        yield from [case for test in load_model_tests(kind="node") for case in _cases(test)]
    yield from _models()


def _cases(test: TestCase) -> Iterator[Case]:
    """The data sets of a test."""
    assert test.model is not None
    assert test.data_sets is not None
    for i, (inputs, outputs) in enumerate(test.data_sets):
        given = zip(input_names(test.model), map(_array, inputs), strict=False)
        yield Case(
            test.name + f"_{i}" * (i > 0),
            test.kind,
            test.model,
            dict(given),
            tuple(map(_array, outputs)),
            test.rtol,
            test.atol,
        )


def _models() -> Iterator[Case]:
    for kind in _FOLDERS:
        if (Path(DATA_DIR) / kind).is_dir():
            for test in sorted(load_model_tests(kind=kind), key=lambda test: test.name):
                if test.model_dir is not None:
                    _read(test, Path(test.model_dir))
                    yield from _cases(test)


def _read(test: TestCase, folder: Path) -> None:
    """Fill a test with the files of its folder."""
    test.model = onnx.load(folder / "model.onnx")
    graph = test.model.graph
    test.data_sets = []
    for data in sorted(folder.glob("test_data_set_*")):
        inputs = list(_load(data, "input", graph.input))
        test.data_sets.append((inputs, list(_load(data, "output", graph.output))))


def _load(folder: Path, kind: str, values: Sequence[ValueInfoProto]) -> Iterator[Any]:
    """The arrays and lists of a data set; inputs that have a default value have no file."""
    for i, value in enumerate(values):
        if (path := folder / f"{kind}_{i}.pb").exists():
            yield _parse(path, value.type)


def _parse(path: Path, type: TypeProto) -> Any:
    if type.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(path.read_bytes()))
    return numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def _array(item: Any) -> Any:
    if isinstance(item, TensorProto):
        return numpy_helper.to_array(item)
    return item if item is None or isinstance(item, list) else np.asarray(item)
