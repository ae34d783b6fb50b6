"""Seeded ways to damage a model file of any format.

Zip archives are damaged by member, JSON by value, Protocol Buffers by field, text by word, and other bytes
mostly where they hold names or describe what follows; weights, which are most of a file, break little.
"""

import io
import json
import re
import zipfile
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from support.mutants import BYTES, FLOATS, NUMBERS
from support.wire_damage import damaged_message

_HEAD = 256  # bytes of a file that describe the others
_AROUND = 16  # bytes before and behind a name, which say its length, its type, or where it is
_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_.:/]{2,}")


def damaged(raw: bytes, rng: Random, operators: Sequence[str] = ()) -> bytes:
    """The content, changed in one to four places; now and then without regard to what it is. `operators` are
    names that the format knows: one may take the place of another."""
    how = rng.choice([_bytes, _structure, _structure, _structure])
    if operators and rng.random() < 0.1:
        raw = _other_operator(raw, rng, operators)
        if rng.random() < 0.7:
            return raw
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        raw = how(raw, rng)
    return raw


def _bytes(raw: bytes, rng: Random) -> bytes:
    return rng.choice(BYTES)(raw, rng) if len(raw) > 1 else rng.randbytes(3)


def _structure(raw: bytes, rng: Random) -> bytes:
    if raw.startswith(b"PK\x03\x04"):
        return _archive(raw, rng)
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return damaged_message(raw, rng, _leaf) or _telling(raw, rng)
    try:
        return json.dumps(_json(json.loads(text), rng)).encode()
    except ValueError:
        return damaged_message(raw, rng, _leaf) or _words(text, rng).encode()


def _leaf(raw: bytes, rng: Random) -> bytes:
    """Damage to bytes of a message that are no message themselves: names, numbers, weights."""
    if not raw or rng.random() < 0.1:
        return rng.choice([b"", b"\xff", b"x", b"." * 999, rng.randbytes(8)])
    try:
        return _words(raw.decode(), rng).encode()
    except UnicodeDecodeError:
        return _bytes(raw, rng)


def _telling(raw: bytes, rng: Random) -> bytes:
    """Damage, without a change of size, where a file says what it holds."""
    names = [match.span() for match in _NAME.finditer(raw)]
    start, end = 0, min(_HEAD, len(raw))
    if names and rng.random() < 0.7:
        start, end = rng.choice(names)
        start, end = max(0, start - _AROUND), min(len(raw), end + _AROUND)
    elif rng.random() < 0.3 or end < 2:
        return _bytes(raw, rng)
    part = bytearray(raw[start:end])
    match rng.randrange(4):
        case 0:
            part[rng.randrange(len(part))] ^= 1 << rng.randrange(8)
        case 1:
            part[rng.randrange(len(part))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
        case 2:
            at, size = rng.randrange(len(part)), rng.choice([2, 4, 8])
            number = (rng.choice(NUMBERS) & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, "little")
            part[at : at + size] = number[: len(part[at : at + size])]
        case _:
            digits = [i for i, byte in enumerate(part) if 48 <= byte < 58]
            part[rng.choice(digits or range(len(part)))] = rng.choice(b"019-ex")
    return raw[:start] + bytes(part) + raw[end:]


def _other_operator(raw: bytes, rng: Random, operators: Sequence[str]) -> bytes:
    """An operator takes another one's name, in a member of an archive, too; as long where sizes count."""
    if raw.startswith(b"PK\x03\x04"):
        return _archive(raw, rng, lambda content: _other_operator(content, rng, operators))
    known = {name.encode() for name in operators}
    found = [m.span() for m in re.finditer(rb"[A-Za-z_][A-Za-z0-9_]*", raw) if m.group() in known]
    if not found:
        return raw
    start, end = rng.choice(found)
    try:
        raw.decode()
        fitting = sorted(known)
    except UnicodeDecodeError:
        fitting = sorted(name for name in known if len(name) == end - start)
    return raw[:start] + rng.choice(fitting) + raw[end:]


def _archive(raw: bytes, rng: Random, change: Callable[[bytes], bytes] | None = None) -> bytes:
    """The archive with a member damaged, left out, renamed or emptied; checksums are right again. `change`
    is what to do to the member instead."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            members = [(name, archive.read(name)) for name in archive.namelist()]
    except Exception:  # damaged already
        return _bytes(raw, rng)
    if not members:
        return _bytes(raw, rng)
    # What describes the others is most worth it.
    telling = [i for i, (name, _) in enumerate(members) if name.endswith((".json", ".h5"))]
    i = rng.choice(telling) if telling and rng.random() < 0.8 else rng.randrange(len(members))
    name, content = members[i]
    match 99 if change else rng.randrange(12):
        case 0:
            del members[i]
        case 1:
            members[i] = rng.choice([name + "x", "../" + name, name.upper()]), content
        case 2:
            members[i] = name, b""
        case _:
            members[i] = name, change(content) if change else _structure(content, rng)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content)
    return made.getvalue()


def _json(value: Any, rng: Random) -> Any:
    """Change one place of a tree; deeper ones are likelier than the root."""
    if isinstance(value, dict) and value:
        key = rng.choice(sorted(value))
        match rng.randrange(24):
            case 0:
                return {k: v for k, v in value.items() if k != key}
            case 1:
                return {k if k != key else k + "x": v for k, v in value.items()}
        return value | {key: _json(value[key], rng)}
    if isinstance(value, list) and value:
        i = rng.randrange(len(value))
        match rng.randrange(16):
            case 0:
                return value[:i] + value[i + 1 :]
            case 1:
                return [*value, value[i]]
            case 2:
                j = rng.randrange(len(value))
                return [value[j] if k == i else value[i] if k == j else v for k, v in enumerate(value)]
        return [*value[:i], _json(value[i], rng), *value[i + 1 :]]
    return rng.choice([*NUMBERS, *FLOATS, None, True, "", "x", "none", [], {}, [[]], "9" * 400, value])


def _words(text: str, rng: Random) -> str:
    """Change a number, drop, repeat or swap words, or cut a line out."""
    if not text:
        return rng.choice(["x", "{}", "\0"])
    words = re.split(r"(\s+|[(){}\[\]<>:,=x])", text)
    i, j = rng.randrange(len(words)), rng.randrange(len(words))
    short = [k for k, word in enumerate(words) if 0 < len(word) < 40]
    i = rng.choice(short or [i])
    match rng.randrange(6):
        case 0:
            words[i] = ""
        case 1:
            words[i] += words[i]
        case 2:
            words[i], words[j] = words[j], words[i]
        case 3:
            lines = text.splitlines(keepends=True)
            del lines[rng.randrange(len(lines))]
            return "".join(lines)
        case _:
            numbers = [k for k in short if words[k].lstrip("-").isdigit()]
            words[rng.choice(numbers or [i])] = str(rng.choice([*NUMBERS, *FLOATS, "?", "-"]))
    return "".join(words)
