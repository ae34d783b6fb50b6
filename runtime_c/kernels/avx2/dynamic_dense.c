/* Fully connected layer of rows that were quantized in this run: see dynamic_rows_avx2.h. Rows share the loads of weights.
 * @for W=s8 @when inputs % 8 == 0 and group % 8 == 0 @pack w: O/16! I/4! o16 i4 @pack scale: O/16! I o16
 * @pack b: O/16! o16 @scratch 4 * rows * ((inputs + group - 1) // group) */
/* Weights of 4 bits.
 * @as avx2/dynamic_dense.nibbles W=s4 @pack w: O/16! I/8! o16 i8(04152637) : +8 u4 */
/* With VNNI.
 * @as avxvnni/dynamic_dense */
/* Weights of 4 bits, with VNNI.
 * @as avxvnni/dynamic_dense.nibbles like avx2/dynamic_dense.nibbles */
/* Thirty-two outputs at a time.
 * @as avx512/dynamic_dense @pack w: O/32! I/4! o32 i4 @pack scale: O/32! I o32 @pack b: O/32! o32 */
/* Thirty-two outputs at a time, weights of 4 bits.
 * @as avx512/dynamic_dense.nibbles W=s4 like avx512/dynamic_dense
 * @pack w: O/32! I/8! o32 i8(04152637) : +8 u4 */
/* By SDOT.
 * @as dotprod/dynamic_dense @scratch 4 * rows * ((inputs + group - 1) // group) + rows * inputs */
/* Weights of 4 bits, by SDOT.
 * @as dotprod/dynamic_dense.nibbles W=s4 like dotprod/dynamic_dense
 * @pack w: O/8! I/8! o8 i8(04152637) : +8 u4 @pack scale: O/8! I o8 @pack b: O/8! o8 */
/* By SMMLA, eight inputs of an output side by side.
 * @as i8mm/dynamic_dense like dotprod/dynamic_dense @pack w: O/16! I/8! o16 i8 */
/* Weights of 4 bits, by SMMLA, eight inputs of an output side by side.
 * @as i8mm/dynamic_dense.nibbles like dotprod/dynamic_dense.nibbles
 * @pack w: O/8! I/8! o8/2(04152637) i8 o2 : +8 u4 */
/* In WebAssembly and by NEON without dot products, two inputs of an output side by side.
 * @as wasm/dynamic_dense, neon/dynamic_dense, neon32/dynamic_dense @pack w: O/16! I/2! o16 i2 */
/* Weights of 4 bits, in WebAssembly and by NEON without dot products.
 * @as wasm/dynamic_dense.nibbles W=s4, neon/dynamic_dense.nibbles W=s4, neon32/dynamic_dense.nibbles W=s4
 * @pack w: O/16! I/4! o16 i4(0213) : +8 u4 */
/* In WebAssembly with relaxed vectors.
 * @as relaxed/dynamic_dense */
/* Weights of 4 bits, in WebAssembly with relaxed vectors.
 * @as relaxed/dynamic_dense.nibbles like avx2/dynamic_dense.nibbles */
#include "edgekit/contracts/dynamic_dense.h"

/* What the sums of each group begin with: what weights have more takes part in every product. */
EK_INLINE void EK_FN_offsets(
    const int8_t *EK_RESTRICT x, int32_t *EK_RESTRICT offsets, const int32_t step, const struct EK_STRUCT *p)
{
    for (int32_t start = 0; start < p->inputs; start += p->group, offsets += step) {
        const int32_t left = p->inputs - start, end = start + (left < p->group ? left : p->group);
        int32_t sum = 0;
        for (int32_t i = start; i < end; i++)
            sum += x[i];
        *offsets = sum * -EK_DR_OFFSET(EK_KIND_W);
    }
}

