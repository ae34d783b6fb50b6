"""Attention in the domain com.microsoft: rotary embeddings, heads of one kind, and grouped ones with a cache.

Caches keep their length from run to run where the file gives them one: new keys and values are put at the
positions that `seqlens_k` says. Otherwise they grow, and are joined.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from edgekit.converters.onnx.ops.indexing import Gather, TensorScatter
from edgekit.converters.semantics.attention import Mask, attend, causal, heads_of, rotary, rows_of_heads
from edgekit.converters.semantics.compose import matmul
from edgekit.converters.semantics.movement import cast, part
from edgekit.converters.tensor import Tensor, concat
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.logic import Equal, Less
from edgekit.core.types import DType

DOMAIN = "com.microsoft"

Results = tuple[Tensor | None, ...]


def RotaryEmbedding(
    x: Tensor,
    position_ids: Tensor,
    cos_cache: Tensor,
    sin_cache: Tensor,
    *,
    interleaved: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    is_packed_batching: int = 0,
    scale: float = 1.0,
) -> Tensor:
    if is_packed_batching or scale != 1:
        raise _refused(x, "RotaryEmbedding of batches without a border, or with a scale", "E0205")
    if rotary_embedding_dim and not num_heads and x.rank == 3:
        raise _refused(x, "rotary_embedding_dim is given without num_heads")
    width = 2 * cos_cache.shape[1]
    heads = x if x.rank == 4 else heads_of(x, num_heads or x.shape[-1] // width)
    at = position_ids
    if at.rank == 1 or at.type.size == 1:
        at = at.reshape(1, 1) + at.like(np.arange(heads.shape[2])[None])
    y = rotary(heads, Gather(cos_cache, at), Gather(sin_cache, at), bool(interleaved))
    return y if x.rank == 4 else rows_of_heads(y)


def GroupQueryAttention(
    query: Tensor,
    key: Tensor | None,
    value: Tensor | None,
    past_key: Tensor | None,
    past_value: Tensor | None,
    seqlens_k: Tensor,
    total_sequence_length: Tensor,
    cos_cache: Tensor | None = None,
    sin_cache: Tensor | None = None,
    position_ids: Tensor | None = None,
    attention_bias: Tensor | None = None,
    head_sink: Tensor | None = None,
    k_scale: Tensor | None = None,
    v_scale: Tensor | None = None,
    *,
    num_heads: int,
    kv_num_heads: int,
    causal: int = 1,
    do_rotary: int = 0,
    rotary_interleaved: int = 0,
    local_window_size: int = -1,
    scale: float = 0.0,
    softcap: float = 0.0,
    smooth_softmax: int = 0,
    qk_output: int = 0,
    sliding_window_cache: int = 0,
    kv_cache_bit_width: int = 0,
    k_quant_type: str = "NONE",
    v_quant_type: str = "NONE",
    outputs: int = 3,
) -> Results:
    strange = {
        "an attention sink": head_sink is not None or smooth_softmax > 0,
        "a quantized cache": k_scale is not None or v_scale is not None or kv_cache_bit_width,
        "a cache that is a window": sliding_window_cache,
        "scores as an output": qk_output or outputs > 3,
        "quantized keys or values": (k_quant_type, v_quant_type) != ("NONE", "NONE"),
    }
    for what, is_there in strange.items():
        if is_there:
            raise _refused(query, f"GroupQueryAttention with {what} is not supported", "E0205")
    q, k, v = _split(query, key, value, num_heads, kv_num_heads)
    total = int(total_sequence_length.ints("the total sequence length")[0])
    length, stored = q.shape[2], 0 if past_key is None else past_key.shape[2]
    ends = (
        cast(seqlens_k.reshape(seqlens_k.type.size), DType.S32) + 1
    )  # of each sequence, behind its last key
    starts = ends.new(np.zeros(1, np.int32)) if length == total else ends - length
    places = starts.reshape(starts.type.size, 1)
    at = places + places.like(np.arange(length)[None])
    if do_rotary:
        if cos_cache is None or sin_cache is None:
            raise _refused(query, "do_rotary without tables of cosines and sines")
        turn = at if position_ids is None or length == total else position_ids
        cos, sin = Gather(cos_cache, turn), Gather(sin_cache, turn)
        q, k = (rotary(t, cos, sin, bool(rotary_interleaved)) for t in (q, k))
    capacity = max(total, stored)
    keys, values = (_put(past, new, starts, capacity) for past, new in ((past_key, k), (past_value, v)))
    seen = _seen(at, places + length, capacity, bool(causal), local_window_size)
    bias = None if attention_bias is None else _columns(attention_bias, capacity)
    factor = scale or 1 / np.sqrt(q.shape[-1])
    y = attend(q, keys, values, float(factor), Mask(seen, bias, softcap))
    return (rows_of_heads(y), keys, values)[:outputs]


def MultiHeadAttention(
    query: Tensor,
    key: Tensor | None = None,
    value: Tensor | None = None,
    bias: Tensor | None = None,
    key_padding_mask: Tensor | None = None,
    attention_bias: Tensor | None = None,
    past_key: Tensor | None = None,
    past_value: Tensor | None = None,
    past_sequence_length: Tensor | None = None,
    cache_indirection: Tensor | None = None,
    *,
    num_heads: int,
    mask_filter_value: float = -10000.0,
    scale: float = 0.0,
    unidirectional: int = 0,
    outputs: int = 1,
) -> Results:
    if past_sequence_length is not None or cache_indirection is not None or outputs > 3:
        raise _refused(query, "MultiHeadAttention with a shared cache or beams is not supported", "E0205")
    q, k, v = _operands(query, key, value, bias, num_heads)
    if past_key is not None and past_value is not None:
        k, v = concat([past_key, k], 2), concat([past_value, v], 2)
    mask = _padding(key_padding_mask, q, k.shape[2], mask_filter_value, attention_bias)
    if unidirectional:
        mask = replace(mask, allowed=_triangle(q, k))
    y = attend(q, k, v, scale or float(1 / np.sqrt(q.shape[-1])), mask)
    return (rows_of_heads(y), k, v)[:outputs]


def Attention(
    x: Tensor,
    weights: Tensor,
    bias: Tensor | None = None,
    mask_index: Tensor | None = None,
    past: Tensor | None = None,
    attention_bias: Tensor | None = None,
    past_sequence_length: Tensor | None = None,
    *,
    num_heads: int,
    unidirectional: int = 0,
    qkv_hidden_sizes: tuple[int, ...] | None = None,
    mask_filter_value: float = -10000.0,
    scale: float = 0.0,
    do_rotary: int = 0,
    past_present_share_buffer: int = 0,
    rotary_embedding_dim: int = 0,
    outputs: int = 1,
) -> Results:
    if do_rotary or past_present_share_buffer or past_sequence_length is not None:
        raise _refused(x, "Attention that turns positions or shares its cache is not supported", "E0205")
    width = weights.shape[1]
    sizes = qkv_hidden_sizes or (width // 3,) * 3
    if len(sizes) != 3 or sum(sizes) != width:
        raise _refused(x, f"the weights {weights.type} do not hold {list(sizes)} for query, key and value")
    joined = matmul(x, weights)
    joined = joined if bias is None else joined + bias
    firsts = (0, sizes[0], sizes[0] + sizes[1])
    q, k, v = (
        heads_of(part(joined, 2, first, size), num_heads) for first, size in zip(firsts, sizes, strict=True)
    )
    if past is not None:
        of_k, of_v = (part(past, 0, i, 1).reshape(*past.shape[1:]) for i in range(2))
        k, v = concat([of_k, k], 2), concat([of_v, v], 2)
    mask = _padding(mask_index, q, k.shape[2], mask_filter_value, attention_bias)
    if unidirectional:
        mask = replace(mask, allowed=_triangle(q, k))
    y = attend(q, k, v, scale or float(1 / np.sqrt(q.shape[-1])), mask)
    present = concat([t.reshape(1, *t.shape) for t in (k, v)], 0) if outputs > 1 else None
    return (rows_of_heads(y), present)[:outputs]


def _split(
    query: Tensor, key: Tensor | None, value: Tensor | None, heads: int, shared: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Heads of query, key and value, which one tensor may hold side by side."""
    if heads < 1 or shared < 1 or heads % shared:
        raise _refused(query, f"{heads} heads do not share {shared} of keys")
    if key is not None and value is not None:
        return heads_of(query, heads), heads_of(key, shared), heads_of(value, shared)
    size = query.shape[2] // (heads + 2 * shared)
    if query.shape[2] != size * (heads + 2 * shared):
        raise _refused(query, f"{query.type} holds no query, key and value of {heads} and {shared} heads")
    firsts, counts = (0, heads, heads + shared), (heads, shared, shared)
    q, k, v = (
        heads_of(part(query, 2, first * size, count * size), count)
        for first, count in zip(firsts, counts, strict=True)
    )
    return q, k, v


