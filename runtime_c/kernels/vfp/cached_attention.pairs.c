/* Attention to the filled rows of a cache with a scalar FPU, of pairs of heads that share keys and values: each row is
 * loaded once for both, and eight elements stay in registers. Weights: see attention_vfp.h.
 * @for T=f32 @when size % 8 == 0 and values % 8 == 0 and repeat % 2 == 0 and size + values > 16
 * @work scores 1.62, products, query cells */
#include "edgekit/contracts/cached_attention.h"
#include "edgekit/simd/cortex_m/attention_vfp.h"

/* w[j] = scale (q . k[j]) for both, and the largest of each. */
EK_INLINE void EK_FN_scores(const float *EK_RESTRICT q, const float *EK_RESTRICT other,
    const float *EK_RESTRICT k, struct ek_attention_pair *EK_RESTRICT two, const struct EK_STRUCT *p)
{
    float above = two->most[0], over = two->most[1];
    for (int32_t j = 0; j < two->keys; j++, k += p->size) {
        float a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
        for (int32_t i = 0; i < p->size; i += 4) {
            a = ek_vmla(a, q[i], k[i]);
            e = ek_vmla(e, other[i], k[i]);
            b = ek_vmla(b, q[i + 1], k[i + 1]);
            f = ek_vmla(f, other[i + 1], k[i + 1]);
            c = ek_vmla(c, q[i + 2], k[i + 2]);
            g = ek_vmla(g, other[i + 2], k[i + 2]);
            d = ek_vmla(d, q[i + 3], k[i + 3]);
            h = ek_vmla(h, other[i + 3], k[i + 3]);
        }
        a = (a + b) + (c + d);
        b = (e + f) + (g + h);
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
            a = ek_vmla(a, one, row[0]);
            s = ek_vmla(s, second, row[0]);
            b = ek_vmla(b, one, row[1]);
            t = ek_vmla(t, second, row[1]);
            c = ek_vmla(c, one, row[2]);
            u = ek_vmla(u, second, row[2]);
            d = ek_vmla(d, one, row[3]);
            w = ek_vmla(w, second, row[3]);
            e = ek_vmla(e, one, row[4]);
            k = ek_vmla(k, second, row[4]);
            f = ek_vmla(f, one, row[5]);
            l = ek_vmla(l, second, row[5]);
            g = ek_vmla(g, one, row[6]);
            o = ek_vmla(o, second, row[6]);
            h = ek_vmla(h, one, row[7]);
            q = ek_vmla(q, second, row[7]);
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
    two.scale = p->scale;
    two.most[0] = two.most[1] = -EK_INF_f32;
    two.sum[0] = two.sum[1] = 0;
    for (int32_t i = 0; i < p->values; i++)
        y[i] = z[i] = 0;
    for (; rows.seen > 0; rows = ek_cache_behind(rows, two.keys, p->keys)) {
        two.keys = ek_cache_block(rows, p->keys, EK_CACHE_BLOCK);
        two.shrink[0] = two.most[0];
        two.shrink[1] = two.most[1];
        EK_FN_scores(q, other, k + rows.first * p->size, &two, p);
        ek_pair_softmax(&two);
        EK_FN_add(&two, v + rows.first * p->values, y, z, p->values);
    }
    for (int32_t i = 0; i < p->values; i++) {
        y[i] /= two.sum[0];
        z[i] /= two.sum[1];
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
