/* Attention to the filled rows of a cache. Sixty-four keys at a time, in one pass (online softmax): where one of them is
 * the largest so far, what is summed up already is scaled down. Dot products have four lanes on every processor, and
 * nothing is fused: results have the same bits.
 * @for T=f32 @also cached_attention_bias */
/* Attention to the filled rows of a cache, with longer vectors or shorter ones.
 * @as avx512/cached_attention, neon/cached_attention, wasm/cached_attention */
#include "edgekit/contracts/cached_attention.h"

/* A query times as many keys as a vector has lanes, of which `count` exist: four lanes for each key. */
EK_INLINE void EK_FN_dots(const float *EK_RESTRICT q, const float *EK_RESTRICT k, float *EK_RESTRICT w,
    const int32_t count, const int32_t size)
{
    const float *row[EK_VF_LANES];
    float part[EK_VF_LANES] = {0}, cells[4 * EK_VF_LANES] = {0}, totals[4 * EK_VF_LANES];
    ek_vf sum[4];
    int32_t i = 0;
    EK_UNROLLED_FOR(16, int32_t j = 0; j < EK_VF_LANES; j++)
        row[j] = k + (j < count ? j : 0) * size;
    EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
        sum[j] = ek_vf_set(0);
    for (; i + 4 <= size; i += 4) {
        const ek_vf four = ek_vf_four(q + i);
        EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
            sum[j] = ek_vf_add(sum[j], ek_vf_mul(four, ek_vf_fours(row + j * (EK_VF_LANES / 4), i)));
    }
    if (i < size) {
        for (int32_t l = 0; l < EK_VF_LANES; l++) {
            part[l] = l % 4 < size - i ? q[i + l % 4] : 0;
            for (int32_t c = 0; c < size - i; c++)
                cells[4 * l + c] = row[l][i + c];
        }
        EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
            sum[j] = ek_vf_add(sum[j],
                ek_vf_mul(ek_vf_load(part, EK_VF_LANES), ek_vf_load(cells + j * EK_VF_LANES, EK_VF_LANES)));
    }
    EK_UNROLLED_FOR(4, int32_t j = 0; j < 4; j++)
        ek_vf_store(totals + j * EK_VF_LANES, EK_VF_LANES, sum[j]);
    for (int32_t j = 0; j < count; j++)
        w[j] = (totals[4 * j] + totals[4 * j + 1]) + (totals[4 * j + 2] + totals[4 * j + 3]);
}

EK_IF_BIAS(/* Products of keys as scores: capped, and with the biases of their distances, of which the first is the largest. */
    EK_INLINE void EK_FN_biased(float *EK_RESTRICT w, const float *EK_RESTRICT bias, const int32_t m,
        const int32_t distance, const struct EK_STRUCT *p) {
        const int32_t last = p->distances - 1, beyond = distance - last;
        const int32_t far = beyond < 0 ? 0 : beyond < m ? beyond : m;
        const float slope = last > 0 ? bias[last] - bias[last - 1] : 0;
        for (int32_t j = 0; j < m; j++)
            w[j] *= p->inner;
        if (p->cap > 0)
            for (int32_t j = 0; j < m; j++)
                w[j] = p->cap * ek_tanh_f32(w[j]);
        for (int32_t j = 0; j < far; j++)
            w[j] += bias[last] + slope * (float)(beyond - j);
        for (int32_t j = far; j < m; j++)
            w[j] += bias[distance - j];
    })

/* Weights of some keys, to begin with; those that fill up sixteens are as the first one. Returns the largest, or NaN
 * perhaps. */
