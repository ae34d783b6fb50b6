"""What users may write: edgekit.toml, which presets the options of commands, and the shapes of --shape."""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from edgekit import console
from edgekit.core.errors import EdgeKitError
from edgekit.core.reasons import reason_of

FILE = "edgekit.toml"
# Marks in the annotations of options, for what a file that came with a model may not decide unasked.
RUNS = "names a program or machine that gets work"
OVERWRITES = "lets files be overwritten"
WRITES = "names a file or folder to write"
_REASONS = {RUNS: "programs that run here", OVERWRITES: "that files are overwritten"}


@dataclass(frozen=True)
class Setting:
    """An option that may be preset: the type of its values, and its mark, if it has one."""

    type: type
    mark: str = ""
    today: str = ""  # what it is called now, if this is the name that it had


class RawInputs(TypedDict):
    """What is known of raw data, by the input; of the only input by ""."""

    mean: dict[str, tuple[float, ...]]
    std: dict[str, tuple[float, ...]]
    raw: dict[str, str]


Known = Mapping[str, Mapping[str, Setting]]
Presets = dict[str, dict[str, Any]]


def user_folder() -> Path:
    """Where this user configures EdgeKit: whatever is there is trusted."""
    if sys.platform == "win32":
        base = os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming"
    else:
        base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "edgekit"


def all_presets(known: Callable[[], Known], trust: bool) -> Presets:
    """The user's own settings, and over them those of the working folder, which may be a stranger's. What may
    be set is asked for where there is a file: to find out takes time."""
    paths = user_folder() / FILE, Path(FILE)
    own, here = (presets(path, known()) if path.is_file() else {} for path in paths)
    if here and not trust:
        _check_trust(here, known())
    return {command: own.get(command, {}) | here.get(command, {}) for command in own | here}


def _check_trust(found: Presets, known: Known) -> None:
    """Refuse what a file in the working folder decides only for a user who trusts it."""
    for command, table in found.items():
        for key, value in table.items():
            mark = known[command][key].mark
            outside = next(filter(_leaves, _paths(value)), None)
            if outside is not None or (mark in _REASONS and value):
                does = "write" if mark == WRITES else "read"
                decides = _REASONS.get(mark, f"to {does} {outside}, outside of this folder")
                raise EdgeKitError(
                    "E0108",
                    f"{FILE} in this folder sets {key} in [{command}]: it decides {decides}",
                    hint=f"edgekit --trust {command} ..., or a setting of your own in {user_folder() / FILE}",
                )


def _paths(value: object) -> Iterator[str]:
    """All of a setting that may name a file: texts, and what stands behind the name in NAME=NET.EK."""
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str):
            yield from (text, *text.split("="))


def _leaves(path: str) -> bool:
    """Does it lead out of the working folder?"""
    if "\0" in path:
        return False
    return not Path(path).resolve().is_relative_to(Path.cwd().resolve())


def presets(path: Path, known: Known) -> Presets:
    """The settings in a file: a table for each command, a key for each long option. What is not known is an
    error: a typing mistake must not go unnoticed."""
    from edgekit.core import files, suggest  # most runs have no such file

    raw = files.read(path, files.MAX_SETTINGS)
    try:
        content = files.toml(raw)
    except ValueError as error:
        raise EdgeKitError("E0107", f"{path.name}: {reason_of(error)}") from None
    for command, table in content.items():
        if command not in known or not isinstance(table, dict):
            raise EdgeKitError(
                "E0107", f"{path.name}: {command} is no table of settings", hint=suggest.hint(command, known)
            )
        for key, value in table.items():
            if key not in known[command]:
                raise EdgeKitError(
                    "E0107",
                    f"{path.name}: [{command}] has no setting {key}",
                    hint=suggest.hint(key, [name for name, one in known[command].items() if not one.today]),
                )
            wanted = known[command][key].type
            if type(value) not in ((float, int) if wanted is float else (wanted,)):
                raise EdgeKitError("E0107", f"{path.name}: {key} in [{command}] should be a {_NAMES[wanted]}")
        content[command] = _of_today(path.name, command, table, known[command])
    return content


