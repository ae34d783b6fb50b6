"""What users may write: edgekit.toml, which presets the options of commands, and the shapes of --shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgekit.errors import EdgeKitError

FILE = "edgekit.toml"


def presets(path: Path, known: Mapping[str, Mapping[str, type]]) -> dict[str, dict[str, Any]]:
    """The settings in a file: a table for each command, a key for each long option. `known` gives the type of
    each option. What is not known is an error: a typing mistake must not go unnoticed."""
    if not path.is_file():
        return {}
    import tomllib  # most runs have no such file

    from edgekit import suggest

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EdgeKitError("E0107", f"{path.name}: {error}") from None
    except OSError as error:
        raise EdgeKitError("E0104", f"cannot read {path}: {error.strerror}") from None
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
                    hint=suggest.hint(key, known[command]),
                )
            wanted = known[command][key]
            if type(value) is not wanted:
                raise EdgeKitError("E0107", f"{path.name}: {key} in [{command}] should be a {_NAMES[wanted]}")
    return content


_NAMES = {bool: "bool: true or false", str: "string", int: "number", list: "list of strings"}


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
