/* Gated recurrent units on int8, a state of 16 bits.
 * @loads r: steps * batch * ((size + 3) // 4 * 4) / size
 * @work gates of steps, inputs, products */
/* Gated recurrent units on int8, eight numbers at a time: see gates_avx2.h.
 * @as avx2/gru_int one=x8 state=x8 @without loads
 * @pack r: G O/8! I/2! o8 i2 @pack b: G O/8! o8 @pack m: G O/8! o8
 * @scratch 10 * size + 4 */
/* Gated recurrent units on int8, sixteen numbers at a time: see gates_avx512.h.
 * @as avx512/gru_int one=x16 state=x16 @without loads
 * @pack r: G O/16! I/4! o16 i4 @pack b: G O/16! o16
 * @pack m: G O/16! o16 @fold b: -128 r @scratch 9 * size + 4 */
/* Gated recurrent units on int8, sums by AVX-VNNI: see gates_avxvnni.h.
 * @as avxvnni/gru_int state=x8v like avx2/gru_int @pack r: G O/8! I/4! o8 i4 @fold b: -128 r
 * @scratch 9 * size + 4 */
/* Gated recurrent units on int8, sums by SDOT: see gates_neon.h.
 * @as dotprod/gru_int one=neon state=dot @loads r: steps * batch
 * @pack r: G O/16!4 I/4! o16 i4 @pack b: G O/4! o4
 * @pack m: G O/4! o4 */
/* Gated recurrent units on int8 with DSP instructions: see gates_dsp.h.
 * @as dsp/gru_int state=state_dsp @work gates of steps, positions, products */
/* Gated recurrent units on int8 with Helium, four numbers at a time: see gates_mve.h.
 * @as mve/gru_int one=mve state=mve like dotprod/gru_int @pack r: G O/4! I/16! o4 i16
 * @scratch (8 - 2 * reset_after * (size % 16 == 0)) * size + (size + 15) // 16 * 16 * (size % 16 > 0)
 * @work gates of steps, inputs, positions, products */
/* Gated recurrent units on int8, sums by SMULL and SADALP: see gates_neon.h.
 * @as neon/gru_int state=madd like dotprod/gru_int @pack r: G O/8!4 I/16! o8 i16 */
/* Gated recurrent units on int8, four numbers at a time: see gates_wasm.h.
 * @as wasm/gru_int one=wasm state=wasm like avx2/gru_int */
#include "edgekit/contracts/gru_int.h"

#include "edgekit/loops/gates.h"

/* `count` numbers of the state as weights take it, and the layers that follow. */
EK_INLINE void EK_FN_narrow(const ek_one_ints h, int8_t *q, const int32_t count, const struct EK_STRUCT *p)
{
    ek_one_store_s8(q, ek_one_narrowed(h, p->y_m, p->y_shift, p->zero), count);
}

/* `count` numbers of q, with what the reset s leaves of them. */
EK_INLINE void EK_FN_reset(const int16_t *s, const int8_t *q, const int16_t *EK_RESTRICT tanh, int8_t *kept,
    const int32_t count, const struct EK_STRUCT *p)
{
    const ek_one_ints number = ek_one_add(ek_one_s8(q, count), ek_one_same(-p->zero));
    const ek_one_ints part = ek_one_of_q15(ek_one_times(ek_one_sigmoid(ek_one_s16(s, count), tanh), number));
    ek_one_store_s8(kept, ek_one_add(ek_one_same(p->zero), part), count);
}

/* `count` sums of n, where the reset s scales what the state adds. */
EK_INLINE void EK_FN_scaled(const struct ek_gates *g, const int16_t *x, const int32_t *more, const int16_t *s,
    const int16_t *EK_RESTRICT tanh, int16_t *sum, const int32_t count)
{
    const ek_one_ints inner = ek_one_bounded(ek_one_load(more), -65535, 65535);
    const ek_one_ints open = ek_one_sigmoid(ek_one_s16(s, count), tanh);
    ek_state_add_input(g, x, ek_one_of_q15(ek_one_times(open, inner)), sum, count);
}

