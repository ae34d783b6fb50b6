/* Attention to the filled rows of a cache with a scalar FPU, of pairs of heads of eight numbers that share keys and values:
 * see attention_vfp.h.
 * @for T=f32 @when size == 8 and values == 8 and repeat % 2 == 0 @work scores 1.8, query cells */
#include "edgekit/contracts/cached_attention.h"
#include "edgekit/simd/cortex_m/attention_vfp.h"

/* Two queries, which see these rows. */
static EK_SHARED void EK_FN_queries(const float *q, const float *other, const float *k, const float *v,
    struct ek_cache_rows rows, float *y, float *z, const struct EK_STRUCT *p)
{
    struct ek_attention_pair pair;
    pair.scale = p->scale;
    for (int32_t i = 0; i < 2; i++) {
        pair.most[i] = -EK_INF_f32;
        pair.sum[i] = 0;
    }
    for (int32_t i = 0; i < 8; i++)
        y[i] = z[i] = 0;
    for (; rows.seen > 0; rows = ek_cache_behind(rows, pair.keys, p->keys)) {
        pair.keys = ek_cache_block(rows, p->keys, EK_CACHE_BLOCK);
        pair.shrink[0] = pair.most[0];
        pair.shrink[1] = pair.most[1];
        ek_pair_scores(q, other, k + rows.first * 8, &pair);
        ek_pair_softmax(&pair);
        ek_pair_values(y, z, v + rows.first * 8, &pair);
    }
    for (int32_t i = 0; i < 8; i++) {
        y[i] /= pair.sum[0];
        z[i] /= pair.sum[1];
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT q, const EK_T *EK_RESTRICT k, const EK_T *EK_RESTRICT v,
    const EK_I *EK_RESTRICT at, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t next = p->queries * 8; /* head */
    for (int32_t h = 0; h < p->heads; h += 2, q += next, y += next) {
        const int32_t row = h / p->repeat * p->keys * 8;
        for (int32_t i = 0; i < p->queries; i++, q += 8, y += 8) {
            const struct ek_cache_rows rows = EK_MATH_I(cache_rows)(EK_LOAD_I(at[i]), p->keys, p->window);
            EK_FN_queries(q, q + next, k + row, v + row, rows, y, y + next, p);
        }
    }
}
