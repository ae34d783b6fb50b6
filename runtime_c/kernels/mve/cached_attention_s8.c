/* Attention to the filled rows of a cache of int8 with Helium, 64 keys at a time: see attention_s8_mve.h.
 * @when values % 4 == 0 @work calls, products, query cells, scores */
#include "edgekit/contracts/cached_attention_s8.h"
#include "edgekit/simd/cortex_m/attention_s8_mve.h"

/* One query, which sees these rows. */
EK_INLINE void EK_FN_query(const int8_t *q, const float factor, const int8_t *k, const float *k_scale,
    const int8_t *v, const float *v_scale, const struct ek_cache_rows rows, float *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    struct ek_attention_s8 a;
    a.most = EK_ATTENTION_LEAST;
    a.total = 0;
    for (int32_t i = 0; i < p->values; i += 4)
        vstrwq_f32(y + i, vdupq_n_f32(0));
    for (struct ek_cache_rows left = rows; left.seen > 0;) {
        const int32_t m = ek_cache_block(left, p->keys, EK_ATTENTION_KEYS);
        const int8_t *value = v + left.first * p->values;
        int32_t i = 0;
        ek_mve_dots_s8(q, k + left.first * p->size, a.scores, m, p->size);
        ek_mve_attention_weights(&a, k_scale + left.first, v_scale + left.first, factor, m);
        for (; i + 16 <= p->values; i += 16)
            ek_mve_attention_sums(&a, value + i, m, y + i, 4, p->values);
        if (p->values - i >= 8) {
            ek_mve_attention_sums(&a, value + i, m, y + i, 2, p->values);
            i += 8;
        }
        if (i < p->values)
            ek_mve_attention_sums(&a, value + i, m, y + i, 1, p->values);
        left = ek_cache_behind(left, m, p->keys);
    }
    const float share = 1 / a.total;
    for (int32_t i = 0; i < p->values; i += 4)
        vstrwq_f32(y + i, vmulq_n_f32(vldrwq_f32(y + i), share));
}

EK_KERNEL void EK_FN(const int8_t *EK_RESTRICT q, const float *EK_RESTRICT q_scale,
    const int8_t *EK_RESTRICT k, const float *EK_RESTRICT k_scale, const int8_t *EK_RESTRICT v,
    const float *EK_RESTRICT v_scale, const EK_I *EK_RESTRICT at, float *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t h = 0; h < p->heads; h++) {
        const int32_t row = h / p->repeat * p->keys;
        for (int32_t i = 0; i < p->queries; i++, q += p->size, y += p->values) {
            const struct ek_cache_rows rows = EK_MATH_I(cache_rows)(EK_LOAD_I(at[i]), p->keys, p->window);
            EK_FN_query(q, q_scale[h * p->queries + i] * p->scale, k + row * p->size, k_scale + row,
                v + row * p->values, v_scale + row, rows, y, p);
        }
    }
}
