"""Text in packages: what JavaScript has of a model with a tokenizer."""

from __future__ import annotations

from dataclasses import dataclass

from edgekit.codegen.program import Program
from edgekit.codegen.text.tables import Tables
from edgekit.core.text.decoder import DecoderForm

_BYTES = 8  # of text for each position: twice of what tokens have in most languages


@dataclass(frozen=True)
class Text:
    """Tokens of the tokenizer, those that begin and end a text, and the bytes that there is room for."""

    tokens: int
    prefix: list[int]
    suffix: list[int]
    bytes: int
    form: DecoderForm
    prefill: DecoderForm | None  # the entry that reads prompts


def text_of(program: Program) -> Text | None:
    """None for a model that has no tokenizer in C, that is no decoder, or that runs on GPUs."""
    tokenizer, form = program.graph.tokenizer, DecoderForm.of(program.graph)
    if tokenizer is None or form is None or form.rows != form.chunk or program.target.gpu:
        return None
    tables = Tables(tokenizer)
    if tables.unsupported:
        return None
    ends = [*tokenizer.prefix], [*tokenizer.suffix]
    return Text(tables.count, *ends, _BYTES * form.positions, form, prefill_of(program))


def prefill_of(program: Program) -> DecoderForm | None:
    """The form of the entry that reads prompts for the main one."""
    main = DecoderForm.of(program.graph)
    for entry in program.entries if program.ports == "caller" else ():
        form = DecoderForm.of(entry.graph)
        if entry.name == f"{program.name}_prefill" and form and main and form.reads_for(main):
            return form
    return None
