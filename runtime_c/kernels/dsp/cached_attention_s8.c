/* Attention to the filled rows of a cache of int8, of pairs of heads that share keys and values: see attention_s8_dsp.h.
 * @when size % 8 == 0 and values % 4 == 0 and repeat % 2 == 0 @scratch 4 * size
 * @work products, query cells, scores */
#include "edgekit/contracts/cached_attention_s8.h"
#include "edgekit/simd/cortex_m/attention_s8_dsp.h"

/* Two queries, which see these rows. */
EK_INLINE void EK_FN_queries(const int32_t *q, struct ek_attention_pair_s8 *pair, const int8_t *k,
    const float *k_scale, const int8_t *v, const float *v_scale, const struct ek_cache_rows rows,
    float *EK_RESTRICT y, float *EK_RESTRICT z, const struct EK_STRUCT *p)
{
    for (int32_t h = 0; h < 2; h++) {
        pair->head[h].most = EK_ATTENTION_LEAST;
        pair->head[h].total = 0;
    }
    for (int32_t i = 0; i < p->values; i++)
        y[i] = z[i] = 0;
    for (struct ek_cache_rows left = rows; left.seen > 0;) {
        pair->keys = ek_cache_block(left, p->keys, EK_ATTENTION_KEYS);
        ek_a8_scores(q, k + left.first * p->size, k_scale + left.first, pair);
        ek_a8_weights(v_scale + left.first, pair);
        ek_a8_join(pair, v + left.first * p->values, p->values, y, z);
        left = ek_cache_behind(left, pair->keys, p->keys);
    }
    const float share = 1 / pair->head[0].total, part = 1 / pair->head[1].total;
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
    struct ek_attention_pair_s8 pair;
    pair.eights = p->size / 8;
    for (int32_t h = 0; h < p->heads; h += 2, q += next, y += below) {
        const int32_t row = h / p->repeat * p->keys;
        for (int32_t i = 0; i < p->queries; i++, q += p->size, y += p->values) {
            const struct ek_cache_rows rows = EK_MATH_I(cache_rows)(EK_LOAD_I(at[i]), p->keys, p->window);
            const float *scale = q_scale + h * p->queries + i;
            pair.factor[0] = scale[0] * p->scale;
            pair.factor[1] = scale[p->queries] * p->scale;
            ek_a8_spread(q, q + next, both, p->size);
            EK_FN_queries(both, &pair, k + row * p->size, k_scale + row, v + row * p->values, v_scale + row,
                rows, y, y + below, p);
        }
    }
}
