/* Fully connected layer of what was quantized in this run: see dynamic_rows_avx2.h. Rows share the loads of weights.
 * @when inputs % 8 == 0 @pack w: O/16! I/4! o16 i4 @pack sums: O/16! o16 @pack scale: O/16! o16
 * @pack b: O/16! o16 @scratch 4 * rows */
/* With VNNI.
 * @as avxvnni/dynamic_quantize_dense */
/* Thirty-two outputs at a time.
 * @as avx512/dynamic_quantize_dense @pack w: O/32! I/4! o32 i4 @pack sums: O/32! o32
 * @pack scale: O/32! o32 @pack b: O/32! o32 */
/* By SDOT.
 * @as dotprod/dynamic_quantize_dense @scratch 4 * rows + rows * inputs */
/* By SMMLA, eight inputs of an output side by side.
 * @as i8mm/dynamic_quantize_dense @pack w: O/16! I/8! o16 i8 @scratch 4 * rows + rows * inputs */
/* In WebAssembly and by NEON without dot products, two inputs of an output side by side.
 * @as wasm/dynamic_quantize_dense, neon/dynamic_quantize_dense, neon32/dynamic_quantize_dense
 * @pack w: O/16! I/2! o16 i2 */
/* In WebAssembly with relaxed vectors.
 * @as relaxed/dynamic_quantize_dense */
#include "edgekit/contracts/dynamic_quantize_dense.h"

/* What the sums of a row begin with: what weights have more takes part in every product. */
EK_INLINE void EK_FN_offset(
    const int8_t *EK_RESTRICT x, int32_t *EK_RESTRICT offset, const struct EK_STRUCT *p)
{
    int32_t sum = 0;
    if (EK_DR_OFFSET(EK_S8_KIND) != 0)
        for (int32_t i = 0; i < p->inputs; i++)
            sum += x[i];
    *offset = sum * -EK_DR_OFFSET(EK_S8_KIND);
}

/* A block of outputs of some rows, of which `left` are left. `start` has the products of weights with the zero point, and
 * `factor` the scales of results. */
EK_INLINED void EK_FN_tile(const int8_t *EK_RESTRICT x, const int8_t *EK_RESTRICT w,
    const float *EK_RESTRICT start, const float *EK_RESTRICT factor, const float *EK_RESTRICT b,
    float *EK_RESTRICT y, const int32_t *EK_RESTRICT offsets, const int32_t left, const int32_t rows,
    const struct EK_STRUCT *p)
{
    ek_vf v[EK_DR_VECTORS(EK_S8_KIND) * 8];
    ek_dr_ints sum[EK_DR_VECTORS(EK_S8_KIND) * 8];
    EK_UNROLLED_FOR(32, int32_t k = 0; k < EK_DR_VECTORS(EK_S8_KIND) * rows; k++)
        sum[k] = ek_dr_more(EK_DR_START(offsets, 0, 1, k, rows, EK_DR_VECTORS(EK_S8_KIND)),
            EK_DR_FACTOR(start, k, rows, EK_DR_VECTORS(EK_S8_KIND), EK_F32_KIND));
    ek_dr_products(sum, x, p->inputs, w, p->inputs, rows, EK_S8_KIND);
    EK_UNROLLED_FOR(32, int32_t k = 0; k < EK_DR_VECTORS(EK_S8_KIND) * rows; k++)
        v[k] = ek_vf_mul(
            EK_DR_FACTOR(factor, k, rows, EK_DR_VECTORS(EK_S8_KIND), EK_F32_KIND), ek_dr_reals(sum[k]));
    EK_DR_IN_ORDER(v, rows, EK_DR_VECTORS(EK_S8_KIND))
    EK_UNROLLED_FOR(32, int32_t k = 0; k < EK_DR_VECTORS(EK_S8_KIND) * rows; k++) {
        const int32_t at = k % EK_DR_VECTORS(EK_S8_KIND) * EK_VF_LANES, r = k / EK_DR_VECTORS(EK_S8_KIND);
        if (at < left)
            ek_vf_store(y + r * p->outputs + at, left - at < EK_VF_LANES ? left - at : EK_VF_LANES,
                ek_vf_add(v[k], ek_vf_load(b + at, EK_VF_LANES)));
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT x_scale,
    const int8_t *EK_RESTRICT x_zero, const int8_t *EK_RESTRICT w, const int32_t *EK_RESTRICT sums,
    const float *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t most = EK_DR_ROWS(EK_S8_KIND);
    int32_t *const offsets = (int32_t *)(void *)scratch;
    const int8_t *const tiles = EK_DR_TILES(x, scratch + 4 * p->rows, p->rows, p->inputs);
    for (int32_t r = 0; r < p->rows; r++)
        EK_FN_offset(x + r * p->inputs, offsets + EK_DR_PLACE(r, p->rows, 1), p);
    for (int32_t o = 0; o < p->outputs; o += EK_DR_BLOCK) {
        const int32_t left = p->outputs - o;
        float start[EK_DR_BLOCK], factor[EK_DR_BLOCK];
        int32_t r = 0;
        for (int32_t k = 0; k < EK_DR_BLOCK; k++) {
            const int32_t product = -*x_zero * sums[o + k];
            __builtin_memcpy(start + k, &product, 4);
            factor[k] = *x_scale * scale[o + k];
        }
        for (; r + most <= p->rows; r += most)
            EK_FN_tile(tiles + r * p->inputs, w + o * p->inputs, start, factor, b + o, y + r * p->outputs + o,
                offsets + r, left, most, p);
        for (; r < p->rows; r++)
            EK_FN_tile(x + r * p->inputs, w + o * p->inputs, start, factor, b + o, y + r * p->outputs + o,
                offsets + r, left, 1, p);
    }
}
