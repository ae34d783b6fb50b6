"""A second device for torch, where there is none: operands on two devices are an error, as with a GPU.

Its tensors hold others of the CPU, which compute in their place.
"""

from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

ELSEWHERE = "elsewhere"
_MOVES = (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default)


class TensorElsewhere(torch.Tensor):
    here: torch.Tensor

    @staticmethod
    def __new__(cls, here: torch.Tensor) -> "TensorElsewhere":
        wrapper: Any = torch.Tensor
        made: TensorElsewhere = wrapper._make_wrapper_subclass(
            cls,
            here.size(),
            strides=here.stride(),
            storage_offset=here.storage_offset(),
            dtype=here.dtype,
            device=torch.device(ELSEWHERE, 0),
        )
        made.here = here
        return made

    @classmethod
    def __torch_dispatch__(cls, operator: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(operator, args, kwargs or {})


def _computed(operator: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """By the CPU; the result is where the operands are, or where it is wanted."""
    tensors = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
    is_there = any(isinstance(x, TensorElsewhere) for x in tensors)
    if is_there and operator not in _MOVES:
        for x in tensors:
            assert isinstance(x, TensorElsewhere) or x.ndim == 0, f"{operator}: tensors on two devices"
    if (device := kwargs.get("device")) is not None:
        is_there = torch.device(device).type == ELSEWHERE
        kwargs = {**kwargs, "device": torch.device("cpu")}
    held, options = pytree.tree_map(lambda x: x.here if isinstance(x, TensorElsewhere) else x, (args, kwargs))
    result = operator(*held, **options)
    if operator._schema.name.endswith("_"):  # in place
        return args[0]
    return pytree.tree_map(
        lambda x: TensorElsewhere(x) if is_there and isinstance(x, torch.Tensor) else x, result
    )


_setup_privateuseone_for_python_backend(ELSEWHERE)
_LIBRARY = torch.library.Library("_", "IMPL", "PrivateUse1")
_LIBRARY.fallback(lambda operator, *args, **kwargs: _computed(operator, args, kwargs))
