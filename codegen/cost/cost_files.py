"""The files of targets/costs: what the code of kernels takes on a processor, in instructions and in bytes.

They are TOML. What is known of hundreds of kernels are rows of text, which are short and quickly read; all
names begin with ek_. In [instructions.<optimize>], `kernels`:

    dsp/dense_int 1f03ab products, outputs, calls
    dense_s8 .03<.12: 1.86 20-95, 12.3 -80, -

A kernel's file with a digest of the code that was counted, and the kinds of work that it names; of each of
its functions the error on layers that were held out, and that in whole networks where it is larger; what a
unit of each kind takes, and the least and the highest percentage of a count that this made up. In
[code.<optimize>], `layers` and `functions`:

    dense_s8__dsp: 228+24/142
    add_products: affine_s8_plain__dsp 228/142, = 90, 247
    conv2d_s8__dsp: 32 each +92
    conv2d_s8_run: ^dsp 486/258

Bytes of code and of parameters where several layers have the function, and where one has it, by the kernel
that calls it: `=` is itself, `^dsp` is named as the function without its last word, and none stands for
several kernels. A function that is itself a kernel says what each of its layers takes beside it: parameters,
and where the kernel is specialised code, too.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

FOLDER = Path(str(files("edgekit.targets"))) / "costs"
ONCE, OFTEN = "once", "often"
IN_NETWORKS = "error in networks"
_PREFIX, _ITSELF, _PARENT = "ek_", "=", "^"
_EACH = " each "
_FIT = re.compile(r"(\w+) ([\d.e-]+)(?:<([\d.e-]+))?: (.*)")
_TERM = re.compile(r"([\d.][\d.e+-]*)(?: (\d*)-(\d+))?")
_NOTHING = "-"  # in the place of a number
_HEAD = """\
# What the code of kernels takes on this processor: codegen/cost/cost_files.py says how to read it. Written by
# benchmarks/calibrate.py, benchmarks/reliability/estimates.py and benchmarks/code_sizes.py.
"""


@cache
def content(name: str) -> dict[str, Any]:
    """The file of a processor, or of the one whose code takes as much; empty without."""
    found = own(name)
    return content(found["like"]) if "like" in found else found


@cache
def kernel_fit(name: str, optimize: str, kernel: str) -> Mapping[str, Any]:
    """Of `content` what it says of one kernel function; the rows of others are not parsed. Empty without."""
    row = _fit_texts(name, optimize).get(kernel)
    return _fit(*row) if row else {}


@cache
def _fit_texts(name: str, optimize: str) -> Mapping[str, tuple[str, str, str, str]]:
    found = _texts(name)
    if "like" in found:
        return _fit_texts(found["like"], optimize)
    part = found.get("instructions", {}).get(optimize, {})
    return dict(_split(part.get("kernels", "").splitlines()))


def _texts(name: str) -> dict[str, Any]:
    path = FOLDER / f"{name}.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def own(name: str) -> dict[str, Any]:
    """The file of this name itself."""
    found = _texts(name)
    for part in found.get("instructions", {}).values():
        fits = _split(part["kernels"].splitlines())
        part["kernels"] = {kernel: _fit(*texts) for kernel, texts in fits}
    for part in found.get("code", {}).values():
        rows = [row.partition(_EACH) for row in part["functions"].splitlines()]
        each = [f"{row.partition(':')[0]}: 0{parameters}" for row, _, parameters in rows if parameters]
        part["layers"] = dict(map(_sizes, [*part["layers"].splitlines(), *each]))
        part["functions"] = dict(_sizes(row) for row, _, _ in rows)
    return found


def write(name: str, found: Mapping[str, Any]) -> None:
    """A row for each kernel and function: what changes can be read."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.toml").write_text(_HEAD + "\n".join(_lines(found)) + "\n", encoding="utf-8")


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{key} = {_value(value)}" for key, value in found.items() if not isinstance(value, Mapping))
    for table, rows_of in (("instructions", _fit_rows), ("code", _size_rows)):
        for optimize, part in found.get(table, {}).items():
            yield f"\n[{table}.{optimize}]"
            rows = rows_of(part)
            yield from (f"{key} = {_value(value)}" for key, value in part.items() if key not in rows)
            yield from (f'{key} = """\n' + "".join(f"{row}\n" for row in rows[key]) + '"""' for key in rows)


