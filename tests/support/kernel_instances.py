"""The text of every kernel, with types in it and by each of its rules, whether a model takes it or not."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from edgekit.codegen.kernels import contracts
from edgekit.codegen.kernels.kernel_files import Variant, all_variants
from edgekit.codegen.kernels.sources import Kernel, instance_of
from edgekit.codegen.kernels.support_headers import INCLUDE, support_files
from edgekit.core.ops import Call
from edgekit.core.target import Target
from edgekit.core.types import DType

_NAMES = re.compile(r"[a-z]\w*")  # some of which stand for numbers in a layout
_INDEX = "I"  # the letter of positions, which are integers in every kernel


def instances(target: Target, isa: str) -> Iterator[Kernel]:
    """Of one instruction set of a target."""
    for variant in all_variants():
        if variant.isa == isa:
            for kernel in variant.kernels:
                yield from (instance_of(variant, call, target) for call in _calls(variant, kernel))


def _calls(variant: Variant, kernel: str) -> Iterator[Call]:
    """One for each rule. Kernels of one instance have the contract that they include."""
    contract = kernel if f"{kernel}.h" in contracts.headers() else INCLUDE.findall(variant.source())[0][:-2]
    usual = DType.S8 if variant.rules else DType.F32
    types = {
        letter: DType(variant.types[letter]) if letter in variant.types else usual
        for letter in sorted(contracts.letters(contracts.header(f"{contract}.h")) - {_INDEX})
    }
    if _INDEX in contracts.letters(contracts.header(f"{contract}.h")):
        types[_INDEX] = DType(variant.types.get(_INDEX, "s32"))
    for rule in variant.rules or ("",):
        facts = dict.fromkeys(_NAMES.findall(" ".join(variant.pack.values())), 1)
        yield Call(contract, types, (), expr="0", rule=rule, label=kernel, facts=facts)


def alike(kernels: Sequence[Kernel]) -> Mapping[Sequence[str], list[str]]:
    """Names of kernels that include the same headers: none brings another one what it lacks."""
    found = defaultdict[Sequence[str], dict[str, None]](dict)
    for kernel in kernels:
        found[kernel.supports][kernel.name] = None  # rules may share an instance
    return {headers: [*names] for headers, names in found.items()}


def written(kernels: Sequence[Kernel], folder: Path) -> dict[str, str]:
    """Files that each include kernels which are alike, with all that they include, as one text."""
    (folder / "edgekit").mkdir()
    texts = {f"{k.name}.h": k.header for k in kernels} | {f"{k.name}.c": k.source for k in kernels}
    texts |= support_files(sorted({"types.h", *(name for k in kernels for name in k.supports)}))
    for name, text in texts.items():
        (folder / "edgekit" / name).write_text(text)
    found = {}
    for i, (headers, names) in enumerate(alike(kernels).items()):
        (folder / f"{i}.c").write_text("".join(f'#include "edgekit/{name}.c"\n' for name in names))
        found[f"{i}.c"] = "".join(text for name, text in support_files(headers) if name != "types.h")
    return found
