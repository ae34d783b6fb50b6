/* Attention to the filled rows of a cache of int8, 64 keys at a time: see attention_s8.h.
 * @work products, query cells, scores */
#include "edgekit/contracts/cached_attention_s8.h"
#include "edgekit/loops/attention_s8.h"

EK_INLINE int32_t EK_FN_dot(const int8_t *q, const int8_t *k, const int32_t n)
{
    int32_t sum = 0;
    EK_UNROLLED_FOR(4, int32_t i = 0; i < n; i++)
        sum += q[i] * k[i];
    return sum;
}

/* y[i] = shrink y[i] + grow (sum over j < m of w[j] v[j][i]) */
EK_INLINE void EK_FN_add(
    const struct ek_attention_s8 *a, const int8_t *v, const int32_t m, float *y, const int32_t n)
{
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        int32_t sum[4] = {0};
        for (int32_t j = 0; j < m; j++) {
            const int8_t *row = v + j * n + i;
            const int32_t weight = a->weights[j];
            sum[0] += weight * row[0];
            sum[1] += weight * row[1];
            sum[2] += weight * row[2];
            sum[3] += weight * row[3];
        }
        for (int32_t l = 0; l < 4; l++)
            y[i + l] = y[i + l] * a->shrink + (float)sum[l] * a->grow;
    }
    for (; i < n; i++) {
        int32_t sum = 0;
        for (int32_t j = 0; j < m; j++)
            sum += a->weights[j] * v[j * n + i];
        y[i] = y[i] * a->shrink + (float)sum * a->grow;
    }
}

/* One query, which sees these rows. */
EK_INLINE void EK_FN_query(const int8_t *q, const float factor, const int8_t *k, const float *k_scale,
    const int8_t *v, const float *v_scale, const struct ek_cache_rows rows, float *y,
    const struct EK_STRUCT *p)
{
    struct ek_attention_s8 a;
    a.most = EK_ATTENTION_LEAST;
    a.total = 0;
    for (int32_t i = 0; i < p->values; i++)
        y[i] = 0;
    for (struct ek_cache_rows left = rows; left.seen > 0;) {
        const int32_t m = ek_cache_block(left, p->keys, EK_ATTENTION_KEYS);
        for (int32_t j = 0; j < m; j++)
            a.scores[j] = EK_FN_dot(q, k + (left.first + j) * p->size, p->size);
        ek_attention_weights(&a, k_scale + left.first, v_scale + left.first, factor, m);
        EK_FN_add(&a, v + left.first * p->values, m, y, p->values);
        left = ek_cache_behind(left, m, p->keys);
    }
    const float share = 1 / a.total;
    for (int32_t i = 0; i < p->values; i++)
        y[i] *= share;
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
