"""What all readers stand on: arrays in bytes, companion files, JSON, protocol buffers, handlers."""

from __future__ import annotations

import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgekit.converters import files, inputs
from edgekit.converters.file_formats import protobuf
from edgekit.converters.file_formats.json_record import Record
from edgekit.converters.frontend import call, check_supported
from edgekit.core.errors import EdgeKitError
from edgekit.core.types import DType

RAW = np.arange(12, dtype=np.float32).tobytes()


def code(error: pytest.ExceptionInfo[EdgeKitError]) -> str:
    return error.value.code


def test_array_lies_where_it_is_said_to_lie() -> None:
    found = files.array(RAW, DType.F32, (2, 3), "w", offset=8)
    assert found.tolist() == [[2, 3, 4], [5, 6, 7]]
    assert files.array(RAW, DType.F32, (3, 2), "w", strides=(1, 4)).tolist() == [[0, 4], [1, 5], [2, 6]]
    assert files.array(RAW, DType.F32, (2, 0), "w", strides=(5, 9)).shape == (2, 0)
    assert files.array(b"\0\2\1", DType.BOOL, (3,), "w").tolist() == [False, True, True]
    assert files.array(RAW, DType.F32, (), "w", offset=44).tolist() == 11


@pytest.mark.parametrize(
    ("shape", "options", "wanted"),
    [
        ((13,), {}, "E0401"),
        ((12,), {"offset": 4}, "E0401"),
        ((1,), {"offset": -4}, "E0401"),
        ((11,), {"exact": True}, "E0401"),
        ((2, 2), {"strides": (1,)}, "E0401"),
        ((2, 2), {"strides": (-1, 1)}, "E0401"),
        ((2, 2), {"strides": (11, 1)}, "E0401"),
        ((1 << 40,), {}, "E0402"),
        ((-1,), {}, "E0402"),
        ((0, 1 << 40), {}, "E0402"),
        ((1,) * 40, {}, "E0402"),
        ((1 << 24,), {"strides": (0,)}, "E0402"),
    ],
)
def test_array_outside_of_its_bytes_is_refused(
    shape: tuple[int, ...], options: dict[str, int], wanted: str
) -> None:
    with pytest.raises(EdgeKitError) as error:
        files.array(RAW, DType.F32, shape, "w", **options)  # type: ignore[arg-type]  # of several types
    assert code(error) == wanted
    assert error.value.where == "w"


def test_companion_is_a_plain_file_in_the_same_folder(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    model = folder / "net.json"
    (folder / "net.params").write_bytes(b"weights")
    (tmp_path / "outside").write_bytes(b"secret")
    (folder / "net.link").symlink_to(tmp_path / "outside")
    (folder / "net.folder").mkdir()
    assert files.read_companion(model, ".params", "weights") == b"weights"
    for name in ("../outside", str(tmp_path / "outside"), "..", "", "a\0b", "C:x", "a\\b", "net.link"):
        with pytest.raises(EdgeKitError) as error:
            files.read_beside(model, name, "weights")
        assert code(error) == "E0404", name
    for name in ("nothing", "net.folder", "x" * 5000):
        with pytest.raises(EdgeKitError) as error:
            files.read_beside(model, name, "weights")
        assert code(error) == "E0104", name
    with pytest.raises(EdgeKitError, match="belongs beside"):
        files.read_companion(model, ".bin", "weights")
    with pytest.raises(EdgeKitError, match="more than 6 bytes"):
        files.read(folder / "net.params", limit=7)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"{", "x is not valid JSON: line 1, column 2"),
        (b'{\n"a": 1,,', "x is not valid JSON: line 2, column 8"),
        (b'"a\xff', "x is not valid JSON: byte 2 is not valid UTF-8"),
        (b"[1" + b"0" * 5000 + b"]", "x holds a number that is too long"),
        (b"nonsense", "x is not valid JSON: line 1, column 1"),
    ],
)
def test_what_is_no_json_is_refused(text: bytes, words: str) -> None:
    with pytest.raises(EdgeKitError, match=words):
        files.parse_json(text, "x")