def _fit_rows(part: Mapping[str, Any]) -> dict[str, list[str]]:
    rows: list[str] = []
    ordered = sorted(part["kernels"].items(), key=lambda pair: (pair[1]["file"], pair[0]))
    for (file, digest), own in groupby(ordered, lambda pair: (pair[1]["file"], pair[1]["digest"])):
        fits = dict(own)
        kinds = sorted({kind for fit in fits.values() for kind in fit["terms"]})
        rows += [f"{file} {digest} {', '.join(kinds)}"]
        rows += [_fit_row(name, fit, kinds) for name, fit in fits.items()]
    return {"kernels": rows}


def _size_rows(part: Mapping[str, Any]) -> dict[str, list[str]]:
    layers = {name: _size_row(name, sizes) for name, sizes in sorted(part["layers"].items())}
    functions = {name: _size_row(name, sizes) for name, sizes in sorted(part["functions"].items())}
    for name in functions.keys() & layers.keys():
        if parameters := re.fullmatch(r"\w+: 0(\+\d+(?:/\S+)?|/\S+)", layers[name]):
            functions[name] += f"{_EACH}{parameters[1]}"
            del layers[name]
    return {"layers": list(layers.values()), "functions": list(functions.values())}


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_value(each)}' for key, each in value.items())} }}"
    return json.dumps(value)


def _split(rows: Sequence[str]) -> Iterator[tuple[str, tuple[str, str, str, str]]]:
    """By kernel function its row, and its file, a digest and the kinds of work, which stand above it."""
    file, digest, kinds = "", "", ""
    for row in rows:
        if ":" in row:
            yield f"{_PREFIX}{row.partition(' ')[0]}__{file.partition('/')[0]}", (row, file, digest, kinds)
        else:
            file, digest, kinds = row.split(" ", 2)


def _fit(row: str, file: str, digest: str, kinds: str) -> dict[str, Any]:
    found = _FIT.fullmatch(row)
    assert found, row
    _, error, in_networks, parts = found.groups()
    found_terms = zip(kinds.split(", "), map(_TERM.fullmatch, parts.split(", ")), strict=True)
    terms = {kind: term for kind, term in found_terms if term}
    fit: dict[str, Any] = {
        "error": float(error),
        "terms": {kind: float(term[1]) for kind, term in terms.items()},
    }
    if shares := {k: (int(term[2] or 0) / 100, int(term[3]) / 100) for k, term in terms.items() if term[3]}:
        fit["shares"] = shares
    if in_networks:
        fit[IN_NETWORKS] = float(in_networks)
    return fit | {"file": file, "digest": digest}


def _fit_row(name: str, fit: Mapping[str, Any], kinds: Sequence[str]) -> str:
    errors = (fit[key] for key in ("error", IN_NETWORKS) if key in fit)
    parts = []
    for kind in kinds:
        least, most = fit.get("shares", {}).get(kind, (0, 0))
        share = f" {100 * least:.0f}-{100 * most:.0f}".replace(" 0-", " -") if most else ""
        factor = fit["terms"].get(kind)
        parts.append(f"{_short(factor)}{share}" if factor else _NOTHING)
    return f"{_plain(name).partition('__')[0]} {'<'.join(map(_short, errors))}: {', '.join(parts)}"


def _sizes(row: str) -> tuple[str, dict[str, list[float]]]:
    name, _, parts = row.partition(": ")
    found = {}
    for part in parts.split(", "):
        caller, _, sizes = part.rpartition(" ")
        caller = name if caller == _ITSELF else caller.replace(_PARENT, f"{name.rpartition('_')[0]}__")
        kernel = f"{_PREFIX}{caller} " if caller else ""
        for kind, text in zip((OFTEN, ONCE), sizes.split("/"), strict=False):
            code, _, parameters = text.partition("+")
            found[kernel + kind] = [float(code), float(parameters or 0)]
    return _PREFIX + name, found


def _size_row(name: str, sizes: Mapping[str, list[float]]) -> str:
    """Where one layer and several take the same, or only one of these was seen, a number stands for both."""
    texts = {kind: f"{code:.0f}" + f"+{more:.0f}" * bool(more) for kind, (code, more) in sizes.items()}
    parts = []
    for kernel in dict.fromkeys(kind.rpartition(" ")[0] for kind in sizes):
        found = (texts.get(f"{kernel} {kind}".strip()) for kind in (OFTEN, ONCE))
        parent = f"{name.rpartition('_')[0]}__"
        caller = _ITSELF if kernel == name else _plain(kernel.replace(parent, _PARENT))
        parts.append(f"{caller} {'/'.join(dict.fromkeys(filter(None, found)))}".strip())
    return f"{_plain(name)}: {', '.join(parts)}"


def _plain(name: str) -> str:
    return name.removeprefix(_PREFIX)


def _short(number: float) -> str:
    return f"{number:.3g}".removeprefix("0") or "0"
