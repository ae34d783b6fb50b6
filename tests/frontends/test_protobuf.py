"""Protocol Buffers are read as the official library reads them, and what breaks their rules is damage."""

import numpy as np
import pytest
from onnx import AttributeProto, TensorProto

from edgekit.converters.file_formats import text_proto
from edgekit.converters.file_formats.protobuf import Message
from edgekit.core.errors import EdgeKitError


def attribute(seed: int) -> AttributeProto:
    """A message with fields of each kind: text, bytes, numbers, messages, lists of them."""
    rng = np.random.default_rng(seed)
    integers = [0, 1, -1, 2**31, -(2**63), 2**63 - 1, *rng.integers(-(2**63), 2**63 - 1, 3).tolist()]
    made = AttributeProto(
        name=f"name {seed} é",
        i=int(rng.choice(integers[6:])),
        f=float(np.float32(rng.standard_normal())),
        s=rng.bytes(seed % 300),
        ints=integers[: seed % 10],
        floats=rng.standard_normal(seed % 7).astype(np.float32).tolist(),
        strings=[rng.bytes(3), b""][: seed % 3],
        t=TensorProto(dims=[seed, 2], double_data=rng.standard_normal(seed % 5).tolist()),
    )
    made.tensors.add(name="first")
    made.tensors.add(name="second", raw_data=bytes(200))
    return made


@pytest.mark.parametrize("seed", range(40))
def test_messages_are_read_as_the_official_library_reads_them(seed: int) -> None:
    made = attribute(seed)
    field = {f.name: f.number for f in AttributeProto.DESCRIPTOR.fields}
    of_tensor = {f.name: f.number for f in TensorProto.DESCRIPTOR.fields}
    read = Message(memoryview(made.SerializeToString()))
    assert read.text(field["name"]) == made.name
    assert read.integer(field["i"]) == made.i
    assert read.number(field["f"]) == made.f
    assert bytes(read.data(field["s"])) == made.s
    assert read.integers(field["ints"]) == list(made.ints)
    assert read.numbers(field["floats"]).tolist() == list(made.floats)
    tensor = read.message(field["t"])
    assert tensor.integers(of_tensor["dims"]) == [seed, 2]
    assert tensor.numbers(of_tensor["double_data"], "<f8").tolist() == list(made.t.double_data)
    assert [t.text(of_tensor["name"]) for t in read.messages(field["tensors"])] == ["first", "second"]


def test_the_last_of_several_counts_and_lists_grow() -> None:
    once, again = attribute(13), attribute(14)
    both = Message(memoryview(once.SerializeToString() + again.SerializeToString()))
    field = {f.name: f.number for f in AttributeProto.DESCRIPTOR.fields}
    assert both.integer(field["i"]) == again.i
    assert both.text(field["name"]) == again.name
    assert both.integers(field["ints"]) == [*once.ints, *again.ints]
    assert both.numbers(field["floats"]).tolist() == [*once.floats, *again.floats]


def test_what_is_not_there_is_the_default() -> None:
    empty = Message(memoryview(b""))
    assert (empty.integer(1), empty.integer(1, 7), empty.number(1, 2.5), empty.text(1, "x")) == (
        0,
        7,
        2.5,
        "x",
    )
    assert (bytes(empty.data(1)), empty.integers(1), empty.numbers(1).size) == (b"", [], 0)


DAMAGE = {
    "a group that begins": b"\x0b",
    "a group that ends": b"\x0c",
    "wire type 6": b"\x0e\x00",
    "wire type 7": b"\x0f\x00",
    "field 0": b"\x00\x00",
    "a number that ends early": b"\x08\x80",
    "a number of eleven bytes": b"\x08" + b"\x80" * 10 + b"\x01",
    "bytes that end early": b"\x0a\x05abcd",
    "four bytes that end early": b"\x0d\x00\x00\x00",
    "eight bytes that end early": b"\x09" + bytes(7),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_refused(name: str) -> None:
    with pytest.raises(EdgeKitError, match="E0401"):
        _ = Message(memoryview(DAMAGE[name])).fields


def test_fields_of_another_kind_are_refused() -> None:
    fields = Message(memoryview(b"\x08\x01\x12\x03abc\x1d\x00\x00\x80\x3f\x21" + bytes(8)))
    integer, data, four, eight = 1, 2, 3, 4
    for field, read in (
        *((data, one) for one in (fields.number,)),
        *((integer, one) for one in (fields.number, fields.numbers, fields.data, fields.text)),
        *((four, one) for one in (fields.integer, fields.data)),
        *((eight, one) for one in (fields.integer, fields.numbers, fields.data)),
    ):
        with pytest.raises(EdgeKitError, match=f"E0401 field {field}"):
            read(field)
    assert fields.number(four) == 1


def test_texts_hold_any_bytes() -> None:
    """As C escapes them: by number, by letter, or as they are."""
    found = text_proto.parse(r'''a: "\001\x41\n\t\\\"\377z" 'b\'c' "\0"''', "a text").text("a")
    assert found.encode(errors="surrogateescape") == b"\x01A\n\t\\\"\xffzb'c\0"
