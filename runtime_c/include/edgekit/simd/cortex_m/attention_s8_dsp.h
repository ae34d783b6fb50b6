/* Attention of two heads to keys and values of int8 that they share, with DSP instructions: what attention_s8.h says, each
 * step for both heads. Queries are spread to 16 bits, and the weights of both heads share a word. */
#ifndef EDGEKIT_ATTENTION_S8_DSP_H
#define EDGEKIT_ATTENTION_S8_DSP_H

#include "edgekit/loops/attention_s8.h"

/* What is known of two queries after some keys. */
struct ek_attention_pair_s8 {
    struct {
        int32_t most;
        float total, shrink, grow;
    } head[2];
    uint32_t up; /* of scales of values */
    int32_t tops[2]; /* exponents of the largest weights of these keys */
    int32_t powers[2 * EK_ATTENTION_KEYS]; /* of both, then weights */
};

EK_INLINE int32_t ek_a8_word(const int8_t *bytes)
{
    int32_t word;
    EK_COPY_BITS(word, *bytes);
    return word;
}

EK_INLINE int32_t ek_a8_even(const int32_t bytes)
{
    int32_t y;
    __asm("sxtb16 %0, %1" : "=r"(y) : "r"(bytes));
    return y;
}

EK_INLINE int32_t ek_a8_odd(const int32_t bytes)
{
    int32_t y;
    __asm("sxtb16 %0, %1, ror #8" : "=r"(y) : "r"(bytes));
    return y;
}

EK_INLINE int32_t ek_a8_smlad(const int32_t a, const int32_t b, const int32_t sum)
{
    int32_t y;
    __asm("smlad %0, %1, %2, %3" : "=r"(y) : "r"(a), "r"(b), "r"(sum));
    return y;
}

/* sum + (a times the lower half of b) / 2^16 */
EK_INLINE int32_t ek_a8_smlawb(const int32_t a, const int32_t b, const int32_t sum)
{
    int32_t y;
    __asm("smlawb %0, %1, %2, %3" : "=r"(y) : "r"(a), "r"(b), "r"(sum));
    return y;
}

/* sum + a half of a times a half of b, which are bottom (b) or top (t) ones. */
#define EK_A8_SMLA(halves, sum, a, b) __asm("smla" halves " %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b))

/* A dot product as the power of a score. */
EK_INLINE int32_t ek_a8_power(const int32_t dot, const float scale, const float factor)
{
    const float x = (float)dot * scale * factor;
    float whole;
    int32_t score, power;
    __asm("vcvt.s32.f32 %0, %1" : "=t"(whole) : "t"(x)); /* the nearest end beyond the range, 0 for NaN */
    __asm("ssat %0, #30, %1" : "=r"(score) : "r"(ek_bits_f32(whole)) : "cc");
    const int32_t part = score & 0x7FFF;
    power = ek_a8_smlawb(20352, part, 29426);
    power = ek_a8_smlawb(power, part, 45224);
    power = ek_a8_smlawb(power, part, 32512);
    __asm("pkhbt %0, %1, %2, lsl #1" : "=r"(power) : "r"(power), "r"(score));
    return power;
}

/* Four elements of both queries in turn: the first and the third, the second and the fourth. */
EK_INLINE void ek_a8_spread(const int8_t *q, const int8_t *other, int32_t *to, const int32_t size)
{
    for (int32_t i = 0; i < size; i += 4, to += 4) {
        const int32_t a = ek_a8_word(q + i), b = ek_a8_word(other + i);
        to[0] = ek_a8_even(a);
        to[1] = ek_a8_odd(a);
        to[2] = ek_a8_even(b);
        to[3] = ek_a8_odd(b);
    }
}

/* The powers of m keys. */
EK_INLINE void ek_a8_scores(struct ek_attention_pair_s8 *EK_RESTRICT two, const int32_t *EK_RESTRICT q,
    const int8_t *EK_RESTRICT k, const float *EK_RESTRICT k_scale, const float factor, const float other,
    const int32_t m, const int32_t size)
{
    int32_t top = INT32_MIN, above = INT32_MIN;
    for (int32_t j = 0; j < m; j++) {
        const int32_t *x = q;
        const int8_t *end = k + size;
        int32_t a = 0, b = 0;
        for (; k < end; k += 4, x += 4) {
            const int32_t key = ek_a8_word(k), even = ek_a8_even(key), odd = ek_a8_odd(key);
            a = ek_a8_smlad(x[0], even, a);
            b = ek_a8_smlad(x[2], even, b);
            a = ek_a8_smlad(x[1], odd, a);
            b = ek_a8_smlad(x[3], odd, b);
        }
        const float scale = k_scale[j];
        a = ek_a8_power(a, scale, factor);
        b = ek_a8_power(b, scale, other);
        two->powers[2 * j] = a;
        two->powers[2 * j + 1] = b;
        top = a > top ? a : top;
        above = b > above ? b : above;
    }
    two->tops[0] = top >> 16;
    two->tops[1] = above >> 16;
}