def _of_today(
    file: str, command: str, table: Mapping[str, Any], known: Mapping[str, Setting]
) -> dict[str, Any]:
    """The settings by the names that they have now."""
    result = {key: value for key, value in table.items() if not known[key].today}
    for key, value in table.items():
        if today := known[key].today:
            console.say(f"note: {file}: {key} in [{command}] is called {today} now")
            result.setdefault(today, value)
    return result


_NAMES = {
    bool: "bool: true or false",
    int: "integer",
    str: "string",
    float: "number",
    list: "list of strings",
}


def words(values: Sequence[str] | None) -> tuple[str, ...]:
    """What an option names, whether it is repeated or takes several with commas; each of them once."""
    return tuple(dict.fromkeys(word for value in values or () for word in value.split(",") if word))


def raw_inputs(mean: Sequence[str] | None, std: Sequence[str] | None, raw: Sequence[str] | None) -> RawInputs:
    """--mean, --std and --raw as `edgekit.convert` takes them."""
    return {"mean": _numbers(mean, "--mean"), "std": _numbers(std, "--std"), "raw": _by_input(raw, "--raw")}


def _by_input(texts: Sequence[str] | None, option: str) -> dict[str, str]:
    """x=0.5 as {"x": "0.5"}; what stands alone is for the only input, under the name ""."""
    result: dict[str, str] = {}
    for text in texts or ():
        name, _, wanted = text.rpartition("=")
        if not wanted:
            raise EdgeKitError("E0103", f"{option} {text} says nothing", hint=f"{option} x=..., for input x")
        if result.setdefault(name, wanted) != wanted:
            raise EdgeKitError("E0103", f"{option} is there twice" + (f" for {name}" if name else ""))
    return result


def _numbers(texts: Sequence[str] | None, option: str) -> dict[str, tuple[float, ...]]:
    """x=123.7,116.3,103.5 as {"x": (123.7, 116.3, 103.5)}."""
    result = {}
    for name, text in _by_input(texts, option).items():
        try:
            result[name] = tuple(float(part) for part in text.split(","))
        except ValueError:
            raise EdgeKitError(
                "E0103", f"{option} {text} is no list of numbers", hint=f"{option} 123.7,116.3,103.5"
            ) from None
    return result


def shapes(texts: Sequence[str] | None) -> dict[str, tuple[int, ...]]:
    """x=1,3,224,224 as {"x": (1, 3, 224, 224)}; a name may hold = and : itself, and x= binds a scalar."""
    result: dict[str, tuple[int, ...]] = {}
    for text in texts or ():
        name, equals, dims = text.rpartition("=")
        try:
            shape = tuple(int(d) for d in dims.split(",")) if dims else ()
        except ValueError:
            shape = (-1,)
        if not equals or not name or any(d < 0 for d in shape):
            raise EdgeKitError(
                "E0103", f"--shape {text} is no shape", hint="--shape x=1,3,224,224 binds input x"
            )
        if result.setdefault(name, shape) != shape:
            raise EdgeKitError("E0103", f"--shape binds {name} twice")
    return result


def dims(texts: Sequence[str] | None) -> dict[str, int]:
    """sequence=64 as {"sequence": 64}."""
    return {
        name: count(text, f"--dim {name}", 0) for name, text in _by_name(texts, "--dim sequence=64").items()
    }


@dataclass(frozen=True)
class EntryWish:
    """--entry: another model, or the model with other dimensions and shapes, or one of its signatures."""

    model: str
    signature: str
    dims: Mapping[str, int]
    shapes: Mapping[str, tuple[int, ...]]


def entries(texts: Sequence[str] | None) -> dict[str, EntryWish]:
    """prefill:tokens=16:logits=1, large:x=1,3,160,160, encode:signature=encode or decode=decoder.ek, by name.
    One number binds a dimension, several a shape."""
    result: dict[str, EntryWish] = {}
    for text in texts or ():
        found = re.fullmatch(r"([^=:]+)(?:=(.+)|:(.+))", text)
        if not found:
            hint = "--entry prefill:tokens=16 binds dimensions, --entry decode=decoder.ek takes another model"
            raise EdgeKitError("E0103", f"--entry {text} says nothing", hint=hint)
        name, model, bound = found[1], found[2] or "", (found[3] or "").split(":")
        if name in result:
            raise EdgeKitError("E0103", f"--entry names {name} twice", hint="each entry has its own name")
        signatures = [part for part in bound if part.startswith("signature=")]
        parts = [part for part in bound if part and part not in signatures]
        result[name] = EntryWish(
            model,
            _by_name(signatures, "--entry encode:signature=encode").get("signature", ""),
            dims([part for part in parts if "," not in part]),
            shapes([part for part in parts if "," in part]),
        )
    return result


