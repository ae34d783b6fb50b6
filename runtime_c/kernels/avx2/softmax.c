/* Softmax of rows of floats: the lanes, the order of sums and the exponential of portable C, and so its bits.
 * @for T=f32 */
/* Softmax of rows of floats, with AVX-512.
 * @as avx512/softmax */
#include "edgekit/contracts/softmax.h"

/* Sums have sixteen lanes, in so many vectors. */
#define EK_VECTORS (16 / EK_VF_LANES)

EK_INLINE ek_vf EK_FN_exp(const ek_vf x)
{
    float part[EK_VF_LANES];
    ek_vf_store(part, EK_VF_LANES, x);
    EK_ROW_FOR(int32_t l = 0; l < EK_VF_LANES; l++)
        part[l] = ek_exp_f32(part[l]);
    return ek_vf_load(part, EK_VF_LANES);
}

/* How many numbers a vector from number i on has. */
EK_INLINE int32_t EK_FN_count(const int32_t i, const int32_t n)
{
    return n - i < EK_VF_LANES ? n - i : EK_VF_LANES;
}

EK_INLINE float EK_FN_largest(const float *x, const int32_t n)
{
    ek_vf most = ek_vf_set(x[0]);
    int32_t i = 0;
    for (; i + EK_VF_LANES <= n; i += EK_VF_LANES)
        most = ek_vf_max(most, ek_vf_load(x + i, EK_VF_LANES));
    for (; i < n; i++)
        most = ek_vf_max(most, ek_vf_set(x[i]));
    return ek_vf_largest(most);
}

/* Writes exp(x - most), and returns the sum. */
EK_INLINE float EK_FN_exponentials(const float *x, float *y, const int32_t n, const float most)
{
    ek_vf sum[EK_VECTORS];
    float lane[16];
    int32_t i = 0;
    EK_UNROLLED_FOR(2, int32_t v = 0; v < EK_VECTORS; v++)
        sum[v] = ek_vf_set(0);
    for (; i < n; i += 16)
        EK_UNROLLED_FOR(2, int32_t v = 0; v < EK_VECTORS; v++) {
            const int32_t at = i + v * EK_VF_LANES, count = EK_FN_count(at, n);
            if (count <= 0)
                break;
            ek_vf_store(y + at, count, EK_FN_exp(ek_vf_sub(ek_vf_load(x + at, count), ek_vf_set(most))));
            sum[v] = ek_vf_add(sum[v], ek_vf_load(y + at, count));
        }
    EK_UNROLLED_FOR(2, int32_t v = 0; v < EK_VECTORS; v++)
        ek_vf_store(lane + v * EK_VF_LANES, EK_VF_LANES, sum[v]);
    for (int32_t l = 1; l < 16; l++)
        lane[0] += lane[l];
    return lane[0];
}

EK_KERNEL void EK_FN(const EK_T *x, EK_T *y, const struct EK_STRUCT *p)
{
    for (int32_t r = 0; r < p->rows; r++, x += p->n, y += p->n) {
        const ek_vf sum = ek_vf_set(EK_FN_exponentials(x, y, p->n, EK_FN_largest(x, p->n)));
        for (int32_t i = 0; i < p->n; i += EK_VF_LANES) {
            const int32_t count = EK_FN_count(i, p->n);
            ek_vf_store(y + i, count, ek_vf_div(ek_vf_load(y + i, count), sum));
        }
    }
}
#undef EK_VECTORS
