/* Attention to the filled rows of a cache with a scalar FPU. As the kernel in portable C, sixty-four keys at a time in
 * one pass; eight elements of a row stay in registers, and every product is one VMLA, which rounds before it adds.
 * @for T=f32 @when size % 8 == 0 and values % 8 == 0 @work scores 2, calls, products, query cells */
#include "edgekit/contracts/cached_attention.h"
#include "edgekit/simd/cortex_m/vmla.h"

/* w[j] = scale (q . k[j]) for j < m; returns the largest of them and of `most`. */
EK_INLINE float EK_FN_scores(const float *EK_RESTRICT q, const float *EK_RESTRICT k, const int32_t m,
    float *EK_RESTRICT w, float most, const struct EK_STRUCT *p)
{
    for (int32_t j = 0; j < m; j++, k += p->size) {
        float a = 0, b = 0, c = 0, d = 0;
        for (int32_t i = 0; i < p->size; i += 4) {
            a = ek_vmla(a, q[i], k[i]);
            b = ek_vmla(b, q[i + 1], k[i + 1]);
            c = ek_vmla(c, q[i + 2], k[i + 2]);
            d = ek_vmla(d, q[i + 3], k[i + 3]);
        }
        w[j] = ((a + b) + (c + d)) * p->scale;
        most = w[j] > most ? w[j] : most; /* NaN makes all weights NaN later */
    }
    return most;
}

/* y[i] = shrink y[i] + sum over j < m of w[j] v[j][i] */
EK_INLINE void EK_FN_add(const float *EK_RESTRICT w, const float *EK_RESTRICT v, const int32_t m,
    const float shrink, float *EK_RESTRICT y, const int32_t n)
{
    for (int32_t i = 0; i < n; i += 8) {
        float a = y[i] * shrink, b = y[i + 1] * shrink, c = y[i + 2] * shrink, d = y[i + 3] * shrink;
        float e = y[i + 4] * shrink, f = y[i + 5] * shrink, g = y[i + 6] * shrink, h = y[i + 7] * shrink;
        const float *row = v + i;
        for (int32_t j = 0; j < m; j++, row += n) {
            a = ek_vmla(a, w[j], row[0]);
            b = ek_vmla(b, w[j], row[1]);
            c = ek_vmla(c, w[j], row[2]);
            d = ek_vmla(d, w[j], row[3]);
            e = ek_vmla(e, w[j], row[4]);
            f = ek_vmla(f, w[j], row[5]);
            g = ek_vmla(g, w[j], row[6]);
            h = ek_vmla(h, w[j], row[7]);
        }
        y[i] = a;
        y[i + 1] = b;
        y[i + 2] = c;
        y[i + 3] = d;
        y[i + 4] = e;
        y[i + 5] = f;
        y[i + 6] = g;
        y[i + 7] = h;
    }
}

/* One query, which sees these rows. */
EK_INLINE void EK_FN_query(const float *EK_RESTRICT q, const float *EK_RESTRICT k, const float *EK_RESTRICT v,
    const struct ek_cache_rows rows, float *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    float most = -EK_INF_f32, sum = 0, w[EK_CACHE_BLOCK];
    for (int32_t i = 0; i < p->values; i++)
        y[i] = 0;
    for (struct ek_cache_rows left = rows; left.seen > 0;) {
        const int32_t m = ek_cache_block(left, p->keys, EK_CACHE_BLOCK);
        const float above = EK_FN_scores(q, k + left.first * p->size, m, w, most, p);
        const float shrink = left.seen == rows.seen || above == most ? 1 : ek_exp2_below_f32(most - above);
        most = above;
        sum *= shrink;
        for (int32_t j = 0; j < m; j++) {
            w[j] = ek_exp2_below_f32(w[j] - most);
            sum += w[j];
        }
        EK_FN_add(w, v + left.first * p->values, m, shrink, y, p->values);
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
