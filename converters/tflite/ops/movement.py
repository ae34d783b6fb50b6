"""Shapes, parts, joints, repetition, borders and other orders of elements."""

from __future__ import annotations

import numpy as np

from edgekit.converters.semantics.movement import cast
from edgekit.converters.semantics.onnx import indexing
from edgekit.converters.semantics.tensorflow import indexing as tf_indexing
from edgekit.converters.semantics.tensorflow import movement as tf
from edgekit.converters.tensor import Tensor, concat, scalar
from edgekit.converters.tflite.layer import TfliteLayer, centred, is_plain, labelled, raw, single
from edgekit.core.errors import EdgeKitError
from edgekit.core.ops.quantize import Requantize
from edgekit.core.types import DType


def SHAPE(layer: TfliteLayer, x: Tensor) -> Tensor:
    return x.new(np.array(x.shape, layer.outs[0].dtype.numpy), "shape")


def RANK(layer: TfliteLayer, x: Tensor) -> Tensor:
    return x.new(np.array(x.rank, np.int32), "rank")


def RESHAPE(layer: TfliteLayer, x: Tensor, to: Tensor | None = None) -> Tensor:
    return x.reshape(*layer.outs[0].shape) if to is None or to.rank != 1 else tf.Reshape(x, to)


def SQUEEZE(layer: TfliteLayer, x: Tensor) -> Tensor:
    return tf.Squeeze(x, squeeze_dims=tuple(int(a) for a in layer.options.array(0, "<i4")))


def EXPAND_DIMS(layer: TfliteLayer, x: Tensor, axis: Tensor) -> Tensor:
    return tf.ExpandDims(x, axis)


def TRANSPOSE(layer: TfliteLayer, x: Tensor, perm: Tensor) -> Tensor:
    return tf.Transpose(x, perm)


def DENSIFY(layer: TfliteLayer, x: Tensor) -> Tensor:
    return x  # sparse constants are made dense as they are read: tflite_sparse.py


def CONCATENATION(layer: TfliteLayer, *xs: Tensor) -> Tensor:
    if not xs:
        raise EdgeKitError("E0401", "CONCATENATION of nothing")
    if not is_plain(xs):
        y = layer.out_quant
        xs = tuple(_in_scale(layer, x) for x in xs)
        xs = tuple(labelled(x, y) for x in xs)
    return layer.activated(concat(xs, layer.options.integer(0)), layer.options.integer(1, "b"))


def _in_scale(layer: TfliteLayer, x: Tensor) -> Tensor:
    own, y = layer.quant_of(x), layer.out_quant
    if (own.scale, own.zero) == (y.scale, y.zero):
        return x
    if x.dtype is DType.S8:
        return layer.apply(Requantize(), x)
    return layer.rescaled(centred(x), single(own) / single(y))


def SPLIT(layer: TfliteLayer, axis: Tensor, x: Tensor) -> list[Tensor]:
    return tf.Split(axis, x, num_split=len(layer.outs))


def SPLIT_V(layer: TfliteLayer, x: Tensor, sizes: Tensor, axis: Tensor) -> list[Tensor]:
    return tf.SplitV(x, sizes, axis, num_split=len(layer.outs))


def PACK(layer: TfliteLayer, *xs: Tensor) -> Tensor:
    return tf.Pack(*xs, axis=layer.options.integer(1))


def UNPACK(layer: TfliteLayer, x: Tensor) -> list[Tensor]:
    return tf.Unpack(x, num=len(layer.outs), axis=layer.options.integer(1))


def SLICE(layer: TfliteLayer, x: Tensor, begin: Tensor, size: Tensor) -> Tensor:
    return tf.Slice(x, begin, size)


