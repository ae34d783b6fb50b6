/* Attention to the filled rows of a cache of int8, of pairs of heads that share keys and values: see attention_s8_dsp.h.
 * @when size % 4 == 0 and values % 4 == 0 and repeat % 2 == 0
 * @scratch 4 * size */
#include "edgekit/contracts/cached_attention_s8.h"
#include "edgekit/simd/cortex_m/attention_s8_dsp.h"

/* Two queries, which see these rows. */
EK_INLINE void EK_FN_queries(const int32_t *q, const float factor, const float other, const int8_t *k,
    const float *k_scale, const int8_t *v, const float *v_scale, const struct ek_cache_rows rows,
    float *EK_RESTRICT y, float *EK_RESTRICT z, const struct EK_STRUCT *p)
{
    struct ek_attention_pair_s8 two;
    for (int32_t h = 0; h < 2; h++) {
        two.head[h].most = EK_ATTENTION_LEAST;
        two.head[h].total = 0;
    }
    for (int32_t i = 0; i < p->values; i++)
        y[i] = z[i] = 0;
    for (struct ek_cache_rows left = rows; left.seen > 0;) {
        const int32_t m = ek_cache_block(left, p->keys, EK_ATTENTION_KEYS);
        const int8_t *value = v + left.first * p->values;
        two.up = 0;
        for (int32_t j = left.first; j < left.first + m; j++) {
            const uint32_t exponent = ek_attention_exponent(v_scale[j]);
            two.up = exponent > two.up ? exponent : two.up;
        }
        ek_a8_scores(&two, q, k + left.first * p->size, k_scale + left.first, factor, other, m, p->size);
        ek_a8_weights(&two, v_scale + left.first, m);
        for (int32_t i = 0; i < p->values; i += 4)
            ek_a8_sums(&two, value + i, m, p->values, y + i, z + i);
        left = ek_cache_behind(left, m, p->keys);
    }
    const float share = 1 / two.head[0].total, part = 1 / two.head[1].total;
    for (int32_t i = 0; i < p->values; i++) {
        y[i] *= share;
        z[i] *= part;
    }
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT q, const float *EK_RESTRICT q_scale,
    const int8_t *EK_RESTRICT k, const float *EK_RESTRICT k_scale, const int8_t *EK_RESTRICT v,
    const float *EK_RESTRICT v_scale, const EK_I *EK_RESTRICT at, float *EK_RESTRICT y,
    uint8_t *EK_RESTRICT scratch, const struct EK_STRUCT *p)
{
    const int32_t next = p->queries * p->size, below = p->queries * p->values; /* head */
    int32_t *both = EK_AT(int32_t, scratch, 0);
    for (int32_t h = 0; h < p->heads; h += 2, q += next, y += below) {
        const int32_t row = h / p->repeat * p->keys;
        for (int32_t i = 0; i < p->queries; i++, q += p->size, y += p->values) {
            const struct ek_cache_rows rows = EK_MATH_I(cache_rows)(EK_LOAD_I(at[i]), p->keys, p->window);
            const float *scale = q_scale + h * p->queries + i;
            ek_a8_spread(q, q + next, both, p->size);
            EK_FN_queries(both, scale[0] * p->scale, scale[p->queries] * p->scale, k + row * p->size,
                k_scale + row, v + row * p->values, v_scale + row, rows, y, y + below, p);
        }
    }
}
