/* Attention to the filled rows of a cache with Helium: see attention_mve.h. Sixty-four keys at a time, in one pass (online
 * softmax): where one of them is the largest so far, what is summed up already is scaled down. Nothing is fused, so that results
 * have the bits of portable C.
 * @for T=f32 @when size % 4 == 0 and values % 4 == 0 @work positions, products, query cells, scores */
#include "edgekit/contracts/cached_attention.h"
#include "edgekit/simd/cortex_m/attention_mve.h"

/* A query times m keys. */
EK_INLINE void EK_FN_dots(
    const float *q, const float *EK_RESTRICT k, float *EK_RESTRICT w, const int32_t m, const int32_t size)
{
    for (int32_t j = 0; j < m; j++, k += size) {
        float32x4_t sum = vmulq_f32(vldrwq_f32(q), vldrwq_f32(k));
        for (int32_t i = 4; i < size; i += 4)
            sum = vaddq_f32(sum, vmulq_f32(vldrwq_f32(q + i), vldrwq_f32(k + i)));
        w[j] = (vgetq_lane_f32(sum, 0) + vgetq_lane_f32(sum, 1))
               + (vgetq_lane_f32(sum, 2) + vgetq_lane_f32(sum, 3));
    }
}

/* y[i] = shrink y[i] + sum over j < m of w[j] v[j][i], for some vectors */
EK_INLINED void EK_FN_add(const float *EK_RESTRICT w, const float *EK_RESTRICT v, const int32_t m,
    const float shrink, float *EK_RESTRICT y, const int32_t vectors, const int32_t step)
{
    float32x4_t sum[4];
    EK_UNROLLED_FOR(4, int32_t i = 0; i < vectors; i++)
        sum[i] = vmulq_n_f32(vldrwq_f32(y + 4 * i), shrink);
    for (int32_t j = 0; j < m; j++, v += step)
        EK_UNROLLED_FOR(4, int32_t i = 0; i < vectors; i++)
            sum[i] = vaddq_f32(sum[i], vmulq_n_f32(vldrwq_f32(v + 4 * i), w[j]));
    EK_UNROLLED_FOR(4, int32_t i = 0; i < vectors; i++)
        vstrwq_f32(y + 4 * i, sum[i]);
}

/* One query, which sees these rows. */
EK_INLINE void EK_FN_query(const float *EK_RESTRICT q, const float *EK_RESTRICT k, const float *EK_RESTRICT v,
    const struct ek_cache_rows rows, float *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    float most = -EK_INF_f32, sum = 0;
    for (int32_t i = 0; i < p->values; i += 4)
        vstrwq_f32(y + i, vdupq_n_f32(0));
    for (struct ek_cache_rows left = rows; left.seen > 0;) {
        const int32_t m = ek_cache_block(left, p->keys, EK_CACHE_BLOCK);
        const float *value = v + left.first * p->values;
        float w[EK_CACHE_BLOCK];
        EK_FN_dots(q, k + left.first * p->size, w, m, p->size);
        const float above = ek_mve_scaled_scores(w, m, p->scale, most);
        const float shrink = left.seen == rows.seen || above == most ? 1 : ek_exp2_below_f32(most - above);
        int32_t i = 0;
        most = above;
        ek_mve_powers(w, m, most);
        sum *= shrink;
        for (int32_t j = 0; j < m; j++)
            sum += w[j];
        for (; i + 16 <= p->values; i += 16)
            EK_FN_add(w, value + i, m, shrink, y + i, 4, p->values);
        if (p->values - i >= 8) {
            EK_FN_add(w, value + i, m, shrink, y + i, 2, p->values);
            i += 8;
        }
        if (i < p->values)
            EK_FN_add(w, value + i, m, shrink, y + i, 1, p->values);
        left = ek_cache_behind(left, m, p->keys);
    }
    for (int32_t i = 0; i < p->values; i++)
        y[i] /= sum;
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT q, const EK_T *EK_RESTRICT k, const EK_T *EK_RESTRICT v,
    const EK_I *EK_RESTRICT at, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    for (int32_t h = 0; h < p->heads; h++) {
        const int32_t row = h / p->repeat * p->keys;
        for (int32_t i = 0; i < p->queries; i++, q += p->size, y += p->values) {
            const struct ek_cache_rows rows = EK_MATH_I(cache_rows)(EK_LOAD_I(at[i]), p->keys, p->window);
            EK_FN_query(q, k + row * p->size, v + row * p->values, rows, y, p);
        }
    }
}