def STRIDED_SLICE(layer: TfliteLayer, x: Tensor, begin: Tensor, end: Tensor, strides: Tensor) -> Tensor:
    begins, ends, ellipsis, new, shrink = (layer.options.integer(i) for i in range(5))
    if layer.options.integer(5, "b"):
        raise EdgeKitError("E0205", "STRIDED_SLICE with ends that are offsets is not supported")
    return tf.StridedSlice(
        x,
        begin,
        end,
        strides,
        begin_mask=begins,
        end_mask=ends,
        ellipsis_mask=ellipsis,
        new_axis_mask=new,
        shrink_axis_mask=shrink,
    )


def GATHER(layer: TfliteLayer, x: Tensor, index: Tensor) -> Tensor:
    axis = x.new(np.array(layer.options.integer(0)), "axis")
    return tf_indexing.GatherV2(x, index, axis, batch_dims=layer.options.integer(1))


def GATHER_ND(layer: TfliteLayer, x: Tensor, index: Tensor) -> Tensor:
    return tf_indexing.GatherNd(x if index.data is not None else raw(x), index)


def REVERSE_V2(layer: TfliteLayer, x: Tensor, axes: Tensor) -> Tensor:
    return tf.ReverseV2(x, axes)


# Borders and repetition


def PAD(layer: TfliteLayer, x: Tensor, pads: Tensor) -> Tensor:
    return tf.Pad(x, pads)


def PADV2(layer: TfliteLayer, x: Tensor, pads: Tensor, value: Tensor) -> Tensor:
    return tf.PadV2(x, pads, raw(value))


def MIRROR_PAD(layer: TfliteLayer, x: Tensor, pads: Tensor) -> Tensor:
    return tf.MirrorPad(x, pads, mode="SYMMETRIC" if layer.options.integer(0, "b") else "REFLECT")


def TILE(layer: TfliteLayer, x: Tensor, times: Tensor) -> Tensor:
    return tf.Tile(x, times)


def BROADCAST_TO(layer: TfliteLayer, x: Tensor, to: Tensor) -> Tensor:
    return tf.BroadcastTo(x, to)


def SPACE_TO_DEPTH(layer: TfliteLayer, x: Tensor) -> Tensor:
    return tf.SpaceToDepth(x, block_size=layer.options.integer(0))


def DEPTH_TO_SPACE(layer: TfliteLayer, x: Tensor) -> Tensor:
    return tf.DepthToSpace(x, block_size=layer.options.integer(0))


def SPACE_TO_BATCH_ND(layer: TfliteLayer, x: Tensor, block: Tensor, pads: Tensor) -> Tensor:
    return tf.SpaceToBatchND(x, block, pads)


def BATCH_TO_SPACE_ND(layer: TfliteLayer, x: Tensor, block: Tensor, crops: Tensor) -> Tensor:
    return tf.BatchToSpaceND(x, block, crops)


# Constants


def FILL(layer: TfliteLayer, dims: Tensor, value: Tensor) -> Tensor:
    return tf_indexing.Fill(dims, value)


def ZEROS_LIKE(layer: TfliteLayer, x: Tensor) -> Tensor:
    return tf_indexing.ZerosLike(x)


def RANGE(layer: TfliteLayer, start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
    return tf_indexing.Range(start, limit, delta)


def ONE_HOT(layer: TfliteLayer, index: Tensor, depth: Tensor, on: Tensor, off: Tensor) -> Tensor:
    return tf_indexing.OneHot(index, depth, raw(on), raw(off), axis=layer.options.integer(0))


def ARG_MAX(layer: TfliteLayer, x: Tensor, axis: Tensor) -> Tensor:
    along = int(scalar(axis, "the axis of ARG_MAX"))
    return cast(indexing.ArgMax(raw(x), axis=along, keepdims=0), layer.outs[0].dtype)


def ARG_MIN(layer: TfliteLayer, x: Tensor, axis: Tensor) -> Tensor:
    along = int(scalar(axis, "the axis of ARG_MIN"))
    return cast(indexing.ArgMin(raw(x), axis=along, keepdims=0), layer.outs[0].dtype)
