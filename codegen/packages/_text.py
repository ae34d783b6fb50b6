"""Text in packages: what JavaScript has of a model with a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.codegen.program import Program
from edgekit.codegen.text.tables import Tables
from edgekit.core.text.decoder import DecoderForm

_BYTES = 8  # of text for each position: twice of what tokens have in most languages
_ENDLESS = 4096  # positions of a text that caches do not end


@dataclass(frozen=True)
class Text:
    """Tokens of the tokenizer, those that begin and end a text, and the bytes and positions that there is
    room for."""

    tokens: int
    prefix: list[int]
    suffix: list[int]
    bytes: int
    positions: int
    form: DecoderForm
    prefill: DecoderForm | None  # of the entry that reads prompts
    prefill_number: int  # of that entry, from 1 on; 0: there is none


def text_of(program: Program) -> Text | None:
    """None for a model that has no tokenizer in C, or that is no decoder."""
    tokenizer, form = program.graph.tokenizer, DecoderForm.of(program.graph)
    if tokenizer is None or form is None or form.rows != form.chunk:
        return None
    tables = Tables(tokenizer)
    if tables.unsupported:
        return None
    ends = [*tokenizer.prefix], [*tokenizer.suffix]
    number, prefill = prefill_of(program)
    positions = form.positions or _ENDLESS
    return Text(tables.count, *ends, _BYTES * positions, positions, form, prefill, number)


def prefill_of(program: Program) -> tuple[int, DecoderForm | None]:
    """The entry that reads prompts for the main one: its number from 1 on, or 0, and its form."""
    main = DecoderForm.of(program.graph)
    for number, entry in enumerate(program.entries if program.ports == "caller" else (), 1):
        form = DecoderForm.of(entry.graph)
        if entry.name == f"{program.name}_prefill" and form and main and form.reads_for(main):
            return number, form
    return 0, None