/* A block of outputs of some rows, of which `left` are left. */
EK_INLINED void EK_FN_tile(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT s,
    const uint8_t *EK_RESTRICT w, const EK_C *EK_RESTRICT scale, const float *EK_RESTRICT b,
    float *EK_RESTRICT y, const int32_t *EK_RESTRICT offsets, const int32_t left, const int32_t rows,
    const struct EK_STRUCT *p)
{
    const int32_t groups = (p->inputs + p->group - 1) / p->group;
    const int32_t block = EK_DR_VECTORS(EK_KIND_W) * EK_VF_LANES;
    ek_vf total[EK_DR_VECTORS(EK_KIND_W) * 8];
    ek_dr_ints sum[EK_DR_VECTORS(EK_KIND_W) * 8];
    EK_UNROLLED_FOR(32, int32_t k = 0; k < EK_DR_VECTORS(EK_KIND_W) * rows; k++)
        total[k] = ek_vf_set(0);
    for (int32_t g = 0, start = 0; g < groups; g++, start += p->group, scale += block) {
        const int32_t rest = p->inputs - start, count = rest < p->group ? rest : p->group;
        EK_UNROLLED_FOR(32, int32_t k = 0; k < EK_DR_VECTORS(EK_KIND_W) * rows; k++)
            sum[k] = EK_DR_START(offsets, g, groups, k, rows, EK_DR_VECTORS(EK_KIND_W));
        ek_dr_products(sum, x + EK_DR_INPUT(start, rows), p->inputs, w, count, rows, EK_KIND_W);
        w += count * block / (EK_KIND_W == EK_S4_KIND ? 2 : 1);
        EK_UNROLLED_FOR(32, int32_t k = 0; k < EK_DR_VECTORS(EK_KIND_W) * rows; k++) {
            const ek_vf factor = EK_DR_FACTOR(scale, k, rows, EK_DR_VECTORS(EK_KIND_W), EK_KIND_C);
            total[k] = ek_vf_add(total[k], ek_vf_mul(factor, ek_dr_reals(sum[k])));
        }
    }
    EK_DR_IN_ORDER(total, rows, EK_DR_VECTORS(EK_KIND_W))
    EK_UNROLLED_FOR(32, int32_t k = 0; k < EK_DR_VECTORS(EK_KIND_W) * rows; k++) {
        const int32_t at = k % EK_DR_VECTORS(EK_KIND_W) * EK_VF_LANES, r = k / EK_DR_VECTORS(EK_KIND_W);
        const ek_vf product = ek_vf_mul(total[k], ek_vf_set(s[r]));
        const ek_vf v = ek_vf_clamp(ek_vf_add(product, ek_vf_load(b + at, EK_VF_LANES)), p->lo, p->hi);
        if (at < left)
            ek_vf_store(y + r * p->outputs + at, left - at < EK_VF_LANES ? left - at : EK_VF_LANES, v);
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT x, const float *EK_RESTRICT s, const EK_W *EK_RESTRICT w,
    const EK_C *EK_RESTRICT scale, const float *EK_RESTRICT b, float *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t groups = (p->inputs + p->group - 1) / p->group, most = EK_DR_ROWS(EK_KIND_W);
    const int32_t block = EK_DR_VECTORS(EK_KIND_W) * EK_VF_LANES;
    int32_t *const offsets = (int32_t *)(void *)scratch;
    const int8_t *const tiles = EK_DR_TILES(x, scratch + 4 * p->rows * groups, p->rows, p->inputs);
    for (int32_t r = 0; r < p->rows; r++)
        EK_FN_offsets(
            x + r * p->inputs, offsets + EK_DR_PLACE(r, p->rows, groups), EK_DR_STEP(r, p->rows), p);
    for (int32_t o = 0; o < p->outputs; o += block) {
        const uint8_t *const of_w = (const uint8_t *)w + o * p->inputs / (EK_KIND_W == EK_S4_KIND ? 2 : 1);
        const EK_C *const of_scale = scale + o * groups;
        const int32_t left = p->outputs - o;
        int32_t r = 0;
        for (; r + most <= p->rows; r += most)
            EK_FN_tile(tiles + r * p->inputs, s + r, of_w, of_scale, b + o, y + r * p->outputs + o,
                offsets + r * groups, left, most, p);
        for (; r < p->rows; r++)
            EK_FN_tile(x + r * p->inputs, s + r, of_w, of_scale, b + o, y + r * p->outputs + o,
                offsets + r * groups, left, 1, p);
    }
}
