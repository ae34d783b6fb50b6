/* Attention to the filled rows of a cache. Sixty-four keys at a time, in one pass (online softmax): where one of them is
 * the largest so far, what is summed up already is scaled down, so that no row of weights is kept. Dot products have four
 * lanes, all other sums one order, and nothing is fused: decoders have the same bits wherever they run.
 * @also cached_attention_bias */
#include "edgekit/contracts/cached_attention.h"

EK_INLINE EK_T_ACC EK_FN_dot(const EK_T *q, const EK_T *k, const int32_t n)
{
    EK_T_ACC a = 0, b = 0, c = 0, d = 0;
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        a += EK_LOAD_T(q[i]) * EK_LOAD_T(k[i]);
        b += EK_LOAD_T(q[i + 1]) * EK_LOAD_T(k[i + 1]);
        c += EK_LOAD_T(q[i + 2]) * EK_LOAD_T(k[i + 2]);
        d += EK_LOAD_T(q[i + 3]) * EK_LOAD_T(k[i + 3]);
    }
    if (i < n)
        a += EK_LOAD_T(q[i]) * EK_LOAD_T(k[i]);
    if (i + 1 < n)
        b += EK_LOAD_T(q[i + 1]) * EK_LOAD_T(k[i + 1]);
    if (i + 2 < n)
        c += EK_LOAD_T(q[i + 2]) * EK_LOAD_T(k[i + 2]);
    return (a + b) + (c + d);
}

/* y[i] = shrink y[i] + sum over j < m of w[j] v[j][i] */
EK_INLINE void EK_FN_add(
    const EK_T_ACC *w, const EK_T *v, const int32_t m, const EK_T_ACC shrink, EK_T *y, const int32_t n)
{
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        EK_T_ACC a = y[i] * shrink, b = y[i + 1] * shrink, c = y[i + 2] * shrink, d = y[i + 3] * shrink;
        for (int32_t j = 0; j < m; j++) {
            const EK_T *row = v + j * n + i;
            a += w[j] * EK_LOAD_T(row[0]);
            b += w[j] * EK_LOAD_T(row[1]);
            c += w[j] * EK_LOAD_T(row[2]);
            d += w[j] * EK_LOAD_T(row[3]);
        }
        y[i] = EK_STORE_T(a);
        y[i + 1] = EK_STORE_T(b);
        y[i + 2] = EK_STORE_T(c);
        y[i + 3] = EK_STORE_T(d);
    }
    for (; i < n; i++) {
        EK_T_ACC a = y[i] * shrink;
        for (int32_t j = 0; j < m; j++)
            a += w[j] * EK_LOAD_T(v[j * n + i]);
        y[i] = EK_STORE_T(a);
    }
}

EK_IF_BIAS(/* A product as a score: capped, and with the bias of its distance. */
    EK_INLINE EK_T_ACC EK_FN_score(
        const EK_T_ACC dot, const EK_T *bias, const int32_t distance, const struct EK_STRUCT *p) {
        const int32_t last = p->distances - 1, beyond = distance - last;
        const EK_T_ACC slope = last > 0 ? EK_LOAD_T(bias[last]) - EK_LOAD_T(bias[last - 1]) : 0;
        const EK_T_ACC x = dot * p->inner, capped = p->cap > 0 ? p->cap * EK_MATH_T(tanh)(x) : x;
        return capped
               + (beyond > 0 ? EK_LOAD_T(bias[last]) + slope * (EK_T_ACC)beyond : EK_LOAD_T(bias[distance]));
    })

/* One query, which sees these rows. */
EK_INLINE void EK_FN_query(const EK_T *q, const EK_T *k, const EK_T *v,
    EK_IF_BIAS(const EK_T *bias, ) const struct ek_cache_rows rows, EK_T *y, const struct EK_STRUCT *p)
{
    EK_T_ACC most = 0, sum = 0;
    for (int32_t i = 0; i < p->values; i++)
        y[i] = 0;
    for (struct ek_cache_rows left = rows; left.seen > 0;) {
        const int32_t m = ek_cache_block(left, p->keys, EK_CACHE_BLOCK);
        const EK_T *key = k + left.first * p->size;
        EK_T_ACC w[EK_CACHE_BLOCK], above = most;
        for (int32_t j = 0; j < m; j++, key += p->size) {
            w[j] = EK_FN_dot(q, key, p->size);
            EK_IF_BIAS(w[j] = EK_FN_score(w[j], bias, left.seen - 1 - j, p);)
            w[j] *= p->scale;
            above = j + rows.seen == left.seen || w[j] > above ? w[j]
                                                               : above; /* NaN makes all weights NaN later */
        }
        if (left.seen == rows.seen)
            most = above;
        const EK_T_ACC shrink = above == most ? 1 : EK_MATH_T(exp2_below)(most - above);
        most = above;
        sum *= shrink;
        for (int32_t j = 0; j < m; j++) {
            w[j] = EK_MATH_T(exp2_below)(w[j] - most);
            sum += w[j];
        }
        EK_FN_add(w, v + left.first * p->values, m, shrink, y, p->values);
        left = ek_cache_behind(left, m, p->keys);
    }
    for (int32_t i = 0; i < p->values; i++)
        y[i] = EK_STORE_T(EK_LOAD_T(y[i]) / sum);
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT q, const EK_T *EK_RESTRICT k, const EK_T *EK_RESTRICT v,
    const EK_I *EK_RESTRICT at, EK_IF_BIAS(const EK_T *EK_RESTRICT bias, ) EK_T *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    for (int32_t h = 0; h < p->heads; h++) {
        const int32_t row = h / p->repeat * p->keys;
        for (int32_t i = 0; i < p->queries; i++, q += p->size, y += p->values) {
            const struct ek_cache_rows rows = EK_MATH_I(cache_rows)(EK_LOAD_I(at[i]), p->keys, p->window);
            EK_FN_query(q, k + row * p->size, v + row * p->values, EK_IF_BIAS(bias, ) rows, y, p);
        }
        EK_IF_BIAS(bias += p->distances;)
    }
}
