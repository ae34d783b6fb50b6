"""Which names of a graph are one tensor in memory, so that changing one in place changes what others read.

Exports before functionalization may hold relu_, add_ or copy_. The operand of such an operator and its result
are the same tensor from then on. Views of it would change, too: where one of them is read later, the model is
refused rather than computed wrongly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# Operators whose result may share memory with their operand.
VIEWS = {
    *("alias", "alpha_dropout", "broadcast_to", "chunk", "contiguous", "detach", "diagonal"),
    *("dropout", "expand", "expand_as", "feature_dropout", "flatten", "lift_fresh", "mT"),
    *("movedim", "narrow", "numpy_T", "permute", "reshape", "reshape_as", "select", "slice"),
    *("split", "split_with_sizes", "squeeze", "swapaxes", "swapdims", "t", "to", "transpose"),
    *("type_as", "unbind", "unflatten", "unfold", "unsqueeze", "unsafe_view", "view", "view_as"),
}


def changes_operand(target: str) -> bool:
    """Does the operator write its result over its first operand?"""
    parts = target.removeprefix("torch.ops.").split(".")
    return len(parts) > 1 and parts[1].endswith("_") and not parts[1].endswith("__")


class Aliases:
    """The tensors of one graph; `last_use` says by which node, counted from 0, a name is read last."""

    def __init__(self, last_use: Mapping[str, int]) -> None:
        self.last_use = last_use
        self._root: dict[str, str] = {}  # name -> the name that stands for the same tensor
        self._family: dict[str, set[str]] = {}  # root -> roots that share its memory

    def root(self, name: str) -> str:
        return self._root.get(name, name)

    def view(self, operand: str, results: Iterable[str]) -> None:
        """The results may lie in the memory of the operand."""
        root = self.root(operand)
        family = self._family.setdefault(root, {root})
        for result in results:
            family.add(result)
            self._family[result] = family

    def change(self, node: int, operand: str, result: str) -> str | None:
        """The result is the operand from now on. A name that shares its memory and is read by a later node
        is given back: its content is not known."""
        root = self.root(operand)
        self._root[result] = root
        others = self._family.get(root, set()) - {root}
        names = (name for name in self.last_use if self.root(name) in others)
        return next((name for name in names if self.last_use[name] > node), None)
