"""What a processor must have for the kernels of a library: compilers are asked, and stop with a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from edgekit.codegen.kernels.sources import Kernel
from edgekit.core.target import Target

# What a compiler defines where it may use the instructions of kernels, and words for them.
FLOATS = ("__ARM_FP", "floating point instructions")
HELIUM = ("__ARM_FEATURE_MVE", "Helium")
_THUMB = ("__thumb__", "Thumb instructions")
_NEEDS = {
    "dsp": ("__ARM_FEATURE_DSP", "DSP instructions"),
    "vfp": FLOATS,
    "mve": HELIUM,
    "thumb": _THUMB,
    "thumb1": _THUMB,
}


def needs(kernels: Sequence[Kernel], target: Target) -> list[tuple[str, str]]:
    """What the compiler must be allowed to use for these kernels, and words for it."""
    used = {kernel.function.rpartition("__")[2] for kernel in kernels}
    headers = [header for kernel in kernels for header in kernel.supports]
    used |= {isa for isa in target.isa if any(name.endswith(f"_{isa}.h") for name in headers)}
    return list(dict.fromkeys(_NEEDS[isa] for isa in target.isa if isa in used & _NEEDS.keys()))


def checked(kernel: Kernel, target: Target) -> str:
    """The source of a kernel, which asks before anything else: an assembler would name instructions."""
    head, include, code = kernel.source.partition("#include")
    advice = "compile it with the options of its target, or build for another one"
    checks = [
        f'#ifndef {macro}\n#error "this kernel needs {words}: {advice}"\n#endif\n'
        for macro, words in needs([kernel], target)
    ]
    return "".join([head, *checks, include, code])