/* The sums of n, in the place of the last gate; the reset is that before it. `state` is q, as sums read it. */
EK_INLINE void EK_FN_news(const struct ek_gates *g, const int16_t *EK_RESTRICT x, const int8_t *q,
    const int8_t *state, const int16_t *EK_RESTRICT tanh, int16_t *gate, const struct EK_STRUCT *p)
{
    const int32_t size = p->size;
    const int16_t *const s = gate + size, *const own = x + 2 * size;
    int16_t *const sum = gate + 2 * size;
    if (p->reset_after) {
        int32_t more[EK_STATE_ROWS];
        for (int32_t o = 0; o < size; o += EK_STATE_ROWS) {
            const int32_t room = size - o, left = room < EK_STATE_ROWS ? room : EK_STATE_ROWS;
            int32_t i = 0;
            ek_state_sums(g, state, 2, o, left, more);
            for (; i + EK_ONE_LANES <= left; i += EK_ONE_LANES)
                EK_FN_scaled(g, own + o + i, more + i, s + o + i, tanh, sum + o + i, EK_ONE_LANES);
            if (i < left)
                EK_FN_scaled(g, own + o + i, more + i, s + o + i, tanh, sum + o + i, left - i);
        }
        return;
    }
    int8_t *const kept = (int8_t *)(gate + 3 * size);
    int32_t i = 0;
    for (; i + EK_ONE_LANES <= size; i += EK_ONE_LANES)
        EK_FN_reset(s + i, q + i, tanh, kept + i, EK_ONE_LANES, p);
    if (i < size)
        EK_FN_reset(s + i, q + i, tanh, kept + i, size - i, p);
    ek_state_gate(g, x, ek_state_read(kept, gate + 4 * size, size), 2, gate);
}

/* One step of `count` elements: h and q become what they are after the gates. */
EK_INLINE void EK_FN_some(const int16_t *EK_RESTRICT gate, const int16_t *EK_RESTRICT tanh,
    int16_t *EK_RESTRICT h, int8_t *q, const int32_t count, const struct EK_STRUCT *p)
{
    const ek_one_ints keep = ek_one_sigmoid(ek_one_s16(gate, count), tanh);
    const ek_one_ints news = ek_one_tanh(ek_one_s16(gate + 2 * p->size, count), tanh);
    const ek_one_ints kept = ek_one_times(keep, ek_one_s16(h, count));
    const ek_one_ints part = ek_one_add(ek_one_same(32768), ek_one_times(keep, ek_one_same(-1)));
    const ek_one_ints more = ek_one_shifted(ek_one_times(part, news), p->bits);
    const ek_one_ints state = ek_one_bounded(ek_one_of_q15(ek_one_add(kept, more)), -32768, 32767);
    ek_one_store_s16(h, state, count);
    EK_FN_narrow(state, q, count, p);
}

EK_KERNEL void EK_FN(const int16_t *EK_RESTRICT x, const int8_t *EK_RESTRICT r, const int16_t *h0,
    const int32_t *EK_RESTRICT b, const int32_t *EK_RESTRICT m, const int16_t *EK_RESTRICT tanh,
    int8_t *EK_RESTRICT y, int16_t *EK_RESTRICT h, int16_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t size = p->size, all = p->batch * size;
    const struct ek_gates g = {r, b, m, size, p->shift, p->x_m, p->x_shift};
    for (int32_t i = 0; i < all; i++)
        h[i] = h0[i];
    for (int32_t step = 0; step < p->steps; step++) {
        const int32_t t = p->reverse ? p->steps - 1 - step : step;
        for (int32_t n = 0; n < all; n += size) {
            const int16_t *const sums = x + 3 * (t * all + n);
            int8_t *const q = y + t * all + n; /* before the step the last state, then the new one */
            int32_t i = 0;
            for (; i + EK_ONE_LANES <= size; i += EK_ONE_LANES)
                EK_FN_narrow(ek_one_s16(h + n + i, EK_ONE_LANES), q + i, EK_ONE_LANES, p);
            if (i < size)
                EK_FN_narrow(ek_one_s16(h + n + i, size - i), q + i, size - i, p);
            const int8_t *const state = ek_state_read(q, scratch + 4 * size, size);
            ek_state_gate(&g, sums, state, 0, scratch);
            ek_state_gate(&g, sums, state, 1, scratch);
            EK_FN_news(&g, sums, q, state, tanh, scratch, p);
            for (i = 0; i + EK_ONE_LANES <= size; i += EK_ONE_LANES)
                EK_FN_some(scratch + i, tanh, h + n + i, q + i, EK_ONE_LANES, p);
            if (i < size)
                EK_FN_some(scratch + i, tanh, h + n + i, q + i, size - i, p);
        }
    }
}
