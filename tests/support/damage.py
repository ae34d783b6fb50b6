"""Seeded ways to damage a model file of any format: zip archives by member, JSON by value, text by word."""

import io
import json
import re
import zipfile
from random import Random
from typing import Any

from support.mutants import BYTES, FLOATS, NUMBERS


def damaged(raw: bytes, rng: Random) -> bytes:
    """The content, changed in one to four places; now and then without regard to what it is."""
    how = rng.choice([_bytes, _structure, _structure, _structure])
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
        return _bytes(raw, rng)
    try:
        return json.dumps(_json(json.loads(text), rng)).encode()
    except ValueError:
        return _words(text, rng).encode()


def _archive(raw: bytes, rng: Random) -> bytes:
    """The archive with a member damaged, left out, renamed or made twice; checksums are right again."""
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
    match rng.randrange(12):
        case 0:
            del members[i]
        case 1:
            members[i] = rng.choice([name + "x", "../" + name, name.upper()]), content
        case 2:
            members[i] = name, b""
        case _:
            members[i] = name, _structure(content, rng)
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
