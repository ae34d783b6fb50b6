"""Programs of Paddle made to do harm: lies about types, sizes beyond reason, what is not there."""

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from support.hostile_files import Case, changed_json, file, sample
from support.paddle_files import desc, desc_op, net, op, parameter, program, stored, type_of

PROGRAM, OLDER = sample("paddle/pir/net.json"), sample("paddle/oldir/net.pdmodel")
WEIGHTS = sample("paddle/pir/net.pdiparams")
ONE = np.ones(4, np.float32)
RELU = net((4,), (4,), op("relu", [1], {2: type_of((4,))}))
WITH_ONE = net((4,), (4,), parameter(3, "w", (4,)), op("add", [1, 3], {2: type_of((4,))}), element="float32")


def pir(content: bytes | str, weights: bytes = WEIGHTS) -> Callable[[Path], Path]:
    return file("net.json", content, net__pdiparams=weights)


def changed(change: Callable[[Any], object]) -> Callable[[Path], Path]:
    """The shared net with something done to its list of operators."""
    return pir(changed_json(PROGRAM, lambda top: change(top["program"]["regions"][0]["blocks"][0]["ops"])))


def layer(made: dict[str, Any], dims: tuple[int, ...] = (1, 4, 6, 6)) -> Callable[[Path], Path]:
    return pir(net(dims, dims, made), b"")


def linked(folder: Path) -> Path:
    (folder / "other").write_bytes(WEIGHTS)
    (folder / "net.pdiparams").symlink_to(folder / "other")
    (folder / "net.json").write_bytes(PROGRAM)
    return folder / "net.json"


def with_tensor(content: bytes) -> Callable[[Path], Path]:
    return pir(WITH_ONE, content)


CASES = {
    "no parameters": Case("E0104", "net.pdiparams belongs beside", file("net.json", PROGRAM)),
    "no program": Case("E0104", "net.json or net.pdmodel", file("net.pdiparams", WEIGHTS)),
    "parameters are a link": Case("E0404", "copy the file", linked),
    "parameters end early": Case("E0401", "one export", pir(PROGRAM, WEIGHTS[:-7])),
    "parameters of a larger net": Case("E0401", "more than the 8", pir(PROGRAM, WEIGHTS + stored(ONE))),
    "parameter of another shape": Case("E0401", "the file says", with_tensor(stored(np.ones(5, np.float32)))),
    "parameter beyond reason": Case("E0402", "absurd", with_tensor(stored(ONE, (1 << 40, 1 << 20)))),
    "parameter that is short": Case("E0401", "ends within", with_tensor(stored(ONE, (4, 100)))),
    "tensors of the future": Case("E0202", "version 7", with_tensor(struct.pack("<IQIi", 7, 0, 0, 0))),
    "levels without end": Case("E0401", "levels", with_tensor(struct.pack("<IQIi", 0, 1 << 60, 0, 0))),
    "negative size of a type": Case("E0401", "-5 bytes", with_tensor(struct.pack("<IQIi", 0, 0, 0, -5))),
    "PIR of the future": Case("E0202", "newer EdgeKit", pir(program(version=5))),
    "two regions": Case(
        "E0401",
        "2 regions",
        pir(changed_json(PROGRAM, lambda top: top["program"]["regions"].append({"#": "r", "blocks": []}))),
    ),
    "JSON nested without end": Case(
        "E0402|E0401", "net.json", pir(b'{"base_code": {"magic": "pir"}, "program": ' + b"[" * 100_000)
    ),
    "value of the future": Case("E0401", "later or never", changed(lambda ops: ops.reverse())),
    "nothing fetched": Case("E0401", "no output", changed(lambda ops: ops.pop())),
    "type that lies": Case(
        "E0401", "the file says f32[5]", pir(net((4,), (5,), op("relu", [1], {2: type_of((5,))})), b"")
    ),
    "input beyond reason": Case("E0402", "absurd", pir(net((1 << 40,), (4,)), b"")),
    "input twice": Case(
        "E0401", "there twice", pir(program(*[op("data", [], {1: type_of((4,))}, name="x")] * 2))
    ),
    "operator of others": Case("E0201", "3.my_op", layer(op("3.my_op", [1], {2: type_of((4,))}))),
    "loop": Case("E0201", "unsupported op while", layer(op("while", [1], {2: type_of((4,))}))),
    "setting of no operator": Case("E0203", "gamma", layer(op("relu", [1], {2: type_of((4,))}, gamma=1.0))),
    "setting of no kind": Case(
        "E0205", "a_pointer", layer(op("relu", [1], {2: type_of((4,))}, gamma={"#": "0.a_pointer"}))
    ),
    "part of values that are not there": Case(
        "E0201", "builtin.split", layer(op("0.split", [1], {2: {}, 3: {}}))
    ),
    "window of nothing": Case(
        "E0401",
        "window",
        layer(op("pool2d", [1], {2: type_of((1, 4, 6, 6))}, ksize=[0, 0], strides=[1, 1])),
    ),
    "constant of a petabyte": Case(
        "E0402", "absurd", layer(op("full", [], {2: type_of((4,))}, shape=[1 << 30, 1 << 20], value=0.0))
    ),
    "range without end": Case(
        "E0402",
        "absurd",
        layer(op("range", [], {2: type_of((4,))}, start=0.0, end=1e30, step=1e-30)),
    ),
    "quantization that still observes": Case(
        "E0205",
        "observes",
        layer(op("quantize_linear", [1, 1], {2: type_of((1, 4, 6, 6))}, only_observer=True)),
    ),
    "scale that is computed": Case(
        "E0301", "depends on the input", layer(op("quantize_linear", [1, 1], {2: type_of((1, 4, 6, 6))}))
    ),
    "training": Case("E0205", "eval()", layer(op("dropout", [1], {2: type_of((1, 4, 6, 6))}, is_test=False))),
    "older program cut off": Case(
        "E0401", "damaged", file("net.pdmodel", OLDER[:-100], net__pdiparams=WEIGHTS)
    ),
    "older program that is none": Case(
        "E0401", "", file("net.pdmodel", b"\x00" * 64, net__pdiparams=WEIGHTS)
    ),
    "older program without blocks": Case("E0401", "empty", file("net.pdmodel", b"", net__pdiparams=b"")),
    "older program with a variable of nothing": Case(
        "E0401",
        "later or never",
        file("net.pdmodel", desc({"y": ONE}, desc_op("fetch", {"X": "y"}, {})), net__pdiparams=b""),
    ),
    "older program with a loop": Case(
        "E0201",
        "unsupported op while",
        file("net.pdmodel", desc({"y": ONE}, desc_op("while", {"X": "y"}, {})), net__pdiparams=b""),
    ),
}
