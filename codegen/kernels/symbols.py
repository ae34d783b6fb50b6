"""What kernel instances are called: by operator, types, rule of requantization, variant, instruction set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from edgekit.codegen.kernels import contracts
from edgekit.codegen.kernels.kernel_files import Variant
from edgekit.codegen.kernels.variants import variants
from edgekit.core.ops import Call
from edgekit.core.types import DType

_SUMS = "S"  # the letter of a type that only sums have: formats of operands tell it


@dataclass(frozen=True)
class Instance:
    """What a call computes, whatever kernel does: its operator, the types of its operands, its rule."""

    operator: str
    types: tuple[str, ...] = ()
    rule: str = ""

    @classmethod
    def of(cls, call: Call) -> Instance:
        kinds = [dtype.value for letter, dtype in call.types.items() if letter != _SUMS]
        distinct = list(dict.fromkeys(kinds))
        if call.rule:  # an integer layer: all of its formats, unless they are one
            operator = call.label or call.kernel.removesuffix("_int")
            return cls(operator, tuple(kinds if len(distinct) > 1 else distinct), call.rule)
        shape = "_nd" if call.label and call.kernel.endswith("_nd") else ""
        return cls((call.label or call.kernel) + shape, tuple(distinct))

    @property
    def name(self) -> str:
        rule = self.rule.removeprefix("e").removeprefix("_")  # E is the rule that goes without saying
        return "_".join(part for part in (self.operator, *self.types, rule) if part)


@dataclass(frozen=True)
class KernelId:
    """One kernel instance."""

    instance: str
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


def by_first_rule(call: Call, variant: Variant) -> Call:
    """The call by the first rule that is the same code in this kernel: layers share it."""
    code = variant.rules.get(call.rule)
    first = next((rule for rule, name in variant.rules.items() if name == code), call.rule)
    expr = call.expr.replace(f"ek_requantize_{call.rule}(", f"ek_requantize_{first}(")
    return replace(call, rule=first, expr=expr)


def kernel_id(call: Call, variant: Variant, isas: Sequence[str]) -> KernelId:
    """Of the instance that a call needs, where it takes this kernel on a target with these sets."""
    call = by_first_rule(call, variant)
    better = isas[: isas.index(variant.isa)]
    beside = any(other.name == variant.name for isa in better for other in variants(isa, call.kernel))
    return KernelId(instance_name(call), variant.name, variant.isa, beside)


def instance_name(call: Call) -> str:
    """The name of the kernel instance that a call needs."""
    return _instance_name(call.kernel, call.label, tuple(call.types.items()), call.rule)


@cache
def _instance_name(kernel: str, label: str, types: tuple[tuple[str, DType], ...], rule: str) -> str:
    instance = Instance.of(Call(kernel, dict(types), (), label=label, rule=rule))
    if label and f"{instance.name}.h" in contracts.headers():
        # A kernel of its own has this name already: add_s8 adds quantized numbers, and this one adds bytes.
        return replace(instance, operator=f"{instance.operator}_plain").name
    return instance.name