def _operands(
    query: Tensor, key: Tensor | None, value: Tensor | None, bias: Tensor | None, heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Of MultiHeadAttention: three tensors, two (query, and key with value), or one; bias is of all three."""
    if query.rank == 5:  # [batch, positions, heads, 3, size]
        batch, length, count, _, size = query.shape
        q, k, v = (part(query, 3, i, 1).reshape(batch, length, count * size) for i in range(3))
    elif key is not None and key.rank == 5:
        batch, length, count, _, size = key.shape
        q = query
        k, v = (part(key, 3, i, 1).reshape(batch, length, count * size) for i in range(2))
    elif key is not None and value is not None:
        q, k, v = query, key, value
    else:
        raise _refused(query, f"MultiHeadAttention of a query {query.type} without key and value")
    if bias is not None:
        widths = (q.shape[-1], *(t.shape[-1] if t.rank == 3 else t.shape[1] * t.shape[3] for t in (k, v)))
        firsts = (0, widths[0], widths[0] + widths[1])
        q, k, v = (
            t + part(bias, 0, first, width) if t.rank == 3 else t
            for t, first, width in zip((q, k, v), firsts, widths, strict=True)
        )
    q, k, v = (t if t.rank == 4 else heads_of(t, heads) for t in (q, k, v))
    return q, k, v


def _padding(mask: Tensor | None, q: Tensor, keys: int, low: float, bias: Tensor | None) -> Mask:
    """Masks are 1 where keys count, [batch, keys] or [batch, queries, keys], or say how many do."""
    if mask is None:
        return Mask(None, bias)
    batch = q.shape[0]
    if mask.rank == 1 and mask.shape[0] == batch:
        counts = cast(mask.reshape(batch, 1), DType.S32)
        mask = cast(counts.like(np.arange(keys)[None]).apply(Less(), counts), DType.S32)
    if mask.rank not in (2, 3) or mask.shape[-1] != keys:
        raise _refused(q, f"a mask {mask.type} for {keys} keys is not supported", "E0205")
    shape = (mask.shape[0], 1, 1, keys) if mask.rank == 2 else (mask.shape[0], 1, *mask.shape[1:])
    off = cast(mask.reshape(*shape).apply(Equal(), 0), q.dtype) * low
    return Mask(None, off if bias is None else off + bias)


def _triangle(q: Tensor, k: Tensor) -> Tensor | None:
    """Queries are the last of all positions."""
    queries, keys = q.shape[2], k.shape[2]
    return causal(q.new(np.arange(keys - queries, keys)[None]), q.new(np.arange(keys)))


def _put(past: Tensor | None, new: Tensor, starts: Tensor, capacity: int) -> Tensor:
    """What was there, with new keys or values from `starts` on, in room for so many."""
    length, stored = new.shape[2], 0 if past is None else past.shape[2]
    first = starts.data
    if first is not None and (first == first.flat[0]).all() and 0 <= int(first.flat[0]) <= stored:
        at = int(first.flat[0])
        parts = [] if past is None or not at else [part(past, 2, 0, at)]
        parts.append(new)
        if past is not None and at + length < stored:
            parts.append(part(past, 2, at + length, stored - at - length))
        joined = concat(parts, 2) if len(parts) > 1 else new
        return _columns_of(joined, 2, capacity)
    old = new.like(np.zeros((*new.shape[:2], capacity, new.shape[3])))
    return TensorScatter(old if past is None else _columns_of(past, 2, capacity), new, starts)


def _seen(at: Tensor, ends: Tensor, capacity: int, is_causal: bool, window: int) -> Tensor | None:
    keys = at.like(np.arange(capacity))
    if is_causal:
        return causal(at, keys, window)
    seen = keys.reshape(1, 1, 1, capacity).apply(Less(), ends.reshape(ends.shape[0], 1, 1, 1))
    return None if seen.data is not None and seen.data.all() else seen


def _columns(bias: Tensor, capacity: int) -> Tensor:
    return _columns_of(bias, bias.rank - 1, capacity)


def _columns_of(x: Tensor, axis: int, capacity: int) -> Tensor:
    """The first so many along an axis, with zeros behind what is there."""
    missing = capacity - x.shape[axis]
    if missing <= 0:
        return part(x, axis, 0, capacity)
    shape = [missing if i == axis else n for i, n in enumerate(x.shape)]
    return concat([x, x.like(np.zeros(shape))], axis)


def _refused(x: Tensor, message: str, code: str = "E0401") -> EdgeKitError:
    return EdgeKitError(code, message, f"node {x.builder.origin}")
