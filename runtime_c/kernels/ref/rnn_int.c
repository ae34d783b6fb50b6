/* Plain recurrent layer on int8.
 * @loads r: steps * batch * ((size + 3) // 4 * 4) / size
 * @work gates of steps, inputs, positions, products */
/* Plain recurrent layer on int8, eight numbers at a time: see gates_avx2.h.
 * @as avx2/rnn_int one=x8 state=x8 @without loads
 * @pack r: O/8! I/2! o8 i2 @pack b: O/8! o8 @pack m: O/8! o8
 * @scratch 4 * size + 4 */
/* Plain recurrent layer on int8, sixteen numbers at a time: see gates_avx512.h.
 * @as avx512/rnn_int one=x16 state=x16 @without loads
 * @pack r: O/16! I/4! o16 i4 @pack b: O/16! o16 @pack m: O/16! o16
 * @fold b: -128 r @scratch 3 * size + 4 */
/* Plain recurrent layer on int8, sums by AVX-VNNI: see gates_avxvnni.h.
 * @as avxvnni/rnn_int state=x8v like avx2/rnn_int @pack r: O/8! I/4! o8 i4 @fold b: -128 r
 * @scratch 3 * size + 4 */
/* Plain recurrent layer on int8, sums by SDOT: see gates_neon.h.
 * @as dotprod/rnn_int one=neon state=dot @loads r: steps * batch
 * @pack r: O/16!4 I/4! o16 i4 @pack b: O/4! o4 @pack m: O/4! o4 */
/* Plain recurrent layer on int8 with DSP instructions: see gates_dsp.h.
 * @as dsp/rnn_int state=state_dsp @work gates of steps, positions, products */
/* Plain recurrent layer on int8 with Helium, four numbers at a time: see gates_mve.h.
 * @as mve/rnn_int one=mve state=mve @loads r: steps * batch
 * @pack r: O/4! I/16! o4 i16 @pack b: O/4! o4 @pack m: O/4! o4
 * @scratch 2 * size + (size + 15) // 16 * 16 * (size % 16 > 0)
 * @work gates of steps, inputs, positions, products */
/* Plain recurrent layer on int8, sums by SMULL and SADALP: see gates_neon.h.
 * @as neon/rnn_int state=madd like dotprod/rnn_int @pack r: O/8!4 I/16! o8 i16 */
/* Plain recurrent layer on int8, four numbers at a time: see gates_wasm.h.
 * @as wasm/rnn_int one=wasm state=wasm like avx2/rnn_int */
#include "edgekit/contracts/rnn_int.h"

#include "edgekit/loops/gates.h"

/* `count` elements of the state after its gate. */
EK_INLINE void EK_FN_some(const int16_t *EK_RESTRICT gate, const int16_t *EK_RESTRICT tanh,
    int8_t *EK_RESTRICT h, int8_t *EK_RESTRICT y, const int32_t count, const struct EK_STRUCT *p)
{
    const ek_one_ints sum = ek_one_s16(gate, count);
    const ek_one_ints v = p->relu ? ek_one_bounded(sum, 0, 32767) : ek_one_tanh(sum, tanh);
    const ek_one_ints state = ek_one_narrowed(v, p->y_m, p->y_shift, p->zero);
    ek_one_store_s8(h, state, count);
    ek_one_store_s8(y, state, count);
}

EK_KERNEL void EK_FN(const int16_t *EK_RESTRICT x, const int8_t *EK_RESTRICT r, const int8_t *h0,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int16_t *EK_RESTRICT tanh,
    int8_t *EK_RESTRICT y, int8_t *EK_RESTRICT h, int16_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    const struct ek_gates g = {r, b, m, size, p->shift, p->x_m, p->x_shift};
    for (int32_t i = 0; i < all; i++)
        h[i] = h0[i];
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        for (int32_t n = 0; n < all; n += size) {
            int8_t *const state = h + n, *const out = y + t * all + n;
            int32_t i = 0;
            ek_state_gate(&g, x + t * all + n, ek_state_read(state, scratch + size, size), 0, scratch);
            for (; i + EK_ONE_LANES <= size; i += EK_ONE_LANES)
                EK_FN_some(scratch + i, tanh, state + i, out + i, EK_ONE_LANES, p);
            if (i < size)
                EK_FN_some(scratch + i, tanh, state + i, out + i, size - i, p);
        }
    }
}
