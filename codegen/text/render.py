"""The files of a tokenizer and a sampler: <name>_tokenizer.h and .c, and <name>_sampler.c."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import jinja2

import edgekit
from edgekit.codegen.printing.literal import lines
from edgekit.codegen.text.tables import Tables
from edgekit.core.escape import Code
from edgekit.core.text.sampler import POWERS
from edgekit.core.text.tokenizer import Tokenizer


def render(tokenizer: Tokenizer, name: str, environment: jinja2.Environment) -> dict[str, str]:
    """Path -> text; nothing for a tokenizer that C does not have: `Tables.unsupported` says why."""
    tables = Tables(tokenizer)
    if tables.unsupported:
        return {}
    settings = {
        "p": name,
        "guard": name.upper(),
        "version": edgekit.__version__,
        "t": tables,
        "around": len(tokenizer.prefix) + len(tokenizer.suffix),
        "rows": _rows,
        "table": _table,
        "powers": [[*_rows(f"{x}u" for x in table)] for table in POWERS],
    }
    files = {
        f"{name}_tokenizer.h": "tokenizer.h.j2",
        f"{name}_tokenizer.c": "tokenizer.c.j2",
        f"{name}_sampler.c": "sampler.c.j2",
    }
    templates = {path: environment.get_template(f"text/{template}") for path, template in files.items()}
    texts = {path: template.render(settings) for path, template in templates.items()}
    return {path: re.sub(r"\n{3,}", "\n\n", text) for path, text in texts.items()}  # parts that are left out


def _rows(values: Iterable[object]) -> Iterator[Code]:
    return map(Code, lines(map(str, values)))


def _table(type: str, name: str, values: Iterable[int]) -> Code:
    return Code("\n".join([f"static const {type} {name}[] = {{", *_rows(values), "};"]))
