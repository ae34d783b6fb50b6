"""What checkpoints of TensorFlow are made of: checksums, tables of LevelDB, Snappy."""

import random

import numpy as np
import pytest
from support.exports import SAMPLES
from support.tensorflow_files import written_table

from edgekit.converters.file_formats import snappy, sorted_table
from edgekit.converters.file_formats.crc32c import crc32c, masked
from edgekit.core.errors import EdgeKitError

INDEX = SAMPLES / "tf" / "saved_model" / "variables" / "variables.index"
# What the library Snappy made of 60 such words, drawn by random.Random(1).
WORDS = (b"dense/kernel", b"dense/bias", b"/.ATTRIBUTES/VARIABLE_VALUE", b"variables/", b"0", b"17")
COMPRESSED = bytes.fromhex(
    "cb042864656e73652f6269617330090b806b65726e656c2f2e415454524942555445532f5641524941424c455f56414c"
    "55452e2700247661726961626c65732f4e0a00043137191609360168090a09673e20003e16001920329e002e59006aaa"
    "00043137096c01763240006a3400093209885e0c00043137324e0019a52e710046160009550d3b01941923190a1d1f82"
    "a6000144567300823b00098c1d771148091909fa09600431379a4e00"
)


def bit_by_bit(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return register ^ 0xFFFFFFFF


@pytest.mark.parametrize("size", [0, 1, 9, 1023, 1024, 1025, 2049, 5000])
def test_checksums_are_those_of_the_definition(size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == bit_by_bit(data)


def test_checksums_have_the_known_value() -> None:
    """Of RFC 3720, and masked as LevelDB states it."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    rotated = (masked(b"123456789") - 0xA282EAD8) & 0xFFFFFFFF
    assert (rotated << 15 | rotated >> 17) & 0xFFFFFFFF == 0xE3069283


def test_a_table_that_tensorflow_wrote() -> None:
    found = dict(sorted_table.entries(INDEX.read_bytes(), "the index"))
    assert len(found) == 18
    assert b"variables/6/.ATTRIBUTES/VARIABLE_VALUE" in found
    assert list(found) == sorted(found)


@pytest.mark.parametrize(
    ("compressed", "expected"),
    [
        (b"\x00", b""),
        (b"\x03\x08abc", b"abc"),
        (b"\x40\xf0\x3f" + bytes(range(64)), bytes(range(64))),
        (b"\x41\xf4\x40\x00" + bytes(65), bytes(65)),
        (b"\x08\x04ab\x09\x02", b"abababab"),
        (b"\x05\x00a\x01\x01", b"aaaaa"),
        (b"\x0b\x08abc\x1e\x03\x00", b"abcabcabcab"),
        (b"\x0b\x08abc\x1f\x03\x00\x00\x00", b"abcabcabcab"),
    ],
    ids=["nothing", "literal", "long literal", "longer literal", "copy", "run", "far copy", "farther copy"],
)
def test_snappy_expands_each_kind_of_element(compressed: bytes, expected: bytes) -> None:
    assert snappy.expanded(compressed, "a block") == expected


@pytest.mark.parametrize(
    "compressed",
    [
        b"",
        b"\xff" * 6,
        b"\x03",
        b"\x03\x08ab",
        b"\x02\x08abc",
        b"\x04\x08abc",
        b"\x08\x04ab\x09\x03",
        b"\x08\x04ab\x09\x00",
        b"\x08\x04ab\x09",
        b"\x05\x09\x01",
    ],
)
def test_damaged_snappy_is_refused(compressed: bytes) -> None:
    with pytest.raises(EdgeKitError, match="damaged") as caught:
        snappy.expanded(compressed, "a block")
    assert caught.value.code == "E0401"


def test_a_block_that_says_too_much_is_refused_before_it_is_made() -> None:
    with pytest.raises(EdgeKitError, match="say that they are") as caught:
        snappy.expanded(b"\xff\xff\xff\xff\x0f\x00a", "a block")
    assert caught.value.code == "E0402"


def test_tables_may_be_compressed() -> None:
    plain = dict(sorted_table.entries(INDEX.read_bytes(), "the index"))
    block = b"".join(_entry(k, v) for k, v in plain.items()) + bytes(4) + b"\x01\0\0\0"
    literal = bytes([len(block) & 0x7F | 0x80, len(block) >> 7]) + b"\xf4"
    literal += (len(block) - 1).to_bytes(2, "little") + block
    made = written_table(plain, 1, literal)
    assert dict(sorted_table.entries(made, "the index")) == plain


def _entry(key: bytes, value: bytes) -> bytes:
    return bytes([0, len(key), len(value)]) + key + value


def test_a_table_names_each_block_once() -> None:
    """A block that is named again and again would be read without end."""
    assert list(sorted_table.entries(written_table({b"a": b"1"}), "the index")) == [(b"a", b"1")]
    with pytest.raises(EdgeKitError, match="there twice"):
        list(sorted_table.entries(written_table({b"a": b"1"}, times=2), "the index"))


def test_keys_stay_short() -> None:
    """Each may share a part with the one before, so that a small table would hold long ones."""
    with pytest.raises(EdgeKitError, match="entry of the table is damaged"):
        list(sorted_table.entries(written_table({b"a" * 5000: b"1"}), "the index"))


def test_snappy_expands_what_the_library_made() -> None:
    rng = random.Random(1)
    assert snappy.expanded(COMPRESSED, "a block") == b"".join(rng.choice(WORDS) for _ in range(60))
