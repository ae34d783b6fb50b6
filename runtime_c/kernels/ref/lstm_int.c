/* Long short-term memory on int8, cells of 16 bits.
 * @loads r: steps * batch * ((size + 3) // 4 * 4) / size
 * @work gates of steps, inputs, positions, products */
/* Long short-term memory on int8, eight numbers at a time: see gates_avx2.h.
 * @as avx2/lstm_int one=x8 state=x8 @without loads
 * @pack r: G O/8! I/2! o8 i2 @pack b: G O/8! o8 @pack m: G O/8! o8
 * @scratch 10 * size + 4 */
/* Long short-term memory on int8, sixteen numbers at a time: see gates_avx512.h.
 * @as avx512/lstm_int one=x16 state=x16 @without loads
 * @pack r: G O/16! I/4! o16 i4 @pack b: G O/16! o16
 * @pack m: G O/16! o16 @fold b: -128 r @scratch 9 * size + 4 */
/* Long short-term memory on int8, sums by AVX-VNNI: see gates_avxvnni.h.
 * @as avxvnni/lstm_int state=x8v like avx2/lstm_int @pack r: G O/8! I/4! o8 i4 @fold b: -128 r
 * @scratch 9 * size + 4 */
/* Long short-term memory on int8, sums by SDOT: see gates_neon.h.
 * @as dotprod/lstm_int one=neon state=dot @loads r: steps * batch
 * @pack r: G O/16!4 I/4! o16 i4 @pack b: G O/4! o4
 * @pack m: G O/4! o4 */
/* Long short-term memory on int8 with DSP instructions: see gates_dsp.h.
 * @as dsp/lstm_int state=state_dsp @work gates of steps, positions, products */
/* Long short-term memory on int8 with Helium, four numbers at a time: see gates_mve.h.
 * @as mve/lstm_int one=mve state=mve like dotprod/lstm_int @pack r: G O/4! I/16! o4 i16
 * @scratch 8 * size + (size + 15) // 16 * 16 * (size % 16 > 0) @work gates of steps, inputs, products */
/* Long short-term memory on int8, sums by SMULL and SADALP: see gates_neon.h.
 * @as neon/lstm_int state=madd like dotprod/lstm_int @pack r: G O/8!4 I/16! o8 i16 */
/* Long short-term memory on int8, four numbers at a time: see gates_wasm.h.
 * @as wasm/lstm_int one=wasm state=wasm like avx2/lstm_int */
#include "edgekit/contracts/lstm_int.h"

#include "edgekit/loops/gates.h"

/* One step of `count` elements: h and c become what they are after the gates. */
EK_INLINE void EK_FN_some(const int16_t *EK_RESTRICT gate, const int16_t *EK_RESTRICT tanh,
    int8_t *EK_RESTRICT h, int16_t *EK_RESTRICT c, int8_t *EK_RESTRICT y, const int32_t count,
    const struct EK_STRUCT *p)
{
    const int16_t *const o = gate + p->size, *const f = o + p->size, *const n = f + p->size;
    const ek_one_ints in = ek_one_sigmoid(ek_one_s16(gate, count), tanh);
    const ek_one_ints news = ek_one_tanh(ek_one_s16(n, count), tanh);
    const ek_one_ints more = ek_one_shifted(ek_one_times(in, news), p->bits);
    const ek_one_ints keep = ek_one_sigmoid(ek_one_s16(f, count), tanh);
    const ek_one_ints kept = ek_one_times(keep, ek_one_s16(c, count));
    const ek_one_ints cell = ek_one_bounded(ek_one_of_q15(ek_one_add(kept, more)), -32768, 32767);
    const ek_one_ints out = ek_one_sigmoid(ek_one_s16(o, count), tanh);
    const ek_one_ints wide = ek_one_times(out, ek_one_tanh(ek_one_as_sum(cell, p->bits), tanh));
    const ek_one_ints state = ek_one_narrowed(ek_one_of_q15(wide), p->y_m, p->y_shift, p->zero);
    ek_one_store_s16(c, cell, count);
    ek_one_store_s8(h, state, count);
    ek_one_store_s8(y, state, count);
}

EK_KERNEL void EK_FN(const int16_t *EK_RESTRICT x, const int8_t *EK_RESTRICT r, const int8_t *h0,
    const int16_t *c0, const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m,
    const int16_t *EK_RESTRICT tanh, int8_t *EK_RESTRICT y, int8_t *EK_RESTRICT h, int16_t *EK_RESTRICT c,
    int16_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    const struct ek_gates g = {r, b, m, size, p->shift, p->x_m, p->x_shift};
    for (int32_t i = 0; i < all; i++) {
        h[i] = h0[i];
        c[i] = c0[i];
    }
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        for (int32_t n = 0; n < all; n += size) {
            const int8_t *const state = ek_state_read(h + n, scratch + 4 * size, size);
            int8_t *const out = y + t * all + n;
            int32_t i = 0;
            for (int32_t k = 0; k < 4; k++)
                ek_state_gate(&g, x + 4 * (t * all + n), state, k, scratch);
            for (; i + EK_ONE_LANES <= size; i += EK_ONE_LANES)
                EK_FN_some(scratch + i, tanh, h + n + i, c + n + i, out + i, EK_ONE_LANES, p);
            if (i < size)
                EK_FN_some(scratch + i, tanh, h + n + i, c + n + i, out + i, size - i, p);
        }
    }
}