EK_INLINE float EK_FN_scores(const float *EK_RESTRICT q, const float *EK_RESTRICT k, float *EK_RESTRICT w,
    const int32_t m, EK_IF_BIAS(const float *bias, const int32_t distance, ) const struct EK_STRUCT *p)
{
    float most[4];
    int32_t j = 0;
    for (; j < m; j += EK_VF_LANES)
        EK_FN_dots(q, k + j * p->size, w + j, m - j < EK_VF_LANES ? m - j : EK_VF_LANES, p->size);
    EK_IF_BIAS(EK_FN_biased(w, bias, m, distance, p);)
    for (j = m; j % 16 != 0; j++)
        w[j] = w[0];
    for (j = 0; j < 4; j++)
        most[j] = w[0] * p->scale;
    for (int32_t first = 0; first < m; first += 16) {
        for (j = 0; j < 16; j++)
            w[first + j] *= p->scale;
        for (int32_t i = 0; i < 16; i += 4)
            for (j = 0; j < 4; j++)
                most[j] = w[first + i + j] > most[j] ? w[first + i + j] : most[j];
    }
    for (j = 1; j < 4; j++)
        most[0] = most[j] > most[0] ? most[j] : most[0];
    return most[0];
}

/* Of sixteen scores. Selected by bits, which compilers vectorise; NaN stays. */
EK_INLINE void EK_FN_powers(float *w, const float most)
{
    for (int32_t j = 0; j < 16; j++) {
        const float below = w[j] - most;
        w[j] = ek_exp2_within_f32(ek_select_f32(below < -126.0f, -126.0f, below));
    }
}

/* y[i] = shrink y[i] + sum over j < m of w[j] v[j][i], for some vectors; `lanes` of the last one. */
EK_INLINED void EK_FN_add(const float *EK_RESTRICT w, const float *EK_RESTRICT v, const int32_t m,
    const float shrink, float *EK_RESTRICT y, const int32_t vectors, const int32_t lanes, const int32_t step)
{
    ek_vf sum[4];
    EK_UNROLLED_FOR(4, int32_t i = 0; i < vectors; i++)
        sum[i] = ek_vf_mul(ek_vf_load(y + i * EK_VF_LANES, lanes), ek_vf_set(shrink));
    for (int32_t j = 0; j < m; j++, v += step) {
        const ek_vf factor = ek_vf_set(w[j]);
        EK_UNROLLED_FOR(4, int32_t i = 0; i < vectors; i++)
            sum[i] = ek_vf_add(sum[i], ek_vf_mul(factor, ek_vf_load(v + i * EK_VF_LANES, lanes)));
    }
    EK_UNROLLED_FOR(4, int32_t i = 0; i < vectors; i++)
        ek_vf_store(y + i * EK_VF_LANES, lanes, sum[i]);
}

/* One query, which sees these rows. */
EK_INLINE void EK_FN_query(const float *EK_RESTRICT q, const float *EK_RESTRICT k, const float *EK_RESTRICT v,
    EK_IF_BIAS(const float *bias, ) const struct ek_cache_rows rows, float *EK_RESTRICT y,
    const struct EK_STRUCT *p)
{
    float most = 0, sum = 0;
    for (int32_t i = 0; i < p->values; i++)
        y[i] = 0;
    for (struct ek_cache_rows left = rows; left.seen > 0;) {
        const int32_t m = ek_cache_block(left, p->keys, EK_CACHE_BLOCK);
        const int is_first = left.seen == rows.seen;
        const float *value = v + left.first * p->values;
        float w[EK_CACHE_BLOCK];
        const float own =
            EK_FN_scores(q, k + left.first * p->size, w, m, EK_IF_BIAS(bias, left.seen - 1, ) p);
        const float above = is_first || own > most ? own : most;
        const float shrink = is_first || above == most ? 1 : ek_exp2_below_f32(most - above);
        int32_t i = 0;
        most = above;
        sum *= shrink;
        for (int32_t j = 0; j < m; j += 16)
            EK_FN_powers(w + j, most);
        for (int32_t j = 0; j < m; j++)
            sum += w[j];
        for (; i + 4 * EK_VF_LANES <= p->values; i += 4 * EK_VF_LANES)
            EK_FN_add(w, value + i, m, shrink, y + i, 4, EK_VF_LANES, p->values);
        for (; i + EK_VF_LANES <= p->values; i += EK_VF_LANES)
            EK_FN_add(w, value + i, m, shrink, y + i, 1, EK_VF_LANES, p->values);
        if (i < p->values)
            EK_FN_add(w, value + i, m, shrink, y + i, 1, p->values - i, p->values);
        left = ek_cache_behind(left, m, p->keys);
    }
    for (int32_t i = 0; i < p->values; i++)
        y[i] /= sum;
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