def constants(texts: Sequence[str] | None) -> dict[str, float]:
    """sr=16000 as {"sr": 16000.0}."""
    result = {}
    for name, text in _by_name(texts, "--const sr=16000").items():
        try:
            result[name] = float({"true": "1", "false": "0"}.get(text.lower(), text))
        except ValueError:
            raise EdgeKitError(
                "E0103", f"--const {name}={text} is not a number", hint="--const sr=16000"
            ) from None
    return result


def states(texts: Sequence[str] | None) -> dict[str, str]:
    """past=present as {"past": "present"}."""
    return _by_name(texts, "--state past=present")


def _by_name(texts: Sequence[str] | None, example: str) -> dict[str, str]:
    """The texts behind the last =, by what stands before it."""
    option = example.partition(" ")[0]
    result: dict[str, str] = {}
    for text in texts or ():
        name, equals, value = text.rpartition("=")
        if not (name and equals and value):
            raise EdgeKitError("E0103", f"{option} {text} says nothing", hint=example)
        if result.setdefault(name, value) != value:
            raise EdgeKitError("E0103", f"{option} binds {name} twice")
    return result


_MAX_DIGITS = 15  # of a number in text: nothing is larger


def decibels(text: str) -> float | None:
    """25dB, or 25."""
    return _number(text, ("dB", "db", "DB"), "--min-sqnr", "25dB")


def share(text: str, option: str = "--max-drop", example: str = "0.5%") -> float | None:
    """0.5% as 0.005; a plain number is a share already."""
    number = _number(text.removesuffix("%"), (), option, example)
    if number is None:
        return None
    number = number / 100 if text.endswith("%") else number
    if not 0 <= number <= 1:
        raise EdgeKitError("E0103", f"{option} {text} is not a share", hint=f"such as {example}")
    return number


def size(text: str, option: str) -> int | None:
    """128K or 1M, or a number of bytes."""
    if not text:
        return None
    match = re.fullmatch(rf"(\d{{1,{_MAX_DIGITS}}})([KM]?)", text)
    if match is None or not int(match[1]):
        raise EdgeKitError(
            "E0103", f"{option} {text} is not a size", hint="a number of bytes, or such as 128K"
        )
    return int(match[1]) << {"": 0, "K": 10, "M": 20}[match[2]]


_TIMES = {"us": 1e-6, "ms": 1e-3, "s": 1.0}


def seconds(text: str) -> float | None:
    """20ms, 500us or 1s; None for a number of instructions."""
    match = re.fullmatch(r"([\d.]+)(us|ms|s)", text)
    number = _number(match[1], (), "--latency", "20ms") if match else None
    return None if number is None or match is None else number * _TIMES[match[2]]


def instructions(text: str) -> int | None:
    """3M, 500K or a plain number of instructions; None for a time."""
    if not text or seconds(text) is not None:
        return None
    match = re.fullmatch(r"([\d.]+)([KM]?)", text)
    number = _number(match[1], (), "--latency", "20ms") if match else None
    if number is None or match is None:
        hint = "20ms, or 3M for three million instructions"
        raise EdgeKitError("E0103", f"--latency {text} is not a time", hint=hint)
    return round(number * {"": 1, "K": 1e3, "M": 1e6}[match[2]])


def count(text: str, option: str, least: int = 1) -> int:
    """A whole number."""
    if not re.fullmatch(rf"[0-9]{{1,{_MAX_DIGITS}}}", text) or int(text) < least:
        raise EdgeKitError("E0103", f"{option} {text} is not a count", hint=f"a whole number from {least} on")
    return int(text)


def _number(text: str, units: Sequence[str], option: str, example: str) -> float | None:
    if not text:
        return None
    for unit in units:
        text = text.removesuffix(unit)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not abs(number) < 10**_MAX_DIGITS:
        raise EdgeKitError("E0103", f"{option} {text} is not a number", hint=f"such as {example}")
    return number