def test_fields_of_a_record_have_types() -> None:
    record = Record.of(
        {"a": "text", "n": 1, "f": 2, "b": True, "l": [1, 2], "r": {"x": None}, "s": [{}]}, "thing"
    )
    assert (record.text("a"), record.integer("n"), record.number("f"), record.flag("b")) == (
        "text",
        1,
        2.0,
        True,
    )
    assert (record.integers("l"), record.record("r").integer("x", 5)) == ([1, 2], 5)
    assert ("x" in record.record("r"), "a" in record, len(list(record.records("s")))) == (False, True, 1)
    for ask, key in [
        (record.text, "n"),
        (record.integer, "f1"),
        (record.integer, "b"),
        (record.number, "a"),
        (record.flag, "n"),
        (record.integers, "s"),
        (record.record, "l"),
        (lambda key: list(record.records(key)), "l"),
    ]:
        with pytest.raises(EdgeKitError) as error:
            ask(key)
        assert code(error) == "E0401"


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    found = b""
    while value > 127:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1)))
def test_integers_of_protocol_buffers(numbers: list[int]) -> None:
    apart = b"".join(varint(8) + varint(n) for n in numbers)
    packed = b"".join(map(varint, numbers))
    both = protobuf.message(apart + varint(18) + varint(len(packed)) + packed, "net")
    assert both.integers(1) == both.integers(2) == numbers
    assert both.integer(1, 7) == (numbers[-1] if numbers else 7)


def test_bits_beyond_64_of_a_number_do_not_count() -> None:
    """The tenth byte has room for six more."""
    assert protobuf.message(varint(8) + b"\xff" * 9 + b"\x7f", "net").integers(1) == [-1]
    assert protobuf.message(varint(8) + b"\x85" + b"\x80" * 8 + b"\x02", "net").integers(1) == [5]


def test_fields_of_protocol_buffers() -> None:
    inner = varint(8) + varint(5)
    raw = varint(10) + varint(3) + b"abc" + varint(18) + varint(len(inner)) + inner
    raw += varint(29) + struct.pack("<f", 1.5) + varint(33) + struct.pack("<d", 2.5)
    raw += varint(42) + varint(8) + struct.pack("<2f", 3, 4) + varint(45) + struct.pack("<f", 5)
    net = protobuf.message(raw, "net")
    assert (net.text(1), net.message(2).integer(1), net.number(3), net.number(4)) == ("abc", 5, 1.5, 2.5)
    assert net.numbers(5).tolist() == [3, 4, 5]
    assert (net.text(9, "none"), net.integer(9), bytes(net.data(9)), net.messages(9)) == ("none", 0, b"", [])
    assert (3 in net, 9 in net) == (True, False)
    for ask, field in [(net.integer, 3), (net.text, 3), (net.number, 1), (net.numbers, 4), (net.message, 3)]:
        with pytest.raises(EdgeKitError, match=r"of another type|damaged"):
            ask(field)


@given(st.binary(max_size=40))
def test_any_bytes_are_a_message_or_refused(raw: bytes) -> None:
    with suppress(EdgeKitError):
        assert all(number > 0 for number in protobuf.message(raw, "net").fields)


def test_operands_of_handlers_are_checked() -> None:
    def relu(x: int, *, slope: float = 0.0) -> float:
        return 1 / x

    assert call(relu, "relu", "node_1", [2], {}) == 0.5
    for operands, attributes, wanted in [
        ([], {}, "E0401"),
        ([1, 2], {}, "E0401"),
        ([1], {"warp": 1}, "E0203"),
        ([0], {}, "E0403"),
    ]:
        with pytest.raises(EdgeKitError) as error:
            call(relu, "relu", "node_1", operands, attributes)
        assert (code(error), error.value.where) == (wanted, "node node_1")
    with pytest.raises(EdgeKitError) as error:
        check_supported([("relu", "a"), ("warp", "b"), ("bend", "c")], {"relu": relu})
    assert [e.where for e in (error.value, *error.value.also)] == ["node b", "node c"]


def test_shapes_of_inputs() -> None:
    def bound(dims: tuple[int | None, ...], shape: tuple[int, ...] | None = None) -> tuple[int, ...]:
        bindings = inputs.Bindings({"x": shape} if shape else {}, {})
        found = bindings.type("x", DType.F32, dims).shape
        bindings.check(["x"])
        return found

    assert bound((None, 3)) == (1, 3)
    assert bound((None, None), (2, 3)) == (2, 3)
    with pytest.raises(EdgeKitError) as error:
        bound((None, None, 4))
    assert (code(error), error.value.hint) == ("E0302", "bind it: --shape x=1,N,4")
    with pytest.raises(EdgeKitError, match="does not fit"):
        bound((None, 4), (1, 5))
