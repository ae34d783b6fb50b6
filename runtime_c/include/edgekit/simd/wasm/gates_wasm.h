/* Gates of recurrent layers of integers in WebAssembly, four numbers at a time: see gates.h. */
#ifndef EDGEKIT_GATES_WASM_H
#define EDGEKIT_GATES_WASM_H

#include "edgekit/loops/gates.h"
#include "edgekit/simd/wasm/pixel_rows_s8_wasm.h"
#include "edgekit/simd/wasm/s32_wasm.h"

typedef ek_vi ek_wasm_ints;
#define EK_WASM_LANES 4
#define EK_WASM_ROWS 16

#define ek_wasm_load ek_vi_load
#define ek_wasm_same ek_vi_same
#define ek_wasm_add ek_vi_add
#define ek_wasm_times ek_vi_mul
#define ek_wasm_shifted ek_vi_shifted

EK_INLINE v128_t ek_wasm_bounded(const v128_t a, const int32_t lo, const int32_t hi)
{
    return wasm_i32x4_min(wasm_i32x4_max(a, wasm_i32x4_splat(lo)), wasm_i32x4_splat(hi));
}
EK_INLINE v128_t ek_wasm_magnitude(const v128_t a)
{
    return wasm_i32x4_abs(a);
}
EK_INLINE v128_t ek_wasm_signed(const v128_t y, const v128_t x)
{
    const v128_t sign = wasm_i32x4_shr(x, 31);
    return wasm_i32x4_sub(wasm_v128_xor(y, sign), sign);
}
/* Both numbers of the table at once, and what each counts. */
EK_INLINE v128_t ek_wasm_between(const int16_t *table, const v128_t a, const int32_t bits)
{
    const v128_t i = ek_wasm_shifted(a, bits);
    const v128_t part = wasm_v128_and(a, wasm_i32x4_splat((1 << bits) - 1));
    const v128_t left = wasm_i32x4_sub(wasm_i32x4_splat(1 << bits), part);
    v128_t both = wasm_v128_load32_zero(table + wasm_i32x4_extract_lane(i, 0));
    both = wasm_v128_load32_lane(table + wasm_i32x4_extract_lane(i, 1), both, 1);
    both = wasm_v128_load32_lane(table + wasm_i32x4_extract_lane(i, 2), both, 2);
    both = wasm_v128_load32_lane(table + wasm_i32x4_extract_lane(i, 3), both, 3);
    return wasm_i32x4_dot_i16x8(both, wasm_v128_or(wasm_i32x4_shl(part, 16), left));
}
EK_INLINE v128_t ek_wasm_s16(const int16_t *p, const int32_t count)
{
    int16_t some[4] = {0};
    for (int32_t i = 0; count < 4 && i < count; i++)
        some[i] = p[i];
    return wasm_i32x4_load16x4(count < 4 ? some : p);
}
EK_INLINE v128_t ek_wasm_s8(const int8_t *p, const int32_t count)
{
    int8_t some[4] = {0};
    for (int32_t i = 0; count < 4 && i < count; i++)
        some[i] = p[i];
    return wasm_i32x4_extend_low_i16x8(
        wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(count < 4 ? some : p)));
}
EK_INLINE void ek_wasm_store_s16(int16_t *p, const v128_t y, const int32_t count)
{
    int16_t some[4];
    wasm_v128_store64_lane(count < 4 ? some : p, wasm_i16x8_narrow_i32x4(y, y), 0);
    for (int32_t i = 0; count < 4 && i < count; i++)
        p[i] = some[i];
}
EK_INLINE void ek_wasm_store_s8(int8_t *p, const v128_t y, const int32_t count)
{
    const v128_t halves = wasm_i16x8_narrow_i32x4(y, y);
    ek_store_some_wasm(p, wasm_i8x16_narrow_i16x8(halves, halves), count);
}

/* Rule E by upper words of products, shift >= 32. */
EK_INLINE v128_t ek_wasm_by_e(const v128_t acc, const int32_t *m, const int32_t shift)
{
    const v128_t factor = wasm_v128_load(m), half = wasm_i64x2_splat((int64_t)1 << (shift - 1));
    const v128_t low = wasm_i64x2_add(wasm_i64x2_extmul_low_i32x4(acc, factor), half);
    const v128_t high = wasm_i64x2_add(wasm_i64x2_extmul_high_i32x4(acc, factor), half);
    return wasm_i32x4_shr(wasm_i32x4_shuffle(low, high, 1, 3, 5, 7), (uint32_t)(shift - 32));
}

#define EK_ONE(name) ek_wasm_##name
#include "edgekit/loops/gates_lanes.h"

/* The state as products want it, copied to `room`. */
EK_INLINE const int8_t *ek_wasm_read(const int8_t *h, int16_t *room, const int32_t size)
{
    ek_prepare_wasm(h, (uint8_t *)room, size, 2, 0);
    return (const int8_t *)room;
}

/* Sums of eight rows, or of sixteen. Rule E keeps upper words of products: small shifts move sums up, within 32 bits. */
EK_INLINE void ek_wasm_block_sums(
    const struct ek_gates *g, const int8_t *h, const int32_t row, const int32_t blocks, int32_t *sum)
{
    const int32_t pairs = (g->size + 1) / 2, up = g->shift < 32 ? 32 - g->shift : 0;
    const int8_t *r = g->r + row * 2 * pairs;
    v128_t acc[4];
    for (int32_t k = 0; k < 2 * blocks; k++)
        acc[k] = wasm_v128_load(g->b + row + 4 * k);
    for (int32_t i = 0; i < pairs; i++, r += 16) {
        const v128_t x = wasm_v128_load32_splat(h + 4 * i);
        for (int32_t k = 0; k < 2 * blocks; k++)
            acc[k] = ek_dot_wasm(acc[k], ek_weights_wasm(r + k / 2 * 16 * pairs + k % 2 * 8, 2), x, 2);
    }
    for (int32_t k = 0; k < 2 * blocks; k++) {
        const v128_t wide = wasm_i32x4_shl(acc[k], (uint32_t)up);
        wasm_v128_store(sum + 4 * k, ek_wasm_by_e(wide, g->m + row + 4 * k, g->shift + up));
    }
}

/* What state h adds to `left` sums of gate k from `first` on. Each gate has whole blocks of eight rows. */
EK_INLINE void ek_wasm_sums(const struct ek_gates *g, const int8_t *h, const int32_t k, const int32_t first,
    const int32_t left, int32_t *sum)
{
    const int32_t row = k * ((g->size + 7) / 8 * 8) + first;
    if (left > 8)
        ek_wasm_block_sums(g, h, row, 2, sum);
    else
        ek_wasm_block_sums(g, h, row, 1, sum);
}

#define EK_STATE(name) ek_wasm_##name
#define EK_ROWS EK_WASM_ROWS
#define EK_WIDTH EK_WASM_LANES
#include "edgekit/loops/gates_sums.h"
#undef EK_ONE
#undef EK_STATE
#undef EK_ROWS
#undef EK_WIDTH

#endif
