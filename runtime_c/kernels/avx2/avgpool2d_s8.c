/* int8 average pooling, sixteen channels at a time: see avgpool2d_s8.h. Quotients of floats are exact enough: sums have
 * 24 bits, and two quotients that truncation tells apart are no closer than 1 / cells.
 * @order pixels 1
 * @when channels >= 16 and k_h * k_w <= 65536 and k_w <= 255 */
#include "edgekit/contracts/avgpool2d_s8.h"
#include "edgekit/simd/x86/rules_x86.h"

/* Eight sums by `cells`, halves away from zero. */
EK_INLINE __m256i EK_FN_mean(const __m256i sum, const int32_t cells)
{
    const __m256i half = _mm256_sign_epi32(_mm256_set1_epi32(cells / 2), sum);
    const __m256 whole = _mm256_cvtepi32_ps(_mm256_add_epi32(sum, half));
    return _mm256_cvttps_epi32(_mm256_div_ps(whole, _mm256_set1_ps((float)cells)));
}

/* Sixteen channels of the window of `rows` by `columns` cells. */
EK_INLINE void EK_FN_window(
    const int8_t *x, int8_t *y, const int32_t rows, const int32_t columns, const struct EK_STRUCT *p)
{
    __m256i low = _mm256_setzero_si256(), high = low;
    for (int32_t i = 0; i < rows; i++) {
        __m256i row = _mm256_setzero_si256(); /* of at most 255 numbers, which 16 bits hold */
        for (int32_t j = 0; j < columns; j++)
            row = _mm256_add_epi16(
                row, ek_x8_weights(x + (i * p->dilation_h * p->in_w + j * p->dilation_w) * p->channels));
        low = _mm256_add_epi32(low, _mm256_cvtepi16_epi32(_mm256_castsi256_si128(row)));
        high = _mm256_add_epi32(high, _mm256_cvtepi16_epi32(_mm256_extracti128_si256(row, 1)));
    }
    low = EK_FN_mean(low, rows * columns);
    high = EK_FN_mean(high, rows * columns);
    ek_x8_store_half(y, ek_x8_packed(low, high, low, high, 0, -128, 127), 0);
}

EK_KERNEL void EK_FN(const int8_t *x, int8_t *y, const struct EK_STRUCT *p)
{
    for (int32_t n = 0; n < p->batch; n++, x += p->in_h * p->in_w * p->channels)
        for (int32_t h = 0; h < p->out_h; h++)
            for (int32_t v = 0; v < p->out_w; v++, y += p->channels) {
                int32_t top = h * p->stride_h - p->pad_top, left = v * p->stride_w - p->pad_left;
                int32_t rows = p->k_h, columns = p->k_w;
                for (; top < 0; top += p->dilation_h)
                    rows--;
                for (; left < 0; left += p->dilation_w)
                    columns--;
                while (top + (rows - 1) * p->dilation_h >= p->in_h)
                    rows--;
                while (left + (columns - 1) * p->dilation_w >= p->in_w)
                    columns--;
                const int8_t *const from = x + (top * p->in_w + left) * p->channels;
                for (int32_t c = 0; c < p->channels; c += 16) {
                    const int32_t at = c + 16 <= p->channels ? c : p->channels - 16;
                    EK_FN_window(from + at, y + at, rows, columns, p);
                }
            }
}
