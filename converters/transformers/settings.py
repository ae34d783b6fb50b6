"""Settings of config.json that have to be of a sane size."""

from __future__ import annotations

from edgekit.converters.file_formats.json_record import Record
from edgekit.core.errors import EdgeKitError


def positive(config: Record, key: str, default: int | None = None) -> int:
    """A number of things, of which there is one at least."""
    found = config.integer(key, default)
    if found < 1:
        raise EdgeKitError("E0401", f"{key} is {found}", config.where)
    return found


def flag_of(config: Record, setting: bool | str) -> bool:
    """What a setting of this name says, or what holds in any case."""
    return config.flag(setting, False) if isinstance(setting, str) else setting


def check_size(config: Record, count: int, most: int, what: str) -> None:
    """Refuse more than files of real models have, before memory is taken for it."""
    if count > most:
        message = f"{count} {what} are absurd: at most {most} are read"
        raise EdgeKitError("E0402", message, config.where)