/* A weight beside one of the exponent that is 1 less than `over`; what is shifted out last rounds it. */
EK_INLINE int32_t ek_a8_weight(const int32_t power, const int32_t over)
{
    int32_t down, y;
    __asm("sub %0, %2, %3, asr #16\n"
          "usat %0, #6, %0\n"
          "uxth %1, %3\n"
          "lsrs %1, %1, %0\n"
          "adc %1, %1, #0"
        : "=&r"(down), "=&r"(y)
        : "r"(over), "r"(power)
        : "cc");
    return y;
}

/* Powers become weights, with the scales of values in them. */
EK_INLINE void ek_a8_weights(
    struct ek_attention_pair_s8 *EK_RESTRICT two, const float *EK_RESTRICT v_scale, const int32_t m)
{
    const int32_t top = two->tops[0], above = two->tops[1], up = 9 + (int32_t)two->up;
    int32_t sum = 0, total = 0;
    for (int32_t j = 0; j < m; j++) {
        const uint32_t bits = ek_bits_f32(v_scale[j]);
        int32_t down = up - (int32_t)(bits >> 23 & 255u);
        __asm("usat %0, #5, %0" : "+r"(down) : : "cc");
        const int32_t ratio = (int32_t)(((bits & 0x7FFFFFu) | 0x800000u) >> down);
        const int32_t a = ek_a8_weight(two->powers[2 * j], top + 1);
        const int32_t b = ek_a8_weight(two->powers[2 * j + 1], above + 1);
        int32_t one = 16384, second = 16384;
        sum += a;
        total += b;
        EK_A8_SMLA("bb", one, a, ratio);
        EK_A8_SMLA("bb", second, b, ratio);
        second <<= 1;
        __asm("pkhtb %0, %1, %2, asr #15" : "=r"(one) : "r"(second), "r"(one));
        two->powers[j] = one;
    }
    for (int32_t h = 0; h < 2; h++) {
        const int32_t largest = two->tops[h];
        const int32_t most = largest > two->head[h].most ? largest : two->head[h].most;
        two->head[h].shrink = ek_attention_pow2(two->head[h].most - most);
        two->head[h].grow =
            two->up == 255 ? EK_INF_f32 : ek_attention_pow2((int32_t)two->up - 141 + largest - most);
        two->head[h].total = two->head[h].total * two->head[h].shrink
                             + (float)(h ? total : sum) * ek_attention_pow2(largest - most - 15);
        two->head[h].most = most;
    }
}

/* y = shrink y + grow (sums over m keys of weights times values), four columns of both heads. */
EK_INLINE void ek_a8_sums(const struct ek_attention_pair_s8 *EK_RESTRICT two, const int8_t *EK_RESTRICT v,
    const int32_t m, const int32_t step, float *EK_RESTRICT y, float *EK_RESTRICT z)
{
    int32_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
    const int32_t *w = two->powers;
    EK_UNROLLED_FOR(2, int32_t j = 0; j < m; j++) {
        const int32_t values = ek_a8_word(v), even = ek_a8_even(values), odd = ek_a8_odd(values), both = w[j];
        v += step;
        EK_A8_SMLA("bb", a, both, even);
        EK_A8_SMLA("bb", b, both, odd);
        EK_A8_SMLA("bt", c, both, even);
        EK_A8_SMLA("bt", d, both, odd);
        EK_A8_SMLA("tb", e, both, even);
        EK_A8_SMLA("tb", f, both, odd);
        EK_A8_SMLA("tt", g, both, even);
        EK_A8_SMLA("tt", h, both, odd);
    }
    const float shrink = two->head[0].shrink, grow = two->head[0].grow;
    y[0] = y[0] * shrink + (float)a * grow;
    y[1] = y[1] * shrink + (float)b * grow;
    y[2] = y[2] * shrink + (float)c * grow;
    y[3] = y[3] * shrink + (float)d * grow;
    const float other = two->head[1].shrink, more = two->head[1].grow;
    z[0] = z[0] * other + (float)e * more;
    z[1] = z[1] * other + (float)f * more;
    z[2] = z[2] * other + (float)g * more;
    z[3] = z[3] * other + (float)h * more;
}

#endif
