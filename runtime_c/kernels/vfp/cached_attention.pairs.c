/* Attention to the filled rows of a cache with a scalar FPU, of pairs of heads that share keys and values: each row is
 * loaded once for both, and eight elements stay in registers. Weights: see attention_vfp.h.
 * @for T=f32
 * @when size % 8 == 0 and values % 8 == 0 and repeat % 2 == 0
 * @when size + values > 16 */
#include "edgekit/contracts/cached_attention.h"
#include "edgekit/simd/cortex_m/attention_vfp.h"

/* w[j] = scale (q . k[j]) for both, and the largest of each. */
EK_INLINE void EK_FN_scores(const float *EK_RESTRICT q, const float *EK_RESTRICT other,
    const float *EK_RESTRICT k, struct ek_attention_pair *EK_RESTRICT two, const struct EK_STRUCT *p)
{
    float above = two->most[0], over = two->most[1];
    for (int32_t j = 0; j < two->keys; j++, k += p->size) {
        float a = 0, b = 0;
        for (int32_t i = 0; i < p->size; i += 8) {
            a = __builtin_fmaf(q[i], k[i], a);
            b = __builtin_fmaf(other[i], k[i], b);
            a = __builtin_fmaf(q[i + 1], k[i + 1], a);
            b = __builtin_fmaf(other[i + 1], k[i + 1], b);
            a = __builtin_fmaf(q[i + 2], k[i + 2], a);
            b = __builtin_fmaf(other[i + 2], k[i + 2], b);
            a = __builtin_fmaf(q[i + 3], k[i + 3], a);
            b = __builtin_fmaf(other[i + 3], k[i + 3], b);
            a = __builtin_fmaf(q[i + 4], k[i + 4], a);
            b = __builtin_fmaf(other[i + 4], k[i + 4], b);
            a = __builtin_fmaf(q[i + 5], k[i + 5], a);
            b = __builtin_fmaf(other[i + 5], k[i + 5], b);
            a = __builtin_fmaf(q[i + 6], k[i + 6], a);
            b = __builtin_fmaf(other[i + 6], k[i + 6], b);
            a = __builtin_fmaf(q[i + 7], k[i + 7], a);
            b = __builtin_fmaf(other[i + 7], k[i + 7], b);
        }
        a *= two->scale;
        b *= two->scale;
        two->w[2 * j] = a;
        two->w[2 * j + 1] = b;
        above = a > above ? a : above; /* NaN makes all weights NaN later */
        over = b > over ? b : over;
    }
    two->most[0] = above;
    two->most[1] = over;
}

/* y[i] = shrink y[i] + sum over j < m of w[j] v[j][i], eight elements of both at a time. */
EK_INLINE void EK_FN_add(const struct ek_attention_pair *EK_RESTRICT two, const float *EK_RESTRICT v,
    float *EK_RESTRICT y, float *EK_RESTRICT z, const int32_t n)
{
    const float shrink = two->shrink[0], other = two->shrink[1];
    for (int32_t i = 0; i < n; i += 8) {
        float a = y[i] * shrink, b = y[i + 1] * shrink, c = y[i + 2] * shrink, d = y[i + 3] * shrink;
        float e = y[i + 4] * shrink, f = y[i + 5] * shrink, g = y[i + 6] * shrink, h = y[i + 7] * shrink;
        float s = z[i] * other, t = z[i + 1] * other, u = z[i + 2] * other, w = z[i + 3] * other;
        float k = z[i + 4] * other, l = z[i + 5] * other, o = z[i + 6] * other, q = z[i + 7] * other;
        const float *row = v + i;
        for (int32_t j = 0; j < two->keys; j++, row += n) {
            const float one = two->w[2 * j], second = two->w[2 * j + 1];
            a = __builtin_fmaf(one, row[0], a);
            s = __builtin_fmaf(second, row[0], s);
            b = __builtin_fmaf(one, row[1], b);
            t = __builtin_fmaf(second, row[1], t);
            c = __builtin_fmaf(one, row[2], c);
            u = __builtin_fmaf(second, row[2], u);
            d = __builtin_fmaf(one, row[3], d);
            w = __builtin_fmaf(second, row[3], w);
            e = __builtin_fmaf(one, row[4], e);
            k = __builtin_fmaf(second, row[4], k);
            f = __builtin_fmaf(one, row[5], f);
            l = __builtin_fmaf(second, row[5], l);
            g = __builtin_fmaf(one, row[6], g);
            o = __builtin_fmaf(second, row[6], o);
            h = __builtin_fmaf(one, row[7], h);
            q = __builtin_fmaf(second, row[7], q);
        }
        y[i] = a;
        y[i + 1] = b;
        y[i + 2] = c;
        y[i + 3] = d;
        y[i + 4] = e;
        y[i + 5] = f;
        y[i + 6] = g;
        y[i + 7] = h;
        z[i] = s;
        z[i + 1] = t;
        z[i + 2] = u;
        z[i + 3] = w;
        z[i + 4] = k;
        z[i + 5] = l;
        z[i + 6] = o;
        z[i + 7] = q;
    }
}

/* Two queries, which see these rows. */
EK_INLINE void EK_FN_queries(const float *EK_RESTRICT q, const float *EK_RESTRICT other,
    const float *EK_RESTRICT k, const float *EK_RESTRICT v, struct ek_cache_rows rows, float *EK_RESTRICT y,
    float *EK_RESTRICT z, const struct EK_STRUCT *p)
{
    struct ek_attention_pair two;
    two.scale = p->scale * 1.44269504f;
    two.most[0] = two.most[1] = -EK_INF_f32;
    two.sum[0] = two.sum[1] = 0;
    for (int32_t i = 0; i < p->values; i++)
        y[i] = z[i] = 0;
    for (; rows.seen > 0; rows = ek_cache_behind(rows, two.keys, p->keys)) {
        two.keys = ek_cache_block(rows, p->keys, EK_PAIR_KEYS);
        two.shrink[0] = two.most[0];
        two.shrink[1] = two.most[1];
        EK_FN_scores(q, other, k + rows.first * p->size, &two, p);
        ek_pair_softmax(&two);
        EK_FN_add(&two, v + rows.first * p->values, y, z, p->values);
    }
    const float share = 1 / two.sum[0], part = 1 / two.sum[1];
    for (int32_t i = 0; i < p->values; i++) {
        y[i] *= share;
        z[i] *= part;
    }
}

EK_KERNEL void EK_FN(const EK_T *EK_RESTRICT q, const EK_T *EK_RESTRICT k, const EK_T *EK_RESTRICT v,
    const EK_I *EK_RESTRICT at, EK_T *EK_RESTRICT y, const struct EK_STRUCT *p)
{
    const int32_t next = p->queries * p->size, below = p->queries * p->values; /* head */
    for (int32_t h = 0; h < p->heads; h += 2, q += next, y += below) {
        const int32_t row = h / p->repeat * p->keys;
        for (int32_t i = 0; i < p->queries; i++, q += p->size, y += p->values) {
            const struct ek_cache_rows rows = EK_MATH_I(cache_rows)(EK_LOAD_I(at[i]), p->keys, p->window);
            EK_FN_queries(q, q + next, k + row * p->size, v + row * p->values, rows, y, y + below, p);
        }
    }
}
