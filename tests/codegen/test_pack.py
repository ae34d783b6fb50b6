"""Weights as kernels of an instruction set want them: tiled, widened, doubled, aligned."""

from dataclasses import replace

import numpy as np
import pytest
from support.nets import Net

from edgekit.codegen.kernels.overflow_safe import heavy_pairs
from edgekit.codegen.kernels.pack import pack
from edgekit.codegen.kernels.sources import instantiate
from edgekit.codegen.lowering import lower
from edgekit.codegen.printing.render import render
from edgekit.codegen.program import compile_graph
from edgekit.core import target as targets
from edgekit.core.builder import Builder
from edgekit.core.ir import Graph
from edgekit.core.ops import Call
from edgekit.core.ops.conv2d import Conv2d
from edgekit.core.ops.dense import Dense
from edgekit.core.types import DType, Quant, Type, Value


def test_values_are_scaled_and_shifted() -> None:
    exponents = np.array([-1, -7, -31], np.int8)
    packed = pack("O : s8 x-1 +-1", exponents)
    assert packed.dtype == np.int8
    assert packed.tolist() == [0, 6, 30]


def test_tiles_hold_the_even_elements_of_a_word_before_the_odd_ones() -> None:
    weights = np.arange(1, 11, dtype=np.int8).reshape(2, 5)
    packed = pack("O/4! I/4! o4 i4(0213) : s16 x2", weights).reshape(2, 4, 4)
    assert packed.dtype == np.int16
    assert packed[0].tolist() == [[2, 6, 4, 8], [12, 16, 14, 18], [0] * 4, [0] * 4]
    assert packed[1].tolist() == [[10, 0, 0, 0], [20, 0, 0, 0], [0] * 4, [0] * 4]


def test_letters_go_on_in_an_order_where_digits_end() -> None:
    order = "048c26ae159d37bf"
    packed = pack(f"O/16! o16({order})", np.arange(1, 21, dtype=np.int32))
    where = [int(digit, 16) for digit in order]
    assert packed.tolist() == [1 + k for k in where] + [17 + k if k < 4 else 0 for k in where]


def test_blocks_are_filled_up_with_their_first_elements() -> None:
    assert pack("O/8~ o8", np.array([3, 4], np.int8)).tolist() == [3, 4] * 4
    assert pack("O/4~ o4", np.arange(6, dtype=np.int8)).tolist() == [0, 1, 2, 3, 4, 5, 0, 1]


def test_numbers_that_are_the_same_are_kept_once() -> None:
    packed = pack("same! 4", np.full(640, 7, np.int32))
    assert packed.dtype == np.int32
    assert packed.tolist() == [7] * 4


def test_the_first_dimensions_of_a_block_change_places() -> None:
    packed = pack("O/16! o16(2x4x2)", np.arange(16, dtype=np.int32))
    assert packed.tolist() == [0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15]


def test_neighbouring_parts_of_a_block_alternate_but_for_an_odd_last_one() -> None:
    packed = pack("O/8!2 o8(zip2)", np.arange(14, dtype=np.int32))
    assert packed.tolist() == [0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 13]


def test_the_last_block_may_be_narrower_than_the_others() -> None:
    weights = np.arange(1, 31, dtype=np.int8).reshape(15, 2)
    packed = pack("O/8!4 I o8", weights)
    assert packed[:16].reshape(2, 8).T.tolist() == weights[:8].tolist()
    assert packed[16:].reshape(2, 8).T.tolist() == [*weights[8:].tolist(), [0, 0]]
    assert pack("O/8!4 I o8", weights[:9]).size == 16 + 8
    assert pack("O/8!4 I o8", weights[:3]).size == 8


def test_taps_of_a_phase_lie_together() -> None:
    weights = np.arange(6, dtype=np.int8).reshape(1, 2, 3, 1)
    assert pack("phases 1x2 O/1! HW I o1", weights).tolist() == [0, 2, 3, 5, 1, 4]
    assert pack("phases 2x1 O/1! HW I o1", weights).tolist() == [0, 1, 2, 3, 4, 5]


def test_weights_of_four_bits_are_tiled_without_signs() -> None:
    weights = np.arange(-8, 8).reshape(2, 8).astype(DType.S4.numpy)
    packed = pack("O/2! I/8! o2 i8(01452367) : +8 u4", weights)
    assert [f"{byte & 255:02x}" for byte in packed.tolist()] == [
        "10",
        "54",
        "32",
        "76",
        "98",
        "dc",
        "ba",
        "fe",
    ]


