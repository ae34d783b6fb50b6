"""How results look in notebooks: figures and a table, in the fonts and colours of the page around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from edgekit.core.escape import html

MAX_ROWS = 20
_FIGURE = "display:inline-block;margin:0 24px 8px 0"
_SOFT = "opacity:.7;font-size:90%"
_BAR = "height:4px;margin-top:2px;border-radius:2px;background:#4f86c6"


@dataclass(frozen=True)
class Number:
    """A cell that is aligned right, with a bar below it: a share of the longest one."""

    text: str
    bar: float | None = None


def card(
    title: str,
    figures: Iterable[tuple[str, str]],
    head: Sequence[str] = (),
    rows: Sequence[Sequence[str | Number]] = (),
) -> str:
    """HTML of a result; texts may come from a model file."""
    parts = [f'<div class="edgekit"><b>{html(title)}</b><div style="margin:6px 0">']
    parts += [
        f'<span style="{_FIGURE}"><span style="{_SOFT}">{html(name)}</span><br>{html(value)}</span>'
        for name, value in figures
    ]
    parts.append("</div>")
    if rows:
        sides = ["right" if isinstance(cell, Number) else "left" for cell in rows[0]]
        heads = [
            f'<th style="text-align:{side}">{html(name)}</th>' for name, side in zip(head, sides, strict=True)
        ]
        parts.append(f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>")
        parts += [f"<tr>{''.join(map(_cell, row))}</tr>" for row in islice(rows, MAX_ROWS)]
        parts.append("</tbody></table>")
        if len(rows) > MAX_ROWS:
            parts.append(f'<span style="{_SOFT}">and {len(rows) - MAX_ROWS:,} more</span>')
    return "".join([*parts, "</div>"])


def _cell(cell: str | Number) -> str:
    if isinstance(cell, str):
        return f'<td style="text-align:left">{html(cell)}</td>'
    share = 0.0 if cell.bar is None else 100 * min(max(cell.bar, 0.0), 1.0)
    bar = "" if cell.bar is None else f'<div style="{_BAR};width:{share:.1f}%"></div>'
    return f'<td style="text-align:right">{html(cell.text)}{bar}</td>'
