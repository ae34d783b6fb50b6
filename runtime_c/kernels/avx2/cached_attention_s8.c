/* Attention to the filled rows of a cache of int8, with vectors: see attention_s8.h and attention_vectors_s8.h.
 * @when size % 8 == 0 and values % 8 == 0 */
/* Attention to the filled rows of a cache of int8, with shorter vectors: see attention_s8.h and attention_vectors_s8.h.
 * @as neon/cached_attention_s8, dotprod/cached_attention_s8, wasm/cached_attention_s8 */
#include "edgekit/contracts/cached_attention_s8.h"
#include "edgekit/loops/attention_vectors_s8.h"

/* The products of a query and m keys, four at a time. */
EK_INLINE void EK_FN_dots(
    const int8_t *q, const int8_t *k, const int32_t m, const int32_t size, struct ek_attention_s8 *a)
{
    for (int32_t j = 0; j < m; j += 4) {
        const int8_t *rows[4];
        for (int32_t i = 0; i < 4; i++)
            rows[i] = k + (j + i < m ? j + i : j) * size;
        ek_a8_dots(q, rows, size, a->scores + j);
    }
}

/* y[i] = shrink y[i] + grow (sum over j < m of w[j] v[j][i]), for some eights. */
EK_INLINED void EK_FN_add(const struct ek_attention_s8 *a, const int8_t *v, const int32_t m,
    float *EK_RESTRICT y, const int32_t eights, const int32_t step)
{
    int32_t sum[8 * EK_A8_EIGHTS];
    ek_a8_sums(a->weights, v, m, step, eights, sum);
    for (int32_t i = 0; i < 8 * eights; i++)
        y[i] = y[i] * a->shrink + (float)sum[i] * a->grow;
}

/* One query, which sees these rows. */
EK_INLINE void EK_FN_query(const int8_t *q, const float factor, const int8_t *k, const float *k_scale,
    const int8_t *v, const float *v_scale, const struct ek_cache_rows rows, float *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    struct ek_attention_s8 a;
    a.most = EK_ATTENTION_LEAST;
    a.total = 0;
    for (int32_t i = 0; i < p->values; i++)
        y[i] = 0;
    for (struct ek_cache_rows left = rows; left.seen > 0;) {
        const int32_t m = ek_cache_block(left, p->keys, EK_ATTENTION_KEYS);
        const int8_t *value = v + left.first * p->values;
        int32_t i = 0;
        EK_FN_dots(q, k + left.first * p->size, m, p->size, &a);
        ek_attention_vectors(&a, k_scale + left.first, v_scale + left.first, factor, m);
        for (; i + 8 * EK_A8_EIGHTS <= p->values; i += 8 * EK_A8_EIGHTS)
            EK_FN_add(&a, value + i, m, y + i, EK_A8_EIGHTS, p->values);
        for (; i < p->values; i += 8)
            EK_FN_add(&a, value + i, m, y + i, 1, p->values);
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
