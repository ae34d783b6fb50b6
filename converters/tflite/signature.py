"""SignatureDefs of a TFLite file: its entries by name, and what each calls its inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote

from edgekit.converters.tflite.file import Table
from edgekit.core import suggest
from edgekit.core.errors import EdgeKitError


@dataclass(frozen=True)
class EntryPoint:
    """An entry of the file."""

    name: str = ""
    number: int = 0  # of its subgraph
    tensors: Mapping[int, str] = field(default_factory=dict)  # names of inputs and outputs


def chosen(model: Table, wanted: str = "") -> EntryPoint:
    """The entry that is wanted. By default the only one, whose tensors keep the names of the graph."""
    found = [_signature(table) for table in model.tables(7)]
    names = [signature.name for signature in found]
    if wanted:
        match = next((signature for signature in found if signature.name == wanted), None)
        if match is None:
            raise _unknown(wanted, names)
        return match
    if len(found) > 1:
        options = " or ".join(f"--signature {quote(name)}" for name in names[:20])
        message = f"the file has {len(found)} signatures: {', '.join(names[:20])}"
        raise EdgeKitError("E0103", message, hint=f"choose one: {options}")
    return EntryPoint(number=found[0].number) if found else EntryPoint()


def _unknown(wanted: str, names: Sequence[str]) -> EdgeKitError:
    message = f"--signature names {wanted}, which is no signature of the file"
    return EdgeKitError(
        "E0103", message, hint=suggest.hint(wanted, list(names), "signatures") if names else "it has none"
    )


def _signature(table: Table) -> EntryPoint:
    tensors: dict[int, str] = {}
    for field_number in (0, 1):
        for entry in table.tables(field_number):
            tensors.setdefault(entry.integer(1, "I"), entry.text(0))
    return EntryPoint(table.text(2), table.integer(4, "I"), tensors)
