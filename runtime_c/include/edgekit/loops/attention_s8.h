/* Softmax of integers, for attention to rows of int8: 64 keys at a time. A score is a whole number in units of 2^-15, an
 * exponent of 2; its power is a number of 16 bits and an exponent. Weights have 15 bits beside the largest one of these
 * keys, with the scale of their values in them. Sums of keys are joined by powers of 2, which are exact: no order of
 * additions matters, nor whether a product is fused. */
#ifndef EDGEKIT_ATTENTION_S8_H
#define EDGEKIT_ATTENTION_S8_H

#include "edgekit/math/bits.h"
#include "edgekit/types.h"

#define EK_ATTENTION_KEYS 64 /* at a time */
#define EK_ATTENTION_LEAST (-536870912) /* less than the exponent of any weight */
/* QEMU 7.2 ends with an error at the vector instruction of RISC-V that cuts off fractions. */
#if defined(__riscv_vector) && defined(__clang__)
#define EK_ATTENTION_FOR(...) EK_PRAGMA(clang loop vectorize(disable)) for (__VA_ARGS__)
#else
#define EK_ATTENTION_FOR(...) for (__VA_ARGS__)
#endif

/* What is known of a query after some keys. */
struct ek_attention_s8 {
    int32_t most; /* the exponent of the largest weight so far */
    float total; /* of weights, in units of its power */
    float shrink; /* what sums of the keys before are multiplied by, */
    float grow; /* and those of these keys */
    int32_t scores[EK_ATTENTION_KEYS]; /* dot products, then exponents and numbers of 16 bits */
    int16_t weights[EK_ATTENTION_KEYS];
};

/* 2^n, and 0 where that is not normal; n < 128. */
EK_INLINE float ek_attention_pow2(const int32_t n)
{
    return ek_from_bits_f32(n < -126 ? 0 : (uint32_t)(n + 127) << 23);
}

/* A dot product as a score, without its fraction: a number of 30 bits, and 0 for NaN. Selected by bits, which compilers
 * vectorise. */
EK_INLINE int32_t ek_attention_score(const int32_t dot, const float scale, const float factor)
{
    const float x = (float)dot * scale * factor, number = ek_select_f32(x == x, x, 0);
    const float low = ek_select_f32(number < 536870912.0f, number, 536870912.0f);
    const int32_t whole = (int32_t)ek_select_f32(low > -536870912.0f, low, -536870912.0f);
    return whole < 536870911 ? whole : 536870911;
}

/* 32512 times the power of 2 of a score, but for its whole part, which is the exponent in the higher 16 bits. */
EK_INLINE int32_t ek_attention_power(const int32_t score)
{
    const uint32_t part = (uint32_t)score & 0x7FFFu;
    uint32_t p = (20352u * part >> 16) + 29426u;
    p = (p * part >> 16) + 45224u;
    p = (p * part >> 16) + 32512u;
    return (int32_t)(((uint32_t)(score >> 15) << 16) | p);
}

/* The exponent of a scale, as its bits have it. */
EK_INLINE uint32_t ek_attention_exponent(const float scale)
{
    return ek_bits_f32(scale) >> 23 & 255u;
}

/* A weight of 15 bits beside one of exponent `top`. */
EK_INLINE int32_t ek_attention_weight(const int32_t power, const int32_t top)
{
    const int32_t down = top - (power >> 16);
    return (((power & 0xFFFF) >> (down < 31 ? down : 31)) + 1) >> 1;
}

/* The weight times the scale of values, which is an integer of 15 bits beside one of exponent `up`. */
EK_INLINE int16_t ek_attention_factor(const int32_t weight, const float scale, const uint32_t up)
{
    const uint32_t down = 9 + up - ek_attention_exponent(scale);
    const int32_t ratio =
        (int32_t)(((ek_bits_f32(scale) & 0x7FFFFFu) | 0x800000u) >> (down < 31 ? down : 31));
    return (int16_t)((weight * ratio + 16384) >> 15);
}

/* The sum of the weights joins those before, and so can sums of products. */
EK_INLINE void ek_attention_join(
    struct ek_attention_s8 *a, const int32_t top, const uint32_t up, const int32_t sum)
{
    const int32_t above = top > a->most ? top : a->most;
    a->shrink = ek_attention_pow2(a->most - above);
    a->grow = up == 255 ? EK_INF_f32 : ek_attention_pow2((int32_t)up - 141 + top - above);
    a->total = a->total * a->shrink + (float)sum * ek_attention_pow2(top - above - 15);
    a->most = above;
}

/* From `m` dot products to their weights. */
EK_INLINE void ek_attention_weights(struct ek_attention_s8 *EK_RESTRICT a, const float *EK_RESTRICT k_scale,
    const float *EK_RESTRICT v_scale, const float factor, const int32_t m)
{
    uint32_t up = 0;
    int32_t top = INT32_MIN, sum = 0;
    EK_ATTENTION_FOR(int32_t j = 0; j < m; j++)
    {
        const uint32_t exponent = ek_attention_exponent(v_scale[j]);
        a->scores[j] = ek_attention_power(ek_attention_score(a->scores[j], k_scale[j], factor));
        up = exponent > up ? exponent : up;
        top = a->scores[j] > top ? a->scores[j] : top;
    }
    top >>= 16;
    for (int32_t j = 0; j < m; j++) {
        const int32_t weight = ek_attention_weight(a->scores[j], top);
        sum += weight;
        a->weights[j] = ek_attention_factor(weight, v_scale[j], up);
    }
    ek_attention_join(a, top, up, sum);
}

#endif
