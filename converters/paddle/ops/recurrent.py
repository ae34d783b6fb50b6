"""RNN, GRU and LSTM: layers above each other, one or two directions each."""

from __future__ import annotations

from typing import Any

from edgekit.converters.paddle.arguments import Tensors, several
from edgekit.converters.semantics.aten import recurrent as _torch
from edgekit.converters.tensor import Tensor
from edgekit.core.errors import EdgeKitError


def rnn(
    input: Tensor,
    pre_state: Tensors,
    weight_list: Tensors,
    sequence_length: Tensor | None = None,
    dropout_state: Tensor | None = None,
    *,
    dropout_prob: float = 0.0,
    is_bidirec: bool = False,
    input_size: int,
    hidden_size: int,
    num_layers: int,
    mode: str,
    seed: int = 0,
    is_test: bool = False,
) -> tuple[Tensor | list[Tensor] | None, ...]:
    """The first dimension is time. All weights come before all biases; what is dropped is not made."""
    weights, states = several(weight_list), several(pre_state)
    half = len(weights) // 2
    params = [p for i in range(0, half, 2) for p in (*weights[i : i + 2], *weights[half + i : half + i + 2])]
    settings: dict[str, Any] = {
        "params": params,
        "has_biases": True,
        "num_layers": num_layers,
        "dropout": 0.0,
        "train": False,
        "bidirectional": is_bidirec,
        "batch_first": False,
        "lengths": sequence_length,
    }
    if mode == "LSTM":
        y, *last = _torch.lstm(input, hx=states, **settings)
    elif mode in _SIMPLE:
        y, *last = _SIMPLE[mode](input, hx=states[0], **settings)
    else:
        raise EdgeKitError("E0203", f"rnn of the kind {mode[:20]} is not supported")
    return y, None, last


_SIMPLE = {"GRU": _torch.gru, "RNN_TANH": _torch.rnn_tanh, "RNN_RELU": _torch.rnn_relu}