def test_weights_at_the_points_of_winograds_algorithm() -> None:
    """Products at the points, read as a polynomial, are the sums of a convolution."""
    numbers = np.random.default_rng(0)
    weights, image = numbers.normal(size=(1, 3, 3, 1)), numbers.normal(size=(6, 6))
    packed = pack("winograd H W O/8! I o8", weights).reshape(6, 6, 8)
    assert not packed[..., 1:].any()
    p, q = 0.5**0.5, 2**0.5
    enter = np.array(
        [
            [1, 0, -2.5, 0, 1, 0],
            [0, -p * 2, -2, p, 1, 0],
            [0, p * 2, -2, -p, 1, 0],
            [0, -q / 2, -0.5, q, 1, 0],
            [0, q / 2, -0.5, -q, 1, 0],
            [0, 1, 0, -2.5, 0, 1],
        ]
    )
    leave = np.array([[1, 1, 1, 1, 1, 0], [0, p, -p, q, -q, 0], [0, 0.5, 0.5, 2, 2, 0], [0, 0, 0, 0, 0, 1]])
    leave[3, 1:5] = p / 2, -p / 2, q * 2, -q * 2
    found = leave @ (packed[..., 0] * (enter @ image @ enter.T)) @ leave.T
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))
    assert np.allclose(found, np.einsum("hwij,ij->hw", windows, weights[0, :, :, 0]), atol=1e-5)


def test_weights_at_the_points_of_a_tile_on_cortex_m() -> None:
    """Sums of a row of points are prefixes, and results are doubled: see winograd_dsp.h."""
    numbers = np.random.default_rng(0)
    weights, tile = numbers.integers(-127, 128, (1, 3, 3, 1)), numbers.integers(-128, 128, (4, 4))
    at_points = pack("tiles H W O/4! I o4", weights.astype(np.int8)).reshape(4, 4, 4)[..., 0]
    rows = np.array([[0, 1, 1, 0], [0, -1, 1, 0], [1, 0, -1, 0], [0, 1, 0, -1]])
    columns = np.array([[0, 1, 1, 0], [0, -1, 0, 1], [1, 0, -1, 0], [0, -1, 1, 0]])
    products = at_points * (rows @ tile @ columns.T)
    right = products[:, 0] + products[:, 1]
    middle = products[:, 0] + products[:, 2]
    left = middle + products[:, 3]
    found = np.array(
        [[y[2] + (y[0] + y[1]) / 2, (y[0] - y[1]) / 2 - y[3]] for y in (left, right + middle - left)]
    )
    windows = np.lib.stride_tricks.sliding_window_view(tile, (3, 3))
    assert (2 * np.einsum("hwij,ij->hw", windows, weights[0, :, :, 0]) == found.T).all()


def test_weights_of_every_second_pixel_serve_two_sums() -> None:
    """Five products are the sums of two neighbours, in each direction, and the last two meet one weight."""
    numbers = np.random.default_rng(0)
    weights, image = numbers.normal(size=(1, 3, 3, 1)), numbers.normal(size=(5, 5))
    packed = pack("strided H W O/8! I o8", weights).reshape(4, 4, 8)
    assert not packed[..., 1:].any()
    enter = np.array([[1, 0, -1, 0, 0], [0, 0, 1, 0, 0], [0, 0, 1, 0, -1], [0, 1, 0, 0, 0], [0, 0, 0, 1, 0]])
    leave = np.array([[1, 1, 0, 1, 0], [0, 1, -1, 0, 1]])
    met = packed[..., 0][np.ix_([0, 1, 2, 3, 3], [0, 1, 2, 3, 3])]
    windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))[::2, ::2]
    expected = np.einsum("hwij,ij->hw", windows, weights[0, :, :, 0])
    assert np.allclose(leave @ (met * (enter @ image @ enter.T)) @ leave.T, expected, atol=1e-5)


def test_groups_may_have_a_narrower_last_part_each() -> None:
    weights = np.arange(2 * 3 * 2, dtype=np.float32).reshape(6, 2)
    packed = pack("G O/2!1 I o2", weights, 2)
    assert packed.tolist() == [0, 2, 1, 3, 4, 5, 6, 8, 7, 9, 10, 11]


def test_one_number_serves_all_groups() -> None:
    assert pack("G O/4! o4", np.array([3], np.int8), 5).tolist() == [3, 0, 0, 0]
    assert pack("G O/4! o4", np.array([3], np.int8), 1).tolist() == [3, 0, 0, 0]


def depthwise_chain(layers: int) -> Graph:
    """Depthwise convolutions that keep the size of an image."""
    builder, quant = Builder(), Quant((0.5,), (3,))
    x = first = builder.input("x", Type(DType.S8, (1, 20, 20, 8), quant))
    for i in range(layers):
        w = np.full((8, 3, 3, 1), i + 1, np.int8)
        weights, bias = builder.fresh("w"), builder.fresh("b")
        builder.values[weights] = Value(Type(DType.S8, w.shape, Quant((0.01,) * 8, (0,) * 8, 0)), w)
        builder.values[bias] = Value(Type(DType.S32, (8,)), np.full(8, i, np.int32))
        (x,) = builder.add(Conv2d((1, 1), (1, 1, 1, 1), (1, 1), 8), x, weights, bias, quant=quant)
    return builder.graph("chain", [first], [x])


