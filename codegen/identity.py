"""What kernel instances are called: by operator, types, rounding and variant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgekit.codegen import contracts
from edgekit.codegen.kernel_files import Variant
from edgekit.codegen.variants import variants
from edgekit.ops import Call


@dataclass(frozen=True)
class KernelId:
    """One kernel instance."""

    instance: str  # operator, types and rounding, as the call says
    variant: str  # empty for the general one
    isa: str
    is_beside: bool  # does a better instruction set have a variant of this name, for other calls?

    @property
    def name(self) -> str:
        """Of its files, and of its struct behind ek_."""
        variant = f"_{self.variant}" if self.variant else ""
        return self.instance + variant + (f"_{self.isa}" if self.is_beside else "")

    @property
    def function(self) -> str:
        return f"ek_{self.name}__{self.isa}"


def kernel_id(call: Call, variant: Variant, isas: Sequence[str]) -> KernelId:
    """Of the instance that a call needs, where it takes this kernel on a target with these sets."""
    instance = instance_name(call)
    if call.rule == "e_wide" and variant.rules.get("e_wide", "") == variant.rules.get("e"):
        instance = instance.replace("_wide", "", 1)  # weights are larger, code is the same: layers share it
    better = isas[: isas.index(variant.isa)]
    beside = any(other.name == variant.name for isa in better for other in variants(isa, call.kernel))
    return KernelId(instance, variant.name, variant.isa, beside)


def instance_name(call: Call) -> str:
    """The name of the kernel instance that a call needs: its own, or its label, then the distinct types."""
    if call.name:
        return call.name
    types = list(dict.fromkeys(t.value for t in call.types.values()))
    shape = "_nd" if call.label and call.kernel.endswith("_nd") else ""
    name = "_".join([call.label + shape if call.label else call.kernel, *types])
    if call.label and f"{name}.h" in contracts.headers():
        # A kernel of its own has this name already: add_s8 adds quantized numbers, and this one adds bytes.
        return "_".join([call.label, "plain", *types])
    return name
