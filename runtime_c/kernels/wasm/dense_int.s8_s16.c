/* Fully connected layer of int8, results of 16 bits, as sums of gates have them: see gates_wasm.h.
 * @for X=s8 W=s8 Y=s16 S=s32 @rule e e_wide @when acc_bits + weight_shift <= 30 @pack w: O/8! I/2! o8 i2
 * @pack b: O/8! o8 @pack m: O/8! o8 @scratch 2 * (rows * inputs) + 16 */
#include "edgekit/contracts/dense_int.h"

/* Eight outputs from `first` on of some rows. */
EK_INLINE void EK_FN_tile(const uint8_t *x, const int8_t *w, const int32_t *b, const int32_t *m,
    const int32_t shift, int16_t *y, const int32_t first, const int32_t rows, const struct EK_STRUCT *p)
{
    const int32_t pairs = (p->inputs + 1) / 2, count = p->outputs - first, up = shift < 32 ? 32 - shift : 0;
    v128_t sum[4][2];
    for (int32_t q = 0; q < rows; q++)
        for (int32_t k = 0; k < 2; k++)
            sum[q][k] = wasm_v128_load(b + first + 4 * k);
    for (int32_t i = 0; i < pairs; i++, w += 16) {
        const v128_t low = ek_weights_wasm(w, 2), high = ek_weights_wasm(w + 8, 2);
        for (int32_t q = 0; q < rows; q++) {
            const v128_t t = wasm_v128_load32_splat(x + 2 * q * p->inputs + 4 * i);
            sum[q][0] = ek_dot_wasm(sum[q][0], low, t, 2);
            sum[q][1] = ek_dot_wasm(sum[q][1], high, t, 2);
        }
    }
    for (int32_t q = 0; q < rows; q++)
        for (int32_t k = 0; k < 2; k++) {
            const int32_t room = count - 4 * k, some = room < 4 ? room : 4;
            const v128_t wide = wasm_i32x4_shl(sum[q][k], (uint32_t)up);
            const v128_t z = ek_wasm_by_e(wide, m + first + 4 * k, shift + up);
            if (some > 0)
                ek_wasm_store_s16(y + q * p->outputs + first + 4 * k,
                    ek_wasm_bounded(ek_wasm_add(z, ek_wasm_same(p->zero)), p->lo, p->hi), some);
        }
}

EK_KERNEL void EK_FN(const EK_X *EK_RESTRICT x, const EK_W *EK_RESTRICT w, const EK_S *EK_RESTRICT b,
    const int32_t *EK_RESTRICT m, const int8_t *EK_RESTRICT e, EK_Y *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t step = (p->inputs + 1) / 2 * 2;
    ek_prepare_wasm(x, scratch, p->rows * p->inputs, 2, 0);
    for (int32_t o = 0; o < p->outputs; o += 8) {
        int32_t q = 0;
        for (; q + 4 <= p->rows; q += 4)
            EK_FN_tile(scratch + 2 * q * p->inputs, w + o * step, b, m, e[0], y + q * p->outputs, o, 4, p);
        for (; q < p->rows; q++)
            EK_FN_tile(scratch + 2 * q * p->inputs, w + o * step, b, m, e[0], y + q * p->outputs, o, 1, p);
    }
}