def test_tiled_weights_are_aligned_in_c() -> None:
    files = render(compile_graph(depthwise_chain(1), targets.load("cortex-m4")), "size", "c")
    text = files["chain_weights.c"].decode()
    assert "EK_ALIGNED(8) const int16_t" in text


def test_layers_that_go_channel_by_channel_lie_over_their_inputs() -> None:
    graph, target = depthwise_chain(4), targets.load("cortex-m4")
    image, plane = 20 * 20 * 8, 2 * 22 * 22
    assert compile_graph(graph, target).arena.size == image + plane
    assert image + plane < 2 * image


@pytest.mark.parametrize("most", [9, 60, 127])
def test_light_weights_fit_sums_in_16_bits_and_add_up(most: int) -> None:
    weights = np.random.default_rng(5).integers(-most, most + 1, (43, 21)).astype(np.int8)
    weights[0, 1:13], weights[42, 9:] = 127, -127
    packed = pack("light O/8! I/4! o8 i4", weights)
    words, blocks = iter(packed[1 : packed[0]].tolist()), packed[packed[0] :].view(np.int8)
    # Rows of blocks, blocks, outputs, pairs at the same place, weights.
    rest = blocks.reshape(6, 6, 8, 2, 2).astype(int)
    for first in range(0, 6, 2):
        word, rows = next(words), rest[first : first + 2]
        together = rows.reshape(2, 3, 2, 8, 2, 2) if word % 2 else rows[:, :, None]
        taken = [np.maximum(sign * together, 0).sum(axis=(2, 5)) for sign in (1, -1)]
        for extra in [next(words) for _ in range(word >> 1)]:
            block, place = divmod(extra >> 12, 4)
            rows[extra >> 11 & 1, block, extra >> 8 & 7, place // 2, place % 2] += (extra & 255 ^ 128) - 128
        for sign, light in zip((1, -1), taken, strict=True):  # 255 times 128 fits in 16 bits
            whole = np.maximum(sign * together, 0).sum(axis=(2, 5))
            np.testing.assert_array_equal(light, np.minimum(whole, 128))
    assert not any(words)
    assert packed[0] % 4 == 0
    found = rest.transpose(0, 2, 1, 3, 4).reshape(48, 24)
    assert found[:43, :21].tolist() == weights.tolist()
    assert not found[43:].any()


def test_light_weights_are_added_where_that_pays() -> None:
    weights = np.full((40, 32), 32, np.int8)
    weights[16:32] = 33
    added = [int(packed) % 2 for packed in pack("light O/8! I/4! o8 i4", weights)[1:4]]
    assert added == [1, 0, 1]
    assert (heavy_pairs(weights), heavy_pairs(2 * weights), heavy_pairs(None)) == (0, 400, 1000)


def test_computed_operands_are_packed_beside_constant_ones() -> None:
    net = Net()
    graph = net.done(net(Dense(), net.x(1, 8), net.x(5, 8, name="w"), np.zeros(5, np.float32)))
    host = targets.load("host")
    (call,) = (step for layer in lower.lower(graph, host) for step in layer.steps[-1:])
    assert isinstance(call, Call)
    kernel = instantiate(call, host)
    both = replace(kernel, pack={"b": "O", **kernel.pack})
    copies, changed = lower._pack_computed_weights(call, both)
    assert copies == lower._pack_computed_weights(call, kernel)[0] != []
    assert [a is b for a, b in zip(changed.args, call.args, strict=True)] == [True, False, True, True]


def test_blocks_cut_again() -> None:
    """Two inputs of two outputs side by side, in a word: 256 times the second output, and the first."""
    weights = np.arange(1, 17, dtype=np.int8).reshape(4, 4) * np.array([1, -1, 1, -1], np.int8)
    words = pack("O/4! I/4! i4/2(0213) o4/2 i2 o2 : carry s8", weights).view("<i2").reshape(2, 2, 2)
    for inputs, one in zip(((0, 2), (1, 3)), words, strict=True):
        for first, halves in zip((0, 2), one, strict=True):
            pair = weights[first : first + 2, inputs].astype(int)
            assert halves.tolist() == (256 * pair[1] + pair[0]).tolist()
    wide = pack("O/4! I/4! i4/2(0213) o4 i2 : s16 x2", weights)
    assert wide.dtype == np.int16
    assert wide.reshape(2, 4, 2)[1, 3].tolist() == [-28, -32]
